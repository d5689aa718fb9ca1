"""What arguments and results of an interpretation cross."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_named, owner_of
from agnograd._arrays.levels import highest, over, root_of
from agnograd._arrays.variable import Variable
from agnograd._hooks.entering import entered, is_inside
from agnograd._hooks.state import current_mode, set_mode
from agnograd._levels.interpreted import Run, payload_of
from agnograd._levels.invariants import check_left
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import default_name


class Border:
    """What arguments and results cross that come from one domain, and go back to it.

    Parameters
    ----------
    interpretation : type
        The class of the interpretation, which stands on the domain of the arguments.
    leaves : sequence
        The leaves of the arguments.
    """

    def __init__(self, interpretation: Any, leaves: Sequence[Any]) -> None:
        self.below = _below(leaves)
        self.domain: Any = interpretation.domain(self.below)
        self._inside = is_inside() or any(isinstance(leaf, Variable) for leaf in leaves)
        self._given = {id(leaf._raw if isinstance(leaf, Variable) else leaf) for leaf in leaves}

    def payload(self, leaf: Any) -> Any:
        """Return an argument as functions of the domain below take it."""
        if not isinstance(leaf, Variable):
            return self.below.to_raw(leaf)
        if root_of(leaf._domain) is not root_of(self.below):
            raise self.below.mixed("an argument is a Variable", leaf._domain.backend)
        if leaf._node is None:
            return self.below.to_raw(leaf.data)
        # From further down, it is raised to each level on the way.
        return leaf if leaf._domain is self.below else self.below.raised(leaf, True)

    def functions(self, payload: Any) -> Any:
        """Return the namespace below that computes with a payload."""
        return self.below.namespace if isinstance(payload, Variable) else self.below.raw

    def array(self, payload: Any, run: Run) -> Variable:
        """Return a payload as the function gets it."""
        array = self.domain.backend.array_class(payload, run)
        return self.domain.Variable._make(array, None)  # type: ignore[no-any-return]

    def into(self, leaf: Any, run: Run) -> Any:
        """Return an argument as the function gets it; what is not an array stays as it is."""
        if is_python_scalar(leaf) or owner_of(leaf) is None:
            return leaf
        return self.array(self.payload(leaf), run)

    def call(self, run: Run, f: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Call a function on this side, where what it makes is of the interpretation."""
        run.function = f
        outer, running = current_mode(), self.domain.backend.running
        token = running.set(run)
        try:
            with entered(inside=True, level=self.domain):
                return f(*args, **kwargs)
        finally:
            run.returned = True
            running.reset(token)
            set_mode(outer)  # an interrupt may have kept the block from restoring it

    def out(self, leaves: Sequence[Any], run: Run) -> list[Any]:
        """Return results as the caller gets them; what is not of the interpretation stays."""
        found = []
        for leaf in leaves:
            home = self.home(leaf)
            array = leaf._raw if isinstance(leaf, home.Variable) else leaf
            own = type(array) is home.backend.array_class
            found.append((payload_of(array, run), home) if own else (leaf, None))
        return self.handed(found)

    def home(self, leaf: Any) -> Any:
        """Return the interpretation's domain that a result is of, or can be lifted to.

        It stands on a different library from the arguments' if the function moved the result there.
        """
        owner = None if is_python_scalar(leaf) else owner_of(leaf)
        if owner is None or owner is self.domain:
            return self.domain
        return over(self.domain, owner)

    def handed(self, found: Sequence[tuple[Any, Domain | None]]) -> list[Any]:
        """Return payloads as the caller gets them, each with its home; values without one stay.

        They are raw if all arguments are, and no payload is tracked: then all are Variables.
        """
        inside = self._inside
        if self.domain.backend.verifies:
            for payload, home in found:
                check_left(payload, (home or self.domain).level)
        if not inside:
            for payload, _ in found:
                inside = inside or (isinstance(payload, Variable) and payload._node is not None)
        results = []
        for payload, home in found:
            if isinstance(payload, Variable) and home is not None:
                payload = payload if inside else payload.data
            elif home is not None:
                below: Domain = home.backend.below  # type: ignore[attr-defined]
                if inside and not isinstance(payload, below.array_types):
                    payload = below.to_raw(payload)  # from further below
                if id(payload) in self._given:  # as it was given: nothing else may share memory
                    payload = below.copy(payload)
                payload = below.Variable._make(payload, None) if inside else payload
            results.append(payload)
        return results


def _below(leaves: Sequence[Any]) -> Domain:
    """Return what the arrays are computed with: the highest domain of theirs, or that entered."""
    mode, found = current_mode(), None
    if mode is not None and mode.level is not None:
        found = mode.level
    for leaf in leaves:
        domain = None if is_python_scalar(leaf) else owner_of(leaf)
        if domain is not None and (found is None or domain.level > found.level):
            found = domain
    return domain_named(default_name()) if found is None else highest(found, leaves)
