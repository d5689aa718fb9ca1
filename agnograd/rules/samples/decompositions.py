"""Samples of decompositions: what is checked of them does not depend on signs and phases."""

from typing import Any

from agnograd.extend import Sample, adjoint, array, device_of
from agnograd.rules.samples.shared import z


def hermitian(x: Any, xp: Any) -> Any:
    """Return the Hermitian part of each matrix."""
    return (x + adjoint(x, xp)) / 2


def positive(x: Any, xp: Any) -> Any:
    """Return Hermitian matrices whose eigenvalues are one or larger."""
    return x @ adjoint(x, xp) + xp.eye(x.shape[-2], dtype=x.dtype, device=device_of(x))


def _weighted(vectors: Any, xp: Any) -> Any:
    weights = xp.arange(1, vectors.shape[-1] + 1, device=device_of(vectors))
    return vectors * xp.astype(weights, vectors.dtype)


def projections(out: Any, xp: Any) -> Any:
    """Return eigenvalues, and the weighted sum of the projections onto eigenvectors."""
    w, v = out
    return w, _weighted(v, xp) @ adjoint(v, xp)


def directions(out: Any, xp: Any) -> Any:
    """Return eigenvalues, and those of products of eigenvectors that no phase changes."""
    w, v = out
    return w, xp.abs(v) ** 2, xp.conj(xp.sum(v, axis=-2, keepdims=True)) * v


def products(out: Any, xp: Any) -> Any:
    """Return singular values, and weighted sums of products of singular vectors."""
    u, s, vh = out
    count = s.shape[-1]
    u, v = u[..., :count], adjoint(vh[..., :count, :], xp)
    left, right = _weighted(u, xp), _weighted(v, xp)
    return s, left @ adjoint(v, xp), left @ adjoint(u, xp), right @ adjoint(v, xp)


def completed(out: Any, xp: Any) -> Any:
    """Return the columns that a complete QR decomposition has in common with a reduced one."""
    q, r = out
    count = min(q.shape[-2], r.shape[-1])
    return q[..., :count], r[..., :count, :]


SQUARE = (
    *(array(3, 3), array(1, 1), array(2, 3, 3, layout="strided"), array(0, 0), array(0, 2, 2)),
    *(array(3, 3, layout="reversed"), array(2, 2, layout="transposed"), z(3, 3), z(2, 2, 2)),
)
ANY = (
    *(array(3, 2), array(2, 3), array(3, 3), array(2, 3, 2), array(2, 2, 4), array(1, 3)),
    *(
        array(3, 3, layout="reversed"),
        array(4, 2, layout="strided"),
        array(2, 3, layout="transposed"),
    ),
    *(z(2, 3), z(3, 2), z(2, 2, 2), array(0, 2, 3), array(2, 1)),
)
# Values 2.5, 1.5 and 1.5.
REPEATED = array(values=[[2.0, 0.0, 0.5], [0.0, 1.5, 0.0], [0.5, 0.0, 2.0]])


samples = [
    *(Sample("linalg.cholesky", x, before=positive) for x in SQUARE),
    *(Sample("linalg.cholesky", x, upper=True, before=positive) for x in SQUARE),
    Sample("linalg.cholesky", array(3, 3, dtype="float32"), before=positive, order=1),
    *(Sample("linalg.eigh", x, before=hermitian, after=projections) for x in SQUARE),
    *(
        Sample("linalg.eigh_upper", x, before=hermitian, after=projections)
        for x in (array(3, 3), array(2, 3, 3, layout="strided"), array(0, 0), z(3, 3))
    ),
    *(Sample("linalg.eigvals", x) for x in SQUARE),
    *(Sample("linalg.eig", x, after=directions) for x in SQUARE),
    *(
        Sample("linalg.svd", x, full_matrices=full, after=products)
        for full in (False, True)
        for x in ANY
    ),
    *(Sample("linalg.qr", x) for x in ANY),
    *(Sample("linalg.qr", x, mode="complete", after=completed) for x in ANY),
    # Only the values, of all three decompositions, and only the vectors.
    Sample("linalg.eigh", array(3, 3), before=hermitian, after=lambda out, xp: out[0]),
    Sample("linalg.eig", array(3, 3), after=lambda out, xp: out[0]),
    Sample("linalg.svd", array(3, 2), after=lambda out, xp: out[1]),
    Sample("linalg.eigh", array(3, 3), before=hermitian, after=lambda out, xp: out[1] ** 2),
    Sample("linalg.eig", array(3, 3), after=lambda out, xp: xp.abs(out[1]) ** 2),
    Sample("linalg.svd", array(3, 2), after=lambda out, xp: out[0][:, :2] ** 2),
    Sample("linalg.svd", array(2, 3), after=lambda out, xp: out[2][:2, :] ** 2),
    # The vector of the largest value, where others repeat.
    Sample(
        "linalg.eigh", REPEATED, before=hermitian, after=lambda out, xp: out[1][:, 2] ** 2, order=1
    ),
    Sample("linalg.svd", REPEATED, after=lambda out, xp: out[0][:, 0] ** 2, order=1),
]
