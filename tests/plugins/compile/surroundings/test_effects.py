"""What a function changes outside of itself is noticed, whatever it is."""

import collections
import functools
import io
import itertools
import random
import sys
import threading
import types

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import CompileError
from agnograd_compile._surroundings.effects import Before, changed_since, check_unchanged
from agnograd_compile._surroundings.surroundings import Surroundings

THIS = sys.modules[__name__]
xp = ag.namespace("numpy")

count = 0
latest = None


class Model:
    calls = 0

    def __init__(self):
        self.w = np.ones(2)
        self.seen = []

    @functools.cached_property
    def norm(self):
        return float(np.sum(self.w))

    def counts(self):
        self.seen.append(1)

    def counts_in_its_class(self):
        type(self).calls += 1

    def sets(self):
        self.last = 1

    def sets_beside_what_is_cached(self):
        self.norms = self.norm

    def sets_by_name(self):
        setattr(self, "la" + "st", 1)

    def deletes(self):
        del self.seen

    def reads(self):
        return self.norm


model = Model()
variable = ag.Variable(np.ones(3))
plain = ag.Variable(np.ones(3), requires_grad=False)
history, queue, log = [], collections.deque(), {}
w = np.zeros(3)
large = np.zeros(100_000)
buffer = bytearray(3)
rng = np.random.default_rng(0)
legacy = np.random.RandomState(0)
python_rng = random.Random(0)
numbers = iter([1, 2, 3, 4] * 100)
counter = itertools.count()
pairs = zip([1, 2, 3] * 100, itertools.count(), strict=False)
squares = (n * n for n in range(100))
stream = io.StringIO()
draw = rng.normal


def rebinds():
    global latest
    latest = np.ones(2)


def counts():
    global count
    count += 1


def calls_a_helper():
    counts()


def appends():
    history.append(1.0)


def appends_to_a_queue():
    queue.append(1)


def adds_an_item():
    log["loss"] = 1.0


def writes():
    w[1] += 1


def writes_to_a_large_array():
    large[77_777] += 1


def writes_to_bytes():
    buffer[0] ^= 1


def writes_to_a_variable():
    plain[0] = 2.0 + np.sum(plain.data)


def adds_to_a_gradient():
    xp.sum(variable * 2).backward()


def draws():
    rng.normal()


def draws_by_a_method():
    draw()


def draws_from_a_legacy_generator():
    legacy.normal()


def draws_in_python():
    python_rng.random()


def draws_from_the_shared_generator():
    random.random()


def draws_from_the_shared_generator_of_numpy():
    np.random.rand()


def takes_from_an_iterator():
    next(numbers)


def takes_from_a_counter():
    next(counter)


def takes_from_a_zip():
    next(pairs)


def takes_from_a_generator():
    next(squares)


def writes_to_a_file():
    stream.write("a")


def sets_an_attribute():
    model.best = np.ones(1) * len(model.__dict__)


def sets_its_own_attribute():
    sets_its_own_attribute.calls = getattr(sets_its_own_attribute, "calls", 0) + 1


def nonlocal_variable():
    total = 0

    def adds():
        nonlocal total
        total += 1

    return adds


GENERATOR = "advances the global variable"
CHANGES = {
    rebinds: "changes the global variable 'latest'",
    counts: "changes the global variable 'count'",
    calls_a_helper: "changes the global variable 'count'",
    appends: "changes the global variable 'history'",
    appends_to_a_queue: "changes the global variable 'queue'",
    adds_an_item: "changes the global variable 'log'",
    writes: "writes to the global variable 'w'",
    writes_to_a_large_array: "writes to the global variable 'large'",
    writes_to_bytes: "changes the global variable 'buffer'",
    writes_to_a_variable: "writes to the global variable 'plain'",
    adds_to_a_gradient: "adds to the gradient of the global variable 'variable'",
    draws: f"{GENERATOR} 'rng'",
    draws_by_a_method: f"{GENERATOR} 'draw'",
    draws_from_a_legacy_generator: f"{GENERATOR} 'legacy'",
    draws_in_python: f"{GENERATOR} 'python_rng'",
    draws_from_the_shared_generator: "draws random numbers from the generator that the module "
    "random shares",
    draws_from_the_shared_generator_of_numpy: "draws random numbers from the generator that the "
    "module numpy.random shares",
    takes_from_an_iterator: f"{GENERATOR} 'numbers'",
    takes_from_a_counter: f"{GENERATOR} 'counter'",
    takes_from_a_zip: f"{GENERATOR} 'pairs'",
    takes_from_a_generator: f"{GENERATOR} 'squares'",
    writes_to_a_file: f"{GENERATOR} 'stream'",
    sets_an_attribute: "sets the global variable 'model.best'",
    sets_its_own_attribute: "sets sets_its_own_attribute.calls",
    nonlocal_variable(): "changes the closure variable 'total' of adds",
    Model().counts: "changes self.seen",
    Model().counts_in_its_class: "changes Model.calls",
    Model().sets: "sets self.last",
    Model().sets_beside_what_is_cached: "sets self.norms",
    Model().sets_by_name: "sets self.last",
    Model().deletes: "deletes self.seen",
}


