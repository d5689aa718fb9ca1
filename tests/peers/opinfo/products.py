"""PyTorch's products, decompositions and Fourier transforms, in the standard's functions.

A decomposition is determined up to signs and phases. The two libraries are compared on what does
not depend on those: a pair says what each computes instead.
"""

import numpy as np
import torch


class Pair:
    """What PyTorch computes instead of the op, and what agnograd does."""

    def __init__(self, theirs, ours):
        self.theirs, self.ours = theirs, ours


def adjoint(x):
    return x.mH if isinstance(x, torch.Tensor) else x.__array_namespace__().conj(x.mT)


def rebuilt(x, u, s, vh, library):
    """Return the singular values, and a function of vectors that turns with no phase."""
    k = s.shape[-1]
    u, vh = u[..., :, :k], vh[..., :k, :]
    return s, (u * library.sin(s)[..., None, :]) @ vh


def svd_pair(theirs):
    def ours(xp, x, full_matrices=True, some=True):
        return rebuilt(x, *xp.linalg.svd(x, full_matrices=False), xp)

    return Pair(theirs, ours)


def theirs_svd(x, full_matrices=True, some=True):
    return rebuilt(x, *torch.linalg.svd(x, full_matrices=False), torch)


def theirs_eigh(x, UPLO="L"):  # noqa: N803
    w, v = torch.linalg.eigh(x, UPLO=UPLO)
    return w, (v * torch.sin(w)[..., None, :]) @ v.mH


def ours_eigh(xp, x, UPLO="L"):  # noqa: N803
    w, v = xp.linalg.eigh(x if UPLO == "L" else xp.conj(x.mT))
    return w, (v * xp.sin(w)[..., None, :]) @ adjoint(v)


def theirs_eig(x):
    w, v = torch.linalg.eig(x)
    return torch.sum(torch.exp(w), -1), (v * torch.exp(w)[..., None, :]) @ torch.linalg.inv(v)


def ours_eig(xp, x):
    w, v = xp.linalg.eig(x)
    return xp.sum(xp.exp(w), axis=-1), (v * xp.exp(w)[..., None, :]) @ xp.linalg.inv(v)


def theirs_qr(x, *args, **options):
    q, r = torch.linalg.qr(x)
    return q @ torch.sin(torch.abs(r)).to(q.dtype), torch.abs(r)


def ours_qr(xp, x, *args, **options):
    q, r = xp.linalg.qr(x)
    return q @ xp.astype(xp.sin(xp.abs(r)), q.dtype), xp.abs(r)


def addmm(xp, x, a, b, *, beta=1, alpha=1):
    return beta * x + alpha * (a @ b)


def baddbmm(xp, x, a, b, *, beta=1, alpha=1):
    return beta * x + alpha * (a @ b)


def addbmm(xp, x, a, b, *, beta=1, alpha=1):
    return beta * x + alpha * xp.sum(a @ b, axis=0)


def addr(xp, x, a, b, *, beta=1, alpha=1):
    return beta * x + alpha * xp.linalg.outer(a, b)


def cholesky(xp, x, upper=False, check_errors=False):
    return xp.linalg.cholesky(x, upper=upper)


def inverse_of_factor(xp, x, upper=False):
    """Return the inverse of the matrix whose Cholesky factor is given."""
    n = x.shape[-1]
    x = xp.triu(x) if upper else xp.tril(x)
    matrix = adjoint(x) @ x if upper else x @ adjoint(x)
    return xp.linalg.inv(matrix) if n else matrix


def cholesky_solve(xp, x, factor, upper=False):
    return inverse_of_factor(xp, factor, upper) @ x


def cdist(xp, x1, x2, p=2.0, compute_mode=None):
    difference = x1[..., :, None, :] - x2[..., None, :, :]
    return xp.linalg.vector_norm(difference, ord=p, axis=-1)


def pdist(xp, x, p=2.0):
    i, j = np.triu_indices(x.shape[0], 1)
    difference = x[xp.asarray(i)] - x[xp.asarray(j)]
    return xp.linalg.vector_norm(difference, ord=p, axis=-1)


