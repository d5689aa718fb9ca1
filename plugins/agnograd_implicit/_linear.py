"""The linear systems of implicit derivatives, as ops that have derivatives themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

from agnograd import Function, Variable, jacobian, jvp, linearize, sparse_jacobian, vjp
from agnograd.errors import RuleError, SolverError
from agnograd.extend import is_tracked
from agnograd.extend.members import each_member, same_for_all
from agnograd.extend.transforms import apart, at_no_level, domain_of
from agnograd_implicit._krylov import Measures, cg, gmres
from agnograd_implicit._vectors import functions_of, raw, variable

__all__ = [
    "METHODS",
    "LinearSolve",
    "Operator",
    "Solve",
    "System",
    "pulled",
    "pushed",
    "solved_by_matrix",
]

METHODS = {"cg": cg, "gmres": gmres}


class Solve(NamedTuple):
    """How linear systems are solved: what ``implicit`` was given.

    ``preconditioner`` takes vectors, and the arrays after the unknowns.
    """

    method: Any
    preconditioner: Callable[..., Any] | None
    rtol: float | None
    maxiter: int | None


class System:
    """The matrix of the derivative of ``f(v, *arrays)`` by a vector, or its transpose.

    Both have one memory, of what is computed of them once: it is of one solution.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        solve: Solve,
        transposed: bool = False,
        memory: dict[str, Any] | None = None,
    ) -> None:
        self.f, self.solve, self.transposed = f, solve, transposed
        self.memory: dict[str, Any] = {} if memory is None else memory

    @cached_property
    def flipped(self) -> System:
        """The system of the transposed matrix."""
        return System(self.f, self.solve, not self.transposed, self.memory)

    def product(self, w: Any, v: Any, *arrays: Any) -> Any:
        """Return the product of the matrix with a vector."""
        f = lambda v: self.f(v, *arrays)  # noqa: E731
        return vjp(f, v)[1](w)[0] if self.transposed else jvp(f, v, w)[1]

    def solved(self, b: Any, v: Any, *arrays: Any) -> Any:
        """Return what the matrix maps to ``b``: raw if all arrays are raw, else a Variable."""
        out = LinearSolve(self, list(map(is_tracked, (v, *arrays))))(b, v, *arrays)
        return out if any(isinstance(x, Variable) for x in (b, v, *arrays)) else raw(out)

    # -- on raw arrays -----------------------------------------------------------------------------

    def dense(self, b: Any, v: Any, *arrays: Any) -> Any:
        """Solve by the matrix itself."""
        matrix = self._matrix(v, *arrays)
        xp = functions_of([matrix, b])
        matrix = xp.matrix_transpose(matrix) if self.transposed else matrix
        why = (
            "the Jacobian of the equation is singular at the solution, which therefore has no "
            "derivative by the implicit function theorem"
        )
        return solved_by_matrix(xp, matrix, b, why)

    def _matrix(self, v: Any, *arrays: Any) -> Any:
        """Return the Jacobian, which is computed once if it is the same in every run."""
        same = [same_for_all(x) for x in (v, *arrays)]
        if any(x is None for x in same):
            return self._jacobian(v, *arrays)
        if "matrix" not in self.memory:
            self.memory["matrix"] = at_no_level(self._jacobian, *same)
        return self.memory["matrix"]

    def _jacobian(self, v: Any, *arrays: Any) -> Any:
        return raw(jacobian(lambda v: self.f(v, *arrays))(v))

    def by_products(self, b: Any, v: Any, *arrays: Any) -> Any:
        """Solve by a method that takes products of the matrix only."""
        domain, operator = domain_of(b), Operator(self, v, arrays)
        name = self.solve.method
        if not isinstance(name, str):
            return self._by_function(operator, b, name)
        measures = Measures(domain, b, self.solve.rtol, self.solve.maxiter)
        if not measures.scale < float("inf"):
            return b * float("nan")  # as the dense solution would be
        precondition = self._preconditioner(v, arrays)
        found: Any = METHODS[name](operator.matvec, b, precondition, measures)
        return found

    def _by_function(self, operator: Operator, b: Any, solve: Any) -> Any:
        domain = domain_of(b)
        found: Any = raw(solve(operator, b))
        fits = isinstance(found, domain.array_types)
        shape = tuple(found.shape) if fits else None
        if shape != tuple(b.shape):
            what = f"one of shape {shape}" if fits else f"an object of type {type(found).__name__}"
            raise RuleError(
                f"the function solve returned {what}; it must return an array of backend "
                f"{domain.backend.name!r} of the shape of b, {tuple(b.shape)}"
            )
        return found if found.dtype == b.dtype else domain.raw.astype(found, b.dtype)

    def _preconditioner(self, v: Any, arrays: Sequence[Any]) -> Callable[[Any], Any] | None:
        given: Any = self.solve.preconditioner
        if given is None:
            return None

        def apply(w: Any) -> Any:
            return given(w, v, *arrays)

        if not self.transposed:
            return lambda w: raw(apply(w))
        _, pull = vjp(apply, v * 0.0)  # it is linear: its pullback is the transpose, anywhere
        return lambda w: raw(pull(w)[0])


