"""Calls of NumPy's functions on sample arrays, by the function's name."""

import warnings

import numpy as np

A = np.asarray([[0.7, -1.3, 2.1], [1.9, 0.4, -0.6]])
B = np.asarray([[1.1, 0.8, -0.5], [0.3, -1.7, 2.4]])
V = np.asarray([0.9, -0.4, 1.6, 0.2])
W = np.asarray([1.5, 0.6, -2.2])
S = np.asarray(0.8)
C = np.asarray([[0.7 + 0.2j, -1.3 - 0.4j], [1.9 + 1.1j, 0.4 - 0.9j]])
Z = np.asarray([0.5 - 1.2j, 1.4 + 0.3j, -0.8 + 0.7j])
N = np.asarray([[0.7, np.nan, 2.1], [1.9, 0.4, -0.6]])
M = np.asarray([[4.1, 0.9, 0.2], [0.7, 3.2, -0.5], [0.1, 0.6, 2.7]])
H = M @ M.T
T = np.linspace(0.3, 2.0, 24).reshape(2, 3, 4) * np.where(np.arange(24) % 3 == 0, -1, 1).reshape(
    2, 3, 4
)
I = np.asarray([2, 0, 1])  # noqa: E741 - indices
J = np.asarray([[1, 0, 2], [0, 2, 1]])
K = np.asarray([[True, False, True], [False, True, True]])
KNOTS = np.asarray([-2.0, -0.5, 1.0, 2.5])
POSITIVE = np.abs(A) + 0.3


def after(write):
    """Return a function of arrays that writes to a copy of the first one, and returns it."""

    def call(a, *rest):
        copied = np.copy(a)
        assert write(copied, *rest) is None
        return copied

    return call