@pytest.mark.parametrize(
    ("function", "expected"), CHANGES.items(), ids=[each.__name__ for each in CHANGES]
)
def test_a_change_is_noticed(function, expected):
    vars(model).pop("best", None)
    vars(sets_its_own_attribute).clear()
    before = Before(Surroundings(function))
    assert changed_since(before) is None
    function()
    assert changed_since(before) == expected
    with pytest.raises(CompileError, match="which would happen only in the first call"):
        check_unchanged(before)


def own_list():
    found = []
    found.append(1)
    return found


def own_generator():
    return np.random.default_rng(3).normal()


def own_function_attribute():
    def inner():
        return 1

    inner.calls = 1
    return inner()


class Recording:
    """Has methods by which others tell where they stand: nobody may call them."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def tell(self):
        raise RuntimeError

    get_state = getstate = __next__ = tell


recording = Recording()


def has_an_object():
    return recording


def reads_only():
    return [model.w, history, log, rng, numbers, stream, large, variable]


@pytest.mark.parametrize(
    "function",
    [own_list, own_generator, own_function_attribute, has_an_object, reads_only, Model().reads],
    ids=lambda each: each.__name__,
)
def test_what_is_no_change(function):
    before = Before(Surroundings(function))
    function()
    assert changed_since(before) is None


def test_the_first_import_of_random_numbers_is_no_change(monkeypatch):
    monkeypatch.delitem(sys.modules, "numpy.random")
    before = Before(Surroundings(own_list))
    monkeypatch.setitem(sys.modules, "numpy.random", np.random)
    assert changed_since(before) is None


def imports_and_draws():
    import numpy.random

    numpy.random.rand()


@pytest.mark.parametrize("function", [draws_from_the_shared_generator_of_numpy, imports_and_draws])
def test_the_first_draw_is_a_change(function, monkeypatch):
    monkeypatch.setattr(np, "random", np.random)
    monkeypatch.delitem(sys.modules, "numpy.random")
    before = Before(Surroundings(function))
    assert changed_since(before) is None
    function()
    assert "module numpy.random shares" in changed_since(before)


def test_an_import_is_no_change(tmp_path, monkeypatch):
    (tmp_path / "wholly_new").mkdir()
    (tmp_path / "wholly_new" / "__init__.py").write_text("scale = 1.0")
    (tmp_path / "wholly_new" / "inner.py").write_text("shift = [1.0]")
    monkeypatch.syspath_prepend(tmp_path)

    def imports():
        import wholly_new.inner

        return wholly_new.scale, wholly_new.inner.shift

    def changes():
        from wholly_new.inner import shift

        shift.append(1.0)

    surroundings = Surroundings(imports)
    before = Before(surroundings)
    imports()
    assert changed_since(before) is None
    before = Before(surroundings)
    changes()
    assert changed_since(before) == "changes wholly_new.inner.shift"
    for name in ("wholly_new", "wholly_new.inner"):
        monkeypatch.delitem(sys.modules, name)


def test_a_module_of_the_users():
    module = types.ModuleType("configuration")
    module.scale = 1.0

    def doubles():
        module.scale *= 2

    before = Before(Surroundings(doubles))
    doubles()
    assert changed_since(before) == "changes configuration.scale"


def test_changes_in_torch():
    torch = pytest.importorskip("torch")
    generator, tensor = torch.Generator(), torch.zeros(2, 1000).T[::2]

    def writes():
        tensor[3, 1] += 1

    expected = {
        lambda: torch.rand(()): "draws random numbers from the generator that the module torch "
        "shares",
        generator.seed: "advances self",
        writes: "writes to the closure variable 'tensor' of writes",
    }
    for function, what in expected.items():
        before = Before(Surroundings(function))
        assert changed_since(before) is None
        function()
        assert changed_since(before) == what


def test_what_another_thread_changes_is_not_said_to_be_the_functions_own():
    xp, rates, done = ag.namespace("numpy"), {"slow": 0.5}, threading.Event()

    def f(x):
        rates["slow"] += 1.0
        return x * rates["slow"]

    def refused():
        with pytest.raises(CompileError, match="changes the closure variable") as found:
            ag.compile(f)(xp.ones(2))
        return str(found.value)

    alone = refused()
    waiting = threading.Thread(target=done.wait)
    waiting.start()
    try:
        assert refused().endswith("If another thread did it meanwhile, call again")
    finally:
        done.set()
        waiting.join()
    assert "another thread" not in alone or threading.active_count() > 1
