# The public names and where they come from: agnograd imports each when it is first used.
from ._checks import CHECKS
from ._trial import NotApplicable, Trial

__all__ = [
    "CHECKS",
    "NotApplicable",
    "Trial",
]
