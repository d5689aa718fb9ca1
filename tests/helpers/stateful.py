"""Random functions that read what is outside of them, and random changes of that between calls.

``python tests/helpers/stateful.py --programs 10000 --seed 1`` compiles so many, each for five calls
with changes in between, and prints how many were right, refused or warned of, and a script of each
that was not.
"""

import argparse
import random
import re
import sys
import warnings
from collections import Counter

import numpy as np

import agnograd as ag
from agnograd.errors import CompileError, CompileWarning

HEAD = """
import functools, types
import numpy as np
import agnograd as ag

xp = ag.namespace("numpy")
u, v, w = np.asarray([0.5, -1.0, 2.0]), np.asarray([1.0, 0.25, -0.5]), np.asarray([2.0, 1.0, 0.5])
s, t, n, mode = 0.5, 2, 2, "a"
d = {"p": np.asarray([0.1, 0.2, 0.3]), "q": 1.5}
l = [0.5, np.asarray([1.0, -1.0, 0.5]), 2.0]
class Open:
    of_class = 1.25
    def __init__(self):
        self.a, self.b = np.asarray([0.3, 0.6, 0.9]), 0.75
    def scaled(self, y):
        return y * self.b
    @property
    def is_up(self):
        return self.a[0] > 0.0
class Slots:
    __slots__ = ("k",)
o, slots = Open(), Slots()
def gate(a):
    return 2.0 if a[0] > 0.0 else 0.5
def other_gate(a):
    return 3.0 if a[1] > 0.0 else 0.25
def first(a, *, by=1.0):
    return float(a[0]) * by
def layer(a, y):
    return xp.tanh(a * y)
def nested(y):
    return layer(v, y) * gate(w)
def closing():
    c, k = np.asarray([0.7, -0.7, 0.1]), 1.1
    def inner(y, scale=1.5):
        return y * c * (k if c[2] > 0.0 else scale)
    def change(r):
        nonlocal k
        k = r
    return inner, change, c
inner, set_k, cell_array = closing()
"""
NUMBERS = (
    *("s", "t", "d['q']", "l[0]", "l[-1]", "o.b", "o.of_class", "len(d)", "len(l)", "gate(w)"),
    *("gate(u)", "first(v)", "first(w, by=s)", "getattr(o, 'm', 1.0)", "d.get('z', 0.5)"),
    *("(1.5 if hasattr(o, 'm') else 0.5)", "(2.0 if hasattr(slots, 'k') else 1.0)"),
    *("(1.5 if mode == 'a' else 0.5)", "(2.0 if u[1] > 0.0 else 0.5)", "float(v[2])"),
    *("(3.0 if o.is_up else 1.0)", "(2.0 if 'z' in d else 1.0)", "sum(each for each in (s, t))"),
    *(
        "(1.5 if isinstance(t, int) else 0.5)",
        "max(s, t)",
        "(2.0 if w.flags.c_contiguous else 1.0)",
    ),
    *("(1.25 if (u * v)[0] > 0 else 1.0)", "({**d}.get('q', 2.0))", "len(f'{s}')"),
)
ARRAYS = (
    *(
        "u",
        "v",
        "w",
        "d['p']",
        "l[1]",
        "o.a",
        "xp.sin(u)",
        "xp.multiply(v, w)",
        "(u * v)",
        "w[::-1]",
    ),
    *("xp.asarray([0.5, 1.0, s])", "next(iter(d.values()))", "(l[1] if len(l) > 2 else u)"),
)
STEPS = (
    "y = y * {number}",
    "y = y + {array} * {number}",
    "y = xp.sin(y) - {array}",
    "y = layer({array}, y)",
    "y = o.scaled(y)",
    "y = inner(y)",
    "y = nested(y)",
    "if {number} > 1.0: y = y * {array}",
    "for i in range(n): y = y + {array} / (i + {number})",
    "for each in d.values(): y = y + each",
    "for each in l: y = y * each",
    "y = xp.where(y > {number}, y, {array})",
    "y = functools.reduce(lambda a, b: a + b, [y, {array}, {array}])",
    "try: y = y * o.m\n    except AttributeError: y = y + {number}",
    "try: y = y * later\n    except NameError: y = y - {array}",
    "y[{index}] = {number}",
    "y = y + y[{index}] * {array}",
)
RESULTS = ("y", "(y, xp.sum(y))", "{'y': y, 'number': {number}}", "[y, {array}]")
CHANGES = (
    "{name}[{index}] = {value}",
    "{name} = np.asarray([{value}, {value}, {value}])",
    "{name} = np.asarray([{value}, 9.0, {value}, 9.0, {value}, 9.0])[::2]",
    "{name} = {name}.astype(np.float32)",
    "{name} = {name}[::-1]",
    "s = {value}",
    "t = {kind}",
    "n = {count}",
    "mode = {mode}",
    "d['q'] = {value}",
    "d['p'][{index}] = {value}",
    "d['z'] = {value}",
    "d.pop('z', None)",
    "d = dict(reversed(d.items()))",
    "d['p'] = np.asarray([{value}, {value}, 0.5])",
    "l.append({value})",
    "l[0] = {value}",
    "l[1][{index}] = {value}",
    "o.b = {value}",
    "o.m = {value}",
    "vars(o).pop('m', None)",
    "o.a = np.asarray([{value}, 0.5, {value}])",
    "o.a[0] = {value}",
    "o = Open()",
    "Open.of_class = {value}",
    "Open.m = {value}",
    "slots.k = {value}",
    "slots = Slots()",
    "gate, other_gate = other_gate, gate",
    "gate.__defaults__ = None",
    "set_k({value})",
    "cell_array[{index}] = {value}",
    "inner.__defaults__ = ({value},)",
    "first.__kwdefaults__ = {'by': {value}}",
    "later = {value}",
    "globals().pop('later', None)",
    "import math as unused",
    "pass",
)
ARGUMENTS = (
    "np.asarray([{value}, 0.5, {value}])",
    "np.asarray([{value}, 0.5, {value}], dtype=np.float32)",
    "np.asarray([{value}, 9.0, 1.0, 9.0, {value}, 9.0])[::2]",
    "np.asarray([{value}, 0.5, {value}])[::-1]",
    "ag.Variable(np.asarray([{value}, 0.5, {value}]))",
)

