"""Random programs of writes, views and copies: what shares memory, and what a write may reach.

A program is held against plain NumPy, whose arrays share their elements by themselves, and its
derivatives under transformations against those of single calls, one after the other; see
``--programs=N``.
"""

import random

import numpy as np

import agnograd as ag

XP = ag.namespace("numpy")
LENGTH = 6
SEEDS = 7_000_000


class Writer:
    """Writes one program from random choices: names of arrays, views of them, and numbers."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines, self.arrays, self.views, self.numbers = [], ["x"], [], ["x[1]"]
        self.add("array", "x * 1.0")
        for _ in range(self.rng.randrange(6, 16)):
            getattr(self, self.rng.choice(KINDS))()

    def add(self, kind, text):
        """Give an expression a name."""
        name = f"{kind[0]}{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        {"array": self.arrays, "view": self.views, "number": self.numbers}[kind].append(name)

    def array(self):
        of = self.rng.choice(self.arrays)
        made = ("xp.sin({})", "xp.zeros(6)", "xp.asarray({}, copy=True)", "{} + 0.7", "xp.flip({})")
        self.add("array", self.rng.choice(made).format(of))

    def view(self):
        of = self.rng.choice(self.arrays)
        made = ("{}[1:4]", "{}[::2]", "{}[-3:]", "xp.reshape({}, (2, 3))[1, :]", "{}[3::-1][:3]")
        self.add("view", self.rng.choice(made).format(of))

    def number(self):
        of = self.rng.choice([*self.arrays, *self.views])
        self.add("number", f"{of}[{self.rng.randrange(3)}]")

    def scalar(self):
        first, second = (self.rng.choice(self.numbers) for _ in range(2))
        return self.rng.choice(["{} * {}", "xp.cos({}) + {}", "0.25", "{} - 0.5 * {}"]).format(
            first, second
        )

    def write(self):
        into, key = self.rng.choice(self.arrays[1:]), self.rng.choice(["0", "2", "-1", "(4,)"])
        self.lines.append(f"{into}[{key}] = {self.scalar()}")

    def write_part(self):
        into = self.rng.choice(self.arrays[1:])
        key = self.rng.choice(["1:4", "::2", "..., 3:", "None, :3", "xp.asarray([4, 0, 2])"])
        threes = [each for each in self.views if not each.startswith("n")]
        value = self.rng.choice([self.scalar(), *[f"0.5 * {each}" for each in threes]])
        self.lines.append(f"{into}[{key}] = {value}")

    def write_view(self):
        if self.views:
            key = self.rng.choice(["0", "1:", "..."])
            self.lines.append(f"{self.rng.choice(self.views)}[{key}] = {self.scalar()}")

    def add_to(self):
        into = self.rng.choice(self.arrays[1:])
        key = self.rng.choice(["", "[1]", "[2:5]", "[::-1]"])
        self.lines.append(f"{into}{key} += {self.scalar()}")

    def source(self):
        """Return the program as the text of a function."""
        every = [*self.arrays, *self.views, *self.numbers[1:]]
        terms = [f"xp.sum(xp.sin({0.3 + 0.1 * k:.1f} * {each}))" for k, each in enumerate(every)]
        lines = [*self.lines, "return " + " + ".join(terms)]
        return "def program(xp, x):\n    " + "\n    ".join(lines) + "\n"


KINDS = ["array", "view", "number", "write", "write_part"] * 2 + ["write_view", "add_to"]


def transformed(f):
    """Return functions of rows that give the value, the gradient, or the slope of each row."""

    def slope(x):
        return ag.jvp(f, (x,), (ALONG,))[1]

    return {
        "vmap": ("value", ag.vmap(f)),
        "vmap(grad)": ("gradient", ag.vmap(ag.grad(f))),
        "grad(vmap)": ("gradient", ag.grad(lambda rows: rows_sum(ag.vmap(f)(rows)))),
        "vmap(jvp)": ("slope", ag.vmap(slope)),
        "vmap(vmap(grad))": ("gradient", lambda rows: ag.vmap(ag.vmap(ag.grad(f)))(rows[None])[0]),
        "compile(vmap(grad))": ("gradient", ag.compile(ag.vmap(ag.grad(f)), lowering="numpy")),
        "checkpoint": ("gradient", ag.vmap(ag.grad(lambda x: ag.checkpoint(f)(x)))),
    }


def rows_sum(values):
    return values.__array_namespace__().sum(values)


ALONG = np.cos(np.arange(LENGTH))
ROWS = np.stack([np.linspace(0.2, 1.4, LENGTH), np.linspace(1.1, -0.6, LENGTH)])


def check(source):
    """Compare all transformations of a program with single calls."""
    scope = {}
    exec(source, scope)
    program = scope["program"]

    def f(x):
        return program(XP, x)

    before = ROWS.copy()
    expected = {
        "value": np.stack([program(np, row.copy()) for row in ROWS]),
        "gradient": np.stack([ag.grad(f)(row) for row in ROWS]),
    }
    expected["slope"] = expected["gradient"] @ ALONG
    single = [ag.jvp(f, (row,), (ALONG,)) for row in ROWS]
    for place, kind in enumerate(("value", "slope")):
        np.testing.assert_allclose(
            np.stack([each[place] for each in single]), expected[kind], 1e-11, 1e-11, err_msg=kind
        )
    for name, (kind, function) in transformed(f).items():
        found = function(ROWS)
        np.testing.assert_allclose(found, expected[kind], 1e-11, 1e-11, err_msg=name)
        np.testing.assert_array_equal(ROWS, before, err_msg=name)


def test_random_programs_of_writes_are_those_of_single_members(request):
    for seed in range(SEEDS, SEEDS + request.config.getoption("--programs")):
        source = Writer(seed).source()
        try:
            check(source)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r} in\n{source}") from error
