"""What holds for every installed plugin: results stay, whatever fails, nests or runs beside."""

import pytest

import agnograd as ag
from agnograd.testing import plugin_contract, record_events

NAMES = sorted(n for n, info in ag.plugins().items() if info.distribution.startswith("agnograd "))


def test_there_are_these():
    assert NAMES == [
        "clip",
        "graph",
        "memory",
        "nan",
        "offload",
        "pool",
        "progress",
        "scale",
        "timer",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_it_holds_to_the_contract(backend, name):
    assert plugin_contract(name, backends=[backend]) == [backend]


def test_all_at_once(xp):
    def gradient():
        x = ag.Variable(xp.asarray([0.5, 1.0, 2.0]), requires_grad=True)
        y = xp.sin(x)
        for _ in range(3):
            y = y * y * 0.5 + y
        xp.sum(xp.exp(y)).backward()
        return [x.grad[k].item() for k in range(3)]

    expected = gradient()
    for names in (NAMES, NAMES[::-1]):
        found = []
        record_events(names, lambda found=found: found.extend(gradient()))
        assert found == expected


def test_plugins_show_their_settings_or_what_they_measured():
    x = ag.Variable([0.5, 1.0])
    with ag.hooks("memory", "offload", "scale", "nan") as plugins:
        y = ag.namespace("numpy").exp(x)
    memory, offload, scale, nan = map(repr, plugins)
    assert memory == "<Memory: 16 bytes held, 16 at the peak>"
    assert offload.startswith("<offload: 0 values of 0 bytes packed into ")
    assert scale == "Scale(factor=32768.0, growth=2.0, backoff=0.5, interval=2000)"
    assert nan == "NaN(forward=True, backward=True, inf=True, action='raise')"
    assert y.requires_grad  # the graph is there until here, and with it what it holds
