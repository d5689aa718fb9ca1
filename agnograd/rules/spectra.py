"""Eigenvalues and singular values: functions of a spectrum, and what it is to differentiate them.

The gradient of a function of eigenvalues is a matrix with the same eigenvectors and other
eigenvalues; so is that of singular values. Two ops make these matrices, and their own derivatives
are divided differences of old and new values: smooth, unlike those of single vectors.
"""

import math
from collections.abc import Set
from typing import Any

from agnograd.extend import adjoint, device_of, in_stacks, is_complex, is_tracked
from agnograd.rules._extensions import spectra as ops

__all__ = ["ops"]

_DIGITS = 1e-3  # a relative error from which on a derivative is given up


def rounding(values: Any, xp: Any) -> Any:
    """Return, for each matrix, what differences between its values may be no more than."""
    return (xp.finfo(values.dtype).eps * xp.sum(xp.abs(values), axis=-1))[..., None, None]


def differences(values: Any) -> Any:
    """Return value_j - value_i."""
    return values[..., None, :] - values[..., :, None]


def sums(values: Any) -> Any:
    """Return value_j + value_i."""
    return values[..., None, :] + values[..., :, None]


def ratio(above: Any, below: Any, xp: Any) -> Any:
    """Return ``above / below``: where the latter is 0, it is 0 if both are, and NaN if not."""
    zero = below == 0
    inverse = xp.where(zero, xp.nan, 1 / xp.where(zero, 1.0, below))
    return xp.where(xp.logical_and(zero, above == 0), 0.0, above * inverse)


def parts(matrix: Any, xp: Any) -> tuple[Any, Any]:
    """Return the Hermitian and the skew-Hermitian part."""
    turned = adjoint(matrix, xp)
    return (matrix + turned) / 2, (matrix - turned) / 2


def real_diagonal(matrix: Any, xp: Any) -> Any:
    """Return the real part of the diagonal."""
    diagonal = xp.linalg.diagonal(matrix)
    return xp.real(diagonal) if is_complex(diagonal.dtype, xp) else diagonal


def _repeated(values: Any, xp: Any) -> Any:
    """Return which pairs of values, (i, j) with i != j, are equal up to rounding."""
    equal = xp.abs(differences(values)) <= rounding(values, xp)
    eye = xp.eye(values.shape[-1], dtype=xp.bool, device=device_of(values))
    return xp.logical_and(equal, xp.logical_not(eye))


def _divided_differences(new: Any, old: Any, xp: Any) -> Any:
    """Return (new_j - new_i) / (old_j - old_i), and 0 on the diagonal.

    Where the old values are equal it is 0 for equal new ones, which then do not depend on the
    matrix, or get NaN from ``_undetermined``; and NaN for others.
    """
    gap, rise = differences(old), differences(new)
    near = xp.abs(gap) <= rounding(old, xp)
    level = xp.abs(rise) <= rounding(new, xp)
    slope = rise / xp.where(near, 1.0, gap)
    return xp.where(near, xp.where(level, xp.zeros_like(slope), xp.nan), slope)


def _undetermined(hermitian: Any, old: Any, xp: Any) -> Any:
    """Return NaN for new values that depend on how the matrix turns equal old ones, else 0.

    If new values are themselves functions of the old ones, divided differences tend to a
    derivative that nobody here knows. They cannot be if the matrix does not turn, being constant.
    """
    size = xp.abs(hermitian)
    turned = size > xp.finfo(old.dtype).eps * xp.sum(size, axis=(-2, -1), keepdims=True)
    lost = xp.any(xp.logical_and(_repeated(old, xp), turned), axis=-1)
    return xp.where(lost, xp.full_like(old, xp.nan), xp.zeros_like(old))


# -- eigenvectors that do not span the space -------------------------------------------------------


