"""Random programs, checked against finite differences; ``--programs=N`` says how many.

A failure is reported as a script that runs by itself.
"""

import functools
import math
import random
import re
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import agnograd as ag
import grammar
from agnograd.extend import hookimpl

XP = ag.namespace("numpy")
RAW = XP.empty(0)._domain.raw
BOOLEANS = st.booleans()
STEP, TOLERANCE = 1e-3, 1e-6
FIXED = {"derandomize": True, "deadline": None, "database": None, "report_multiple_bugs": False}
FIXED["suppress_health_check"] = [HealthCheck.too_slow]  # nothing depends on time
SETTINGS = functools.partial(settings, phases=(Phase.generate, Phase.shrink), **FIXED)


# Some ops are drawn more often than others.
OPS = sorted([*grammar.TEMPLATES, *["__setitem__"] * 15, *["__getitem__"] * 8, *["multiply"] * 4])
# Ops whose results share elements with their input in NumPy and not in agnograd, or the other way
# round: after a write the two may differ.
UNLIKE_NUMPY = {"broadcast_arrays", "broadcast_to", "conj", "linalg.diagonal", "reshape"}
UNLIKE_NUMPY |= {"to_device"}
SHAPES = [
    *((), (2,), (3,), (2, 3), (3, 2), (1, 3), (2, 2), (2, 1, 3), (2, 3, 2), (1,), (3, 3), (2, 1)),
    *((1, 2, 2), (1, 1), (0,), (2, 0)),
]
PRELUDE = '''def weighed(xp, v):
    """Reduce an array to a number in which each of its elements counts."""
    flat = xp.reshape(v, (-1,))
    return xp.sum(xp.sin(flat) * xp.cos(xp.arange(flat.shape[0], dtype=xp.float64)))
'''


class Program(NamedTuple):
    """A random program: its source, its inputs, and what is known of it."""

    source: str
    inputs: list
    ops: set
    on_numpy_alone: bool
    as_in_numpy: bool

    def __repr__(self):
        return "Program, of which the script is above"

    def function(self):
        exec(self.source, found := {})
        return found["program"]

    def script(self):
        """Return a script that checks the program's derivatives."""
        names = [f"x{i}" for i in range(len(self.inputs))]
        inputs = "".join(
            f"{name} = np.asarray({value.tolist()}, dtype=np.float64).reshape({value.shape})\n"
            for name, value in zip(names, self.inputs, strict=True)
        )
        return (
            "import numpy as np\n\nimport agnograd as ag\n\n"
            f'xp = ag.namespace("numpy")\n{inputs}\n\n{self.source}\n\n'
            f"ag.check_grad(lambda *inputs: program(xp, *inputs), {', '.join(names)})\n"
        )


class Writer:
    """Writes a program, statement by statement, and runs it on raw arrays to know the shapes."""

    def __init__(self, pick):
        self.pick = pick
        self.lines = []
        self.ops = set()
        self.on_numpy_alone = False
        # No element is zero, nor equal to another or its opposite: there, some functions have no
        # derivative.
        rng = random.Random(sum(pick([0, 1]) << bit for bit in range(10)))
        numbers = iter(rng.choice((-1, 1)) * each for each in rng.sample(range(1, 1400, 2), 40))
        self.values = {}
        for i in range(pick([1, 2, 3])):
            shape = pick(SHAPES if i else SHAPES[:-2])
            drawn = [next(numbers) / 1000 for _ in range(math.prod(shape))]
            self.values[f"x{i}"] = np.reshape(np.asarray(drawn, dtype=np.float64), shape)
        self.inputs = dict(self.values)
        self.unread = set()

    def statement(self, op):
        text = self.pick(grammar.TEMPLATES[op])
        self.on_numpy_alone |= text.startswith("numpy:")
        text = grammar.Slots(self.pick, self.values).fill(text.removeprefix("numpy:"))
        self.ops.add(op)
        if op == "__setitem__":  # writes change no shapes, and views of what they change
            self.lines.append(text)
            self.unread = set(self.values)
        else:
            self.assign(text, np.asarray(eval(text, {"xp": RAW, **self.values})))

    def assign(self, text, value):
        peak = float(np.max(np.abs(value), initial=0.0))
        assert math.isfinite(peak), text
        if peak > 2:
            factor = 2.0 ** -math.ceil(math.log2(peak / 2))
            text, value = f"{factor} * ({text})", factor * value
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.unread -= set(re.findall(r"\w+", text))
        self.unread.add(name)
        self.values[name] = value

    def program(self):
        terms = [f"weighed(xp, {name})" for name in self.values if name in self.unread]
        lines = [*self.lines, "return " + " + ".join(terms)]
        head = f"{PRELUDE}\n\ndef program(xp, {', '.join(self.inputs)}):\n"
        alike = "__setitem__" not in self.ops or not (
            # NumPy's indexing makes scalars, which have no elements to share.
            self.ops & UNLIKE_NUMPY or any(value.ndim == 0 for value in self.values.values())
        )
        source = head + "\n".join(f"    {line}" for line in lines)
        return Program(source, [*self.inputs.values()], self.ops, self.on_numpy_alone, alike)


