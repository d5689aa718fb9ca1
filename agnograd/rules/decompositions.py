"""Decompositions of matrices: Cholesky, QR, eigenvalues and singular values.

Factors that are not unique have a derivative only for functions that do not depend on the choice:
on the sign or phase of a singular vector, on the basis of the space of a repeated eigenvalue. What
does depend on it gets NaN. Hermitian matrices get Hermitian gradients.
"""

from typing import Any

from agnograd.extend import adjoint, conjugate_if_complex, device_of, is_complex, is_tracked
from agnograd.rules._extensions import decompositions as ops
from agnograd.rules.spectra import (
    differences,
    inverse_vectors,
    parts,
    ratio,
    real_diagonal,
    refused,
    rounding,
    sums,
)

__all__ = ["ops"]

Shape = tuple[int, ...]


def _eye(matrix: Any, xp: Any) -> Any:
    """Return, as booleans, where the diagonal of square matrices is."""
    return xp.eye(matrix.shape[-1], dtype=xp.bool, device=device_of(matrix))


def _with_diagonal(matrix: Any, values: Any, xp: Any) -> Any:
    return xp.where(_eye(matrix, xp), values[..., None], matrix)


def _inverse_gaps(values: Any, unused: Any, xp: Any) -> Any:
    """Return 1 / (value_j - value_i), which changes of vectors are multiplied with.

    Where a gap is no more than rounding it is NaN, and so is what depends on the basis of such a
    space; but it is 0 between vectors that are not used.
    """
    gap = differences(values)
    near = xp.abs(gap) <= rounding(values, xp)
    inverse = xp.where(near, xp.nan, 1 / xp.where(near, 1.0, gap))
    idle = xp.logical_and(unused[..., None, :], unused[..., :, None])
    return xp.where(xp.logical_or(idle, _eye(gap, xp)), 0.0, inverse)


def _unused(g: Any, xp: Any) -> Any:
    """Return which vectors (columns) have no gradient, where others have.

    Gradients that are all zero may have cancelled, and say nothing.
    """
    unused = xp.all(g == 0, axis=-2)
    return xp.logical_and(unused, xp.logical_not(xp.all(unused, axis=-1, keepdims=True)))


def _phases(t: Any, xp: Any) -> Any:
    """Return 0 for each vector, or NaN if what is differentiated depends on the vector's phase."""
    size = xp.sum(xp.abs(t), axis=-1)
    if not is_complex(t.dtype, xp):
        return xp.zeros_like(size)
    turning = xp.abs(xp.imag(xp.linalg.diagonal(t)))
    # Contributions that cancel leave rounding, of which all may be imaginary.
    eps = xp.finfo(t.dtype).eps
    limit = eps**0.5 * size + eps**0.75
    # A constant: a tangent does not turn the phase, which suits all that does not depend on it.
    return xp.where(turning > limit, xp.full_like(size, xp.nan), xp.zeros_like(size))


def _completing(g: Any, xp: Any) -> Any:
    """Return 0 for each matrix, or NaN if vectors that only complete a basis have a gradient."""
    return xp.sum(xp.where(g == 0, 0.0, xp.nan * g), axis=(-2, -1), keepdims=True)


# -- Cholesky and QR -----------------------------------------------------------------------------


def _cholesky_vjp(g: Any, out: Any, upper: bool, xp: Any) -> Any:
    """Follow Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527."""
    lower, g = (adjoint(out, xp), adjoint(g, xp)) if upper else (out, g)
    p = adjoint(lower, xp) @ g
    below = xp.tril(p, k=-1)
    middle = _with_diagonal((below + adjoint(below, xp)) / 2, real_diagonal(p, xp) / 2, xp)
    left = xp.linalg.solve_triangle(adjoint(lower, xp), middle, lower=False)
    return xp.linalg.solve_triangle(adjoint(lower, xp), adjoint(left, xp), lower=False)