def inverse_vectors(w: Any, v: Any, xp: Any) -> tuple[Any, Any]:
    """Return the inverse of the matrix of eigenvectors, and which eigenvalues it is useless for.

    An error of the size eps |A|, element by element, moves eigenvalue i by as much as eps times the
    sum of |W_ij| |A_jk| |V_ki|, where W is the inverse of V (Higham, "A survey of componentwise
    perturbation theory in numerical linear algebra", 1994, section 3), whatever units the rows of
    A have. If that is much of the distance to the next eigenvalue, and the vectors are nearly
    parallel to others, then A may as well be defective: derivatives would come out finite, large
    and without a right digit. Vectors of a repeated eigenvalue that is not defective may be any,
    and are then well-conditioned.
    """
    eps = xp.finfo(w.dtype).eps
    inverse, none = _inverse(v, xp)
    unit = xp.sum(xp.abs(w), axis=-1, keepdims=True)
    w = w / xp.where(unit == 0, xp.ones_like(unit), unit)
    size = xp.abs((v * w[..., None, :]) @ inverse)
    moved = xp.sum((xp.abs(inverse) @ size) * xp.abs(xp.matrix_transpose(v)), axis=-1)
    gap = xp.abs(w[..., None, :] - w[..., :, None])
    right = eps * moved[..., None] < _DIGITS * gap
    parallel = xp.sum(xp.abs(inverse), axis=-1, keepdims=True) > eps**-0.25
    other = xp.eye(w.shape[-1], device=device_of(w)) == 0
    bad = xp.logical_and(xp.logical_and(parallel, xp.logical_not(right)), other)
    return inverse, xp.logical_or(xp.any(bad, axis=-1), none)


def _inverse(v: Any, xp: Any) -> tuple[Any, Any]:
    """Return inverses, with rows of zeros where there are none, and which rows these are.

    A matrix without an inverse must not be an error for all others. Columns of length one make a
    determinant of about exp(-n / 2) where they have nothing in common.
    """
    limits = xp.finfo(v.dtype)
    least = math.log(limits.smallest_normal) / 2 - v.shape[-1]
    regular = (xp.linalg.slogdet(v)[1] > least)[..., None]
    eye = xp.eye(v.shape[-1], dtype=v.dtype, device=device_of(v))
    inverse = xp.linalg.inv(xp.where(regular[..., None], v, eye))
    small = xp.sum(xp.abs(inverse), axis=-1) < limits.max**0.25
    some = xp.logical_and(regular, small)
    return xp.where(some[..., None], inverse, xp.zeros_like(inverse)), xp.logical_not(some)


def refused(lost: Any, used: Any, g: Any, xp: Any) -> Any:
    """Return what a cotangent is multiplied with: NaN for lost values that are used, else 1."""
    one = xp.ones((), dtype=g.dtype, device=device_of(g))
    return xp.where(xp.logical_and(lost, used), xp.nan, one)


# -- Hermitian matrices --------------------------------------------------------------------------


def _with_eigenvalues(
    xp: Any, x: Any, values: Any, /, vectors: Any = None, *, turns: bool = True
) -> Any:
    """Return the matrix with the eigenvectors of Hermitian ``x``, and these eigenvalues."""
    vectors = xp.linalg.eigh(x)[1] if vectors is None else vectors
    return (vectors * values[..., None, :]) @ adjoint(vectors, xp)


def _with_eigenvalues_x(g: Any, x: Any, values: Any, xp: Any) -> Any:
    """Follow Daleckii and Krein (Higham, "Functions of matrices", SIAM 2008, theorem 3.11)."""
    w, v = xp.linalg.eigh(x)
    hermitian, _ = parts(adjoint(v, xp) @ g @ v, xp)
    return v @ (hermitian * _divided_differences(values, w, xp)) @ adjoint(v, xp)


def _with_eigenvalues_values(g: Any, x: Any, turns: bool, xp: Any) -> Any:
    w, v = xp.linalg.eigh(x)
    hermitian, _ = parts(adjoint(v, xp) @ g @ v, xp)
    diagonal = real_diagonal(hermitian, xp)
    return diagonal + _undetermined(hermitian, w, xp) if turns else diagonal


def _eigvalsh_vjp(g: Any, x: Any, xp: Any) -> Any:
    """Follow Giles, "An extended collection of matrix derivative results", 2008, section 3.1."""
    return xp.linalg.with_eigenvalues(x, g, xp.linalg.eigh(x)[1], turns=is_tracked(x))


