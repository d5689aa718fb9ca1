"""The usual switches, for tests of what is computed with them."""

import sys

from agnograd._util.switches import known_switches


def usual(monkeypatch, *modules):
    """Set the switches of imported modules to their defaults, in the modules that define them."""
    for each in known_switches():
        if each.module in modules:
            monkeypatch.setattr(sys.modules[each.module], each.name, each.default)