def choosing(draw):
    """Return a function that draws one of several options, by booleans alone.

    Their distribution is even and the same on every run, which that of Hypothesis's integers is
    not: constants of whatever modules are loaded enter it.
    """

    def pick(options):
        bits = (len(options) - 1).bit_length() + 2 * (len(options) > 2)
        number = sum(draw(BOOLEANS) << bit for bit in range(bits))
        return options[number * len(options) >> bits]

    return pick


@st.composite
def statements(draw, writer, op):
    """Draw one more statement: a part of the input that can be left out when a failure shrinks."""
    writer.pick = choosing(draw)
    writer.statement(op or writer.pick(OPS))


@st.composite
def programs(draw, first=None):
    """Draw a program, whose first statement calls the op ``first`` if one is given."""
    pick = choosing(draw)
    writer = Writer(pick)
    draw(statements(writer, first))
    while len(writer.lines) < 8 and pick(range(6)):
        draw(statements(writer, None))
    return writer.program()


# -- the check ------------------------------------------------------------------------------------


def flat(arrays):
    return np.concatenate([np.reshape(np.asarray(each), (-1,)) for each in arrays])


def differences(f, inputs, along):
    """Return five-point central differences of two steps, the second one of half the first."""
    pairs = list(zip(inputs, along, strict=True))
    at = {k: f([x + k * STEP / 2 * u for x, u in pairs]) for k in (-4, -2, -1, 1, 2, 4)}
    return (
        (at[-4] - 8 * at[-2] + 8 * at[2] - at[4]) / (12 * STEP),
        (at[-2] - 8 * at[-1] + 8 * at[1] - at[2]) / (6 * STEP),
    )


def close(found, expected, tolerance):
    scale = 1 + np.max(np.abs(expected), initial=0.0)
    return bool(np.all(np.abs(found - expected) <= tolerance * scale))


class Derivatives:
    """A program's value and derivatives on a namespace, as NumPy arrays."""

    def __init__(self, program, xp=XP):
        self.function = program.function()
        self.xp = xp

    def __call__(self, *inputs):
        return self.function(self.xp, *inputs)

    def value(self, inputs):
        return np.asarray(self(*(ag.Variable(x, requires_grad=False) for x in inputs)).data)

    def gradient(self, inputs):
        return flat(ag.grad(self, tuple(range(len(inputs))))(*inputs))

    def product(self, inputs, along):
        return flat(ag.hvp(self, tuple(inputs), tuple(along)))


def check(program, xp=XP):
    """Check both derivatives, and return for each whether the differences are conclusive.

    They are not where the two steps' disagree: there is a kink, or a jump, within the step.
    """
    of, inputs = Derivatives(program, xp), program.inputs
    rng = np.random.default_rng(1)
    along = [rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1, 1], x.shape) for x in inputs]
    if program.as_in_numpy:
        expected = of.function(RAW, *(np.array(x) for x in inputs))
        assert close(of.value(inputs), expected, 1e-12), "the value is not NumPy's"
    found = [of.gradient(inputs) @ flat(along), of.product(inputs, along)]
    conclusive = []
    for order, (f, derivative) in enumerate(zip((of.value, of.gradient), found, strict=True), 1):
        coarse, fine = differences(f, inputs, along)
        conclusive.append(close(coarse, fine, TOLERANCE / 10))
        if conclusive[-1] and not close(derivative, fine, TOLERANCE):
            raise AssertionError(
                f"order {order}: the derivative is {derivative}, finite differences give {fine}"
            )
    return conclusive


def search(count, holds, strategy=None):
    """Run a check on different random programs; a failure is raised with the smallest script."""
    passed = set()

    # Hypothesis may draw a program twice: it counts once.
    @SETTINGS(max_examples=2 * count)
    @given(programs() if strategy is None else strategy)
    def every(program):
        if program.source in passed or len(passed) == count:
            return
        try:
            holds(program)
        except Exception as error:
            raise AssertionError(f"{error!r} in this program:\n\n{program.script()}") from error
        passed.add(program.source)

    every()
    return len(passed)


# -- the property ---------------------------------------------------------------------------------


