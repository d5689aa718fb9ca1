"""SciPy's functions of matrices on NumPy's arrays, and on stacks of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import scipy.linalg
except ImportError as error:
    raise ModuleNotFoundError(
        "xp.linalg.expm and its like are computed by SciPy, which is not installed; install it "
        "with: pip install 'agnograd[scipy]'",
        name="scipy",
    ) from error

__all__ = ["expm", "logm", "lu_parts", "sqrtm", "sylvester"]

_NEAR = 0.25  # the distance to one at which degree 7 gives all digits of double precision
_ROOTS = 100


def _inexact(x: Any) -> Any:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def expm(x: Any, /) -> Any:
    """Return the exponential."""
    x = _inexact(x)
    return scipy.linalg.expm(x).astype(x.dtype, copy=False) if x.size else x.copy()


def logm(x: Any, /) -> Any:
    """Return the principal logarithm; NaN for a real matrix of which it is complex."""
    return _each(_one_logm, x)


def sqrtm(x: Any, /) -> Any:
    """Return the principal square root; NaN for a real matrix of which it is complex."""
    return _each(scipy.linalg.sqrtm, x)


def _each(function: Callable[..., Any], x: Any) -> Any:
    """Call a function with each matrix, in double precision: in single it loses digits."""
    x = _inexact(x)
    out = np.empty(x.shape, x.dtype)
    x = x.astype(np.result_type(x, np.float64), copy=False)
    if not x.size:
        return out
    for place in np.ndindex(x.shape[:-2]):
        finite = np.isfinite(x[place]).all()
        found: Any = function(x[place]) if finite else np.nan
        if out.dtype.kind == "f" and np.iscomplexobj(found):
            found = np.nan if found.imag.any() else found.real
        out[place] = found
    return out


def _one_logm(x: Any) -> Any:
    """Take square roots of a Schur form until it is near one, and integrate.

    This is algorithm 11.9 of Higham, "Functions of matrices", 2008, with Gauss's quadrature for
    Pade's approximant (section 11.4) of degree 7. SciPy's function estimates norms by means of
    NumPy's global random numbers, so that two calls may differ, and takes singular matrices.
    """
    t, z = scipy.linalg.schur(x)
    if t.dtype.kind == "f":
        pairs = np.diagonal(t, -1) != 0
        real = ~(np.append(pairs, False) | np.append(False, pairs))
        if (np.diagonal(t)[real] < 0).any():
            return np.nan  # not a real one
        t, z = scipy.linalg.rsf2csf(t, z)
    values = np.diagonal(t)
    if not values.all():
        return np.nan
    eye, root, count = np.eye(len(t)), t, 0
    while np.linalg.norm(root - eye, 1) > _NEAR and count < _ROOTS:
        root, count = np.triu(scipy.linalg.sqrtm(root)), count + 1
    rest = root - eye
    np.fill_diagonal(rest, np.expm1(np.log(values) / 2**count))
    nodes, weights = np.polynomial.legendre.leggauss(7)
    log = sum(
        weight / 2 * scipy.linalg.solve_triangular(eye + (node + 1) / 2 * rest, rest)
        for node, weight in zip(nodes, weights, strict=True)
    )
    log = log * 2**count
    np.fill_diagonal(log, np.log(values))
    out = z @ log @ z.conj().T
    return out if np.iscomplexobj(x) else out.real


def lu_parts(x: Any, /) -> Any:
    """Return indices of rows, and both factors."""
    p, lower, upper = scipy.linalg.lu(x, p_indices=True, check_finite=False)
    p = p.reshape(x.shape[:-1])  # of no matrices SciPy has no indices of rows
    return p.astype(np.int64), lower, upper


def sylvester(a: Any, b: Any, q: Any, /) -> Any:
    """Return X with A X + X B = Q; NaN where there is no unique one."""
    dtype = np.result_type(a, b, q)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
    a, b, q = (
        np.broadcast_to(each, batch + each.shape[-2:]).astype(dtype, copy=False)
        for each in (a, b, q)
    )
    out = np.empty(q.shape, dtype)
    for place in np.ndindex(batch) if out.size else ():
        out[place] = _one_sylvester(a[place], b[place], q[place])
    return out


def _one_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve as Bartels and Stewart do: by Schur forms, as ``scipy.linalg.solve_sylvester``.

    LAPACK says where eigenvalues meet, and SciPy does not.
    """
    if not all(np.isfinite(each).all() for each in (a, b, q)):
        return np.nan
    kind: Any = "complex" if a.dtype.kind == "c" else "real"
    r, u = scipy.linalg.schur(a, output=kind)
    s, v = scipy.linalg.schur(b.conj().T, output=kind)
    f = u.conj().T @ q @ v
    (solve,) = scipy.linalg.get_lapack_funcs(("trsyl",), (r, s, f))
    y, scale, info = solve(r, s, f, tranb="C")
    return np.nan if info else u @ (scale * y) @ v.conj().T
