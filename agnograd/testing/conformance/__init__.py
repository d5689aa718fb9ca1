"""The conformance suite: every op, on every sample, in every precision, on one backend."""

from agnograd.testing.conformance._checks import CHECKS
from agnograd.testing.conformance._trial import NotApplicable, Trial

__all__ = ["CHECKS", "NotApplicable", "Trial"]
