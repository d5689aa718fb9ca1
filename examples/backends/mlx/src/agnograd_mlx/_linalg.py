"""Linear algebra that MLX lacks, or has in another form."""

from typing import Any, NamedTuple

import mlx.core as mx

__all__ = ["FUNCTIONS", "vecdot"]

Array = mx.array


class Eigh(NamedTuple):
    """Eigenvalues, and the eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class QR(NamedTuple):
    """An orthogonal and a triangular factor."""

    Q: Array
    R: Array


class Slogdet(NamedTuple):
    """The sign, and the logarithm of the size, of a determinant."""

    sign: Array
    logabsdet: Array


class SVD(NamedTuple):
    """Singular vectors and values."""

    U: Array
    S: Array
    Vh: Array


def _eig(x: Array, /) -> Eigh:
    return Eigh(*mx.linalg.eig(x))


def _eigh(x: Array, /) -> Eigh:
    return Eigh(*mx.linalg.eigh(x))


def _qr(x: Array, /, *, mode: str = "reduced") -> QR:
    if mode != "reduced":
        raise NotImplementedError(f"MLX has no QR decomposition with mode={mode!r}")
    return QR(*mx.linalg.qr(x))


def _slogdet(x: Array, /) -> Slogdet:
    return Slogdet(*mx.linalg.slogdet(x))


def _svd(x: Array, /, *, full_matrices: bool = True) -> SVD:
    u, s, vh = mx.linalg.svd(x)
    if not full_matrices:
        count = s.shape[-1]
        u, vh = u[..., :count], vh[..., :count, :]
    return SVD(u, s, vh)


def _svdvals(x: Array, /) -> Array:
    return mx.linalg.svd(x)[1]


def _diagonal(x: Array, /, *, offset: int = 0) -> Array:
    return mx.diagonal(x, offset, -2, -1)


def _trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    found = mx.sum(_diagonal(x, offset=offset), axis=-1)
    return found if dtype is None else found.astype(dtype)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the sum of products along an axis; MLX's own wants arrays of as many axes."""
    return mx.sum(mx.conj(x1) * x2, axis=axis)


def _vector_norm(x: Array, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    size = mx.abs(x)
    if ord == float("inf"):
        return mx.max(size, axis=axis, keepdims=keepdims)
    if ord == -float("inf"):
        return mx.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return mx.sum((size != 0).astype(size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return mx.sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return mx.sqrt(mx.sum(size * size, axis=axis, keepdims=keepdims))
    powers: Array = mx.sum(size**ord, axis=axis, keepdims=keepdims)
    root: Array = powers ** (1.0 / ord)
    return root


def _matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    size = mx.abs(x)
    if ord == "fro":
        return mx.sqrt(mx.sum(size * size, axis=(-2, -1), keepdims=keepdims))
    if ord in (1, -1, float("inf"), -float("inf")):
        axis = -2 if abs(ord) == 1 else -1
        found = mx.sum(size, axis=axis, keepdims=True)
        pick = mx.max if ord > 0 else mx.min
        found = pick(found, axis=-3 - axis, keepdims=True)
    else:
        values = _svdvals(x)
        if ord == "nuc":
            found = mx.sum(values, axis=-1)[..., None, None]
        else:
            found = (mx.max if ord > 0 else mx.min)(values, axis=-1)[..., None, None]
    return found if keepdims else found[..., 0, 0]


def _matrix_power(x: Array, n: int, /) -> Array:
    if n < 0:
        x, n = _inv(x), -n
    out = mx.broadcast_to(mx.eye(x.shape[-1], dtype=x.dtype), x.shape)
    while n:
        if n % 2:
            out = out @ x
        x, n = x @ x, n // 2
    return out


def _matrix_rank(x: Array, /, *, rtol: Any = None) -> Array:
    values = _svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * mx.finfo(values.dtype).eps
    return mx.sum(values > rtol * mx.max(values, axis=-1, keepdims=True), axis=-1)


def _adjoint(x: Array) -> Array:
    return mx.conj(mx.swapaxes(x, -1, -2))


def _pinv(x: Array, /, *, rtol: Any = None) -> Array:
    u, s, vh = _svd(x, full_matrices=False)
    if rtol is None:
        rtol = max(x.shape[-2:]) * mx.finfo(s.dtype).eps
    keep = s > mx.array(rtol)[..., None] * mx.max(s, axis=-1, keepdims=True)
    inverse = mx.where(keep, 1 / mx.where(keep, s, mx.ones_like(s)), mx.zeros_like(s))
    return _adjoint(vh) @ (inverse[..., None] * _adjoint(u))


def _inv(x: Array, /) -> Array:
    return _solve(x, mx.broadcast_to(mx.eye(x.shape[-1], dtype=x.dtype), x.shape))


def _solve(x1: Array, x2: Array, /) -> Array:
    dtype = mx.result_type(x1, x2)
    if x2.ndim == 1:
        return _solve(x1, x2[:, None])[..., 0]
    batch = mx.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    shape = (*batch, *x2.shape[-2:])
    if 0 in shape:  # MLX divides by the length
        return mx.zeros(shape, dtype=dtype)
    x1 = mx.broadcast_to(x1, (*batch, *x1.shape[-2:]))
    x2 = mx.broadcast_to(x2, shape)
    if dtype != mx.complex64:
        return mx.linalg.solve(x1, x2)
    # The real and the imaginary part are the solution of one real system.
    real, imag = mx.real(x1), mx.imag(x1)
    rows = [mx.concatenate(row, axis=-1) for row in ([real, -imag], [imag, real])]
    right = mx.concatenate([mx.real(x2), mx.imag(x2)], axis=-2)
    found = mx.linalg.solve(mx.concatenate(rows, axis=-2), right)
    n = x1.shape[-1]
    return found[..., :n, :] + 1j * found[..., n:, :]


def _cholesky(x: Array, /, *, upper: bool = False) -> Array:
    return mx.linalg.cholesky(x, upper=upper)


FUNCTIONS = {
    "cholesky": _cholesky,
    "diagonal": _diagonal,
    "eig": _eig,
    "eigh": _eigh,
    "inv": _inv,
    "matmul": mx.matmul,
    "matrix_norm": _matrix_norm,
    "matrix_power": _matrix_power,
    "matrix_rank": _matrix_rank,
    "matrix_transpose": mx.matrix_transpose,
    "outer": lambda x1, x2, /: x1[:, None] * x2[None, :],
    "pinv": _pinv,
    "qr": _qr,
    "slogdet": _slogdet,
    "solve": _solve,
    "svd": _svd,
    "svdvals": _svdvals,
    "tensordot": mx.tensordot,
    "trace": _trace,
    "vecdot": vecdot,
    "vector_norm": _vector_norm,
}
