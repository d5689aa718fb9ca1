"""How the slots of a random program's statements are filled, from the arrays that it has."""

import functools
import math
import re

import numpy as np

from grammar import CHOICES

# Libraries have no kernels for narrow dtypes there, and a large error would be no fault.
WIDE = ("linalg.", "fft.")


class Slots:
    """Fills one template from the arrays that a program has; the first one drawn sets the shape."""

    def __init__(self, pick, values, op=""):
        self.pick = pick
        self.values = values
        self.dtypes = "d" if op.startswith(WIDE) else "dfe"
        self.first = None
        self.shape = ()

    def fill(self, template):
        return re.sub(r"\{(\w+)\}", lambda found: str(self.slot(found[1])), template)

    def slot(self, name):
        if name in CHOICES:
            return self.pick(CHOICES[name])
        slot = getattr(self, name)
        return slot() if callable(slot) else slot

    # -- arrays: the first one of a statement, and its partners -----------------------------------

    def choose(self, suits, dtypes=None):
        """Return the name of an array, of a real floating-point dtype unless others are named."""
        names = [
            name
            for name, value in self.values.items()
            if value.dtype.char in (dtypes or self.dtypes) and suits(value)
        ]
        return self.pick(names[::-1]) if names else None

    def take(self, text, shape):
        self.first, self.shape = text, shape
        return text

    def operand(self, suits):
        name = self.choose(suits)
        return self.take(name, self.values[name].shape)

    def v(self):
        return self.operand(lambda x: x.size <= 64)

    def double(self):
        """Return what random numbers may have for a parameter, in double precision."""
        return f"xp.astype(xp.tanh({self.v() if self.first is None else self.a()}), xp.float64)"

    def n(self):
        return self.operand(lambda x: 0 < x.size <= 64)

    def low(self):
        return self.operand(lambda x: 0 < x.size <= 12 and x.ndim <= 3)

    def other(self):
        return self.choose(lambda x: 0 < x.size <= 12 and x.ndim <= 3)

    def r(self):
        name = self.choose(lambda x: 0 < x.size <= 12 and x.ndim)
        if name is not None:
            return self.take(name, self.values[name].shape)
        return self.take("xp.stack([{0}, 0.5 * {0}])".format(self.n()), (2, *self.shape))

    @functools.cached_property
    def m(self):
        name = self.choose(lambda x: 0 < x.size <= 12 and x.ndim >= 2 and x.shape[-2] <= 4)
        if name is not None:
            return self.take(name, self.values[name].shape)
        name = self.low()
        size = self.values[name].size
        rows = next(rows for rows in (2, 3, 1) if size % rows == 0)
        return self.take(f"xp.reshape({name}, ({rows}, -1))", (rows, size // rows))

    def alike(self):
        name = self.choose(lambda x: x.shape == self.shape)
        return self.first if name is None else self.pick([self.first, name])

    def same(self):
        return self.first

    def a(self):
        """Return an array that broadcasts with what there is."""
        name = self.choose(lambda x: 0 <= math.prod(self.joined(x.shape)) <= 64) or self.first
        if name in self.values:
            self.shape = self.joined(self.values[name].shape)
        return name

    def joined(self, shape):
        try:
            return np.broadcast_shapes(self.shape, shape)
        except ValueError:
            return (-1,)

    def w(self):
        return self.pick([self.a, self.a, self.scalar])()

    def scalar(self):
        return self.slot("scalar")

    def fit(self):
        """Return what can be written where ``self.shape`` is."""
        name = self.choose(lambda x: self.joined(x.shape) == self.shape)
        return self.scalar() if name is None else self.pick([name, name, self.scalar()])

    def tame(self):
        function = self.pick(["tanh", "sin", "cos"])
        return f"xp.{function}({self.v() if self.first is None else self.a()})"

    def zero(self):
        return self.choose(lambda x: x.ndim == 0) or f"xp.mean({self.n()})"

    def right(self):
        def suits(x):
            if x.ndim == 0 or x.size > 12:
                return False
            try:
                return np.matmul(np.zeros(self.shape), np.zeros(x.shape)).size <= 64
            except ValueError:
                return False

        name = self.choose(suits)
        if name is None:
            name = self.first if len(self.shape) == 1 else f"xp.matrix_transpose({self.first})"
        return name

    def unit(self):
        return f"0.8 * {self.tame()}"

    def large(self):
        return f"(1.5 + 0.4 * {self.tame()})"

    def c(self, least=0):
        """Return a complex array, or a real one made complex."""
        name = self.choose(lambda x: least <= x.size <= 64, "DF")
        if name is not None:
            return self.take(name, self.values[name].shape)
        name = self.operand(lambda x: least <= x.size <= 64)
        return self.take(f"(xp.astype({name}, xp.complex128) * (0.6 + 0.8j))", self.shape)

    def cn(self):
        """Return one that is not empty."""
        return self.c(least=1)

    def cv(self):
        """Return the name of a complex array, or of a real one where there is none."""
        name = self.choose(lambda x: x.size <= 64, "DF") or self.choose(lambda x: x.size <= 64)
        return self.take(name, self.values[name].shape)

    def cw(self):
        """Return what can be computed with a complex array."""
        fits = self.choose(lambda x: x.shape == self.shape, "DF") or self.first
        return self.pick([lambda: fits, self.a, self.scalar, lambda: "(0.3 - 0.4j)"])()

    def iv(self):
        """Return the name of an array of integers or booleans, or of a real one."""
        name = self.choose(lambda x: x.size <= 64, "lqb?") or self.choose(lambda x: x.size <= 64)
        return self.take(name, self.values[name].shape)

    def z(self):
        """Return complex values with positive parts, away from every branch cut."""
        return f"xp.astype({self.tame()}, xp.complex128) * (0.4 + 0.3j) + (0.6 + 0.5j)"

    def complex_values(self):
        return f"xp.astype({self.r()}, xp.complex128) * (0.8 + 0.6j)"

    def three(self):
        return f"xp.stack([xp.sin({self.alike()}), {self.first}, {self.alike()}], axis=-1)"

    def square(self, low, high):
        matrix, size = self.m, self.shape[-2]
        rows = [
            [low if j < i else high if j > i else 1.0 + 1.5 * i for j in range(size)]
            for i in range(size)
        ]
        return f"({matrix} @ xp.matrix_transpose({matrix}) + xp.asarray({rows}))"

    def positive(self):
        return self.square(0.0, 0.0)

    def regular(self):
        return self.square(-0.4, 0.4)

    def wide(self):
        square = self.regular()
        return f"xp.concat([{square}, 0.5 * {square}], axis=-1)"

    # -- axes and shapes --------------------------------------------------------------------------

    @functools.cached_property
    def axis(self):
        return self.pick(range(-len(self.shape), len(self.shape)))

    def axis2(self):
        return self.pick(range(-len(self.shape), len(self.shape)))

    def axes(self):
        rank = len(self.shape)
        if rank == 0:
            return None
        pair = (self.pick(range(rank)), -1)
        several = (self.axis,) if pair[0] == rank - 1 else pair
        return self.pick([None, self.axis, self.axis, several])

    def gap(self):
        rank = len(self.shape)
        return self.pick(range(-rank - 1, rank + 1))

    def order(self):
        rank = len(self.shape)
        shift = self.pick(range(rank))
        return self.pick([tuple(range(rank))[::-1], tuple((i + shift) % rank for i in range(rank))])

    def wider(self):
        return (self.pick([1, 2]), *(3 if length == 1 else length for length in self.shape))

    def newshape(self):
        return self.pick([(-1,), self.shape[::-1], (1, *self.shape), (*self.shape, 1)])

    def fullshape(self):
        return self.values[self.first].shape

    def spreadshape(self):
        shape = list(self.shape)
        shape[self.axis] = 3
        return tuple(shape)

    # -- keys and indices -------------------------------------------------------------------------

    @functools.cached_property
    def basic(self):
        """A basic key: for each axis an integer or a slice, or for the first ones, and dots."""
        parts = [
            self.pick([":", "1:", "::-1", "0", "-1", ":1", "::2", "1::-1"] if length > 1 else [":"])
            for length in self.shape
        ]
        cut = self.pick(range(len(parts) + 1))
        parts = parts if cut == 0 else [*parts[:cut], "..."]
        return ", ".join(parts) or "..."

    def key(self):
        key = self.basic
        self.shape = eval(f"x[{key}]", {"x": np.zeros(self.shape)}).shape
        return key

    def samekey(self):
        index = f"np.index_exp[{self.basic}]"
        return ", ".join(map(repr, eval(index, {"np": np})))

    def newkey(self):
        return self.pick(["None, {}", "{}, None"]).format(self.basic.replace(", ...", "") + ", ...")

    def nested(self, shape, draw):
        made = [draw() for _ in range(math.prod(shape))]
        return np.reshape(np.asarray(made), shape).tolist()

    def literal(self, shape, options):
        return f"xp.asarray({self.nested(shape, lambda: self.pick(options))})"

    def mask(self):
        return self.literal(self.shape, [True, True, False])

    def places(self):
        return self.literal(self.shape, [0, 1, 2])

    def spread(self):
        return self.literal((self.shape[self.axis],), [0, 1, 2])

    def repeats(self):
        return self.literal((self.shape[self.axis],), [1, 2, 0])

    def indices(self):
        return self.literal((self.pick([3, 2, 1]),), range(self.shape[self.axis]))

    def along(self):
        shape = list(self.shape)
        length = shape[self.axis]
        shape[self.axis] = self.pick([2, 3, 1])
        return self.literal(tuple(shape), range(-length, length))

    def rowmask(self):
        """Return a mask of the first axis."""
        made = self.literal(self.shape[:1], [True, False, True])
        kept = sum(eval(made, {"xp": np}).tolist())
        self.shape = (kept, *self.shape[1:])
        return made

    def fancy(self):
        """Return a key with arrays of integers, beside slices, integers and new axes."""
        return self.advanced([(2,), (3,), (2, 1), (1, 2)], repeats=True)

    def distinct(self):
        """Return one that names no place twice: of writes there the order does not count."""
        return self.advanced([(2,), (1,)], repeats=False)

    def advanced(self, shapes, repeats):
        lengths = self.shape
        place = self.pick(range(len(lengths)))
        parts = [self.pick([":", "1:", "::-1", "0", "-1"]) if n > 1 else ":" for n in lengths]
        parts[place] = self.indices_of(lengths[place], self.pick(shapes), repeats)
        other = self.pick(range(len(lengths)))
        if other != place and self.pick([False, True]):
            parts[other] = self.indices_of(lengths[other], (1,), repeats)
        if self.pick([False, False, True]):
            parts.insert(self.pick(range(len(parts) + 1)), "None")
        key = ", ".join(parts)
        self.shape = eval(f"x[{key}]", {"x": np.zeros(lengths), "xp": np}).shape
        return key

    def indices_of(self, length, shape, repeats):
        if repeats:
            return self.literal(shape, range(-length, length))
        start = self.pick(range(length))
        count = min(math.prod(shape), length)
        return f"xp.asarray({[(start + i) % length for i in range(count)]})"

    def rows(self):
        made = self.literal((3,), range(-self.shape[0], self.shape[0]))
        self.shape = (3, *self.shape[1:])
        return made
