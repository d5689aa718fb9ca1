"""Random nestings of transformations: their grammar, and a check of each against the twin.

A nesting is the source of ``program(x)`` or ``program(x, y)``, in which functions are defined
within functions, so that they close over what is tracked outside of them. The same source runs on
agnograd and on the twin.
"""

import functools
import random
import re
import warnings
from time import monotonic
from typing import NamedTuple

import numpy as np

import agnograd as ag
import twin
from agnograd._plugins.backends import backend_named
from agnograd.errors import BatchingWarning, CompileWarning
from agnograd_compile import _compiled
from duals import TooLargeError, limited
from nesting_writer import Writer
from own_derivatives import OWN, TWINS

TRANSFORMATIONS = re.compile(r"\b(?:ag\.(\w+)|(wrapped|root|fixed|detach)\b|([A-Z]\w+)\(\))")
ROUNDED = 1e-14  # by how much rounding, of some dozens of operations, may seem to move an input
USUAL = 8  # programs of a compiled function
APART = ("strict",)  # raw arrays of these libraries do not leave operators to Variables


class Nesting(NamedTuple):
    """A random nesting: its source, its inputs, and what runs it."""

    source: str
    inputs: list
    mode: str
    depth: int
    backend: str = "numpy"

    def __repr__(self):
        return "Nesting, of which the script is above"

    @property
    def transformations(self):
        """What is nested, by name."""
        return {next(filter(None, found)) for found in TRANSFORMATIONS.findall(self.source)}

    def expected(self):
        """Return what the twin computes."""
        names = {"ag": twin.AG, "xp": twin.XP, **TWINS}
        exec(self.source, names)
        with limited():
            return twin.plain(twin.raw(self.twins(names["program"])))

    def twins(self, program):
        if self.mode in ("raw", "variable"):
            return program(*map(twin.asarray, self.inputs))
        whole = lambda *args: twin.XP.sum(twin.XP.sin(program(*args)))  # noqa: E731
        return twin.grad(whole, len(self.inputs) - 1)(*map(twin.asarray, self.inputs))

    def found(self):
        """Return what agnograd computes."""
        xp = ag.namespace(self.backend)
        names = dict(own_on(self.backend))
        exec(self.source, names)
        library = xp.empty(0)._domain.library
        inputs = [library.asarray(each, dtype=library.float64) for each in self.inputs]
        if self.backend in APART:
            inputs = [ag.Variable(each, requires_grad=False) for each in inputs]
        return np.asarray(on_host(run(names["program"], self.mode, xp, inputs)))

    def script(self):
        """Return a script that fails while the result differs from what the twin computes."""
        array = "library.asarray({}, dtype=library.float64)"
        if self.backend in APART:
            array = f"ag.Variable({array}, requires_grad=False)"
        inputs = "".join(
            f"{name} = {array.format(each.tolist())}\n"
            for name, each in zip("xy", self.inputs, strict=False)
        )
        own = "\n\n".join(
            text for name, text in OWN.items() if re.search(rf"\b{name}\b", self.source)
        )
        names = ", ".join("xy"[: len(self.inputs)])
        call = {
            "raw": f"found = program({names})\n",
            "variable": "found = program(ag.Variable(x, requires_grad=False))\n",
            "backward": "x = ag.Variable(x, requires_grad=True)\n"
            "(xp.sum(xp.sin(program(x))) + xp.sum(0.0 * x)).backward()\nfound = x.grad\n",
            "beside a tracked one": "y = ag.Variable(y, requires_grad=True)\n"
            "(xp.sum(xp.sin(program(x, y))) + xp.sum(0.0 * y)).backward()\nfound = y.grad\n",
        }[self.mode]
        return (
            "import numpy as np\n\nimport agnograd as ag\n\n"
            f'xp = ag.namespace("{self.backend}")\nlibrary = xp.empty(0)._domain.library\n\n\n'
            f"{own}\n\n{self.source}\n\n{inputs}{call}"
            f"expected = np.asarray({self.expected().tolist()})\n"
            "found = found.data if isinstance(found, ag.Variable) else found\n"
            "np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-7, atol=1e-7)\n"
        )


def run(program, mode, xp, inputs):
    """Run a program as its mode says."""
    if mode == "raw":
        return program(*inputs)
    if mode == "variable":
        return program(*(ag.Variable(x, requires_grad=False) for x in inputs))
    leaf = ag.Variable(inputs[-1], requires_grad=True)
    (xp.sum(xp.sin(program(*inputs[:-1], leaf))) + xp.sum(0.0 * leaf)).backward()
    return leaf.grad


def on_host(x):
    return x.data if isinstance(x, ag.Variable) else x


@functools.cache
def own_on(backend):
    """Return the names that programs use on a backend."""
    names = {"ag": ag, "xp": ag.namespace(backend), "np": np}
    exec("\n\n".join(OWN.values()), names)
    return names


# -- how nestings are drawn, checked and made smaller ---------------------------------------------