def deprecated(function):
    """Return the function without the warning that later versions of NumPy give of it."""

    def call(*arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return function(*arguments)

    return call


# Each is a function of arrays, and the arrays; of NumPy's and of Variables alike.
CALLS = {
    "all": [(lambda a: np.all(a, axis=0), K), (lambda a: np.all(a), A)],
    "allclose": [(lambda a: np.allclose(a, a + 1e-9), A), (lambda a: np.allclose(a, 1.0), A)],
    "amax": [(lambda a: np.amax(a, axis=1), A)],
    "amin": [(lambda a: np.amin(a, axis=0, keepdims=True), A)],
    "angle": [(np.angle, C), (lambda a: np.angle(a, deg=True), Z)],
    "any": [(lambda a: np.any(a, axis=1), K), (lambda a, k: np.any(a > 2, where=k), A, K)],
    "append": [(lambda a, b: np.append(a, b, axis=0), A, B), (np.append, A, V)],
    "apply_along_axis": [
        (lambda a: np.apply_along_axis(lambda r: np.sum(r * r), 1, a), A),
        (lambda a: np.apply_along_axis(np.cumsum, 0, a), A),
        (lambda a: np.apply_along_axis(lambda r: np.outer(r, r), 1, a), T),
    ],
    "apply_over_axes": [(lambda a: np.apply_over_axes(np.sum, a, [0, 2]), T)],
    "argmax": [(lambda a: np.argmax(a, axis=1), A), (np.argmax, A)],
    "argmin": [(lambda a: np.argmin(a, axis=0, keepdims=True), A)],
    "argpartition": [(lambda a: np.argpartition(a, [0, 1, 2, 3])[1], V)],
    "argsort": [(lambda a: np.argsort(a, axis=0), A), (lambda a: np.argsort(a, axis=None), A)],
    "argwhere": [(lambda a: np.argwhere(a > 0.5), A)],
    "around": [(lambda a: np.around(a * 10, 1), A)],
    "array_equal": [(lambda a: np.array_equal(a, a), A), (lambda a, b: np.array_equal(a, b), A, V)],
    "array_equiv": [(lambda a: np.array_equiv(a, np.broadcast_to(a, (2, 4))), V)],
    "array_split": [(lambda a: np.array_split(a, 3), V), (lambda a: np.array_split(a, 2, 1), A)],
    "astype": [(lambda a: np.astype(a, np.float32), A)],
    "atleast_1d": [(np.atleast_1d, S), (lambda a, b: np.atleast_1d(a, b), S, V)],
    "atleast_2d": [(np.atleast_2d, V), (np.atleast_2d, S)],
    "atleast_3d": [(np.atleast_3d, S), (np.atleast_3d, V), (np.atleast_3d, A)],
    "average": [
        (np.average, A),
        (lambda a, w: np.average(a, axis=1, weights=w), A, np.abs(W)),
        (lambda a, w: np.average(a, weights=w, returned=True), A, np.abs(B)),
        (lambda a, w: np.average(a, axis=(2, 0), weights=w, keepdims=True), T, np.abs(T[:, 0].T)),
    ],
    "bincount": [
        (lambda i: np.bincount(i, minlength=5), I),
        (lambda w: np.bincount([2, 0, 2], weights=w), W),
    ],
    "block": [
        (lambda a, b: np.block([[a, b], [b, 2.0 * a]]), A, B),
        (lambda v: np.block([v, v]), V),
    ],
    "broadcast_arrays": [(np.broadcast_arrays, A, W)],
    "broadcast_to": [(lambda a: np.broadcast_to(a, (2, 3)), W)],
    "can_cast": [
        (lambda a: np.can_cast(a, np.complex128), A),
        (lambda a: np.can_cast(a, "int32"), A),
    ],
    "choose": [
        (lambda a, b: np.choose([1, 0, 1], [a, b]), W, V[:3]),
        (lambda a, b: np.choose([7, 0, -1], [a, b], mode="clip"), W, V[:3]),
        (lambda a, b: np.choose([7, 0, -1], [a, b], mode="wrap"), W, V[:3]),
    ],
    "clip": [
        (lambda a: np.clip(a, -1.0, 1.0), A),
        (lambda a, b: np.clip(a, None, b), A, W),
        (lambda a, b: np.clip(a, min=b), A, B),
        (lambda a, b: np.clip(a, np.flip(b), b), W, V[:3]),
    ],
    "column_stack": [(lambda a, b: np.column_stack([a, b, b]), np.asarray([0.2, 0.4]), A)],
    "common_type": [(lambda a: np.astype(a, np.common_type(a)), A.astype(np.float32))],
    "compress": [
        (lambda a: np.compress([False, True, True], a, axis=1), A),
        (lambda a: np.compress([True, False, True], a), A),
    ],
    "concat": [(lambda a, b: np.concat([a, b]), A, B)],
    "concatenate": [
        (lambda a, b: np.concatenate([a, b], axis=1), A, B),
        (lambda a, b: np.concatenate([a, [1.0, 2.0], b], axis=None), A, V),
        (lambda a: np.concatenate(a), T),
        (lambda a, b: np.concatenate((a, b), dtype=np.float32), A, B),
    ],
    "convolve": [
        (lambda a, v, mode=mode: np.convolve(a, v, mode), *pair)
        for mode in ("full", "same", "valid")
        for pair in ((V, W), (W, V), (V, W[:2]), (Z, W[:2]))
    ],
    "copy": [(np.copy, A)],
    "copyto": [
        (after(np.copyto), A, B),
        (after(lambda c, w, k: np.copyto(c, w, where=k)), A, W, K),
    ],
    "corrcoef": [(np.corrcoef, A), (lambda a, b: np.corrcoef(a, b, rowvar=False), A, B)],
    "correlate": [
        (lambda a, v, mode=mode: np.correlate(a, v, mode), *pair)
        for mode in ("full", "same", "valid")
        for pair in ((V, W), (W, V), (W[:2], V), (Z, Z[:2]), (Z[:2], Z))
    ],
    "count_nonzero": [(lambda a: np.count_nonzero(a, axis=1), K), (np.count_nonzero, A)],
    "cov": [
        (np.cov, A),
        (np.cov, V),
        (lambda a, b: np.cov(a, b, bias=True), A, B),
        (lambda a: np.cov(a, rowvar=False, ddof=0), A),
        (lambda a, w: np.cov(a, fweights=[1, 2, 1], aweights=w), A, np.abs(W)),
        (np.cov, C),
    ],
    "cross": [
        (np.cross, A, B),
        (np.cross, A, W),
        (lambda a, b: np.cross(a, b, axisa=0, axisb=1, axisc=0), A.T, B),
        (lambda a, b: np.cross(a, b, axis=0), A.T, B.T),
    ],
    "cumprod": [(np.cumprod, A), (lambda a: np.cumprod(a, axis=1), A)],
    "cumsum": [(np.cumsum, A), (lambda a: np.cumsum(a, axis=0), A), (np.cumsum, K)],
    "cumulative_prod": [(lambda a: np.cumulative_prod(a, axis=0), A)],
    "cumulative_sum": [(lambda a: np.cumulative_sum(a, axis=1, include_initial=True), A)],
    "delete": [
        (lambda a: np.delete(a, 1, axis=1), A),
        (lambda a: np.delete(a, [0, 2], axis=1), A),
        (lambda a: np.delete(a, slice(0, 2)), A),
        (lambda a: np.delete(a, [True, False, True, False]), V),
    ],
    "diag": [(np.diag, V), (lambda a: np.diag(a, k=-1), V), (lambda a: np.diag(a, k=1), A)],
    "diag_indices_from": [(np.diag_indices_from, M)],
    "diagflat": [(lambda a: np.diagflat(a, k=1), A)],
    "diagonal": [
        (lambda a: np.diagonal(a, offset=1), A),
        (lambda a: np.diagonal(a, axis1=2, axis2=0), T),
    ],
    "diff": [
        (np.diff, A),
        (lambda a: np.diff(a, n=2, axis=1), A),
        (lambda a: np.diff(a, prepend=0.0, append=1), V),
        (lambda a, b: np.diff(a, axis=0, prepend=b), A, W[None]),
    ],
    "digitize": [
        (np.digitize, A, KNOTS),
        (lambda a, b: np.digitize(a, b, right=True), A, KNOTS[::-1].copy()),
    ],
    "dot": [
        (np.dot, V, V),
        (np.dot, A, W),
        (np.dot, A, M),
        (np.dot, S, A),
        (np.dot, A, T[0]),
        (np.dot, T, np.moveaxis(T, 1, 2)),
    ],
    "dsplit": [(lambda a: np.dsplit(a, 2), T)],
    "dstack": [
        (lambda a, b: np.dstack([a, b]), V, V[::-1].copy()),
        (lambda a, b: np.dstack((a, b)), A, B),
    ],
    "ediff1d": [(np.ediff1d, A), (lambda a, b: np.ediff1d(a, to_begin=b, to_end=[1.0]), V, W)],
    "einsum": [
        (lambda a, b: np.einsum("ij,ij->i", a, b), A, B),
        (lambda a: np.einsum("ii", a), M),
        (lambda a, b: np.einsum("ij,kj", a, b, optimize=True), A, B),
        (lambda a, b: np.einsum(a, [0, 1], b, [0, 1], [0]), A, B),
        (lambda a, b: np.einsum(a, [3, 1], b, [0, 1]), A, B),
        (lambda a: np.einsum(a, [0, 0]), M),
        (lambda a, t: np.einsum(a, [0, 1], t, [0, 1, ...], [1, ...]), A, T),
        (lambda a, b: np.einsum(a, (30, 1), b, (2, 1)), A, B),
    ],
    "empty_like": [(lambda a: np.empty_like(a).shape, A)],
    "expand_dims": [(lambda a: np.expand_dims(a, (0, 2)), A), (lambda a: np.expand_dims(a, -1), V)],
    "extract": [(lambda a: np.extract(a > 0.5, a), A)],
    "fft.fft": [(np.fft.fft, V), (lambda a: np.fft.fft(a, n=6, norm="ortho"), Z)],
    "fft.fft2": [(np.fft.fft2, A)],
    "fft.fftn": [
        (lambda a: np.fft.fftn(a, s=(4,), axes=(0,)), C),
        (lambda a: np.fft.fftn(a, s=(-1, 2), axes=(0, 1)), A),
        (np.fft.fftn, T),
    ],
    "fft.fftshift": [(np.fft.fftshift, A), (lambda a: np.fft.fftshift(a, axes=[0]), A)],
    "fft.hfft": [(np.fft.hfft, Z)],
    "fft.ifft": [(np.fft.ifft, Z)],
    "fft.ifft2": [(np.fft.ifft2, C)],
    "fft.ifftn": [(np.fft.ifftn, C)],
    "fft.ifftshift": [(np.fft.ifftshift, V)],
    "fft.ihfft": [(np.fft.ihfft, V)],
    "fft.irfft": [(lambda a: np.fft.irfft(a, n=5), Z)],
    "fft.irfft2": [(np.fft.irfft2, C)],
    "fft.irfftn": [(np.fft.irfftn, C)],
    "fft.rfft": [(np.fft.rfft, V), (np.fft.rfft, A)],
    "fft.rfft2": [(np.fft.rfft2, A)],
    "fft.rfftn": [(np.fft.rfftn, T)],
    "fill_diagonal": [
        (after(lambda c: np.fill_diagonal(c, 5.0)), M),
        (after(np.fill_diagonal), A, W[:2]),
        (after(lambda c: np.fill_diagonal(c, 5.0, wrap=True)), np.ones((7, 2))),
        (after(lambda c: np.fill_diagonal(c, 5.0)), np.ones((2, 2, 2))),
    ],
    "fix": [(deprecated(np.fix), A * 3)],
    "flatnonzero": [(lambda a: np.flatnonzero(a > 0), A)],
    "flip": [(np.flip, A), (lambda a: np.flip(a, 1), A)],
    "fliplr": [(np.fliplr, A)],
    "flipud": [(np.flipud, A)],
    "full_like": [(lambda a: np.full_like(a, 3), A), (lambda a, s: np.full_like(a, s), A, S)],
    "geomspace": [(lambda a, b: np.geomspace(a, b, 5), np.asarray(2.0), np.asarray(9.0))],
    "gradient": [
        (np.gradient, V),
        (np.gradient, T),
        (lambda a: np.gradient(a, 0.5, axis=1), A),
        (lambda a, x: np.gradient(a, x), V, KNOTS),
        (lambda a, x: np.gradient(a, x, edge_order=2), V, KNOTS),
    ],
    "histogram": [
        (lambda a: np.histogram(a, bins=3)[0], A),
        (lambda a: np.histogram(a, bins=[-2.0, 0.0, 1.0, 2.1]), A),
        (
            lambda w: np.histogram([0.1, 0.2, 0.9], bins=2, range=(0, 1), weights=w, density=True),
            np.abs(W),
        ),
    ],
    "histogram_bin_edges": [(lambda a: np.histogram_bin_edges(a, bins=3), V)],
    "hsplit": [(lambda a: np.hsplit(a, [1, 2]), A)],
    "hstack": [(lambda a, b: np.hstack([a, b]), A, B), (lambda a, b: np.hstack((a, b)), V, W)],
    "i0": [(np.i0, A)],
    "imag": [(np.imag, C), (np.imag, A)],
    "inner": [(np.inner, V, V), (np.inner, A, B), (np.inner, S, A)],
    "insert": [
        (lambda a, b: np.insert(a, 1, b, axis=1), A, np.asarray([0.3, 0.4])),
        (lambda a: np.insert(a, [0, 2], 5.0), V),
        (lambda a, b: np.insert(a, 2, b), V, W),
        (lambda a, b: np.insert(a, [1, 1, 3], b), V, W),
        (lambda a, b: np.insert(a, [1], b, axis=0), A, B),
        (lambda a: np.insert(a, -1, 5.0), V),
    ],
    "interp": [
        (lambda x, p, f: np.interp(x, p, f), A, KNOTS, V),
        (lambda x, p, f: np.interp(x * 3, p, f, left=0.5, right=2.0), A, KNOTS, V),
        (lambda x, p, f: np.interp(x=x * 3, xp=p, fp=f, period=5.0), A, KNOTS, V),
    ],
    "intersect1d": [(lambda a, b: np.intersect1d(a, b), I, np.asarray([1, 2, 5]))],
    "isclose": [
        (lambda a: np.isclose(a, [0.7, -1.3, 2.0]), A),
        (lambda a: np.isclose(a, a, equal_nan=True), N),
    ],
    "iscomplex": [(np.iscomplex, C), (np.iscomplex, A)],
    "iscomplexobj": [(np.iscomplexobj, C), (np.iscomplexobj, A)],
    "isin": [(lambda a: np.isin(a, [0.4, 2.1]), A), (lambda i: np.isin(i, [0, 5], invert=True), I)],
    "isneginf": [(np.isneginf, np.asarray([-np.inf, 1.0, np.inf]))],
    "isposinf": [(np.isposinf, np.asarray([-np.inf, 1.0, np.inf]))],
    "isreal": [(np.isreal, C), (np.isreal, A)],
    "isrealobj": [(np.isrealobj, C), (np.isrealobj, A)],
    "ix_": [(lambda i: np.ix_(i, [0, 1]), I)],
    "kron": [(np.kron, A, B), (np.kron, V, A), (np.kron, S, A)],
    "lexsort": [(lambda a, b: np.lexsort((a, b)), V, np.asarray([1.0, 0.0, 1.0, 0.0]))],
    "linalg.cholesky": [
        (np.linalg.cholesky, H),
        (lambda a: np.linalg.cholesky(a, upper=True), M),
    ],
    "linalg.cond": [
        (np.linalg.cond, M),
        (lambda a: np.linalg.cond(a, 1), M),
        (lambda a: np.linalg.cond(a, -2), M),
    ],
    "linalg.cross": [(np.linalg.cross, A, B)],
    "linalg.det": [(np.linalg.det, M)],
    "linalg.diagonal": [(lambda a: np.linalg.diagonal(a, offset=1), T)],
    "linalg.eig": [(lambda a: np.linalg.eig(a).eigenvalues, M)],
    "linalg.eigh": [
        (lambda a: np.linalg.eigh(a).eigenvalues, H),
        (lambda a: np.linalg.eigh(a, "U")[0], M),
    ],
    "linalg.eigvals": [(np.linalg.eigvals, M)],
    "linalg.eigvalsh": [(np.linalg.eigvalsh, M), (lambda a: np.linalg.eigvalsh(a, UPLO="U"), M)],
    "linalg.inv": [(np.linalg.inv, M)],
    "linalg.lstsq": [
        (lambda a, b: np.linalg.lstsq(a, b), M[:, :2], W),
        (lambda a, b: np.linalg.lstsq(a, b)[:2], M, H),
    ],
    "linalg.matmul": [(np.linalg.matmul, A, M)],
    "linalg.matrix_norm": [(lambda a: np.linalg.matrix_norm(a, ord="nuc"), M)],
    "linalg.matrix_power": [
        (lambda a: np.linalg.matrix_power(a, 3), M),
        (lambda a: np.linalg.matrix_power(a, -2), M),
    ],
    "linalg.matrix_rank": [
        (np.linalg.matrix_rank, M),
        (lambda a: np.linalg.matrix_rank(a, tol=3.0), M),
        (lambda a: np.linalg.matrix_rank(a, hermitian=True), np.tril(np.ones((3, 3)))),
    ],
    "linalg.matrix_transpose": [(np.linalg.matrix_transpose, T)],
    "linalg.multi_dot": [
        (lambda a, b, c: np.linalg.multi_dot([a, b, c]), A, M, W),
        (lambda a, b: np.linalg.multi_dot([a, b]), A, M),
    ],
    "linalg.norm": [
        (np.linalg.norm, A),
        (lambda a: np.linalg.norm(a, 1, axis=1), A),
        (lambda a: np.linalg.norm(a, axis=0, keepdims=True), A),
        (lambda a: np.linalg.norm(a, "nuc"), A),
        (lambda a: np.linalg.norm(a, 2, axis=(0, 2), keepdims=True), T),
        (lambda a: np.linalg.norm(a, np.inf), V),
        (np.linalg.norm, T),
    ],
    "linalg.outer": [(np.linalg.outer, V, W)],
    "linalg.pinv": [(np.linalg.pinv, A), (lambda a: np.linalg.pinv(a, hermitian=True), M)],
    "linalg.qr": [(np.linalg.qr, M), (lambda a: np.linalg.qr(a, "r"), M)],
    "linalg.slogdet": [(np.linalg.slogdet, M)],
    "linalg.solve": [(np.linalg.solve, M, W), (np.linalg.solve, M, H)],
    "linalg.svd": [
        (lambda a: np.linalg.svd(a).S, A),
        (lambda a: np.linalg.svd(a, compute_uv=False), A),
        (lambda a: np.linalg.svd(a, hermitian=True).S, M - 3.0 * np.eye(3)),
        (lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True), M - 3.0 * np.eye(3)),
    ],
    "linalg.svdvals": [(np.linalg.svdvals, A)],
    "linalg.tensordot": [(lambda a, b: np.linalg.tensordot(a, b, axes=([1], [0])), A, M)],
    "linalg.tensorinv": [(lambda a: np.linalg.tensorinv(np.reshape(a, (3, 3, 1)), ind=1), M)],
    "linalg.tensorsolve": [(lambda a, b: np.linalg.tensorsolve(a, b), M, W)],
    "linalg.trace": [(lambda a: np.linalg.trace(a, offset=1), T)],
    "linalg.vecdot": [(np.linalg.vecdot, A, B)],
    "linalg.vector_norm": [(lambda a: np.linalg.vector_norm(a, axis=1, ord=3), A)],
    "lib.stride_tricks.sliding_window_view": [
        (lambda a: np.lib.stride_tricks.sliding_window_view(a, 3), V),
        (lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 2), axis=(1, 2)), T),
        (lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 2)), A),
    ],
    "linspace": [
        (lambda a, b: np.linspace(a, b, 5), S, np.asarray(3.0)),
        (lambda a, b: np.linspace(a, b, 4, endpoint=False, retstep=True, axis=1), W, V[:3]),
    ],
    "logspace": [(lambda a, b: np.logspace(a, b, 4), S, np.asarray(2.0))],
    "matrix_transpose": [(np.matrix_transpose, T)],
    "max": [
        (np.max, A),
        (lambda a: np.max(a, axis=(0, 2)), T),
        (lambda a: np.max(a, axis=0, initial=0.5), A),
        (lambda a, k: np.max(a, initial=-9.0, where=k), A, K),
    ],
    "mean": [
        (np.mean, A),
        (lambda a: np.mean(a, axis=0, keepdims=True), A),
        (lambda a, k: np.mean(a, axis=1, where=k), A, K),
        (np.mean, C),
        (np.mean, I),
    ],
    "median": [
        (np.median, A),
        (lambda a: np.median(a, axis=1), A),
        (np.median, V),
        (lambda a: np.median(a, axis=(0, 2), keepdims=True), T),
    ],
    "meshgrid": [
        (np.meshgrid, V, W),
        (lambda a, b: np.meshgrid(a, b, sparse=True, indexing="ij"), V, W),
        (lambda a, b: np.meshgrid(a, b, sparse=True), V, W),
    ],
    "min": [(np.min, A), (lambda a: np.min(a, axis=1, keepdims=True), A)],
    "moveaxis": [
        (lambda a: np.moveaxis(a, 0, -1), T),
        (lambda a: np.moveaxis(a, [0, 1], [2, 0]), T),
    ],
    "nan_to_num": [
        (np.nan_to_num, N),
        (lambda a: np.nan_to_num(a, nan=2.0, posinf=9.0), np.asarray([np.inf, -np.inf, 0.5])),
        (np.nan_to_num, C),
    ],
    "nanargmax": [(lambda a: np.nanargmax(a, axis=1), N)],
    "nanargmin": [(np.nanargmin, N)],
    "nancumprod": [(lambda a: np.nancumprod(a, axis=0), N)],
    "nancumsum": [(np.nancumsum, N)],
    "nanmax": [(lambda a: np.nanmax(a, axis=0), N)],
    "nanmean": [(lambda a: np.nanmean(a, axis=0), N), (np.nanmean, N)],
    "nanmedian": [(lambda a: np.nanmedian(a, axis=0), N), (np.nanmedian, N)],
    "nanmin": [(np.nanmin, N)],
    "nanpercentile": [(lambda a: np.nanpercentile(a, [25, 60], axis=1), N)],
    "nanprod": [(np.nanprod, N)],
    "nanquantile": [(lambda a: np.nanquantile(a, 0.3), N)],
    "nanstd": [(lambda a: np.nanstd(a, axis=1, ddof=1), N)],
    "nansum": [(lambda a: np.nansum(a, axis=0), N)],
    "nanvar": [(np.nanvar, N), (lambda a: np.nanvar(a, axis=1, keepdims=True), N)],
    "ndim": [(np.ndim, A)],
    "nonzero": [(lambda a: np.nonzero(a > 0), A)],
    "ones_like": [(np.ones_like, A), (lambda a: np.ones_like(a, dtype=int, shape=(2, 2)), A)],
    "outer": [(np.outer, V, W), (np.outer, A, V)],
    "pad": [
        (lambda a: np.pad(a, 1), A),
        (lambda a: np.pad(a, ((1, 2), (0, 1)), constant_values=((3, 4), (5, 6))), A),
        *(
            (lambda a, mode=mode: np.pad(a, ((1, 2), (2, 1)), mode=mode), A)
            for mode in ("edge", "reflect", "symmetric", "wrap")
        ),
        (lambda a: np.pad(a, (5, 7), mode="reflect"), V),
        (lambda a: np.pad(a, {0: (1, 0)}), A),
        (lambda a, s: np.pad(a, 1, constant_values=s), A, S),
        (lambda a, s: np.pad(a, 1, constant_values=((s, 2.0), (s * s, s))), A, S),
        (lambda a, w: np.pad(a, (2, 1), constant_values=w[1:]), V, W),
    ],
    "partition": [(lambda a: np.partition(a, [0, 1, 2, 3]), V)],
    "percentile": [
        (lambda a: np.percentile(a, 35), A),
        (lambda a: np.percentile(a, [10, 90], axis=0), A),
    ],
    "permute_dims": [(lambda a: np.permute_dims(a, (2, 0, 1)), T)],
    "piecewise": [
        (lambda a: np.piecewise(a, [a < 0, a > 1], [lambda x: x * x, 3.0, lambda x: -x]), A),
        (lambda a: np.piecewise(a, a < 0, [np.sin, np.cos]), V),
        (lambda a, s: np.piecewise(a, [a < 0], [lambda x, k: k * x, lambda x, k: k], k=s), V, S),
    ],
    "place": [(after(lambda c, v: np.place(c, c > 0.5, v)), A, V)],
    "polyadd": [(np.polyadd, V, W)],
    "polyder": [(lambda a: np.polyder(a, 2), V)],
    "polyfit": [
        (lambda x, y: np.polyfit(x, y, 2), KNOTS, V),
        (lambda x, y, w: np.polyfit(x, y, 1, w=w), KNOTS, V, np.abs(V)),
    ],
    "polyint": [(np.polyint, V), (lambda a: np.polyint(a, 2, k=[1.0, 2.0]), V)],
    "polymul": [(np.polymul, V, W)],
    "polysub": [(np.polysub, V, W)],
    "polyval": [(np.polyval, V, A), (np.polyval, W, S)],
    "prod": [(np.prod, A), (lambda a, k: np.prod(a, axis=1, where=k, initial=2.0), A, K)],
    "ptp": [(np.ptp, A), (lambda a: np.ptp(a, axis=0), A)],
    "put": [
        (after(lambda c, w: np.put(c, [0, -1, 2], w)), A, W),
        (after(lambda c: np.put(c, [9], 5.0, mode="clip")), A),
    ],
    "put_along_axis": [
        (after(lambda c, i, b: np.put_along_axis(c, i, b, axis=1)), A, J, B),
        (after(lambda c, i: np.put_along_axis(c, i, 2.0, axis=None)), A, I),
    ],
    "putmask": [(after(lambda c, k, v: np.putmask(c, k, v)), A, K, V)],
    "quantile": [
        (lambda a: np.quantile(a, 0.3), A),
        (lambda a: np.quantile(a, [[0.2, 0.9]], axis=1, keepdims=True), A),
        (lambda a, q: np.quantile(a, q), V, np.asarray([0.15, 0.7])),
        *(
            (lambda a, method=method: np.quantile(a, [0.1, 0.45, 0.8], method=method), V)
            for method in (
                "interpolated_inverted_cdf",
                "hazen",
                "weibull",
                "median_unbiased",
                "normal_unbiased",
                "lower",
                "higher",
                "nearest",
                "midpoint",
            )
        ),
        (lambda a: np.quantile(a, 0.5, axis=0), N),
    ],
    "ravel": [(np.ravel, A)],
    "real": [(np.real, C), (np.real, A)],
    "real_if_close": [(np.real_if_close, C), (lambda a: np.real_if_close(a + 0j), A)],
    "repeat": [(lambda a: np.repeat(a, 2), A), (lambda a: np.repeat(a, [1, 0, 2], axis=1), A)],
    "reshape": [(lambda a: np.reshape(a, (3, -1)), A), (lambda a: np.reshape(a, 6), A)],
    "resize": [(lambda a: np.resize(a, (3, 4)), A)],
    "result_type": [(lambda a, b: np.astype(a, np.result_type(a, b)), A.astype(np.float32), B)],
    "roll": [
        (lambda a: np.roll(a, 2), A),
        (lambda a: np.roll(a, (1, -1), axis=(0, 1)), A),
        (lambda a: np.roll(a, 1, axis=(0, 1)), A),
        (lambda a: np.roll(a, (1, 3)), A),
    ],
    "rollaxis": [(lambda a: np.rollaxis(a, 2), T), (lambda a: np.rollaxis(a, 0, 3), T)],
    "rot90": [(lambda a, k=k: np.rot90(a, k), A) for k in range(4)]
    + [(lambda a: np.rot90(a, axes=(2, 1)), T)],
    "round": [(lambda a: np.round(a * 7), A), (lambda a: np.round(a * 70, -1), A)],
    "searchsorted": [
        (np.searchsorted, KNOTS, A),
        (lambda a: np.searchsorted(a, 0.5, side="right"), KNOTS),
    ],
    "select": [(lambda a, b: np.select([a > 1, a < 0], [a * 2, b], default=0.5), A, B)],
    "setdiff1d": [(lambda a: np.setdiff1d(a, [0.4, 2.1]), A)],
    "setxor1d": [(lambda i: np.setxor1d(i, [2, 5]), I)],
    "shape": [(np.shape, A)],
    "sinc": [(np.sinc, A), (np.sinc, np.asarray([0.0, 1e-4, -3e-4, 1e-2]))],
    "size": [(np.size, A), (lambda a: np.size(a, 1), A)],
    "sort": [
        (np.sort, A),
        (lambda a: np.sort(a, axis=None), A),
        (lambda a: np.sort(a, axis=0, kind="stable"), A),
    ],
    "split": [(lambda a: np.split(a, 2), V), (lambda a: np.split(a, [1, 3]), V)],
    "squeeze": [(np.squeeze, A[None, :, None]), (lambda a: np.squeeze(a, axis=0), A[None])],
    "stack": [(lambda a, b: np.stack([a, b], axis=1), A, B), (lambda a: np.stack((a, a), -1), V)],
    "std": [
        (np.std, A),
        (lambda a: np.std(a, axis=0, ddof=1), T),
        (lambda a, k: np.std(a, where=k), A, K),
        (np.std, C),
        (lambda a: np.std(a, axis=0, mean=[[0.1, 0.2, 0.3]]), A),
    ],
    "sum": [
        (np.sum, A),
        (lambda a: np.sum(a, axis=(0, 2), keepdims=True), T),
        (lambda a, k: np.sum(a, 0, initial=2.0, where=k), A, K),
        (np.sum, K),
        (lambda a: np.sum(a, dtype=np.float32), A),
    ],
    "swapaxes": [(lambda a: np.swapaxes(a, 0, 2), T)],
    "take": [
        (lambda a, j: np.take(a, j, axis=1), A, J),
        (lambda a: np.take(a, [0, -1]), A),
        (lambda a: np.take(a, 1, axis=1), A),
        (lambda a: np.take(a, [7, -2], axis=1, mode="clip"), A),
        (lambda a: np.take(a, [7, -2], axis=1, mode="wrap"), A),
    ],
    "take_along_axis": [
        (lambda a, j: np.take_along_axis(a, j, axis=1), A, J),
        (lambda a, i: np.take_along_axis(a, i, axis=None), A, I),
    ],
    "tensordot": [
        (lambda a, b: np.tensordot(a, b, 1), A, M),
        (lambda a, b: np.tensordot(a, b, axes=([0, 1], [0, 1])), A, B),
        (lambda a, b: np.tensordot(a, b, axes=(0, 0)), A, B),
    ],
    "tile": [(lambda a: np.tile(a, 2), A), (lambda a: np.tile(a, (2, 1, 2)), A)],
    "trace": [(np.trace, M), (lambda a: np.trace(a, 1, axis1=1, axis2=2), T)],
    "transpose": [(np.transpose, T), (lambda a: np.transpose(a, (1, 0, -1)), T)],
    "trapezoid": [
        (np.trapezoid, A),
        (lambda y, x: np.trapezoid(y, x), V, KNOTS),
        (lambda y, x: np.trapezoid(y, x, axis=0), A, np.asarray([0.1, 0.7])),
        (lambda y: np.trapezoid(y, dx=0.3, axis=0), A),
    ],
    "tril": [(lambda a: np.tril(a, -1), M), (np.tril, V)],
    "tril_indices_from": [(np.tril_indices_from, M)],
    "trim_zeros": [
        (np.trim_zeros, np.asarray([0.0, 0.0, 1.5, 0.0, 2.0, 0.0])),
        (lambda a: np.trim_zeros(a, "b"), np.asarray([0.0, 1.5, 0.0])),
    ],
    "triu": [(lambda a: np.triu(a, 1), M)],
    "triu_indices_from": [(lambda a: np.triu_indices_from(a, 1), M)],
    "union1d": [(np.union1d, V, W)],
    "unique": [
        (np.unique, np.asarray([2.0, 1.0, 2.0, 3.0])),
        (
            lambda a: np.unique(a, return_index=True, return_inverse=True, return_counts=True),
            np.asarray([[2, 1], [2, 3]]),
        ),
        (np.unique, np.asarray([2.0, np.nan, 2.0, np.nan])),
    ],
    "unique_all": [(np.unique_all, np.asarray([2, 1, 2]))],
    "unique_counts": [(np.unique_counts, np.asarray([2, 1, 2]))],
    "unique_inverse": [(np.unique_inverse, np.asarray([2, 1, 2]))],
    "unique_values": [(lambda a: np.sort(np.unique_values(a)), np.asarray([2.0, 1.0, 2.0]))],
    "unstack": [(np.unstack, A), (lambda a: np.unstack(a, axis=1), A)],
    "unwrap": [
        (np.unwrap, np.asarray([0.1, 3.0, 6.5, -2.0, 9.0])),
        (lambda a: np.unwrap(a, period=4.0, axis=0), A * 3),
    ],
    "vander": [(np.vander, V), (lambda a: np.vander(a, 3, increasing=True), V)],
    "var": [
        (np.var, A),
        (lambda a: np.var(a, axis=1, ddof=1), A),
        (lambda a, k: np.var(a, axis=0, where=k), A, K),
        (np.var, C),
        (lambda a: np.var(a, correction=1), V),
    ],
    "vdot": [(np.vdot, A, B), (np.vdot, Z, Z[::-1].copy())],
    "vsplit": [(lambda a: np.vsplit(a, 2), A)],
    "vstack": [(lambda a, b: np.vstack([a, b]), A, W), (lambda a: np.vstack((a, a)), V)],
    "where": [
        (lambda a, b: np.where(a > b, a, b), A, B),
        (lambda k, a: np.where(k, a, 0.0), K, A),
        (lambda a: np.where(a > 0), A),
    ],
    # With like=, which chooses the library.
    "arange": [(lambda a: np.arange(1.0, 4.0, 0.5, like=a), A)],
    "array": [
        (lambda a: np.array([[1, 2]], dtype=float, ndmin=3, like=a), A),
        (lambda a: np.array(a, like=a), A),
    ],
    "array_repr": [],
    "array_str": [],
    "asanyarray": [(lambda a: np.asanyarray(a, like=a), A)],
    "asarray": [
        (lambda a: np.asarray([1.0, 2.0], like=a), A),
        (lambda a: np.asarray(a, like=a), A),
    ],
    "ascontiguousarray": [(lambda a: np.ascontiguousarray(a, like=a), A)],
    "empty": [(lambda a: np.empty((2, 1), like=a).shape, A)],
    "eye": [(lambda a: np.eye(2, 3, k=1, like=a), A)],
    "full": [(lambda a: np.full((2,), 0.3, like=a), A), (lambda a, s: np.full(2, s, like=a), A, S)],
    "identity": [(lambda a: np.identity(2, like=a), A)],
    "ones": [(lambda a: np.ones(3, like=a), A)],
    "tri": [(lambda a: np.tri(3, 2, like=a), A)],
    "zeros": [(lambda a: np.zeros((2, 2), dtype=int, like=a), A)],
    "zeros_like": [(np.zeros_like, A)],
}