def _qr_vjp(g: Any, out: Any, x_shape: Shape, xp: Any) -> Any:
    """Follow Roberts and Roberts, "QR and LQ decomposition matrix backpropagation algorithms for
    square, wide, and deep matrices", arXiv:2009.10071.
    """  # noqa: D205
    (q, r), (gq, gr) = out, g
    rows, columns = x_shape[-2:]
    if rows >= columns:
        full = _tall_qr(
            gq[..., :columns], gr[..., :columns, :], q[..., :columns], r[..., :columns, :], xp
        )
        return full + _completing(gq[..., columns:], xp)
    # The first columns, X = Q R1, make a square matrix; the others are Q R2.
    others, g_others = r[..., rows:], gr[..., rows:]
    gq = gq + q @ others @ adjoint(g_others, xp)
    first = _tall_qr(gq, gr[..., :rows], q, r[..., :rows], xp)
    return xp.concat([first, q @ g_others], axis=-1)


def _tall_qr(gq: Any, gr: Any, q: Any, r: Any, xp: Any) -> Any:
    """Differentiate where the result depends on independent columns only.

    A column that depends on those before it gives a column of Q that only rounding chooses. If the
    cotangent asks for that one, beyond rounding, the matrix has NaN, and its batch goes on.
    """
    size, eps = xp.linalg.vector_norm(r, axis=-2), xp.finfo(r.dtype).eps
    dependent = xp.abs(xp.linalg.diagonal(r)) <= r.shape[-1] * eps * size
    r = xp.where(xp.logical_and(dependent[..., None, :], _eye(r, xp)), 1.0, r)
    m = r @ adjoint(gr, xp) - adjoint(gq, xp) @ q
    below = xp.tril(m, k=-1)
    hermitian = _with_diagonal(below + adjoint(below, xp), real_diagonal(m, xp), xp)
    asked = adjoint(gq + q @ hermitian, xp)
    solved = xp.linalg.solve_triangle(r, asked, lower=False)
    # A dependent column's row of what is solved is what it was asked for: its divisor is 1 by now.
    rows = xp.linalg.vector_norm(solved, axis=-1)
    most = float(eps) ** 0.5 * xp.linalg.vector_norm(asked, axis=(-2, -1))[..., None]
    lost = xp.any(xp.logical_and(dependent, rows > most), axis=-1)[..., None, None]
    solved = xp.where(dependent[..., None], 0.0, solved)
    return adjoint(solved, xp) * refused(lost, lost, gr, xp)


# -- eigenvalues ---------------------------------------------------------------------------------


def _eigh_vjp(g: Any, x: Any, out: Any, xp: Any) -> Any:
    """Follow Giles, 3.1; the gradient is the Hermitian part."""
    (w, v), (gw, gv) = out, g
    of_values = None
    if gw is not None:
        of_values = xp.linalg.with_eigenvalues(x, gw, v, turns=is_tracked(x))
    if gv is None:
        return of_values
    t = adjoint(v, xp) @ gv
    skew = parts(t, xp)[1] * _inverse_gaps(w, _unused(gv, xp), xp)
    full = v @ _with_diagonal(skew, _phases(t, xp), xp) @ adjoint(v, xp)
    return full if of_values is None else of_values + full


def _eigh_upper(xp: Any, x: Any, /) -> Any:
    """Return eigenvalues and eigenvectors of Hermitian matrices by the upper triangle.

    They are those of ``eigh``, but the signs and phases of the vectors may be others. Libraries
    that can be told which triangle to read have it as a kernel.
    """
    return xp.linalg.eigh(x)