def cross(xp, x, other, *, dim=None):
    if dim is None:
        dim = next(axis for axis, length in enumerate(x.shape) if length == 3)
    return xp.linalg.cross(x, other, axis=dim)


def matrix_norm(xp, x, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    dim = tuple(dim)
    found = xp.linalg.matrix_norm(xp.moveaxis(x, dim, (-2, -1)), ord=ord)
    return xp.expand_dims(found, axis=tuple(sorted(d % x.ndim for d in dim))) if keepdim else found


def linalg_norm(xp, x, ord=None, dim=None, keepdim=False, *, dtype=None):
    dim = tuple(dim) if isinstance(dim, list) else dim
    if dim is None and ord is None:
        return xp.linalg.vector_norm(x, keepdims=keepdim)
    axes = (dim if isinstance(dim, tuple) else (dim,)) if dim is not None else tuple(range(x.ndim))
    if len(axes) == 2 and (ord is not None):
        return matrix_norm(xp, x, ord, axes, keepdim)
    return xp.linalg.vector_norm(x, ord=2 if ord is None else ord, axis=axes, keepdims=keepdim)


def matrix_power(xp, x, n):
    return xp.linalg.matrix_power(x, n)


def pinv(xp, x, rtol=None):
    return xp.linalg.pinv(x, rtol=rtol)


def solve(xp, a, b, *, left=True, check_errors=False):
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and tuple(b.shape) == tuple(a.shape[:-1]))
    if vector:
        return xp.squeeze(xp.linalg.solve(a, b[..., None]), axis=-1)
    if left:
        return xp.linalg.solve(a, b)
    return xp.linalg.solve(a.mT, b.mT).mT


def solve_triangular(xp, a, b, *, upper, left=True, unitriangular=False):
    a = xp.triu(a) if upper else xp.tril(a)
    if unitriangular:
        eye = xp.eye(a.shape[-1], dtype=a.dtype)
        a = a * (1 - eye) + eye
    return solve(xp, a, b, left=left)


def old_triangular(xp, b, a, upper=True, transpose=False, unitriangular=False):
    factor = xp.triu(a) if upper else xp.tril(a)
    if unitriangular:
        eye = xp.eye(a.shape[-1], dtype=a.dtype)
        factor = factor * (1 - eye) + eye
    return xp.linalg.solve(factor.mT if transpose else factor, b), a + 0


def tensordot(xp, a, b, dims=2):
    return xp.tensordot(
        a, b, axes=tuple(map(tuple, dims)) if isinstance(dims, list | tuple) else dims
    )


def vecdot(xp, a, b, *, dim=-1):
    return xp.linalg.vecdot(*xp.broadcast_arrays(a, b), axis=dim)


def vander(xp, x, *, N=None):  # noqa: N803
    x = xp.reshape(x, (1,)) if x.ndim == 0 else x
    n = x.shape[-1] if N is None else N
    return xp.stack([x**k if k else xp.ones_like(x) for k in range(n)], axis=-1)


def einsum(xp, operands, equation):
    return xp.einsum(equation, *operands)


def fft(name, several=False):
    """Return a transform of one axis or of several."""

    def one(xp, x, n=None, dim=-1, norm=None):
        return getattr(xp.fft, name)(x, n=n, axis=dim, norm=norm or "backward")

    def many(xp, x, s=None, dim=None, norm=None):
        dims = None if dim is None else tuple(dim) if isinstance(dim, list | tuple) else (dim,)
        s = None if s is None else tuple(s) if isinstance(s, list | tuple) else (s,)
        return getattr(xp.fft, name)(x, s=s, axes=dims, norm=norm or "backward")

    return many if several else one


def fft2(name):
    many = fft(name, several=True)
    return lambda xp, x, s=None, dim=(-2, -1), norm=None: many(xp, x, s, dim, norm)


def shifted(name):
    def function(xp, x, dim=None):
        dim = tuple(dim) if isinstance(dim, list) else dim
        return getattr(xp.fft, name)(x, axes=dim)

    return function


