"""The linear algebra extension."""

from agnograd.extend import OpSet

__all__ = ["ops"]

ops = OpSet("linalg")

ops.missing(
    "linalg.eig(x, /)",
    "linalg.eigh(x, /)",
    'linalg.qr(x, /, *, mode="reduced")',
    "linalg.slogdet(x, /)",
    "linalg.svd(x, /, *, full_matrices=True)",
    outputs="several",
)
ops.missing(
    "linalg.cholesky(x, /, *, upper=False)",
    "linalg.cross(x1, x2, /, *, axis=-1)",
    "linalg.det(x, /)",
    "linalg.diagonal(x, /, *, offset=0)",
    "linalg.eigvals(x, /)",
    "linalg.eigvalsh(x, /)",
    "linalg.inv(x, /)",
    'linalg.matrix_norm(x, /, *, keepdims=False, ord="fro")',
    "linalg.outer(x1, x2, /)",
    "linalg.solve(x1, x2, /)",
    "linalg.svdvals(x, /)",
    "linalg.trace(x, /, *, offset=0, dtype=None)",
    "linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)",
)
ops.missing("linalg.matrix_power(x, n, /)", options=("n",))
ops.missing("linalg.pinv(x, /, *, rtol=None)", constants=("rtol",))
ops.constant("linalg.matrix_rank(x, /, *, rtol=None)", constants=("rtol",))
