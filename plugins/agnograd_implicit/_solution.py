"""One call of a solver: its solution as an op, with the derivatives of the equation it solves."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial, reduce
from typing import Any, NamedTuple

from agnograd import Function, Variable, is_grad_enabled
from agnograd.errors import LostGradientError, RuleError, SolverWarning
from agnograd.extend import is_array, is_python_scalar, is_tracked
from agnograd.extend.arguments import flatten, unflatten
from agnograd.extend.members import each_member, is_above, warn_of_members
from agnograd.extend.transforms import (
    Domain,
    Prepared,
    apart,
    connected,
    domain_of,
    is_inside,
    levels_up,
)
from agnograd_implicit._linear import Solve, System, pulled, pushed
from agnograd_implicit._vectors import Layout, raw, variable

__all__ = ["Equation", "Solution", "SolverCall"]


class Equation(NamedTuple):
    """What ``implicit`` was given.

    ``solver(*args, **kwargs)`` returns what the op does: the solution, and perhaps unknowns that
    are not returned to the user. ``residual(x, *args)`` has its structure.
    """

    name: str
    solver: Callable[..., Any]
    residual: Callable[..., Any]
    solve: Solve
    op: type[Solution]


class SolverCall(Prepared):
    """One call: its arrays, and what is computed of them."""

    def __init__(self, equation: Equation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__(equation.solver, args, kwargs, is_array)
        self.equation, self.name = equation, equation.name
        count = len(flatten(args)[0])
        tracked = [is_tracked(leaf) for leaf in self.leaves]
        if any(tracked[count:]):
            raise LostGradientError(
                f"{self.name}: an array in a keyword argument is a tracked Variable, and keyword "
                "arguments have no gradient: pass it by position, or x.detach()"
            )
        self.needed = [tracked[place] for place in self.places]
        self.as_variables = is_inside() or any(isinstance(leaf, Variable) for leaf in self.leaves)

    def result(self) -> Any:
        """Return the solution; raw if all arrays are raw."""
        found = self.equation.op(self)(*self.take())
        return unflatten(self.structure, found if self.as_variables else map(raw, found))

    # -- the solution ------------------------------------------------------------------------------

    def solution(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the leaves of the solution, for raw arrays of a library."""
        domain, name = domain_of(arrays[0]), self.name
        found = self(arrays)
        if not found:
            raise RuleError(f"{name} returned no array; it must return the solution")
        for place, leaf in enumerate(found):
            if is_above((leaf,)):
                self._refuse("the solver")
            leaf = raw(leaf)
            if not isinstance(leaf, domain.array_types) and not is_python_scalar(leaf):
                raise RuleError(
                    f"{name} returned an object of type {type(leaf).__name__}; it must return an "
                    f"array of backend {domain.backend.name!r}, or a pytree of such arrays"
                )
            # A copy: solvers return arrays that they go on with, and one of their arguments.
            found[place] = leaf = domain.copy(domain.to_raw(leaf))
            if not domain.is_inexact(leaf.dtype):
                raise RuleError(
                    f"{name} returned an array of dtype {leaf.dtype}; it must return floating-point"
                    " or complex ones, which have derivatives"
                )
        return tuple(found)

    def member(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the solution for arrays from below a level, which may be tracked there."""
        args, kwargs = self.filled(arrays)
        call = SolverCall(self.equation, args, kwargs)
        found = call.equation.op(call)(*call.take())
        self.structure = call.structure
        return tuple(x if is_tracked(x) else raw(x) for x in found)

    def checked(self, found: Sequence[Any], arrays: Sequence[Any]) -> None:
        """Raise if the equation does not fit the solution, or uses what its gradient would miss."""
        leaves, uses_outside = connected(self.residual_of, found, *arrays)
        if is_above(tuple(leaves)):
            self._refuse("the equation")
        if uses_outside:
            raise LostGradientError(
                f"{self.name}: the function uses a tracked Variable that is not one of its "
                "arguments, and whose gradient would be lost: pass it as an argument, or "
                "x.detach()"
            )

        domain, wrong = domain_of(found[0]), ""
        if not (domain.backend.level or domain.backend.capabilities.lazy):
            with domain.backend.quiet(), suppress(Exception):  # arrays may be traced
                wrong = self._wrong(domain, found, leaves, arrays)
        if wrong:
            warnings.warn(
                f"AGNOGRAD: {self.name}: {wrong}: its derivatives are those of no solution",
                SolverWarning,
                stacklevel=levels_up(),
            )

    def _wrong(
        self,
        domain: Domain,
        found: Sequence[Any],
        leaves: Sequence[Any],
        arrays: Sequence[Any],
    ) -> str:
        """Return why a solution does not solve the equation, as far as one can tell; else "".

        It does not if the residual changes by less than its own size when each unknown moves by a
        thousandth of itself and of 1. What rounding leaves of a residual is never too much.
        """
        xp = domain.library
        size = _most(domain, map(raw, leaves))
        if not math.isfinite(size + _most(domain, found)):
            return "the solution or its residual is not finite"
        if size > math.sqrt(xp.finfo(found[0].dtype).eps):
            moved = [x + 1e-3 * (xp.abs(x) + 1.0) for x in found]
            pairs = zip(leaves, self.residual_of(moved, *arrays), strict=True)
            if size > _most(domain, (raw(one) - raw(other) for one, other in pairs)):
                return f"the residual is {size:.1e} at the solution"
        return ""

    def _refuse(self, what: str) -> None:
        raise LostGradientError(
            f"{self.name}: {what} uses an array of a function that is transformed around it, such "
            "as one of a member of vmap, that is not one of its arguments: pass it as an argument"
        )

    # -- the equation ------------------------------------------------------------------------------

    def residual_of(self, found: Sequence[Any], *arrays: Any) -> list[Variable]:
        """Return the leaves of the residual, which fit those of the solution."""
        args, _ = self.filled(map(variable, arrays))
        x = unflatten(self.structure, list(map(variable, found)))
        leaves, structure = flatten(self.equation.residual(x, *args))
        if structure != self.structure:
            raise RuleError(
                f"{self.name}: the residual has structure {structure}; it must have that of the "
                f"solution, {self.structure}"
            )
        domain = domain_of(found[0])
        for place, (leaf, like) in enumerate(zip(leaves, found, strict=True)):
            if is_python_scalar(leaf):
                leaf = domain.to_raw(leaf)
            if not is_array(leaf):
                raise RuleError(
                    f"{self.name}: the residual has an object of type {type(leaf).__name__}; it "
                    "must be an array, or a pytree of arrays"
                )
            of = domain_of(leaf)
            if not of.is_inexact(leaf.dtype):
                raise RuleError(
                    f"{self.name}: the residual has dtype {leaf.dtype}, and no derivative; it must "
                    "be floating-point or complex"
                )
            kinds = of.is_complex(leaf.dtype), domain.is_complex(like.dtype)
            if tuple(leaf.shape) != tuple(like.shape) or kinds[0] != kinds[1]:
                raise RuleError(
                    f"{self.name}: the residual has shape {tuple(leaf.shape)} and dtype "
                    f"{leaf.dtype} for unknowns of shape {tuple(like.shape)} and dtype "
                    f"{like.dtype}; there must be one equation for each unknown"
                )
            leaves[place] = variable(leaf)
        return leaves

    def system(self, layout: Layout, memory: dict[str, Any]) -> System:
        """Return the transposed Jacobian of the residual as a function of vectors.

        ``memory`` keeps what was computed of it.
        """

        def equations(v: Any, *arrays: Any) -> Any:
            return layout.pack(self.residual_of(layout.unpack(v), *arrays))

        solve = self.equation.solve
        if solve.preconditioner is not None:
            solve = solve._replace(preconditioner=partial(self._preconditioned, layout))
        return System(equations, solve, True, memory)

    def _preconditioned(self, layout: Layout, w: Any, v: Any, *arrays: Any) -> Any:
        given: Any = self.equation.solve.preconditioner
        args, _ = self.filled(map(variable, arrays))
        trees = [
            unflatten(self.structure, [variable(x) for x in layout.unpack(each)]) for each in (w, v)
        ]
        leaves, structure = flatten(given(*trees, *args))
        shapes = [tuple(getattr(leaf, "shape", ())) for leaf in leaves]
        if structure != self.structure or shapes != layout.shapes:
            raise RuleError(
                f"{self.name}: the preconditioner returned shapes {shapes} and structure "
                f"{structure}; it must return what it gets first, {layout.shapes} and "
                f"{self.structure}"
            )
        return layout.pack(list(map(variable, leaves)))


class Solution(Function, constant_attributes=True, lifts=True, records_below=True):
    """The op of one call."""

    def __init__(self, call: SolverCall) -> None:
        self.call = call

    def forward(self, xp: Any, *arrays: Any) -> Any:
        """Run the solver."""
        recording = is_grad_enabled()

        def below(*arrays: Any) -> tuple[Any, ...]:
            found: tuple[Any, ...] = apart(self.call.solution, *arrays)
            if recording:
                apart(self.call.checked, found, arrays)
            return found

        warn_of_members(self.call.name, arrays)
        found = each_member(self.call.member, arrays, below)
        self.save(*found, *arrays, {})  # the Jacobian is freed with what it was computed from
        return found

    def backward(self, xp: Any, *grads: Any) -> Any:
        """Return the gradients of the arguments."""
        system, layout, v, arrays = self._linearized(len(grads))
        w = system.solved(layout.pack(grads), v, *arrays)
        gradients = pulled(partial(system.f, v), arrays, self.call.needed, -w)
        recorded = isinstance(grads[0], Variable)
        return tuple(gradients if recorded else map(raw, gradients))

    def jvp(self, xp: Any, *tangents: Any) -> tuple[Any, ...]:
        """Return the tangents of the solution, of those of the arguments: one system is solved."""
        system, layout, v, arrays = self._linearized(len(self.saved) - len(tangents) - 1)
        b = pushed(partial(system.f, v), arrays, tangents)
        return tuple(layout.unpack(system.flipped.solved(-b, v, *arrays)))

    def _linearized(self, count: int) -> tuple[System, Layout, Any, Sequence[Any]]:
        """Return the transposed system, and the layout, vector and arrays of a solution."""
        *saved, memory = self.saved
        layout = Layout(saved[:count])
        return self.call.system(layout, memory), layout, layout.pack(saved[:count]), saved[count:]


def _most(domain: Domain, arrays: Iterable[Any]) -> float:
    """Return the largest absolute value in arrays; NaN if there is one."""
    xp = domain.library
    each = (float(xp.max(xp.abs(x))) for x in arrays if domain.size(x))
    return reduce(lambda a, b: a if a != a or a > b else b, each, 0.0)
