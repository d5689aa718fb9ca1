"""Decompositions of matrices: Cholesky, QR, eigenvalues and singular values.

Factors that are not unique have a derivative only for functions that do not depend on the choice:
on the sign or phase of a singular vector, on the basis of the space of a repeated eigenvalue. What
does depend on it gets NaN. Hermitian matrices get Hermitian gradients.
"""

from typing import Any

from agnograd.extend import OpSet, adjoint, is_complex

__all__ = ["ops"]

ops = OpSet("linalg", samples="agnograd.rules.samples.decompositions")

Shape = tuple[int, ...]


def _real(x: Any, xp: Any) -> Any:
    return xp.real(x) if is_complex(x.dtype, xp) else x


def _eye(matrix: Any, xp: Any) -> Any:
    """Return, as booleans, where the diagonal of square matrices is."""
    return xp.eye(matrix.shape[-1], dtype=xp.bool, device=matrix.device)


def _with_diagonal(matrix: Any, values: Any, xp: Any) -> Any:
    return xp.where(_eye(matrix, xp), values[..., None], matrix)


def _ratio(above: Any, below: Any, xp: Any) -> Any:
    """Return ``above / below``: 0 where the former is 0, NaN where only the latter is."""
    zero = below == 0
    undefined = xp.logical_and(zero, above != 0)
    return xp.where(undefined, xp.nan, above / xp.where(zero, 1.0, below))


def _per_gap(t: Any, values: Any, xp: Any) -> Any:
    """Return the skew part of ``t`` divided by the gaps between values, with a zero diagonal.

    Gaps that are no more than rounding are none: what depends on the basis of such a space has
    no derivative, and gets NaN.
    """
    gap = values[..., None, :] - values[..., :, None]
    rounding = xp.finfo(values.dtype).eps * xp.sum(xp.abs(values), axis=-1)
    gap = xp.where(xp.abs(gap) <= rounding[..., None, None], 0.0, gap)
    # Two numbers that cancel say nothing of what they stand for; two zeros do.
    nothing = xp.logical_and(t == 0, xp.matrix_transpose(t) == 0)
    nothing = xp.logical_or(nothing, _eye(t, xp))
    return _ratio(xp.where(nothing, 0.0, (t - adjoint(t, xp)) / 2), gap, xp)


def _phases(t: Any, xp: Any) -> Any:
    """Return 0 for each vector, or NaN if what is differentiated depends on the vector's phase."""
    size = xp.sum(xp.abs(t), axis=-1)
    if not is_complex(t.dtype, xp):
        return xp.zeros_like(size)
    turning = xp.abs(xp.imag(xp.linalg.diagonal(t)))
    limit = xp.finfo(t.dtype).eps ** 0.5 * size
    return xp.where(turning > limit, xp.full_like(size, xp.nan), xp.zeros_like(size))


def _unused(g: Any, x_shape: Shape, xp: Any) -> Any:
    """Return 0 for each matrix, or NaN if vectors that only complete a basis have a gradient."""
    if g.size == 0:
        return 0.0
    used = xp.any(xp.reshape(g, (*x_shape[:-2], -1)) != 0, axis=-1)
    nan = xp.full(used.shape, xp.nan, dtype=_real(g, xp).dtype, device=g.device)
    return xp.where(used, nan, xp.zeros_like(nan))[..., None, None]


# -- Cholesky and QR -----------------------------------------------------------------------------


def _cholesky_vjp(g: Any, out: Any, upper: bool, xp: Any) -> Any:
    """Follow Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, eq. 10."""
    lower, g = (adjoint(out, xp), adjoint(g, xp)) if upper else (out, g)
    p = adjoint(lower, xp) @ g
    below = xp.tril(p, k=-1)
    middle = _with_diagonal(
        (below + adjoint(below, xp)) / 2, _real(xp.linalg.diagonal(p), xp) / 2, xp
    )
    left = xp.linalg.solve(adjoint(lower, xp), middle)
    return xp.linalg.solve(adjoint(lower, xp), adjoint(left, xp))


def _qr_vjp(g: Any, out: Any, x_shape: Shape, mode: str, xp: Any) -> Any:
    """Follow Roberts and Roberts, "QR and LQ decomposition matrix backpropagation algorithms for
    square, wide, and deep matrices", arXiv:2009.10071, eqs. 9 and 15.
    """  # noqa: D205
    (q, r), (gq, gr) = out, g
    rows, columns = x_shape[-2:]
    if rows >= columns:
        full = _tall_qr(
            gq[..., :columns], gr[..., :columns, :], q[..., :columns], r[..., :columns, :], xp
        )
        return full + _unused(gq[..., columns:], x_shape, xp)
    # The first columns, X = Q R1, make a square matrix; the others are Q R2.
    others, g_others = r[..., rows:], gr[..., rows:]
    gq = gq + q @ others @ adjoint(g_others, xp)
    first = _tall_qr(gq, gr[..., :rows], q, r[..., :rows], xp)
    return xp.concat([first, q @ g_others], axis=-1)


