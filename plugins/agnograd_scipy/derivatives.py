"""What SciPy's optimisers and solvers take: functions of NumPy's vectors, with all derivatives."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import agnograd as ag
from agnograd.errors import ArgumentError
from agnograd.extend.arguments import flatten, map_leaves, unflatten
from agnograd_scipy import jacobians
from agnograd_scipy._host import from_host, host_methods, to_host

__all__ = ["Derivatives"]


class Derivatives:
    """A function and its derivatives as SciPy takes them: of NumPy's vectors of float64.

    Whatever array library the function computes with, and whatever pytree its unknowns are,
    SciPy sees vectors: ``value``, ``jac``, ``hess`` and ``hessp`` go where it has arguments of
    these names, or of ``fun``.

    Parameters
    ----------
    f : callable
        ``f(x)`` returns a real array, or a pytree of real arrays; it is made of array functions.
    x0 : array or pytree
        Where SciPy starts. It says of what shape, dtype, backend and device the unknowns are.
    sparse : bool
        Whether ``jac`` of a function of several results and ``hess`` return sparse matrices of
        SciPy. ``ag.sparse_jacobian`` and ``ag.sparse_hessian`` compute them, and find their
        patterns when they are first used: the function must not look at values.
    compile : bool
        Whether the function and its derivatives are compiled by ``ag.compile``; not sparse ones.

    Attributes
    ----------
    x0 : array, shape (unknowns,)
        The start as a NumPy vector.
    is_scalar : bool
        Whether the function returns one real number, as ``minimize`` takes it.

    Raises
    ------
    ArgumentError
        If ``x0`` has parts that are not real floating-point arrays, or ``f`` returns such parts.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.optimize import minimize
    >>> import agnograd as ag
    >>> from agnograd_scipy import Derivatives
    >>> xp = ag.namespace("numpy")
    >>> f = Derivatives(lambda x: xp.sum((x["at"] - 1.0) ** 4), {"at": np.zeros((2, 2))})
    >>> found = minimize(f.value, f.x0, jac=f.jac, hessp=f.hessp, method="trust-ncg")
    >>> f.tree(found.x)["at"].round(1).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(
        self, f: Callable[[Any], Any], x0: Any, *, sparse: bool = False, compile: bool = False
    ) -> None:
        leaves, self._tree = flatten(x0)
        self._f = f
        self._leaves = [_checked(leaf, "x0 has") for leaf in leaves]
        if not leaves:
            raise ArgumentError("Derivatives: x0 has no arrays, and so no unknowns")
        xp = ag.namespace(self._leaves[0])
        with ag.no_grad():
            start = _packed(xp, self._leaves)
            out = flatten(f(self._unpacked(start)))[0]
        for leaf in out:
            _checked(leaf, "the function returns")
        self._like = start.data
        self.x0: Any = to_host(start).astype(float)
        self.is_scalar = len(out) == 1 and not out[0].shape
        maybe: Callable[..., Any] = ag.compile if compile else lambda f: f
        flat, weighted = self._flat, self._weighted
        if sparse:
            jacobian = jacobians.sparse(ag.sparse_jacobian(flat))
            hessian = jacobians.sparse(ag.sparse_hessian(weighted))
        else:
            jacobian, hessian = maybe(ag.jacobian(flat)), maybe(ag.hessian(weighted))
        self._functions: dict[str, Any] = {
            "value": maybe(flat),
            "jac": maybe(ag.grad(flat)) if self.is_scalar else jacobian,
            "hess": hessian,
        }
        if self.is_scalar:
            self._functions["both"] = maybe(ag.value_and_grad(flat))
        self._last: tuple[Any, dict[str, Any]] = (None, {})

    # -- vectors and pytrees -----------------------------------------------------------------------

    def tree(self, x: Any) -> Any:
        """Return a vector, such as SciPy's solution, as ``f`` takes it: raw arrays."""
        unpacked: Any = self._unpacked(ag.Variable(from_host(x, self._like), requires_grad=False))
        return map_leaves(lambda leaf: leaf.data, unpacked)

    def _unpacked(self, v: Any) -> Any:
        xp, start, parts = ag.namespace(v), 0, []
        for leaf in self._leaves:
            size = math.prod(leaf.shape)
            part = xp.reshape(v[start : start + size], leaf.shape)
            parts.append(part if part.dtype == leaf.dtype else xp.astype(part, leaf.dtype))
            start += size
        return unflatten(self._tree, parts)

    def _flat(self, v: Any) -> Any:
        """Return the function's result, a number or a vector, of a vector of the backend."""
        v = v if isinstance(v, ag.Variable) else ag.Variable(v, requires_grad=False)
        out = flatten(self._f(self._unpacked(v)))[0]
        return out[0] if self.is_scalar else _packed(ag.namespace(v), out)

    def _weighted(self, v: Any, weights: Any) -> Any:
        out = self._flat(v)
        return out * weights if self.is_scalar else ag.namespace(v).sum(out * weights)

    @functools.cached_property
    def jac_sparsity(self) -> Any:
        """Which elements of the Jacobian may be other than zero: a sparse matrix of ones.

        It is for ``least_squares(..., jac_sparsity=)`` and others that take differences.
        """
        pattern = ag.sparsity(self._flat, self._like)
        return host_methods().ones(pattern.rows, pattern.columns, pattern.shape)

    # -- what SciPy calls --------------------------------------------------------------------------

    def value(self, x: Any) -> Any:
        """Return the value: a float, or a vector."""
        with ag.no_grad():
            return _given(self._functions["value"](self._vector(x)))

    def jac(self, x: Any) -> Any:
        """Return the gradient of a number, or the Jacobian, which has a row for each result.

        The Jacobian is a CSR array if ``sparse`` was asked for.
        """
        return _given(self._functions["jac"](self._vector(x)))

    def value_and_jac(self, x: Any) -> tuple[Any, Any]:
        """Return the value and the gradient by one pass, for ``minimize(..., jac=True)``."""
        if not self.is_scalar:
            return self.value(x), self.jac(x)
        value, gradient = self._functions["both"](self._vector(x))
        return _given(value), _given(gradient)

    def hess(self, x: Any, v: Any = None) -> Any:
        """Return the Hessian: of a number, or of the results weighted by a vector ``v``.

        It is a CSR array if ``sparse`` was asked for.
        """
        return _given(self._functions["hess"](self._vector(x), self._weights(v)))

    def hessp(self, x: Any, p: Any, v: Any = None) -> Any:
        """Return the product of the Hessian with a vector ``p``, without forming the Hessian.

        For the same ``x`` and ``v`` as in the call before, nothing is recorded again.
        """
        return self.hess_operator(x, v).matvec(p)

    def jac_operator(self, x: Any) -> Any:
        """Return the Jacobian as a ``LinearOperator``, for ``least_squares(..., jac=)`` and others.

        The gradient of a number is one row.
        """
        return self._operator("jac", x, None)

    def hess_operator(self, x: Any, v: Any = None) -> Any:
        """Return the Hessian as a ``LinearOperator``, for ``trust-constr`` and linear solvers."""
        return self._operator("hess", x, v)

    def constraint(self, lb: Any, ub: Any, *, products: bool = False, **options: Any) -> Any:
        """Return the ``NonlinearConstraint`` that results are between bounds, with derivatives.

        Parameters
        ----------
        lb, ub : float or array
            The bounds. They are equal where the constraint is an equation.
        products : bool
            Whether its Hessian is a ``LinearOperator``.
        **options
            Others of ``scipy.optimize.NonlinearConstraint``.
        """
        hess = self.hess_operator if products else self.hess
        if self.is_scalar:  # SciPy gives it a weight all the same
            hess = functools.partial(_of_first, hess)
        return host_methods().NonlinearConstraint(
            self.value, lb, ub, jac=self.jac, hess=hess, **options
        )

    # -- products ----------------------------------------------------------------------------------

    def _operator(self, kind: str, x: Any, v: Any) -> Any:
        """Return an operator, the last one again if the arguments are the same."""
        key = (kind, x.tobytes(), None if v is None else to_host(v).tobytes())
        if self._last[0] != key:
            make = self._jacobian if kind == "jac" else self._hessian
            self._last = key, make(self._vector(x), v)
        return self._last[1]

    def _jacobian(self, at: Any, _: Any) -> Any:
        value, push = ag.linearize(self._flat, at)
        shape = (math.prod(value.shape), at.shape[0])
        pull = functools.cache(lambda: ag.vjp(self._flat, at)[1])  # when it is first needed

        def back(u: Any) -> Any:
            return to_host(pull()(from_host(u.reshape(value.shape), at))[0])

        def forward(p: Any) -> Any:
            return to_host(push(from_host(p.reshape(-1), at))).reshape(-1)

        return host_methods().LinearOperator(shape, matvec=forward, rmatvec=back, dtype=float)

    def _hessian(self, at: Any, v: Any) -> Any:
        weights = self._weights(v)
        pull = ag.vjp(ag.grad(lambda x: self._weighted(x, weights)), at)[1]

        def product(p: Any) -> Any:
            return to_host(pull(from_host(p.reshape(-1), at))[0])

        shape = (at.shape[0], at.shape[0])
        return host_methods().LinearOperator(shape, matvec=product, rmatvec=product, dtype=float)

    def _vector(self, x: Any) -> Any:
        return from_host(x, self._like)

    def _weights(self, v: Any) -> Any:
        if v is not None:
            return from_host(v, self._like)
        if not self.is_scalar:
            raise ArgumentError(
                "Derivatives: the function has several results, and a Hessian for each: give a "
                "weight for each, as hess(x, v)"
            )
        return 1.0


def _checked(leaf: Any, what: str) -> Any:
    """Return an array as a Variable; it raises if it is not one of real numbers."""
    if hasattr(leaf, "dtype"):
        array = ag.asarray(leaf).detach()
        xp = ag.namespace(array)
        if xp.isdtype(array.dtype, "real floating"):
            return array
        raise ArgumentError(
            f"Derivatives: {what} an array of dtype {array.dtype}; SciPy takes real floating-point "
            "numbers"
        )
    raise ArgumentError(f"Derivatives: {what} an object of type {type(leaf).__name__}; use arrays")


def _packed(xp: Any, leaves: Any) -> Any:
    """Return Variables as one vector, of the dtype that they are promoted to."""
    parts = [xp.reshape(leaf, (-1,)) for leaf in leaves]
    return parts[0] if len(parts) == 1 else xp.concat(parts)


def _given(x: Any) -> Any:
    """Return a result as SciPy takes it."""
    if host_methods().issparse(x):
        return x
    found = to_host(x).astype(float)
    return found if found.shape else float(found)


def _of_first(hess: Callable[..., Any], x: Any, v: Any) -> Any:
    return hess(x, v[0])
