"""Gradient checks, and the sample inputs that rules are checked on."""

from agnograd.testing._check import check_grad
from agnograd.testing._samples import Sample, array

__all__ = ["Sample", "array", "check_grad"]
