"""The linear algebra extension.

Formulas without a source of their own are those of Giles, "An extended collection of matrix
derivative results for forward and reverse mode algorithmic differentiation", Oxford NA-08/01, 2008.
"""

from typing import Any

from agnograd.extend import OpSet, adjoint, conjugate_if_complex, keep_axes

__all__ = ["ops"]

ops = OpSet("linalg", samples="agnograd.rules.samples.linalg")

Shape = tuple[int, ...]


def _diagonal_vjp(g: Any, x_shape: Shape, offset: int, xp: Any) -> Any:
    """Place the cotangent on the diagonal of a matrix that is zero elsewhere."""
    rows, columns = x_shape[-2:]
    length, first = g.shape[-1], max(-offset, 0)
    if length == 0:
        return xp.zeros(x_shape, dtype=g.dtype, device=g.device)
    row = xp.arange(rows, device=g.device)
    column = xp.arange(columns, device=g.device)
    spread = xp.take(g, xp.clip(row - first, 0, length - 1), axis=-1)[..., None]
    return xp.where(row[:, None] + offset == column, spread, xp.zeros_like(spread))


def _trace_vjp(g: Any, x_shape: Shape, offset: int, xp: Any) -> Any:
    ones = xp.eye(*x_shape[-2:], k=offset, dtype=g.dtype, device=g.device)
    return xp.broadcast_to(g[..., None, None] * ones, x_shape)


def _inv_vjp(g: Any, out: Any, xp: Any) -> Any:
    inverse = adjoint(out, xp)
    return -(inverse @ g @ inverse)


def _power_vjp(g: Any, x: Any, n: int, xp: Any) -> Any:
    """Return the sum over the factors, each with the powers that stand left and right of it."""
    base = adjoint(x if n >= 0 else xp.linalg.inv(x), xp)
    total = xp.zeros_like(g)
    for before in range(abs(n)):
        left = xp.linalg.matrix_power(base, before)
        right = xp.linalg.matrix_power(base, abs(n) - 1 - before)
        total = total + left @ g @ right
    return total if n >= 0 else -(base @ total @ base)


def _solve_x2(g: Any, x1: Any, x2_shape: Shape, xp: Any) -> Any:
    if len(x2_shape) == 1:
        return xp.linalg.solve(adjoint(x1, xp), g[..., None])[..., 0]
    return xp.linalg.solve(adjoint(x1, xp), g)


def _solve_x1(g: Any, x1: Any, out: Any, x2_shape: Shape, xp: Any) -> Any:
    x2_gradient = _solve_x2(g, x1, x2_shape, xp)
    if len(x2_shape) == 1:
        return -x2_gradient[..., None] * conjugate_if_complex(out, xp)[..., None, :]
    return -(x2_gradient @ adjoint(out, xp))


def _vector_norm_vjp(
    g: Any, x: Any, out: Any, x_shape: Shape, axis: Any, ord: float, xp: Any
) -> Any:
    """Differentiate the norm of each vector; at its zeros the gradient is 0."""
    g, out = keep_axes(g, x_shape, axis, xp), keep_axes(out, x_shape, axis, xp)
    divisor = xp.where(out == 0, xp.ones_like(out), out)
    if ord == 2:
        return g / divisor * x
    size = xp.abs(x)
    direction = x / xp.where(size == 0, xp.ones_like(size), size)
    if ord == 0:
        return xp.zeros_like(x)
    if ord == 1:
        return g * direction
    if abs(ord) == float("inf"):  # ties share equally, as in max and min
        ties = xp.astype(size == out, g.dtype)
        return g * ties / xp.sum(ties, axis=axis, keepdims=True) * direction
    return g * (size / divisor) ** (ord - 1) * direction


ops.multilinear(
    "linalg.cross(x1, x2, /, *, axis=-1)",
    x1=lambda g, x2, axis, xp: xp.linalg.cross(conjugate_if_complex(x2, xp), g, axis=axis),
    x2=lambda g, x1, axis, xp: xp.linalg.cross(g, conjugate_if_complex(x1, xp), axis=axis),
)
ops.linear("linalg.diagonal(x, /, *, offset=0)", x=_diagonal_vjp)
ops.vjp("linalg.inv(x, /)", x=_inv_vjp)
ops.vjp("linalg.matrix_power(x, n, /)", x=_power_vjp, options=("n",))
ops.multilinear(
    "linalg.outer(x1, x2, /)",
    x1=lambda g, x2, xp: g @ conjugate_if_complex(x2, xp),
    x2=lambda g, x1, xp: conjugate_if_complex(x1, xp) @ g,
)
ops.vjp("linalg.solve(x1, x2, /)", x1=_solve_x1, x2=_solve_x2)
ops.linear("linalg.trace(x, /, *, offset=0, dtype=None)", x=_trace_vjp)
ops.vjp("linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)", x=_vector_norm_vjp)
ops.missing(
    "linalg.cholesky(x, /, *, upper=False)",
    "linalg.det(x, /)",
    "linalg.eigvals(x, /)",
    "linalg.eigvalsh(x, /)",
    'linalg.matrix_norm(x, /, *, keepdims=False, ord="fro")',
    "linalg.svdvals(x, /)",
)
ops.missing(
    "linalg.eig(x, /)",
    "linalg.eigh(x, /)",
    'linalg.qr(x, /, *, mode="reduced")',
    "linalg.slogdet(x, /)",
    "linalg.svd(x, /, *, full_matrices=True)",
    outputs="several",
)
ops.missing("linalg.pinv(x, /, *, rtol=None)", constants=("rtol",))
ops.constant("linalg.matrix_rank(x, /, *, rtol=None)", constants=("rtol",))