def drawn(seed, backend="numpy"):
    """Return a nesting, and the choices that lead to it."""
    rng, choices = random.Random(seed), []

    def pick(options):
        choices.append(rng.randrange(len(options)))
        return options[choices[-1]]

    return Nesting(*Writer(pick).written, backend), choices


def replayed(choices, backend):
    """Return the nesting of other choices; where there are none left, the simplest ones."""
    left, made = iter(choices), []

    def pick(options):
        made.append(next(left, 0) % len(options))
        return options[made[-1]]

    return Nesting(*Writer(pick).written, backend), made


class Failure(NamedTuple):
    """What is wrong with a nesting, and the same in words without names and numbers."""

    kind: str
    text: str
    refused: bool = False


# What agnograd refuses, and says what to do instead.
REFUSED = {
    "CompileError": "the function uses a tracked Variable that is neither an argument nor"
    "|computed outside of the program has parameters that are trained"
    "|writes to an array that was there before it was called",
    "GradientError": "user's function that ran outside of .*compile|on which that does not stand",
    "MixedBackendsError": "is written to an array that has views on",
    "SparsityError": "depends on values",
}


def check(nesting):
    """Return None if a nesting is right, and a Failure otherwise.

    Raise InconclusiveError where numbers are too large, a kink is too near, or rounded inputs would
    make as large a difference.
    """
    with np.errstate(all="ignore"):
        try:
            expected = nesting.expected()
        except TooLargeError as error:
            raise twin.InconclusiveError from error
    if not np.max(np.abs(expected), initial=0.0) < 1e4:  # or NaN
        raise twin.InconclusiveError
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", BatchingWarning)
        if _compiled.PROGRAMS < USUAL:  # by a switch: nearly every function needs more
            warnings.filterwarnings("ignore", ".* was compiled .* times", CompileWarning)
        try:
            with backend_named(nesting.backend).conformance():
                found = nesting.found()
        except Exception as error:
            return failure_of(error, nesting)
    if found.shape != expected.shape:
        return Failure("shape", f"shape {found.shape}, and {expected.shape} expected")
    scale = 1 + np.max(np.abs(expected), initial=0.0)
    if not np.all(np.abs(found - expected) <= 1e-7 * scale):
        rounding = by_rounding(nesting, expected)
        if np.max(np.abs(found - expected)) <= rounding or rounding > 0.1 * scale:  # no digit holds
            raise twin.InconclusiveError
        return Failure("value", f"{found}, and {expected} expected")
    return None


def by_rounding(nesting, expected):
    """Return by how much a result differs for inputs that rounding might have moved so far."""
    found = 0.0
    for by in (-2.0, -1.0, 1.0, 2.0):
        moved = nesting._replace(inputs=[x * (1.0 + by * ROUNDED) for x in nesting.inputs])
        with np.errstate(all="ignore"):
            found = max(found, np.max(np.abs(moved.expected() - expected)))
    return found


def failure_of(error, nesting):
    """Return what an exception says, and whether agnograd refuses the nesting with it."""
    name, text = type(error).__name__, str(error)
    pattern = REFUSED.get(name)
    if "sparse_jacobian" in nesting.transformations:  # a pattern that depends on values
        pattern = "|".join(
            filter(None, (pattern, "no Python branch|an array becomes one of another"))
        )
    found = pattern and re.search(pattern, text)
    if found:
        return Failure(f"{name}: {found[0]}", f"{name}: {text}", refused=True)
    return Failure(f"{name}: {masked(text.partition(chr(10))[0])}", f"{name}: {text}")


def masked(text):
    """Return a message, or a source, without names that differ and numbers."""
    return re.sub(r"\b[a-z]?\d+\b", "#", text)[:1000]


def smaller(choices, backend, kind, seconds=20.0):
    """Return the smallest nesting found in some time that fails in the same way."""
    end = monotonic() + seconds
    best, made = replayed(choices, backend)
    before = None
    while before != made:
        before = made
        for change in CHANGES:
            place = 0
            while place < len(made) and monotonic() < end:
                nesting, used = replayed(change(made, place), backend)
                if size_of(nesting, used) < size_of(best, made) and fails(nesting, kind):
                    best, made = nesting, used
                else:
                    place += 1
    return best


def fails(nesting, kind):
    try:
        failure = check(nesting)
    except twin.InconclusiveError:
        return False
    return failure is not None and failure.kind == kind


def without(count, lower=0):
    """Return what leaves choices out, from a nesting that is less deep."""
    return lambda made, place: [
        max(made[0] - lower, 0),
        *made[1 : 1 + place],
        *made[1 + place + count :],
    ]


def replaced(by):
    return lambda made, place: [
        *made[:place],
        min(by(made[place]), made[place]),
        *made[place + 1 :],
    ]


CHANGES = [
    *(without(count, lower) for lower in (1, 0) for count in (40, 25, 16, 11, 8, 6, 5, 4, 3, 2, 1)),
    *(replaced(by) for by in (lambda x: 0, lambda x: 1, lambda x: x // 2, lambda x: x - 1)),
]


def size_of(nesting, choices):
    source = nesting.source
    return source.count("\n"), len(source), nesting.inputs[0].size, sum(choices)
