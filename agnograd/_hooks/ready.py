"""A plugin that calls a function as soon as the gradients of several leaves are final."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agnograd._graph.nodes import Value
from agnograd._util.checks import callable_in, variables_in
from agnograd.errors import NoGradientError
from agnograd.hookspecs import hookimpl

Gradients = list[Any]


class _Running(threading.local):
    """The passes of a thread that run, the innermost last.

    Each has the places of leaves that it reaches and whose gradients are not final, and the
    gradients that are.
    """

    def __init__(self) -> None:
        self.passes: list[tuple[set[int], Gradients]] = []


class when_ready:  # noqa: N801 - used as a function: ag.hooks(ag.when_ready(...))
    """Call a function in each pass, as soon as the gradients of several leaves are final.

    It is a plugin: pass it to ``ag.hooks``. The rest of the pass may still run, so the function can
    already work with these gradients, or send them. Leaves that a pass does not reach are not
    waited for, and a pass that reaches none of them does not call the function. If the function
    raises, the pass fails and changes no gradient.

    Parameters
    ----------
    variables : Variable or sequence of Variable
        The leaves. They may be attached to a ``GradManager`` later.
    function : callable
        ``function(grads)`` gets a tuple with the raw gradient of each leaf from this pass, which it
        must not change, or None for each that has none. What it returns is ignored.

    Raises
    ------
    NoGradientError
        If one of the variables is not a Variable, or is the result of an op.
    ArgumentError
        If ``function`` is not a function.

    Examples
    --------
    >>> import agnograd as ag
    >>> a, b = ag.Variable(2.0), ag.Variable(3.0)
    >>> ready = ag.when_ready([a, b], lambda grads: print([float(grad) for grad in grads]))
    >>> with ag.hooks(ready):
    ...     (a * b).backward()
    [3.0, 2.0]
    """

    def __init__(
        self, variables: Value | Sequence[Value], function: Callable[[tuple[Any, ...]], Any]
    ) -> None:
        callable_in("ag.when_ready: function", function, "ag.when_ready(leaves, lambda grads: ...)")
        self._variables = variables_in("ag.when_ready: variables", variables)
        for place, variable in enumerate(self._variables):
            if not variable.is_leaf:
                raise NoGradientError(
                    f"ag.when_ready: variables[{place}] is the result of an op, not a leaf: use "
                    "its register_hook, or attach it to a GradManager with a callback"
                )
        self._places = {id(variable): place for place, variable in enumerate(self._variables)}
        self._function, self._running = function, _Running()

    def __repr__(self) -> str:
        return f"ag.when_ready({len(self._variables)} Variables, {self._function!r})"

    @hookimpl
    def backward_start(self, leaves: Iterable[Value]) -> None:
        """Take note of the leaves that the pass will reach."""
        places = {self._places[id(leaf)] for leaf in leaves if id(leaf) in self._places}
        self._running.passes.append((places, [None] * len(self._variables)))

    @hookimpl
    def gradient_ready(self, variable: Value, grad: Any) -> None:
        """Take note of a gradient, and call the function after the last one."""
        place, passes = self._places.get(id(variable)), self._running.passes
        if place is None or not passes:
            return
        waiting, grads = passes[-1]
        grads[place] = grad
        if waiting == {place}:
            self._function(tuple(grads))
        waiting.discard(place)

    @hookimpl
    def backward_finish(self, error: BaseException | None) -> None:
        """Call the function now, if a leaf was waited for that got no gradient after all."""
        if not self._running.passes:  # another plugin failed before this one knew of the pass
            return
        waiting, grads = self._running.passes.pop()
        if error is None and waiting and any(grad is not None for grad in grads):
            self._function(tuple(grads))
