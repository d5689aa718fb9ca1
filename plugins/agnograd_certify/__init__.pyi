# The public names and where they come from: agnograd imports each when it is first used.
from ._calls import Differentiable, differentiable
from ._findings import CHECKS, Finding
from ._measure import certify

__all__ = [
    "CHECKS",
    "Differentiable",
    "Finding",
    "certify",
    "differentiable",
]