BLANKS = {
    "number": NUMBERS,
    "array": ARRAYS,
    "index": ("0", "1", "-1", "slice(0, 2)"),
    "name": "uvw",
    "value": (-1.5, -0.25, 0.0, 0.75, 1.0, 2.0, 3.5),
    "kind": ("1", "1.0", "True", "2", "2.5", "np.float64(2.5)"),
    "count": (1, 2, 3),
    "mode": ("'a'", "'b'"),
}
BLANK = re.compile(rf"\{{({'|'.join(BLANKS)})\}}")


class Stateful:
    """A function as text, the changes before each call, and what it is called with."""

    def __init__(self, seed):
        self._rng = random.Random(seed)
        count = self._rng.randint(1, 5)
        steps = [self._filled(self._rng.choice(STEPS)) for _ in range(count)]
        lines = ["y = 1.0 * xp.asarray(x)", *steps]
        lines.append("return " + self._filled(self._rng.choice(RESULTS)))
        self.source = HEAD + "def f(x):\n" + "".join(f"    {line}\n" for line in lines)
        self.calls = [(self._changes() if k else [], self._argument()) for k in range(5)]
        self.differentiates = self._rng.random() < 0.3

    def _filled(self, text):
        """Return a template with something random for each of its blanks."""
        while blank := BLANK.search(text):
            made = str(self._rng.choice(BLANKS[blank[1]]))
            text = text[: blank.start()] + made + text[blank.end() :]
        return text

    def _changes(self):
        return [self._filled(self._rng.choice(CHANGES)) for _ in range(self._rng.randint(0, 3))]

    def _argument(self):
        return self._filled(
            self._rng.choice(ARGUMENTS if self._rng.random() < 0.4 else ARGUMENTS[:1])
        )

    def text(self):
        """Return a script of it."""
        lines = [self.source, f"g = {self._called()}", "compiled = ag.compile(g)"]
        for changes, argument in self.calls:
            lines += [*changes, f"x = {argument}", "print(compiled(x), g(x))"]
        return "\n".join(lines)

    def _called(self):
        return "ag.grad(lambda x: xp.sum(f(x)[0]))" if self.differentiates else "f"

    def check(self, lowering="plain"):
        """Return None if compiled calls are as plain ones are, else what differs."""
        scope = {"__name__": "of_users"}
        exec(self.source, scope)
        g = eval(self._called(), scope) if self.differentiates else scope["f"]
        compiled, kept = ag.compile(g, lowering=lowering), []
        for number, (changes, argument) in enumerate(self.calls):
            for change in changes:
                exec(change, scope)
            x = eval(argument, scope)
            expected, found = outcome(g, x), outcome(compiled, x)
            if isinstance(found, CompileError):
                raise found
            # A pass that nothing is traced in adds in an order of its own.
            if not same(expected, found, 1e-5 if self.differentiates else 0.0):
                return f"call {number}: {found}, and {expected} as it is"
            if not all(same(before, each) for before, each in kept):
                return f"call {number} changed what an earlier one returned"
            if number % 2:
                kept.append((copied(found), found))
            else:
                for each in arrays_in(found):
                    each[...] = 77.0  # nobody else has this memory
        return None