FUNCTIONS = {
    **{f"fft.{name}": fft(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": fft(name, True) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{f"fft.{name}2": fft2(f"{name}n") for name in ("fft", "ifft", "rfft", "irfft")},
    "fft.fftshift": shifted("fftshift"),
    "fft.ifftshift": shifted("ifftshift"),
    "__rmatmul__": lambda xp, x, other: other @ x,
    "addbmm": addbmm,
    "addmm": addmm,
    "addmm.decomposed": addmm,
    "addmv": addmm,
    "addr": addr,
    "baddbmm": baddbmm,
    "bmm": lambda xp, a, b: a @ b,
    "cdist": cdist,
    "cholesky": cholesky,
    "cholesky_inverse": inverse_of_factor,
    "cholesky_solve": cholesky_solve,
    "cross": cross,
    "dot": lambda xp, a, b: np.dot(a, b),
    "einsum": einsum,
    "inner": lambda xp, a, b: np.inner(a, b),
    "kron": lambda xp, a, b: np.kron(a, b),
    "linalg.cholesky": cholesky,
    "linalg.cholesky_ex": cholesky,
    "linalg.cond": lambda xp, x, p=None: np.linalg.cond(x, p),
    "linalg.cross": lambda xp, a, b, *, dim=-1: xp.linalg.cross(a, b, axis=dim),
    "linalg.det": lambda xp, x: xp.linalg.det(x),
    "linalg.diagonal": lambda xp, x, *, offset=0, dim1=-2, dim2=-1: np.diagonal(
        x, offset, dim1, dim2
    ),
    "linalg.eig": Pair(theirs_eig, ours_eig),
    "linalg.eigh": Pair(theirs_eigh, ours_eigh),
    "linalg.eigvals": Pair(
        lambda x: torch.sum(torch.exp(torch.linalg.eigvals(x)), -1),
        lambda xp, x: xp.sum(xp.exp(xp.linalg.eigvals(x)), axis=-1),
    ),
    "linalg.eigvalsh": lambda xp, x, UPLO="L": xp.linalg.eigvalsh(  # noqa: N803
        x if UPLO == "L" else xp.conj(x.mT)
    ),
    "linalg.inv": lambda xp, x: xp.linalg.inv(x),
    "linalg.inv_ex": lambda xp, x, check_errors=False: xp.linalg.inv(x),
    "linalg.matrix_norm": matrix_norm,
    "linalg.matrix_power": matrix_power,
    "linalg.multi_dot": lambda xp, arrays: np.linalg.multi_dot(arrays),
    "linalg.norm": linalg_norm,
    "linalg.norm.subgradients_at_zero": linalg_norm,
    "linalg.pinv": pinv,
    "linalg.pinv.singular": lambda xp, a, b: xp.linalg.pinv(a @ b.mT),
    "linalg.qr": Pair(theirs_qr, ours_qr),
    "linalg.slogdet": lambda xp, x: tuple(xp.linalg.slogdet(x)),
    "linalg.solve": solve,
    "linalg.solve_ex": solve,
    "linalg.solve_triangular": solve_triangular,
    "linalg.svd": svd_pair(theirs_svd),
    "linalg.svdvals": lambda xp, x: xp.linalg.svdvals(x),
    "linalg.tensorinv": lambda xp, x, ind=2: np.linalg.tensorinv(x, ind),
    "linalg.tensorsolve": lambda xp, a, b, dims=None: np.linalg.tensorsolve(
        a, b, None if dims is None else tuple(dims)
    ),
    "linalg.vander": vander,
    "linalg.vecdot": vecdot,
    "logdet": Pair(
        lambda x: torch.linalg.slogdet(x)[1], lambda xp, x: xp.linalg.slogdet(x).logabsdet
    ),
    "matmul": lambda xp, a, b: a @ b,
    "mm": lambda xp, a, b: a @ b,
    "mv": lambda xp, a, b: a @ b,
    "nn.functional.pdist": pdist,
    "outer": lambda xp, a, b: xp.linalg.outer(a, b),
    "pinverse": pinv,
    "qr": Pair(theirs_qr, ours_qr),
    "svd": svd_pair(theirs_svd),
    "tensordot": tensordot,
    "trace": lambda xp, x: np.trace(x),
    "triangular_solve": old_triangular,
    "vdot": lambda xp, a, b: np.vdot(a, b),
}