def solved_by_matrix(xp: Any, matrix: Any, b: Any, why: str) -> Any:
    """Solve a system; ``why`` begins the message if the library finds its matrix singular."""
    try:
        return xp.linalg.solve(matrix, b)
    except Exception as error:
        if "LinAlgError" not in type(error).__name__:  # NumPy's name, and PyTorch's
            raise
        raise SolverError(f"{why}: {error}") from error


class Operator:
    """A square matrix of which only products are known; SciPy takes it for a ``LinearOperator``.

    Attributes
    ----------
    shape : tuple
        The numbers of rows and columns.
    dtype : dtype
        The dtype of the vectors, a real one.
    """

    def __init__(self, system: System, v: Any, arrays: Sequence[Any]) -> None:
        self.shape, self.dtype = (v.shape[0], v.shape[0]), v.dtype
        self._f, self._v = (lambda v: system.f(v, *arrays)), v
        self._transposed = system.transposed

    @cached_property
    def _push(self) -> Callable[[Any], Any]:
        return linearize(self._f, self._v)[1]

    @cached_property
    def _pull(self) -> Callable[[Any], Any]:
        pull = vjp(self._f, self._v)[1]
        return lambda w: pull(w)[0]

    def matvec(self, v: Any) -> Any:
        """Return the product with a vector."""
        return raw(self._pull(v) if self._transposed else self._push(v))

    def rmatvec(self, v: Any) -> Any:
        """Return the product of the transposed matrix with a vector."""
        return raw(self._push(v) if self._transposed else self._pull(v))

    def coordinates(self, pattern: Any = None) -> Any:
        """Return the matrix as ``sparse_jacobian`` does: its values, rows, columns and shape.

        Parameters
        ----------
        pattern : Sparsity, sparse matrix of SciPy or array, optional
            That of the Jacobian of the equation, not transposed, if it is known. Without it, it
            is searched for at the solution.
        """
        derivative = sparse_jacobian(self._f, pattern=pattern, mode="local")
        found = derivative(variable(self._v))
        found = found._replace(values=raw(found.values))
        if not self._transposed:
            return found
        rows, columns, shape = found.columns, found.rows, found.shape[::-1]
        return found._replace(rows=rows, columns=columns, shape=shape)


class LinearSolve(Function, constant_attributes=True, lifts=True, records_below=True):
    """The solution of a linear system, by its right hand side and what the matrix is made of."""

    def __init__(self, system: System, needed: Sequence[bool]) -> None:
        self.system, self.needed = system, needed

    def forward(self, xp: Any, b: Any, v: Any, *arrays: Any) -> Any:
        """Return the solution."""
        system, values = self.system, (b, v, *arrays)
        if not v.shape[0]:
            out = b
        elif system.solve.method == "dense":
            out = system.dense(*values)
        else:
            (out,) = each_member(lambda *values: (system.solved(*values),), values, self._apart)
        self.save(out, v, *arrays)
        return out

    def _apart(self, *values: Any) -> tuple[Any]:
        return (apart(self.system.by_products, *values),)

    def backward(self, xp: Any, g: Any) -> Any:
        """Return the gradients: of ``b`` by the transposed system."""
        w, v, *arrays = self.saved
        system = self.system
        u = system.flipped.solved(g, v, *arrays)
        product = partial(system.product, w)
        found = pulled(product, (v, *arrays), self.needed, -u)
        return tuple(raw(x) if not isinstance(g, Variable) else x for x in (u, *found))


def pulled(
    f: Callable[..., Any], values: Sequence[Any], needed: Sequence[bool], cotangent: Any
) -> list[Any]:
    """Return the gradients of those values of which they are needed, and None for the others."""
    places = [place for place, one in enumerate(needed) if one]
    if not places:
        return [None] * len(values)
    of_needed, given = _of_some(f, values, places)
    found = dict(zip(places, vjp(of_needed, *given)[1](cotangent), strict=True))
    return [found.get(place) for place in range(len(values))]


def pushed(f: Callable[..., Any], values: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the raw derivative along tangents of those values that have one, of which one has."""
    places = [place for place, tangent in enumerate(tangents) if tangent is not None]
    of_some, given = _of_some(f, values, places)
    return raw(jvp(of_some, given, tuple(tangents[place] for place in places))[1])


def _of_some(
    f: Callable[..., Any], values: Sequence[Any], places: Sequence[int]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function of the values at places only, and these."""

    def of_some(*given: Any) -> Any:
        known = dict(zip(places, given, strict=True))
        return f(*[known.get(place, x) for place, x in enumerate(values)])

    return of_some, tuple(values[place] for place in places)
