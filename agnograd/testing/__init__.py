"""Gradient checks, and what rules are checked on: sample inputs, and the table of conventions."""

from agnograd.testing._check import check_grad
from agnograd.testing._conventions import CONVENTIONS, Convention
from agnograd.testing._samples import Sample, array

__all__ = ["CONVENTIONS", "Convention", "Sample", "array", "check_grad"]
