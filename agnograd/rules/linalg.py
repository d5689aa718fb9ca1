"""The linear algebra extension.

Formulas without a source of their own are those of Giles, "An extended collection of matrix
derivative results for forward and reverse mode algorithmic differentiation", Oxford NA-08/01, 2008.
"""

from collections.abc import Callable, Set
from typing import Any

from agnograd.extend import (
    adjoint,
    conjugate_if_complex,
    device_of,
    in_full,
    in_one_row,
    in_stacks,
    is_complex,
    with_rank,
)
from agnograd.rules._extensions import linalg as ops
from agnograd.rules.statistical import evened, products_of_others, scaled

__all__ = ["ops"]

Shape = tuple[int, ...]


def _diagonal_vjp(g: Any, x_shape: Shape, offset: int, xp: Any) -> Any:
    """Place the cotangent on the diagonal of a matrix that is zero elsewhere."""
    rows, columns = x_shape[-2:]
    length, first = g.shape[-1], max(-offset, 0)
    if length == 0:
        return xp.zeros(x_shape, dtype=g.dtype, device=device_of(g))
    row = xp.arange(rows, device=device_of(g))
    column = xp.arange(columns, device=device_of(g))
    spread = xp.take(g, xp.clip(row - first, 0, length - 1), axis=-1)[..., None]
    return xp.where(row[:, None] + offset == column, spread, xp.zeros_like(spread))


def _vector(x: Any, xp: Any) -> Any:
    """Return an array along one axis, as libraries take others than vectors."""
    return x if x.ndim == 1 else xp.reshape(x, (-1,))


def _shaped(g: Any, shape: Shape, xp: Any) -> Any:
    return g if len(shape) == 1 else xp.reshape(g, shape)


def _refuse() -> None:
    raise ValueError(
        "a diagonal is read-only, as in NumPy; write to the matrix, x[i, i] = value for each i, or "
        "to a copy: xp.asarray(diagonal, copy=True)"
    )


def _trace_vjp(g: Any, x_shape: Shape, offset: int, xp: Any) -> Any:
    diagonal = xp.eye(*x_shape[-2:], k=offset, dtype=xp.bool, device=device_of(g))
    g = g[..., None, None]
    return xp.broadcast_to(xp.where(diagonal, g, xp.zeros_like(g)), x_shape)


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
        return xp.linalg.solve_adjoint(x1, g[..., None])[..., 0]
    return xp.linalg.solve_adjoint(x1, g)


def _solve_x1(g: Any, x1: Any, out: Any, x2_shape: Shape, xp: Any) -> Any:
    x2_gradient = _solve_x2(g, x1, x2_shape, xp)
    if len(x2_shape) == 1:
        return -x2_gradient[..., None] * conjugate_if_complex(out, xp)[..., None, :]
    return -(x2_gradient @ adjoint(out, xp))


