"""Taylor mode: ``ag.jet``, ``ag.taylor``, and linear differential operators."""

from agnograd_taylor._operators import (
    biharmonic,
    coefficients_of,
    derivatives_of,
    divergence,
    jet,
    laplacian,
    linear_pde,
    taylor,
)

__all__ = [
    "biharmonic",
    "coefficients_of",
    "derivatives_of",
    "divergence",
    "jet",
    "laplacian",
    "linear_pde",
    "taylor",
]
