"""The equations that fixed points and optima satisfy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd import grad, jacobian, linearize, vjp
from agnograd.errors import RuleError
from agnograd.extend import is_array
from agnograd.extend.arguments import flatten, unflatten
from agnograd.extend.transforms import domain_of
from agnograd_implicit._krylov import Measures, cg
from agnograd_implicit._linear import Solve, solved_by_matrix
from agnograd_implicit._vectors import Layout, functions_of, raw, variable

__all__ = ["equations_of"]

Run = Callable[..., Any]


def equations_of(
    solver: Run,
    residual: Run | None,
    fixed_point: Run | None,
    objective: Run | None,
    equality: Run | None,
    solve: Solve,
) -> tuple[Run, Run, bool]:
    """Return a solver, the residual that is 0 at its solution, and whether that has multipliers.

    If it has, they are the second of a pair.
    """
    if residual is not None:
        return solver, residual, False
    if fixed_point is not None:
        return solver, _difference(fixed_point), False
    assert objective is not None
    if equality is None:
        return solver, lambda x, *args: grad(objective)(x, *args), False
    conditions = Conditions(objective, equality, solve)
    return conditions.solver(solver), conditions, True


def _difference(image: Run) -> Run:
    def difference(x: Any, *args: Any) -> Any:
        (ones, tree), (others, found) = flatten(x), flatten(image(x, *args))
        if found != tree:
            raise RuleError(
                f"fixed_point returned structure {found}; it must return that of the solution, "
                f"{tree}"
            )
        return unflatten(tree, [one - other for one, other in zip(ones, others, strict=True)])

    return difference


class Conditions:
    """The conditions of Karush, Kuhn and Tucker: a Lagrangian is stationary.

    Of the solution and one multiplier for each constraint (Nocedal and Wright, "Numerical
    optimization", 2006, section 12.3).
    """

    def __init__(self, objective: Run, equality: Run, solve: Solve) -> None:
        self.objective, self.equality, self.solve = objective, equality, solve

    def __call__(self, unknowns: Any, *args: Any) -> Any:
        """Return the gradient of the Lagrangian by the solution and by the multipliers."""
        x, multipliers = unknowns

        def lagrangian(x: Any) -> Any:
            constraints = flatten(self.equality(x, *args))[0]
            parts = [
                functions_of([c]).sum(weight * c)
                for weight, c in zip(flatten(multipliers)[0], constraints, strict=True)
            ]
            return sum(parts, self.objective(x, *args))

        return grad(lagrangian)(x), self.equality(x, *args)

    def solver(self, solver: Run) -> Run:
        """Return a solver that finds the multipliers, too."""

        def both(*args: Any, **kwargs: Any) -> Any:
            x = solver(*args, **kwargs)
            return x, self._multipliers(x, args)

        return both

    def _multipliers(self, x: Any, args: Any) -> Any:
        """Return the multipliers of raw unknowns: where the gradient of the Lagrangian is least.

        With the Jacobian J of the constraints and the gradient g, they solve J J^T m = -J g.
        """
        leaves, tree = flatten(x)
        leaves = [domain_of(leaf).to_raw(leaf) for leaf in map(raw, leaves)]
        layout = Layout(leaves)
        domain = domain_of(leaves[0])
        given, structure = flatten(args)
        args = unflatten(structure, [_lifted(each) for each in given])
        values, kinds = flatten(self.equality(unflatten(tree, list(map(variable, leaves))), *args))
        for value in values:
            real = is_array(value) and domain.is_inexact(value.dtype)
            if not real or domain.is_complex(value.dtype):
                what = value.dtype if is_array(value) else type(value).__name__
                raise RuleError(
                    f"equality returned {what}; it must return real floating-point arrays, which "
                    "are 0 at the solution"
                )
        rows = Layout([raw(value) for value in values])

        def constraints(v: Any) -> Any:
            return rows.pack(flatten(self.equality(unflatten(tree, layout.unpack(v)), *args))[0])

        def objective(v: Any) -> Any:
            return self.objective(unflatten(tree, layout.unpack(v)), *args)

        v = layout.pack(leaves)
        found = self._least(constraints, v, raw(grad(objective)(v)), domain)
        return unflatten(kinds, [raw(part) for part in rows.unpack(found)])

    def _least(self, constraints: Run, v: Any, g: Any, domain: Any) -> Any:
        if self.solve.method == "dense":
            xp, matrix = domain.raw, raw(jacobian(constraints)(v))
            why = (
                "the gradients of the constraints are linearly dependent at the solution, and the "
                "multipliers are not unique"
            )
            square = matrix @ xp.matrix_transpose(matrix)
            return solved_by_matrix(xp, square, -(matrix @ g), why)
        push, (_, pull) = linearize(constraints, v)[1], vjp(constraints, v)
        b = -raw(push(g))
        return cg(lambda w: raw(push(pull(w)[0])), b, None, Measures(domain, b, None, None))


def _lifted(leaf: Any) -> Any:
    return variable(leaf) if hasattr(type(leaf), "__dlpack__") else leaf