def _solve_adjoint(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Solve by the adjoints (conjugate transposes) of matrices.

    ``x2`` has shape (..., M, K). A library may have the factors of ``x1`` from before: it then
    brings a kernel.
    """
    return xp.linalg.solve(adjoint(x1, xp), x2)


def _adjoint_x1(g: Any, x1: Any, out: Any, xp: Any) -> Any:
    return -(out @ adjoint(xp.linalg.solve(x1, g), xp))


def _solve_triangle(xp: Any, x1: Any, x2: Any, /, *, lower: bool = True) -> Any:
    """Solve by the lower or the upper triangle of matrices; what is beyond it counts as 0.

    ``x2`` has shape (..., M, K). Libraries with a triangular solve have it as a kernel.
    """
    return xp.linalg.solve(xp.tril(x1) if lower else xp.triu(x1), x2)


def _triangular_x2(g: Any, x1: Any, lower: bool, xp: Any) -> Any:
    return xp.linalg.solve_triangle(adjoint(x1, xp), g, lower=not lower)


def _triangular_x1(g: Any, x1: Any, out: Any, lower: bool, xp: Any) -> Any:
    full = -(_triangular_x2(g, x1, lower, xp) @ adjoint(out, xp))
    return xp.tril(full) if lower else xp.triu(full)


def _products_of_others_than_two(s: Any, xp: Any) -> Any:
    """Return the products of all values but two (0 on the diagonal)."""
    s, powers = evened(s, xp)
    one = xp.ones_like(s[..., :1])
    before = xp.cumulative_prod(xp.concat([one, s[..., :-1]], axis=-1), axis=-1)
    after = xp.cumulative_prod(xp.concat([one, xp.flip(s[..., 1:], axis=-1)], axis=-1), axis=-1)
    after = xp.flip(after, axis=-1)
    # For i < j the product of those between them: in row i, values after i, up to the one at j.
    position = xp.arange(s.shape[-1], device=device_of(s))
    later = position[:, None] < position
    row = xp.where(later, s[..., None, :], 1.0)
    between = xp.cumulative_prod(row, axis=-1)
    between = xp.concat([xp.ones_like(row[..., :1]), between[..., :-1]], axis=-1)
    above = xp.where(later, before[..., :, None] * between * after[..., None, :], 0.0)
    two = powers[..., :, None] + powers[..., None, :]
    total = xp.sum(powers, axis=-1)[..., None, None]
    return scaled(above + xp.matrix_transpose(above), total - two, xp)


def _adjugate(xp: Any, x: Any, /) -> Any:
    """Return the transposed cofactors: det(x) * inv(x), which singular matrices have, too."""
    if x.shape[-1] == 0:
        return x
    u, s, vh = xp.linalg.svd(x)
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    others = products_of_others(s, xp)
    return phase[..., None, None] * (adjoint(vh, xp) * others[..., None, :]) @ adjoint(u, xp)


def _adjugate_vjp(g: Any, x: Any, xp: Any) -> Any:
    """Differentiate the adjugate in the bases of the singular vectors, in which x is diagonal.

    There the product Q of all singular values but i and j says it all: a change E of x changes
    element (i, i) by the sum of Q(i, j) E(j, j), and (i, j) by -Q(i, j) E(i, j). Products are
    smooth, hence right for singular matrices and for repeated singular values.
    """
    if x.shape[-1] == 0:
        return g
    u, s, vh = xp.linalg.svd(x)
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    inner = conjugate_if_complex(phase, xp)[..., None, None] * (vh @ g @ u)
    but_two = _products_of_others_than_two(s, xp)
    traces = xp.vecdot(xp.astype(but_two, inner.dtype), xp.linalg.diagonal(inner)[..., None, :])
    eye = xp.eye(s.shape[-1], dtype=xp.bool, device=device_of(s))
    return u @ xp.where(eye, traces[..., None], -but_two * inner) @ vh


def _det_vjp(g: Any, x: Any, xp: Any) -> Any:
    """Follow Giles, 2.2.4 (Jacobi's formula), with the adjugate for det(x) * inv(x)."""
    return g[..., None, None] * adjoint(xp.linalg.adjugate(x), xp)


def _slogdet_vjp(g: Any, x: Any, out: Any, xp: Any) -> Any:
    """Follow Giles, 2.2.4; a complex sign turns with the imaginary part of trace(inv(x) dx)."""
    (sign, _), (g_sign, g_log) = out, g
    if is_complex(x.dtype, xp):
        g_log = g_log - 1j * xp.imag(xp.conj(g_sign) * sign)
    # A singular matrix has no derivative: NaN, unless nothing is asked of it.
    singular = (sign == 0)[..., None, None]
    eye = xp.eye(x.shape[-1], dtype=x.dtype, device=device_of(x))
    inverse = adjoint(xp.linalg.inv(xp.where(singular, eye, x)), xp)
    g_log = g_log[..., None, None]
    return g_log * xp.where(xp.logical_and(singular, g_log != 0), xp.nan, inverse)


def _pinv_vjp(g: Any, x: Any, out: Any, xp: Any) -> Any:
    """Follow Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least
    squares problems whose variables separate", SIAM J. Numer. Anal. 10, 1973.
    """  # noqa: D205
    inverse, gh = adjoint(out, xp), adjoint(g, xp)
    rows = gh @ out @ inverse
    columns = inverse @ out @ gh
    return rows - x @ (out @ rows) + columns - (columns @ out) @ x - inverse @ g @ inverse


# -- batches ---------------------------------------------------------------------------------------


def _cross_batch(xp: Any, mapped: Set[str], x1: Any, x2: Any, axis: int = -1) -> Any:
    x1, x2 = in_stacks(xp, mapped, (0, 0), x1=x1, x2=x2)
    return xp.linalg.cross(x1, x2, axis=axis + 1 if axis >= 0 else axis)


def _outer_batch(xp: Any, mapped: Set[str], x1: Any, x2: Any) -> Any:
    x1 = in_one_row(xp, x1) if "x1" in mapped else _vector(x1, xp)
    x2 = in_one_row(xp, x2) if "x2" in mapped else _vector(x2, xp)
    return x1[..., None] * x2[..., None, :]


def _solved(solve: Any, xp: Any, mapped: Set[str], x1: Any, x2: Any, **options: Any) -> Any:
    rank1, rank2 = len(x1.shape) - ("x1" in mapped), len(x2.shape) - ("x2" in mapped)
    x2 = x2[..., None] if rank2 == 1 else x2
    if "x1" in mapped or rank1 > 2 or rank2 > 2:
        out = solve(*in_stacks(xp, mapped, (2, 2), x1=x1, x2=x2), **options)
    else:  # one matrix for all, which is factored once: their columns stand side by side
        size, rows, columns = x2.shape
        side = xp.reshape(xp.permute_dims(x2, (1, 0, 2)), (rows, size * columns))
        out = xp.reshape(solve(x1, side, **options), (rows, size, columns))
        out = xp.permute_dims(out, (1, 0, 2))
    return out[..., 0] if rank2 == 1 else out


def _solve_batch(xp: Any, mapped: Set[str], x1: Any, x2: Any) -> Any:
    return _solved(xp.linalg.solve, xp, mapped, x1, x2)


def _solve_adjoint_batch(xp: Any, mapped: Set[str], x1: Any, x2: Any) -> Any:
    return _solved(xp.linalg.solve_adjoint, xp, mapped, x1, x2)


def _solve_triangle_batch(xp: Any, mapped: Set[str], x1: Any, x2: Any, lower: bool = True) -> Any:
    return _solved(xp.linalg.solve_triangle, xp, mapped, x1, x2, lower=lower)


def _rtol_batch(name: str) -> Callable[..., Any]:
    """Return what computes an op of matrices that may have a tolerance for each."""

    def compute(xp: Any, size: int, mapped: Set[str], x: Any, rtol: Any = None) -> Any:
        x = x if "x" in mapped else in_full(xp, size, x)
        if len(x.shape) < 3:
            raise ValueError(f"{name} takes matrices, or stacks of them")
        rtol = with_rank(xp, rtol, len(x.shape) - 3) if "rtol" in mapped else rtol
        return getattr(xp.linalg, name)(x, rtol=rtol)

    return compute


# -- patterns --------------------------------------------------------------------------------------


def _cross_pattern(xp: Any, x1: Any, x2: Any, axis: int = -1) -> Any:
    """Multiply, at each place along the axis, what is at the other two."""
    both = [xp.roll(x, 1, axis=axis) + xp.roll(x, -1, axis=axis) for x in (x1, x2)]
    return both[0] * both[1]


def _solve_pattern(xp: Any, x1: Any, x2: Any) -> Any:
    """Multiply sums of whole matrices and of the columns of right hand sides."""
    right = x2[..., None] if len(x2.shape) == 1 else x2
    sums = xp.sum(x1, axis=(-2, -1), keepdims=True) * xp.sum(right, axis=-2, keepdims=True)
    out = xp.broadcast_to(sums, (*sums.shape[:-2], x1.shape[-1], sums.shape[-1]))
    return out[..., 0] if len(x2.shape) == 1 else out


def _pinv_pattern(xp: Any, x: Any, rtol: Any = None) -> Any:
    *stack, rows, columns = x.shape
    return xp.broadcast_to(xp.sum(x, axis=(-2, -1), keepdims=True), (*stack, columns, rows))


ops.multilinear(
    "linalg.cross(x1, x2, /, *, axis=-1)",
    x1=lambda g, x2, axis, xp: xp.linalg.cross(conjugate_if_complex(x2, xp), g, axis=axis),
    x2=lambda g, x1, axis, xp: xp.linalg.cross(g, conjugate_if_complex(x1, xp), axis=axis),
    batch=_cross_batch,
    pattern=_cross_pattern,
)
ops.linear(
    "linalg.diagonal(x, /, *, offset=0)",
    x=_diagonal_vjp,
    view=_refuse,
    strides=lambda x_strides: (*x_strides[:-2], x_strides[-2] + x_strides[-1]),
    masks=True,
    batch="last",
    pattern="moves",
)
ops.vjp("linalg.inv(x, /)", x=_inv_vjp, batch="last")
ops.vjp("linalg.matrix_power(x, n, /)", x=_power_vjp, options=("n",), batch="last")
ops.multilinear(
    "linalg.outer(x1, x2, /)",
    x1=lambda g, x1_shape, x2, xp: _shaped(
        g @ conjugate_if_complex(_vector(x2, xp), xp), x1_shape, xp
    ),
    x2=lambda g, x1, x2_shape, xp: _shaped(
        conjugate_if_complex(_vector(x1, xp), xp) @ g, x2_shape, xp
    ),
    batch=_outer_batch,
    pattern=lambda xp, x1, x2: _vector(x1, xp)[:, None] * _vector(x2, xp),
)
ops.vjp(
    "linalg.solve(x1, x2, /)",
    x1=_solve_x1,
    x2=_solve_x2,
    batch=_solve_batch,
    pattern=_solve_pattern,
)
ops.vjp(
    "linalg.solve_adjoint(x1, x2, /)",
    x1=_adjoint_x1,
    x2=lambda g, x1, xp: xp.linalg.solve(x1, g),
    forward=_solve_adjoint,
    batch=_solve_adjoint_batch,
)
ops.vjp(
    "linalg.solve_triangle(x1, x2, /, *, lower=True)",
    x1=_triangular_x1,
    x2=_triangular_x2,
    forward=_solve_triangle,
    batch=_solve_triangle_batch,
)
ops.linear(
    "linalg.trace(x, /, *, offset=0, dtype=None)",
    x=_trace_vjp,
    masks=True,
    batch="last",
    pattern=lambda xp, x, offset=0, dtype=None: xp.sum(
        xp.linalg.diagonal(x, offset=offset), axis=-1
    ),
)
ops.vjp("linalg.adjugate(x, /)", x=_adjugate_vjp, forward=_adjugate, batch="last")
ops.vjp("linalg.det(x, /)", x=_det_vjp, batch="last")
ops.vjp("linalg.slogdet(x, /)", x=_slogdet_vjp, outputs="several", batch="last")
ops.vjp(
    "linalg.pinv(x, /, *, rtol=None)",
    x=_pinv_vjp,
    constants=("rtol",),
    batch=_rtol_batch("pinv"),
    pattern=_pinv_pattern,
)
ops.constant(
    "linalg.matrix_rank(x, /, *, rtol=None)", constants=("rtol",), batch=_rtol_batch("matrix_rank")
)
