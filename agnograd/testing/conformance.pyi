# The conformance suite is a plugin, which gives this module: see agnograd._plugins.names.
from agnograd_conformance import CHECKS, NotApplicable, Trial

__all__ = ["CHECKS", "NotApplicable", "Trial"]
