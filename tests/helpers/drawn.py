"""Random programs of array functions, drawn by Hypothesis: the same ones on every run."""

import functools
import math
import random
import re
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import agnograd as ag
import aims
import grammar
from slots import Slots

XP = ag.namespace("numpy")
RAW = XP.empty(0)._domain.raw
BOOLEANS = st.booleans()
FIXED = {"derandomize": True, "deadline": None, "database": None, "report_multiple_bugs": False}
FIXED["suppress_health_check"] = [HealthCheck.too_slow]  # nothing depends on time
SETTINGS = functools.partial(settings, phases=(Phase.generate, Phase.shrink), **FIXED)

# Some ops are drawn more often than others.
OPS = sorted([*grammar.TEMPLATES, *["__setitem__"] * 15, *["__getitem__"] * 8, *["multiply"] * 4])
LARGE = [(64, 64)]
SHAPES = [
    *((), (2,), (3,), (2, 3), (3, 2), (1, 3), (2, 2), (2, 1, 3), (2, 3, 2), (1,), (3, 3), (2, 1)),
    *((1, 2, 2), (1, 1), (0,), (2, 0)),
]
PRELUDE = '''def half(xp):
    """Return the dtype float16, which the standard lacks."""
    return getattr(xp, "float16", np.float16)


def weighed(xp, v):
    """Reduce an array to a number in which each of its elements counts."""
    if xp.isdtype(v.dtype, "complex floating"):
        v = xp.stack([xp.real(v), xp.imag(v)])
    flat = xp.astype(xp.reshape(v, (-1,)), xp.float64)
    return xp.sum(xp.sin(flat) * xp.cos(xp.arange(flat.shape[0], dtype=xp.float64)))
'''
# What has as many elements as values say.
OF_VALUES = re.compile(r"xp\.(unique_\w+|arange)\(|\[[^\[\]=]* [<>] [^\[\]=]*\](?! = )")
# How far results may be from those in double precision, by the narrowest dtype of a program.
NARROW = {"half(xp))": 0.1, "float32": 1e-3, "complex64": 1e-3}


def half(xp):
    return np.float16


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
        exec(self.source, found := {"np": np})
        return found["program"]

    @property
    def narrow(self):
        """How far derivatives may be from those in double precision, or None."""
        return max((far for name, far in NARROW.items() if name in self.source), default=None)

    @property
    def of_values(self):
        """Whether values say how many elements some of its arrays have."""
        _, _, body = self.source.partition("def program")
        return bool(OF_VALUES.search(body))

    def script(self):
        """Return a script that checks the program's derivatives."""
        names = self.source.partition("def program(xp, ")[2].partition(")")[0].split(", ")
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

    def __init__(self, pick, large=()):
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
        if large and pick([True, False]):  # which aims alone take
            shape = pick(large)
            self.values["big"] = np.reshape(np.sin(np.arange(math.prod(shape)) * 0.7), shape)
        self.inputs = dict(self.values)
        self.unread = set()
        self.plain = set()  # results whose elements may be added up as they are

    def statement(self, op):
        text = self.pick(grammar.TEMPLATES[op])
        self.on_numpy_alone |= text.startswith("numpy:")
        text = Slots(self.pick, self.values, op).fill(text.removeprefix("numpy:"))
        self.ops.add(op)
        if op == "__setitem__":  # writes change no shapes, and views of what they change
            self.lines.append(text)
            self.unread = set(self.values)
        else:
            self.assign(text, np.asarray(eval(text, {"xp": RAW, "half": half, **self.values})))

    def aim(self, name):
        """Add the statements of an aim."""
        number = len(self.lines)
        lines, text = aims.Aimed(self.pick, self.values).block(name, f"t{number}_")
        found = {"xp": RAW, "np": np, "half": half, **self.values}
        exec("\n".join(lines), found)
        self.lines += lines
        self.unread -= set(re.findall(r"\w+", " ".join(lines)))
        self.ops.add(name)
        self.plain.add(f"v{len(self.lines)}")
        self.on_numpy_alone |= "half(xp)" in text + " ".join(lines)
        self.assign(text, np.asarray(eval(text, found)))

    def assign(self, text, value):
        peak = float(np.max(np.abs(value), initial=0.0))
        assert math.isfinite(peak), text
        if peak > 2 and value.dtype.kind in "fc":
            factor = 2.0 ** -math.ceil(math.log2(peak / 2))
            text, value = f"{factor} * ({text})", factor * value
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.unread -= set(re.findall(r"\w+", text))
        self.unread.add(name)
        self.values[name] = value

    def program(self):
        terms = [
            f"xp.sum({name})"
            if name in self.plain and self.pick([True, False])
            else f"weighed(xp, {name})"
            for name in self.values
            if name in self.unread
        ]
        lines = [*self.lines, "return " + " + ".join(terms)]
        head = f"{PRELUDE}\n\ndef program(xp, {', '.join(self.inputs)}):\n"
        # NumPy's ops make scalars of what has no axes, which have no elements to write to, and its
        # to_device gives the array itself.
        alike = "__setitem__" not in self.ops or not (
            "to_device" in self.ops or any(value.ndim == 0 for value in self.values.values())
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
def statements(draw, writer, op=None, aimed=False):
    """Draw one more statement: a part of the input that can be left out when a failure shrinks."""
    writer.pick = choosing(draw)
    writer.aim(writer.pick(aims.NAMES)) if aimed else writer.statement(op or writer.pick(OPS))


@st.composite
def programs(draw, first=None):
    """Draw a program, whose first statement calls the op ``first`` if one is given."""
    pick = choosing(draw)
    writer = Writer(pick)
    draw(statements(writer, first))
    while len(writer.lines) < 8 and pick(range(6)):
        draw(statements(writer))
    return writer.program()


@st.composite
def aimed_programs(draw):
    """Draw a program of statements that aim at what compiling rewrites, and of some others."""
    pick = choosing(draw)
    writer = Writer(pick, LARGE)
    for aimed in aims_and_others(pick):
        draw(statements(writer, aimed=aimed))
    return writer.program()


def aims_and_others(pick):
    """Return, for each statement of a program, whether it is an aim."""
    return [True, *[pick([True, True, True, False]) for _ in range(pick([0, 2, 3, 4]))]]


def aimed_program(seed):
    """Return the program of a seed: what ``aimed_programs`` draws, in less time."""
    rng = random.Random(seed)
    writer = Writer(lambda options: options[rng.randrange(len(options))], LARGE)
    for aimed in aims_and_others(writer.pick):
        writer.aim(writer.pick(aims.NAMES)) if aimed else writer.statement(writer.pick(OPS))
    return writer.program()


def search(count, holds, strategy=None):
    """Run a check on different random programs; a failure is raised with the smallest script."""
    passed = set()

    # Hypothesis may draw a program twice: it counts once. Those that a strategy leaves out count.
    @SETTINGS(max_examples=(2 if strategy is None else 4) * count)
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