def outcome(f, x):
    """Return what a call returns, or the exception that it raises."""
    try:
        return f(x)
    except CompileError as error:
        return error
    except Exception as error:
        return type(error)


def raw(value):
    return value.data if isinstance(value, ag.Variable) else value


def leaves(value):
    if isinstance(value, dict):
        return [each for key in value for each in (key, *leaves(value[key]))]
    if isinstance(value, list | tuple):
        return [each for part in value for each in leaves(part)]
    return [raw(value)]


def arrays_in(value):
    return [x for x in leaves(value) if isinstance(x, np.ndarray) and x.flags.writeable]


def copied(value):
    return [np.copy(x) if isinstance(x, np.ndarray) else x for x in leaves(value)]


def same(one, other, tolerance=0.0):
    """Return whether two results have the same elements, dtypes and keys."""
    ours, theirs = leaves(one), leaves(other)
    if len(ours) != len(theirs):
        return False
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(a, np.ndarray | np.generic) and isinstance(b, np.ndarray | np.generic):
            equal = a.dtype == b.dtype and a.shape == b.shape
            equal = equal and np.allclose(a, b, tolerance, tolerance, equal_nan=True)
        else:
            equal = type(a) is type(b) and a == b
        if not equal:
            return False
    return True


def search(seeds, lowering="plain"):
    """Return counts of what came of programs, and the failures: seeds with what differs."""
    counts, failures = Counter(), []
    for seed in seeds:
        program = Stateful(seed)
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            try:
                found = program.check(lowering)
            except CompileError as error:
                counts[f"refused: {str(error)[:60]}"] += 1
                continue
        counts["checked"] += 1
        counts["warned of"] += any(issubclass(each.category, CompileWarning) for each in caught)
        counts["differentiated"] += program.differentiates
        if found is not None:
            failures.append((seed, found))
    return counts, failures


def main():
    """Search, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts, failures = search(range(given.seed, given.seed + given.programs))
    for what, count in counts.most_common():
        print(f"{count:8} {what}")
    for seed, found in failures[:10]:
        print(f"\n# seed {seed}: {found}\n{Stateful(seed).text()}")
    print(f"{len(failures)} differ")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
