"""What holds for every installed plugin: results stay, whatever fails, nests or runs beside."""

import copy
import io
import pickle

import pytest
from rich.console import Console

import agnograd as ag
from agnograd.extend import Uncopied
from agnograd.testing import plugin_contract, record_events
from agnograd_nan import NaN
from agnograd_progress import Progress
from agnograd_scale import Scale
from agnograd_timer import Timer

NAMES = sorted(n for n, info in ag.plugins().items() if info.distribution.startswith("agnograd "))


def test_there_are_these():
    assert NAMES == [
        "clip",
        "digits",
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


@pytest.mark.parametrize(
    ("plugin", "options", "error", "message"),
    [
        (NaN, {"forward": "no"}, TypeError, "nan: forward must be True or False, not 'no'"),
        (NaN, {"backward": 1}, TypeError, "nan: backward must be"),
        (NaN, {"inf": None}, TypeError, "nan: inf must be"),
        (NaN, {"action": "log"}, ValueError, "nan: action must be"),
        (Progress, {"delay": "1"}, TypeError, "progress: delay must be a number"),
        (Progress, {"delay": -1.0}, ValueError, "progress: delay must be 0 or more"),
        (Progress, {"colors": 1}, TypeError, "tqdm takes no option colors here; there are ascii, "),
        (Progress, {"total": 5}, TypeError, "tqdm takes no option total here"),
        (Scale, {"factor": "a"}, TypeError, "scale: factor must be a number, not 'a'"),
        (Scale, {"factor": float("inf")}, ValueError, "both finite"),
        (Scale, {"factor": float("nan")}, ValueError, "both finite"),
        (Scale, {"growth": None}, TypeError, "scale: growth must be a number"),
        (Scale, {"interval": 2.5}, TypeError, "scale: interval must be an int"),
        (Scale, {"interval": 0}, ValueError, "interval at least 1"),
        (Timer, {"events": -1}, ValueError, "timer: events must be 0 or more"),
        (Timer, {"events": "all"}, TypeError, "timer: events must be an int"),
    ],
)
def test_options_are_checked_when_they_are_given(plugin, options, error, message):
    with pytest.raises(error, match=message):
        plugin(**options)


def test_tables_show_names_as_they_are():
    """Square brackets are markup in tables of rich."""

    class Odd(ag.Function):
        def forward(self, xp, x):
            self.save(x)
            return x * 1.0

        def backward(self, xp, g):
            return g

    Odd.__name__ = "[red]odd[/nothing]"
    with ag.hooks("timer", "memory") as (timer, memory):
        Odd()(ag.Variable([0.5, 1.0]))
    for plugin in (timer, memory):
        console = Console(width=200, file=io.StringIO())
        console.print(plugin)
        assert "[red]odd[/nothing]" in console.file.getvalue()
        assert "[red]odd[/nothing]" in plugin.summary()


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


@pytest.mark.parametrize("name", NAMES)
def test_it_is_copied_or_says_why_not(name):
    with ag.hooks(name) as (plugin,):
        pass
    for copied in (copy.deepcopy, lambda plugin: pickle.loads(pickle.dumps(plugin))):
        if isinstance(plugin, Uncopied):
            with pytest.raises(TypeError, match=f"this agnograd_{name}.* cannot be copied.* make"):
                copied(plugin)
        else:
            assert type(copied(plugin)) is type(plugin)