def test_derivatives_of_random_programs(request):
    count = request.config.getoption("--programs")
    seen = {"order 1": [], "order 2": []}
    used = set()

    def holds(program):
        conclusive = check(program)
        for order, each in zip(seen, conclusive, strict=True):
            seen[order].append(each)
        if all(conclusive):
            used.update(program.ops)

    assert search(count, holds) == count
    for order, conclusive in seen.items():
        share = sum(conclusive) / len(conclusive)
        assert share >= 0.8, f"{order}: differences are conclusive for {share:.0%} alone"
    if count >= 1000:
        assert used == set(grammar.TEMPLATES)


def test_random_programs_are_the_same_on_the_strict_backend(request):
    strict = pytest.importorskip("array_api_strict")
    xp = ag.namespace("strict")

    def holds(program):
        inputs = [strict.asarray(x) for x in program.inputs]
        ours, theirs = Derivatives(program), Derivatives(program, xp)
        assert close(theirs.value(inputs), ours.value(program.inputs), 1e-12)
        assert close(theirs.gradient(inputs), ours.gradient(program.inputs), 1e-12)

    portable = programs().filter(lambda program: not program.on_numpy_alone)
    count = max(1, request.config.getoption("--programs") // 10)
    assert search(count, holds, portable) == count


# -- the machinery --------------------------------------------------------------------------------

# Ops with a rule and without a statement, and why; extensions may have more of them.
LEFT_OUT = {}


def test_the_grammar_has_statements_for_every_rule_of_the_main_namespace():
    ruled = {name for name, info in ag.ops().items() if info.status == "rule"}
    assert {name for name in ruled if "." not in name} - set(grammar.TEMPLATES) == set(LEFT_OUT)
    assert set(grammar.TEMPLATES) <= ruled


class Calls:
    """A hook that notes which ops are called."""

    def __init__(self):
        self.names = set()

    @hookimpl
    def forward_preprocess(self, op):
        self.names.add(op.name)


def test_statements_call_the_op_that_they_are_listed_under():
    @SETTINGS(max_examples=1)
    @given(st.data())
    def every(data):
        for op in grammar.TEMPLATES:
            program = data.draw(programs(first=op))
            with ag.hooks(Calls()) as (calls,):
                Derivatives(program).value(program.inputs)
            assert op in calls.names, f"{op} is not in\n{program.source}"

    every()


def test_programs_are_the_same_on_every_run():
    first, second = [], []
    assert search(30, lambda program: first.append(program.source)) == 30
    search(30, lambda program: second.append(program.source))
    assert first == second


class Planted:
    """A namespace one of whose functions has a wrong derivative."""

    def __init__(self, name, wrong):
        self.name = name
        self.wrong = wrong

    def __getattr__(self, name):
        function = getattr(XP, name)
        if name != self.name:
            return function
        return lambda x, *args, **kwargs: self.wrong(x, function(x, *args, **kwargs))


def wrong_first(x, out):
    return out + 1e-3 * (out - ag.stop_gradient(out))


def wrong_second(x, out):
    return out + 1e-3 * (out - ag.stop_gradient(out)) ** 2


@pytest.mark.parametrize(
    ("name", "wrong", "order"), [("cumulative_sum", wrong_first, 1), ("tanh", wrong_second, 2)]
)
def test_a_planted_defect_is_found_and_reported_as_a_script(name, wrong, order, monkeypatch):
    planted = Planted(name, wrong)
    with pytest.raises(AssertionError, match=rf"order {order}: the derivative is") as failure:
        search(300, lambda program: check(program, planted))
    script = str(failure.value).partition("program:\n\n")[2]
    statements = script.partition("def program")[2].partition("return")[0].splitlines()[1:-1]
    assert len(statements) <= 4, "the smallest program has little beside the wrong statement"
    exec(compile(script, "script", "exec"), {})
    monkeypatch.setattr(ag, "namespace", lambda backend: planted)
    with pytest.raises(AssertionError, match=f"order {order}, argument"):
        exec(compile(script, "script", "exec"), {})


def test_a_kink_within_the_step_is_inconclusive():
    kink = "def program(xp, x0):\n    return xp.abs(x0 - 0.4003)"
    step = "def program(xp, x0):\n    return xp.floor(x0 + 0.5997)"
    # The gradient of a step is zero on either side of it: that there is one is not seen at order 2.
    for source, conclusive in ((kink, [False, False]), (step, [False, True])):
        assert check(Program(source, [np.asarray(0.4)], set(), False, True)) == conclusive


def test_a_value_that_is_not_numpys_is_found():
    source = "def program(xp, x0):\n    return xp.tanh(x0)"
    program = Program(source, [np.asarray(0.4)], set(), False, True)
    with pytest.raises(AssertionError, match="not NumPy's"):
        check(program, Planted("tanh", lambda x, out: 1.001 * out))
