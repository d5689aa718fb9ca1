"""A backend's own derivatives in a program: each is one step, as it is one call in a pass."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any

from agnograd.extend import Op, conjugate, fit, values_named
from agnograd.extend.transforms import Domain
from agnograd_compile._programs.program import PULLBACK


class OwnDerivative:
    """The gradient with respect to one input, on raw arrays.

    It is the backend's own function, or the rule where that returns ``NotImplemented``.
    """

    def __init__(self, op: Op, into: str, own: Callable[..., Any], domain: Domain) -> None:
        self.op, self.into, self.own, self.domain = op, into, own, domain
        self.rule = op.rules[into]
        self.names = tuple(dict.fromkeys(("g", *values_named(op, into))))
        self._given = [self.names.index(name) for name in signature(own).parameters]

    def noted_by(self, tracing: Any) -> Callable[..., Any]:
        """Return a function of traced arrays, as a pass calls it, that notes this as a step."""

        def derivative(*values: Any) -> Any:
            out = self._own(*map(tracing.payload, values))
            if out is NotImplemented:  # in this run: the rule's calls are noted instead
                return out
            kwargs = {"op": self.op.name, "input": self.into, "function": self}
            return tracing.note(PULLBACK, lambda *_, **__: out, values, kwargs)

        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in self.names]
        derivative.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return derivative

    def __call__(self, *values: Any) -> Any:
        out = self._own(*values)
        return self.by_rule(*values) if out is NotImplemented else out

    def _own(self, *values: Any) -> Any:
        return self.own(*[values[place] for place in self._given])

    def on(self, domain: Domain) -> Callable[..., Any]:
        """Return what the rule gives on raw arrays of another backend."""
        return OwnDerivative(self.op, self.into, self.own, domain).by_rule

    def by_rule(self, *values: Any) -> Any:
        """Return what the rule gives."""
        xp, into = self.domain.raw, self.into
        known = {**dict(zip(self.names, values, strict=True)), "xp": xp}
        out = self.rule.function(*[known[name] for name in self.rule.names])  # type: ignore[operator]
        if self.rule.kind != "elementwise":
            return fit(out, known[f"{into}_shape"], known[f"{into}_dtype"], xp)
        g = known["g"]
        return g * (conjugate(out, xp) if self.domain.is_complex(g.dtype) else out)
