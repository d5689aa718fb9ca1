"""Checks of derivatives and of plugins, and what rules are checked on.

Sample inputs stand beside the rules; the table of conventions says what a gradient is where there
is no derivative.
"""

from agnograd.testing._check import check_grad
from agnograd.testing._contract import plugin_contract
from agnograd.testing._conventions import CONVENTIONS, Convention
from agnograd.testing._events import Event, record_events
from agnograd.testing._samples import Sample, array

__all__ = [
    "CONVENTIONS",
    "Convention",
    "Event",
    "Sample",
    "array",
    "check_grad",
    "plugin_contract",
    "record_events",
]
