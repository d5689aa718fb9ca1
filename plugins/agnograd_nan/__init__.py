"""Find the op that made the first NaN or infinity, forward or backward."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agnograd.extend import Uncopied, hookimpl
from agnograd_nan._report import NaNError, NaNWarning, facts_of, is_bad, report

if TYPE_CHECKING:
    from agnograd.extend import Call

__all__ = ["NaN", "NaNError", "NaNWarning"]

# What these return is not a result before it is written to.
_UNINITIALISED = frozenset({"empty", "empty_like"})


class _Local(threading.local):
    """What belongs to one thread: the ops whose rules are running, and whether it warned."""

    def __init__(self) -> None:
        self.rules: list[Call] = []
        self.warned = False


class NaN(Uncopied):
    """Name the op, and the line that called it, where the first NaN or infinity arises.

    Parameters
    ----------
    forward : bool
        Check what ops compute.
    backward : bool
        Check the gradients that rules compute, and those of leaves.
    inf : bool
        Look for infinities too, not only for NaN.
    action : {"raise", "warn"}
        Raise ``NaNError``; or warn with ``NaNWarning``: in each step at the first finding, and
        at every op that makes such values from others.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> x = xp.asarray([1.0, float("nan")])
    >>> try:
    ...     with ag.hooks("nan"):
    ...         y = xp.exp(x)
    ... except FloatingPointError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    NaN in the forward pass: outputs[0] of op 'exp' (elementwise)...
    """

    def __init__(
        self,
        *,
        forward: bool = True,
        backward: bool = True,
        inf: bool = True,
        action: Literal["raise", "warn"] = "raise",
    ) -> None:
        for name, value in (("forward", forward), ("backward", backward), ("inf", inf)):
            if not isinstance(value, bool):
                raise TypeError(f"nan: {name} must be True or False, not {value!r}")
        if action not in ("raise", "warn"):
            raise ValueError(f"nan: action must be 'raise' or 'warn', not {action!r}")
        self.forward = forward
        self.backward = backward
        self.inf = inf
        self.action = action
        self._local = _Local()
        self._registry: dict[Any, Any] = {}

    def __repr__(self) -> str:
        names = ("forward", "backward", "inf", "action")
        return f"NaN({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @hookimpl
    def forward_postprocess(self, op: Call, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Check an op's outputs."""
        if self.backward:
            _ = op.location  # reading it keeps it for the backward pass
        # What a rule computes on its way is not a finding: rules mask what they do not use.
        if self.forward and not self._local.rules and op.name not in _UNINITIALISED:
            self._check(op, "forward", outputs, {"inputs": inputs})

    @hookimpl(trylast=True)
    def backward_preprocess(self, op: Call) -> None:
        """Note that an op's rule runs."""
        self._local.rules.append(op)

    @hookimpl(tryfirst=True)
    def backward_postprocess(
        self,
        op: Call,
        inputs: Sequence[Any],
        grad_outputs: Sequence[Any],
        grad_inputs: Sequence[Any],
    ) -> None:
        """Check the gradients of an op's inputs."""
        if op in self._local.rules:  # not if another plugin's hook failed before the rule ran
            self._local.rules.remove(op)
        if self.backward:
            self._check(
                op, "backward", grad_inputs, {"grad_outputs": grad_outputs, "inputs": inputs}
            )

    @hookimpl
    def gradient_ready(self, grad: Any) -> None:
        """Check a leaf's gradient: it may be a sum, and a pass may start at a leaf."""
        if self.backward:
            self._check(None, "backward", (grad,), {})

    @hookimpl
    def backward_finish(self) -> None:
        """Take what follows for a new step, in which an earlier warning says nothing."""
        self._local.warned = False

    def _check(
        self,
        op: Call | None,
        direction: str,
        results: Iterable[Any],
        given: dict[str, Sequence[Any]],
    ) -> None:
        """Report the first array that has such values."""
        for index, value in enumerate(results):
            if is_bad(value, self.inf):
                sources = tuple(
                    f"{name}[{i}]"
                    for name, values in given.items()
                    for i, source in enumerate(values)
                    if is_bad(source, self.inf)
                )
                found = {"direction": direction, "index": index, "sources": sources}
                self._report(op, found | facts_of(value))
                return

    def _report(self, op: Call | None, found: dict[str, Any]) -> None:
        for fact, attribute in (("op", "name"), ("chapter", "chapter"), ("location", "location")):
            found[fact] = getattr(op, attribute, None)
        message = report(found)
        if self.action == "raise":
            raise NaNError(message, **found)
        if self._local.warned and (op is None or found["sources"]):
            return  # it follows from what was reported
        self._local.warned = True
        filename, line = _line(found["location"])
        warnings.warn_explicit(
            NaNWarning(f"AGNOGRAD: {message}", **found),
            *(None, filename, line),
            registry=self._registry,
        )


def _line(location: str | None) -> tuple[str, int]:
    if location is None:
        return "<agnograd>", 1
    filename, _, line = location.rpartition(" in ")[0].rpartition(":")
    return filename, int(line)
