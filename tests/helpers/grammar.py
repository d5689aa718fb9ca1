"""Statements of random programs: for each op templates of calls, and how their slots are filled."""

import functools
import math
import re

import numpy as np

# The ops, and the statements that call them: OP is the op's name, numpy: marks what NumPy alone
# computes, and a slot {name} is filled by the method Slots.name or from CHOICES. What has a bounded
# domain is given tame values.
GRAMMAR = """
abs ceil conj cos cosh exp expm1 floor negative positive asinh atan: xp.OP({v})
real round sign sin sinh square tanh trunc: xp.OP({v})
acos asin atanh log1p tan: xp.OP({unit})
log log10 log2 reciprocal sqrt: xp.OP({large})
acosh: xp.acosh(0.5 + {large})
abs acos acosh asin asinh atan atanh conj cos cosh exp expm1 log log10 log1p: xp.real(xp.OP({z}))
log2 negative positive reciprocal sign sin sinh sqrt square tan tanh: xp.real(xp.OP({z}))
imag: xp.imag(xp.exp({z}))
astype: xp.astype({v}, xp.float64)
abs: abs({v})
negative: -{v}
add copysign logaddexp maximum minimum multiply nextafter subtract: xp.OP({v}, {w})
add: {v} + {w} | {scalar} + {v}
multiply: {v} * {w} | {scalar} * {v}
subtract: {v} - {w} | {scalar} - {v}
atan2 divide floor_divide hypot remainder: xp.OP({v}, {large})
divide: {v} / {large} | {scalar} / {large}
floor_divide: {v} // {large} | 2 // {large}
remainder: {v} % {large} | 2 % {large}
hypot: xp.hypot({large}, {w})
pow: {v} ** 2 | {v} ** 3 | 1.3 ** ({unit}) | {large} ** {w} | xp.pow({large}, {w})
clip: xp.clip({v}, -0.5, 0.6) | xp.clip({v}, max=0.3)
clip: xp.clip({v}, {a} - 2.5, {a} + 2.5) | xp.clip({v}, xp.minimum({a}, 0.0), 0.7)
where: xp.where({v} > {w}, {a}, {w}) | xp.where({v} > 0.2, {same}, {w})

max mean min prod sum: xp.OP({n}, axis={axes}, keepdims={flag})
std var: xp.OP({n}, axis={axes}, keepdims={flag}, correction={half})
cumulative_prod cumulative_sum: xp.OP({r}, axis={axis}, include_initial={flag})
diff: xp.diff({r}, axis={axis}, n={count}) | xp.diff({r}, axis={axis}, prepend={alike})
sort: xp.sort({r}, axis={axis}, descending={flag})
unique_all unique_counts unique_inverse: xp.sum(xp.square(xp.OP({n})[0]))
unique_values: xp.sum(xp.square(xp.unique_values({n})))

broadcast_arrays: xp.broadcast_arrays({v}, {a})[{bit}]
broadcast_to: 1.0 * xp.broadcast_to({low}, {wider})
concat: xp.concat([{r}, {alike}, {same}], axis={axis}) | xp.concat([{low}, {other}], axis=None)
expand_dims: xp.expand_dims({low}, axis={gap})
flip: xp.flip({v}, axis={axes})
moveaxis: xp.moveaxis({r}, {axis}, {axis2})
permute_dims: xp.permute_dims({r}, {order})
repeat: xp.repeat({r}, 2, axis={axis}) | xp.repeat({r}, {repeats}, axis={axis})
reshape: xp.reshape({v}, {newshape})
roll: xp.roll({v}, {count}) | xp.roll({r}, {count}, axis={axis})
squeeze: xp.squeeze({v}[None, ...], axis=0) | xp.squeeze({r}[..., None], axis=-1)
stack: xp.stack([{low}, {alike}], axis={gap})
tile: xp.tile({low}, (2,)) | xp.tile({low}, (2, 1))
to_device: xp.to_device({v}, {same}.device)
unstack: xp.unstack({r}, axis={axis})[{end}]

__getitem__: {v}[{key}] | {n}[{mask}] | {r}[{newkey}] | numpy:{r}[{rows}]
__setitem__: {v}[{key}] = {fit} | {v}[{key}] = {fit} | {v}[{key}] += {fit} | {v}[{key}] *= {fit}
__setitem__: {n}[{mask}] = {scalar} | {n}[{mask}] *= 0.5 | {n}[{same} > 0.3] -= 0.4
__setitem__: {v} += {fit} | {v} -= {fit} | {v} *= {fit} | {v} /= 1.5 + 0.4 * xp.tanh({alike})
__setitem__: {v} **= 2 | {v}[...] = xp.sin({same}) | numpy:{r}[{rows}] = {fit}
scatter_add: xp.scatter_add({v}[{key}], ({samekey},), shape={fullshape})
scatter_add: xp.scatter_add({r}, {places}, shape=(3,))
scatter_add_axis: xp.scatter_add_axis({r}, {spread}, axis={axis}, shape={spreadshape})
take: xp.take({r}, {indices}, axis={axis})
take_along_axis: xp.take_along_axis({r}, {along}, axis={axis})

arange: numpy:xp.arange(0.2 * xp.tanh({zero}), 2.5)
arange: numpy:xp.arange(0.2, 2.1, 0.7 + 0.05 * xp.tanh({zero}))
full: numpy:xp.full((2, 3), {zero})
full_like: numpy:xp.full_like({n}, {zero})
linspace: numpy:xp.linspace({zero}, {zero}, 3, endpoint={flag})
meshgrid: xp.meshgrid(xp.reshape({low}, (-1,)), xp.reshape({other}, (-1,)))[{bit}]
tril triu: xp.OP({m}, k={offset})

matmul linalg.matmul: xp.OP({r}, {right})
matmul: {r} @ {right}
matrix_transpose linalg.matrix_transpose: xp.OP({m})
matrix_transpose: {m}.mT
tensordot linalg.tensordot: xp.OP({low}, {other}, axes=0)
tensordot linalg.tensordot: xp.OP({r}, {alike}, axes=(({axis},), ({axis},)))
vecdot linalg.vecdot: xp.OP({r}, {alike}, axis=-1) | xp.OP({m}, {alike}, axis=-2)
einsum: xp.einsum("...i,...i->...", {r}, {alike})
einsum: xp.einsum("...i,...i,...i->i...", {r}, {alike}, {same})
einsum: xp.einsum("...ij->...ji", {m}) | xp.einsum("...ij,...ij->...i", {m}, {alike})

linalg.adjugate linalg.det linalg.inv: xp.OP({regular})
linalg.cholesky: xp.linalg.cholesky({positive}, upper={flag})
linalg.cross: xp.linalg.cross(xp.stack([{low}, xp.cos({same}), {alike}], axis=-1), {three})
linalg.diagonal: xp.linalg.diagonal({m}, offset={offset})
linalg.eig: xp.real(xp.linalg.eig({positive})[0]) | xp.abs(xp.linalg.eig({regular})[1]) ** 2
linalg.eigh: xp.linalg.eigh({positive})[0] | xp.square(xp.linalg.eigh({positive})[1])
linalg.eigvals: xp.real(xp.linalg.eigvals({regular}))
linalg.eigvalsh: xp.linalg.eigvalsh({positive})
linalg.matrix_norm: xp.linalg.matrix_norm({regular}, ord={kind}, keepdims={flag})
linalg.matrix_power: xp.linalg.matrix_power({regular}, {power})
linalg.outer: xp.linalg.outer(xp.reshape({low}, (-1,)), xp.reshape({other}, (-1,)))
linalg.pinv linalg.svdvals: xp.OP({wide})
linalg.qr: xp.linalg.qr({regular})[{bit}]
linalg.slogdet: xp.linalg.slogdet({regular})[1]
linalg.solve: xp.linalg.solve({regular}, {m})
linalg.solve_adjoint: xp.linalg.solve_adjoint({regular}, {m})
linalg.solve_triangular: xp.linalg.solve_triangular({regular}, {m}, lower={flag})
linalg.svd: xp.linalg.svd({wide}, full_matrices={flag})[1]
linalg.svd: xp.square(xp.linalg.svd({positive}, full_matrices=False)[{ends}])
linalg.trace: xp.linalg.trace({m}, offset={offset})
linalg.vector_norm: xp.linalg.vector_norm({n}, axis={axes}, keepdims={flag}, ord={ord})

fft.ihfft fft.rfft: xp.real(xp.OP({r}, axis={axis}, norm={norm}))
fft.fft fft.ifft: xp.imag(xp.OP({complex_values}, axis={axis}, norm={norm}))
fft.fft fft.ifft: xp.real(xp.OP({complex_values}, axis={axis}, norm={norm}))
fft.hfft fft.irfft: xp.OP({complex_values}, n={length}, axis={axis}, norm={norm})
fft.fftn fft.ifftn: xp.real(xp.OP({complex_values}))
fft.rfftn: xp.real(xp.OP({r}))
fft.irfftn: xp.fft.irfftn({complex_values}, s=({length},), axes=({axis},))
fft.dct fft.dst: xp.OP({r}, axis={axis}, norm={norm}, type=4) | xp.OP({r}, type=3)
fft.dct: xp.fft.idct({r}, axis={axis}, norm={norm}) | xp.fft.dctn({r}, axes=({axis},))
fft.dst: xp.fft.idst({r}, axis={axis}, norm={norm}) | xp.fft.idstn({r}, norm={norm})
fft.fftshift fft.ifftshift: xp.OP({r}) | xp.imag(xp.OP({complex_values}))
"""
CHOICES = {
    "bit": [0, 1],
    "count": [1, 2],
    "end": [0, -1],
    "ends": [0, 2],
    "flag": [False, True],
    "half": [0, 0.5],
    "kind": ["'fro'", "'nuc'", 1, 2, -2, "float('inf')"],
    "length": [4, 3, 5],
    "norm": ["'backward'", "'ortho'", "'forward'"],
    "offset": [0, 1, -1],
    "ord": [2, 1, 3, "float('inf')"],
    "power": [2, 3, 0, 1, -1],
    "scalar": [0.5, -1.25, 2, 0.0, -1],
}


def _templates():
    found = {}
    for line in filter(None, GRAMMAR.splitlines()):
        ops, _, texts = line.partition(": ")
        for op in ops.split():
            known = found.setdefault(op, [])
            known += [text.strip().replace("OP", op) for text in texts.split(" | ")]
    return found


TEMPLATES = _templates()


class Slots:
    """Fills one template from the arrays that a program has; the first one drawn sets the shape."""

    def __init__(self, pick, values):
        self.pick = pick
        self.values = values
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

    def choose(self, suits):
        names = [name for name, value in self.values.items() if suits(value)]
        return self.pick(names[::-1]) if names else None

    def take(self, text, shape):
        self.first, self.shape = text, shape
        return text

    def operand(self, suits):
        name = self.choose(suits)
        return self.take(name, self.values[name].shape)

    def v(self):
        return self.operand(lambda x: x.size <= 64)

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
        known = [name for name, value in self.values.items() if value.shape == self.shape]
        return self.pick([self.first, *known])

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

    def rows(self):
        made = self.literal((3,), range(-self.shape[0], self.shape[0]))
        self.shape = (3, *self.shape[1:])
        return made