def _eig_vjp(g: Any, out: Any, xp: Any) -> Any:
    """Follow Boeddeker et al., "On the computation of complex-valued gradients with application
    to statistically optimum beamforming", arXiv:1701.00392, eq. 4.77, for vectors of length one.
    """  # noqa: D205
    (w, v), (gw, gv) = out, g
    inverse, lost = inverse_vectors(w, v, xp)
    right, left = adjoint(inverse, xp), adjoint(v, xp)
    if gv is None:
        return right @ ((gw * refused(lost, gw != 0, gw, xp))[..., None] * left)
    used = xp.any(gv != 0, axis=-2)
    used = used if gw is None else xp.logical_or(used, gw != 0)
    t = left @ gv
    along = xp.astype(real_diagonal(t, xp), t.dtype)
    gaps = conjugate_if_complex(_inverse_gaps(w, _unused(gv, xp), xp), xp)
    across = (t - left @ v * along[..., None, :]) * gaps
    diagonal = xp.astype(_phases(t, xp), t.dtype)
    inner = _with_diagonal(across, diagonal if gw is None else diagonal + gw, xp)
    return right @ (inner * refused(lost, used, gv, xp)[..., None, :]) @ left


def _eigvals_vjp(g: Any, x: Any, xp: Any) -> Any:
    w, v = xp.linalg.eig(x)
    inverse, lost = inverse_vectors(w, v, xp)
    return adjoint(inverse, xp) @ ((g * refused(lost, g != 0, g, xp))[..., None] * adjoint(v, xp))


# -- singular values -----------------------------------------------------------------------------


def _svd_vjp(g: Any, x: Any, out: Any, xp: Any) -> Any:
    """Follow Townsend, "Differentiating the singular value decomposition", 2016, with the factors
    1 / (s_j^2 - s_i^2) split into those of the sum and of the difference of singular values.
    """  # noqa: D205
    (u, s, vh), (gu, gs, gvh) = out, g
    count = s.shape[-1]
    u, vh = u[..., :count], vh[..., :count, :]
    # As that of ``abs``, the derivative at a value of 0 is 0.
    of_values = None
    if gs is not None:
        values = gs * xp.sign(s)
        of_values = xp.linalg.with_singular_values(x, values, u, vh, turns=is_tracked(x))
    if gu is None and gvh is None:
        return of_values
    gu = xp.zeros_like(out[0]) if gu is None else gu
    gvh = xp.zeros_like(out[2]) if gvh is None else gvh
    v, gv = adjoint(vh, xp), adjoint(gvh[..., :count, :], xp)
    full = _of_singular_vectors(u, s, v, gu[..., :count], gv, xp)
    full = full + _completing(gu[..., count:], xp)
    full = full + _completing(gvh[..., count:, :], xp)
    return full if of_values is None else of_values + full


def _of_singular_vectors(u: Any, s: Any, v: Any, gu: Any, gv: Any, xp: Any) -> Any:
    tu, tv = adjoint(u, xp) @ gu, adjoint(v, xp) @ gv
    both, turned = tu + tv, tu - tv
    unused = _unused(xp.concat([gu, gv], axis=-2), xp)
    inner = parts(both, xp)[1] * _inverse_gaps(s, unused, xp)
    inner = _with_diagonal(inner, _phases(both, xp), xp)
    inner = inner + ratio(parts(turned, xp)[1], sums(s), xp)
    full = u @ inner @ adjoint(v, xp)
    if u.shape[-2] > s.shape[-1]:
        full = full + ratio(gu - u @ tu, s[..., None, :], xp) @ adjoint(v, xp)
    if v.shape[-2] > s.shape[-1]:
        full = full + u @ adjoint(ratio(gv - v @ tv, s[..., None, :], xp), xp)
    return full


ops.vjp("linalg.cholesky(x, /, *, upper=False)", x=_cholesky_vjp, batch="last")
ops.vjp("linalg.eig(x, /)", x=_eig_vjp, outputs="optional", batch="last")
ops.vjp("linalg.eigh(x, /)", x=_eigh_vjp, outputs="optional", batch="last")
ops.vjp(
    "linalg.eigh_upper(x, /)", x=_eigh_vjp, outputs="optional", forward=_eigh_upper, batch="last"
)
ops.vjp("linalg.eigvals(x, /)", x=_eigvals_vjp, batch="last")
ops.vjp('linalg.qr(x, /, *, mode="reduced")', x=_qr_vjp, outputs="several", batch="last")
ops.vjp("linalg.svd(x, /, *, full_matrices=True)", x=_svd_vjp, outputs="optional", batch="last")