def _tall_qr(gq: Any, gr: Any, q: Any, r: Any, xp: Any) -> Any:
    m = r @ adjoint(gr, xp) - adjoint(gq, xp) @ q
    below = xp.tril(m, k=-1)
    hermitian = _with_diagonal(below + adjoint(below, xp), _real(xp.linalg.diagonal(m), xp), xp)
    return adjoint(xp.linalg.solve(r, adjoint(gq + q @ hermitian, xp)), xp)


# -- eigenvalues ---------------------------------------------------------------------------------


def _eigh_vjp(g: Any, out: Any, xp: Any) -> Any:
    """Follow Giles, 3.1; the gradient is the Hermitian part."""
    (w, v), (gw, gv) = out, g
    t = adjoint(v, xp) @ gv
    inner = _with_diagonal(_per_gap(t, w, xp), gw + _phases(t, xp), xp)
    return v @ inner @ adjoint(v, xp)


def _eigvalsh_vjp(g: Any, x: Any, xp: Any) -> Any:
    v = xp.linalg.eigh(x)[1]
    return (v * g[..., None, :]) @ adjoint(v, xp)


def _eig_vjp(g: Any, out: Any, xp: Any) -> Any:
    """Follow Boeddeker et al., "On the computation of complex-valued gradients with application
    to statistically optimum beamforming", arXiv:1701.00392, eq. 4.77, for vectors of length one.
    """  # noqa: D205
    (w, v), (gw, gv) = out, g
    t = adjoint(v, xp) @ gv
    along = xp.astype(_real(xp.linalg.diagonal(t), xp), t.dtype)
    across = t - adjoint(v, xp) @ v * along[..., None, :]
    gap = w[..., None, :] - w[..., :, None]
    rounding = xp.finfo(w.dtype).eps * xp.sum(xp.abs(w), axis=-1)[..., None, None]
    gap = xp.where(xp.abs(gap) <= rounding, 0.0, gap)
    across = xp.where(_eye(t, xp), 0.0, across)
    conjugated = xp.conj(gap) if is_complex(gap.dtype, xp) else gap
    inner = _with_diagonal(_ratio(across, conjugated, xp), gw + _phases(t, xp), xp)
    return xp.linalg.solve(adjoint(v, xp), inner @ adjoint(v, xp))


def _eigvals_vjp(g: Any, x: Any, xp: Any) -> Any:
    left = adjoint(xp.linalg.eig(x)[1], xp)
    return xp.linalg.solve(left, g[..., None] * left)


# -- singular values -----------------------------------------------------------------------------


def _svd_vjp(g: Any, out: Any, x_shape: Shape, xp: Any) -> Any:
    """Follow Townsend, "Differentiating the singular value decomposition", 2016, with the factors
    1 / (s_j^2 - s_i^2) split into those of the sum and of the difference of singular values, so
    that a smooth function such as the polar factor does not see repeated ones.
    """  # noqa: D205
    (u, s, vh), (gu, gs, gvh) = out, g
    count = s.shape[-1]
    extra = _unused(gu[..., count:], x_shape, xp) + _unused(gvh[..., count:, :], x_shape, xp)
    u, gu = u[..., :count], gu[..., :count]
    v, gv = adjoint(vh[..., :count, :], xp), adjoint(gvh[..., :count, :], xp)
    tu, tv = adjoint(u, xp) @ gu, adjoint(v, xp) @ gv
    turned = tu - tv
    skew = (turned - adjoint(turned, xp)) / 2
    inner = _per_gap(tu + tv, s, xp) + _ratio(skew, s[..., None, :] + s[..., :, None], xp)
    diagonal = xp.linalg.diagonal(inner) + gs + _phases(tu + tv, xp)
    full = u @ _with_diagonal(inner, diagonal, xp) @ adjoint(v, xp)
    if u.shape[-2] > count:
        full = full + _ratio(gu - u @ tu, s[..., None, :], xp) @ adjoint(v, xp)
    if v.shape[-2] > count:
        full = full + u @ adjoint(_ratio(gv - v @ tv, s[..., None, :], xp), xp)
    return full + extra


def _svdvals_vjp(g: Any, x: Any, xp: Any) -> Any:
    """Return the singular vectors' products; as for ``abs``, the derivative at 0 is 0."""
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return (u * (g * xp.sign(s))[..., None, :]) @ vh


ops.vjp("linalg.cholesky(x, /, *, upper=False)", x=_cholesky_vjp)
ops.vjp("linalg.eig(x, /)", x=_eig_vjp, outputs="several")
ops.vjp("linalg.eigh(x, /)", x=_eigh_vjp, outputs="several")
ops.vjp("linalg.eigvals(x, /)", x=_eigvals_vjp)
ops.vjp("linalg.eigvalsh(x, /)", x=_eigvalsh_vjp)
ops.vjp('linalg.qr(x, /, *, mode="reduced")', x=_qr_vjp, outputs="several")
ops.vjp("linalg.svd(x, /, *, full_matrices=True)", x=_svd_vjp, outputs="several")
ops.vjp("linalg.svdvals(x, /)", x=_svdvals_vjp)