# -- matrices of any shape -----------------------------------------------------------------------


def _with_singular_values(
    xp: Any, x: Any, values: Any, /, u: Any = None, vh: Any = None, *, turns: bool = True
) -> Any:
    """Return the matrix with the singular vectors of ``x``, and these singular values."""
    if u is None:
        u, _, vh = xp.linalg.svd(x, full_matrices=False)
    return (u * values[..., None, :]) @ vh


def _with_singular_values_x(g: Any, x: Any, values: Any, xp: Any) -> Any:
    """Differentiate U diag(values) V^H, where U and V are the singular vectors of x.

    In their bases, the Hermitian part of a change of x is multiplied with divided differences, the
    skew one with (values_i + values_j) / (s_i + s_j); what leaves the spaces that U and V span,
    with values / s (from Townsend, "Differentiating the singular value decomposition", 2016).
    """
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    uh, v = adjoint(u, xp), adjoint(vh, xp)
    inner = uh @ g @ v
    hermitian, skew = parts(inner, xp)
    turned = skew * ratio(sums(values), sums(s), xp)
    full = u @ (hermitian * _divided_differences(values, s, xp) + turned) @ vh
    outside = ratio(values, s, xp)[..., None, :]
    if x.shape[-2] > s.shape[-1]:
        full = full + ((g @ v - u @ inner) * outside) @ vh
    if x.shape[-1] > s.shape[-1]:
        full = full + u @ adjoint((adjoint(g, xp) @ u - v @ adjoint(inner, xp)) * outside, xp)
    return full


def _with_singular_values_values(g: Any, x: Any, turns: bool, xp: Any) -> Any:
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    hermitian, _ = parts(adjoint(u, xp) @ g @ adjoint(vh, xp), xp)
    diagonal = real_diagonal(hermitian, xp)
    return diagonal + _undetermined(hermitian, s, xp) if turns else diagonal


def _svdvals_vjp(g: Any, x: Any, xp: Any) -> Any:
    """Follow Giles, section 3.2; as that of ``abs``, the derivative at 0 is 0."""
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return xp.linalg.with_singular_values(x, g * xp.sign(s), u, vh, turns=is_tracked(x))


# -- batches ---------------------------------------------------------------------------------------


def _with_eigenvalues_batch(
    xp: Any, mapped: Set[str], x: Any, values: Any, vectors: Any = None, turns: bool = True
) -> Any:
    arrays = {"x": x, "values": values, "vectors": vectors}
    return _with_values(xp.linalg.with_eigenvalues, xp, mapped, arrays, turns)


def _with_singular_values_batch(
    xp: Any,
    mapped: Set[str],
    x: Any,
    values: Any,
    u: Any = None,
    vh: Any = None,
    turns: bool = True,
) -> Any:
    arrays = {"x": x, "values": values, "u": u, "vh": vh}
    return _with_values(xp.linalg.with_singular_values, xp, mapped, arrays, turns)


def _with_values(
    compute: Any, xp: Any, mapped: Set[str], arrays: dict[str, Any], turns: bool
) -> Any:
    given = {name: each for name, each in arrays.items() if each is not None}
    cores = [1 if name == "values" else 2 for name in given]
    return compute(*in_stacks(xp, mapped, cores, **given), turns=turns)


ops.vjp("linalg.eigvalsh(x, /)", x=_eigvalsh_vjp, batch="last")
ops.vjp("linalg.svdvals(x, /)", x=_svdvals_vjp, batch="last")
ops.vjp(
    "linalg.with_eigenvalues(x, values, /, vectors=None, *, turns=True)",
    constants=("vectors",),
    x=_with_eigenvalues_x,
    values=_with_eigenvalues_values,
    forward=_with_eigenvalues,
    batch=_with_eigenvalues_batch,
)
ops.vjp(
    "linalg.with_singular_values(x, values, /, u=None, vh=None, *, turns=True)",
    constants=("u", "vh"),
    x=_with_singular_values_x,
    values=_with_singular_values_values,
    forward=_with_singular_values,
    batch=_with_singular_values_batch,
)
