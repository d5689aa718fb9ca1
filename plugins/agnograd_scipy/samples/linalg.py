"""Samples of functions of matrices, of matrix equations, and of factors."""

from typing import Any

from agnograd.extend import Sample, adjoint, array, device_of


def _z(*shape: int, **options: Any) -> Any:
    return array(*shape, dtype="complex128", **options)


def near_one(x: Any, xp: Any) -> Any:
    """Return matrices whose eigenvalues are near 1."""
    return xp.eye(x.shape[-1], dtype=x.dtype, device=device_of(x)) + 0.2 * x


def positive(x: Any, xp: Any) -> Any:
    """Return Hermitian matrices whose eigenvalues are one or larger."""
    return x @ adjoint(x, xp) + xp.eye(x.shape[-1], dtype=x.dtype, device=device_of(x))


SQUARE = (
    *(array(3, 3), array(1, 1), array(2, 2, 2, layout="strided"), array(0, 0)),
    *(array(3, 3, layout="reversed"), array(2, 2, layout="transposed"), _z(3, 3), _z(2, 2, 2)),
)
DEFECTIVE = array(values=[[3.0, 1.0], [-1.0, 1.0]])
PIVOTS = array(values=[1, 1], dtype="int64")
REGULAR = array(values=[[2.0, 0.5], [-0.3, 1.5]])


samples = [
    *(Sample("linalg.expm", x) for x in SQUARE),
    Sample("linalg.expm", DEFECTIVE),
    Sample("linalg.expm", array(2, 2, low=2.0, high=4.0)),
    *(Sample("linalg.logm", x, before=near_one) for x in SQUARE),
    Sample("linalg.logm", DEFECTIVE),
    *(Sample("linalg.sqrtm", x, before=near_one) for x in SQUARE),
    Sample("linalg.sqrtm", DEFECTIVE),
    Sample("linalg.expm_frechet", array(2, 2), array(2, 2)),
    Sample("linalg.expm_frechet", array(2, 2, 2), array(2, 2), compute_expm=False),
    *(
        Sample(f"linalg.{name}", REGULAR, x, y)
        for name in ("sylvester", "solve_sylvester")
        for x, y in (
            (array(3, 3, low=0.2), array(2, 3)),
            (array(2, 1, 1, low=0.2), array(2, 1)),
            (REGULAR, array(2, 2, layout="transposed")),
            (_z(2, 2), _z(2, 2)),
            (array(0, 0), array(2, 0)),
        )
    ),
    Sample("linalg.solve_continuous_lyapunov", REGULAR, array(2, 2)),
    Sample("linalg.solve_continuous_lyapunov", _z(2, 2), _z(3, 2, 2)),
    *(
        Sample("linalg.solve_discrete_lyapunov", array(2, 2, high=0.4), array(2, 2), method)
        for method in (None, "direct", "bilinear")
    ),
    Sample("linalg.solve_discrete_lyapunov", _z(2, 2, high=0.4), _z(2, 2, 2)),
    *(
        Sample("linalg.lu_parts", x, after=lambda out, xp: out[1:])
        for x in (array(3, 3), array(4, 2), array(2, 4), array(2, 3, 3), _z(3, 3), array(0, 0))
    ),
    *(
        Sample("linalg.lu_factor", x, after=lambda out, xp: out[0])
        for x in (array(3, 3), array(3, 2), array(2, 2, 4), _z(2, 2))
    ),
    *(
        Sample("linalg.lu_solve", (array(2, 2, low=0.5), PIVOTS), array(2, 3), trans)
        for trans in (0, 1, 2)
    ),
    Sample("linalg.lu_solve", (_z(3, 2, 2, low=0.5), PIVOTS), array(2), 2),
    *(
        Sample("linalg.lu", x, permute_l=permute, after=lambda out, xp: out[-2:])
        for x in (array(3, 3), array(3, 2, layout="strided"), array(2, 2, 3), _z(2, 2))
        for permute in (False, True)
    ),
    Sample("linalg.lu", array(2, 2), p_indices=True, after=lambda out, xp: out[1:]),
    *(
        Sample("linalg.solve_triangular", REGULAR, array(2, 3), trans, lower, unit)
        for trans in (0, "T", 2)
        for lower in (False, True)
        for unit in (False, True)
    ),
    Sample("linalg.solve_triangular", array(2, 2, 2, low=0.5), array(2)),
    Sample("linalg.solve_triangular", _z(2, 2, low=0.5), array(2), "C"),
    *(
        Sample("linalg.cho_factor", x, lower=lower, before=positive, after=lambda out, xp: out[0])
        for x in (array(3, 3), array(2, 2, 2), _z(2, 2))
        for lower in (False, True)
    ),
    Sample("linalg.cho_solve", (REGULAR, True), array(2, 3)),
    Sample("linalg.cho_solve", (array(2, 2, 2, low=0.5), False), array(2)),
    Sample("linalg.cho_solve", (_z(2, 2, low=0.5), False), _z(2, 1)),
    Sample("linalg.pinvh", array(3, 3)),
    Sample("linalg.pinvh", _z(2, 2, 2), lower=False, rtol=1e-10),
    *(
        Sample("linalg.lstsq", a, b, after=lambda out, xp: out[:2])
        for a, b in (
            (array(4, 2), array(4)),
            (array(4, 2), array(4, 3)),
            (array(2, 3), array(2)),
            (array(2, 3, 2), array(2, 3, 1)),
            (_z(3, 2), _z(3)),
        )
    ),
    Sample(
        "linalg.solve_banded", (1, 0), array(values=[[2.0, 1.5, 1.0], [0.5, 0.2, 0.0]]), array(3)
    ),
    Sample("linalg.toeplitz", array(3)),
    Sample("linalg.toeplitz", array(3), array(2)),
    Sample("linalg.toeplitz", array(2, 3), array(4, layout="reversed")),
    Sample("linalg.toeplitz", _z(3)),
    Sample("linalg.toeplitz", array(0)),
    Sample("linalg.hankel", array(3)),
    Sample("linalg.hankel", array(3), array(2)),
    Sample("linalg.circulant", array(3)),
    Sample("linalg.circulant", array(2, 3, layout="strided")),
    Sample("linalg.block_diag", array(2, 3), array(1, 2), array(2)),
    Sample("linalg.block_diag", array(2, 2, 1), array(1, 2), array()),
]
