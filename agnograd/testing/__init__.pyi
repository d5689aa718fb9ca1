# The public names and where they come from: agnograd imports each when it is first used.
from ._check import check_grad
from ._contract import plugin_contract
from ._conventions import CONVENTIONS, Convention
from ._events import Event, record_events
from ._samples import Sample, all_samples, array
from ._switches import Switch, switches, with_switches

__all__ = [
    "CONVENTIONS",
    "Convention",
    "Event",
    "Sample",
    "Switch",
    "all_samples",
    "array",
    "check_grad",
    "plugin_contract",
    "record_events",
    "switches",
    "with_switches",
]
