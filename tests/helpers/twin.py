"""An independent twin of what nestings call: transformations and functions on dual numbers.

``AG`` and ``XP`` have names of agnograd and of its namespace. ``vmap`` is a loop over members, and
``compile`` and ``checkpoint`` return the function that they get.
"""

from functools import reduce
from math import factorial, prod
from types import SimpleNamespace

import numpy as np

import duals
from duals import LEVELS, Dual, plain

NEAR = 1e-6  # of a kink, what is computed depends on rounding


class InconclusiveError(Exception):
    """The program comes too near to a kink."""


def apart(differences):
    """Fail if numbers are too near to zero, or there is NaN among them."""
    if not np.all(np.abs(differences) > NEAR):
        raise InconclusiveError


class Array:
    """An array that can be written to."""

    __slots__ = ("of",)
    __array_ufunc__ = None

    def __init__(self, of):
        self.of = of

    @property
    def shape(self):
        return self.of.shape

    def __add__(self, other):
        return Array(duals.add(self.of, raw(other)))

    def __mul__(self, other):
        return Array(duals.multiply(self.of, raw(other)))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + Array(duals.negative(raw(other)))

    def __rsub__(self, other):
        return -self + other

    def __truediv__(self, other):
        return self * Array(duals.reciprocal(raw(other)))

    def __rtruediv__(self, other):
        return Array(duals.reciprocal(self.of)) * other

    def __pow__(self, power):
        return reduce(Array.__mul__, [self] * power)

    def __matmul__(self, other):
        return Array(duals.product(self.of, raw(other)))

    def __gt__(self, number):
        apart(plain(self.of) - number)
        return plain(self.of) > number

    def __getitem__(self, key):
        return Array(duals.item(self.of, keys(key)))

    def __setitem__(self, key, value):
        if isinstance(key, np.ndarray) and key.dtype == bool:
            self.of = duals.where(key, duals.broadcast(raw(value), self.shape), self.of)
            return
        key = keys(key)
        shape = np.broadcast_to(0.0, self.shape)[key].shape
        self.of = duals.written(self.of, key, duals.broadcast(raw(value), shape))

    def _become(self, other):
        assert other.shape == self.shape
        self.of = other.of
        return self

    def __iadd__(self, other):
        return self._become(self + other)

    def __isub__(self, other):
        return self._become(self - other)

    def __imul__(self, other):
        return self._become(self * other)

    def __itruediv__(self, other):
        return self._become(self / other)

    @property
    def T(self):  # noqa: N802 - the name of the standard
        return Array(duals.transposed(self.of))

    def detach(self):
        return Array(plain(self.of))


def keys(key):
    key = key if isinstance(key, tuple) else (key,)
    return tuple(plain(each.of) if isinstance(each, Array) else each for each in key)


def raw(x):
    return x.of if isinstance(x, Array) else np.asarray(x, dtype=np.float64)


# -- pytrees --------------------------------------------------------------------------------------


def flatten(tree):
    """Return the arrays of a tree, and a function that puts others in their places."""
    if isinstance(tree, dict):
        names, children = list(tree), list(tree.values())
        made = lambda parts: dict(zip(names, parts, strict=True))  # noqa: E731
    elif isinstance(tree, tuple | list):
        children, made = list(tree), type(tree)
    else:
        return [raw(tree)], lambda leaves: Array(leaves[0])
    flat = [flatten(child) for child in children]

    def rebuilt(leaves):
        left, out = list(leaves), []
        for own, build in flat:
            out.append(build(left[: len(own)]))
            left = left[len(own) :]
        return made(out)

    return [leaf for own, _ in flat for leaf in own], rebuilt


def split(flat, leaves, behind=()):
    """Return the parts of the first axis that belong to elements of leaves, in their shapes."""
    found, start = [], 0
    for leaf in leaves:
        stop = start + prod(leaf.shape)
        part = duals.item(flat, (slice(start, stop),))
        found.append(duals.reshaped(part, (*leaf.shape, *behind)))
        start = stop
    return found


# -- transformations ------------------------------------------------------------------------------


def derived(f, trees):
    """Call a function of trees with slopes along each element.

    Return the leaves of its result and their slopes, how to rebuild a result, and a way to rebuild
    arguments, each with the leaves of arguments.
    """
    leaves, rebuilt = flatten(tuple(trees))
    size, at, start, seeded = sum(prod(each.shape) for each in leaves), next(LEVELS), 0, []
    for leaf in leaves:
        stop = start + prod(leaf.shape)
        unit = np.eye(size, stop - start, -start).reshape((size, *leaf.shape))
        seeded.append(Dual(at, leaf, unit))
        start = stop
    outputs, build = flatten(f(*rebuilt(seeded)))
    pairs = [duals.parts(each, at) for each in outputs]
    values = [value for value, _ in pairs]
    slopes = [np.zeros((size, *v.shape)) if d is None else d for v, d in pairs]
    return SimpleNamespace(
        leaves=leaves, rebuilt=rebuilt, values=values, slopes=slopes, build=build
    )


def pulled(run, cotangents):
    """Return the cotangents of arguments, as one array."""
    terms = []
    for g, slopes in zip(cotangents, run.slopes, strict=True):
        terms.append(
            duals.total(duals.reshaped(duals.multiply(slopes, g), (slopes.shape[0], -1)), 1)
        )
    return reduce(duals.add, terms)


def pushed(run, tangents):
    """Return the tangents of results."""
    flat = [duals.reshaped(each, (prod(each.shape),)) for each in tangents]
    along = duals.joined(np.concatenate, flat, 0)
    found = []
    for slopes in run.slopes:
        rank = len(slopes.shape) - 1
        weights = duals.reshaped(along, (*along.shape, *(1,) * rank))
        found.append(duals.total(duals.multiply(slopes, weights), 0))
    return found


def vjp(f, *args):
    run = derived(f, args)

    def pullback(cotangent):
        return run.rebuilt(split(pulled(run, flatten(cotangent)[0]), run.leaves))

    return run.build(run.values), pullback


def linearize(f, *args):
    run = derived(f, args)
    return run.build(run.values), lambda *tangents: run.build(pushed(run, flatten(tangents)[0]))


def jvp(f, args, tangents):
    args, tangents = (x if isinstance(x, tuple) else (x,) for x in (args, tangents))
    value, push = linearize(f, *args)
    return value, push(*tangents)


def of_argnums(f, argnums, args):
    """Return a function of the arguments to differentiate, and these."""
    chosen = (argnums,) if isinstance(argnums, int) else argnums

    def g(*given):
        every = list(args)
        for place, each in zip(chosen, given, strict=True):
            every[place] = each
        return f(*every)

    return g, [args[place] for place in chosen]


def value_and_grad(f, argnums=0):
    def both(*args):
        g, chosen = of_argnums(f, argnums, args)
        value, pull = vjp(g, *chosen)
        found = pull(1.0)
        return value, found[0] if isinstance(argnums, int) else found

    return both


def grad(f, argnums=0):
    return lambda *args: value_and_grad(f, argnums)(*args)[1]


def jacobian(f, argnums=0, mode="auto", chunk_size=None):
    def blocks(*args):
        g, chosen = of_argnums(f, argnums, args)
        run, rows = derived(g, chosen), []
        for value, slopes in zip(run.values, run.slopes, strict=True):
            found = run.rebuilt(
                [
                    duals.moved(_behind(len(leaf.shape), len(value.shape)), block)
                    for leaf, block in zip(
                        run.leaves, split(slopes, run.leaves, value.shape), strict=True
                    )
                ]
            )
            rows.append(found[0] if isinstance(argnums, int) else found)
        return _placed(run.build(run.values), rows)

    return blocks


def _behind(count, others):
    """Return what moves the first axes behind the others."""

    def move(x, lead):
        order = [*range(lead), *(lead + count + k for k in range(others))]
        return x.transpose([*order, *(lead + k for k in range(count))])

    return move


def _placed(tree, rows):
    """Return a tree with other things in place of its arrays."""
    left = iter(rows)

    def placed(tree):
        if isinstance(tree, dict):
            return {name: placed(child) for name, child in tree.items()}
        if isinstance(tree, tuple | list):
            return type(tree)([placed(child) for child in tree])
        return next(left)

    return placed(tree)


def hessian(f, argnums=0):
    return jacobian(grad(f, argnums), argnums)


def hvp(f, args, vectors):
    args, vectors = (x if isinstance(x, tuple) else (x,) for x in (args, vectors))
    found = vjp(grad(f, tuple(range(len(args)))), *args)[1](vectors)
    return found[0] if len(args) == 1 else found


def taylor(f, x, v, order):
    found, derivative = [f(x)], f
    for k in range(1, order + 1):
        derivative = _along(derivative, v)
        found.append(derivative(x) * (1.0 / factorial(k)))
    return found


def jet(f, primals, series):
    (x,), (higher,) = primals, series

    def curve(t):
        powers = [reduce(Array.__mul__, [t] * k) for k in range(1, len(higher) + 1)]
        return f(reduce(Array.__add__, [c * p for c, p in zip(higher, powers, strict=True)], x))

    value, *found = taylor(curve, Array(raw(0.0)), Array(raw(1.0)), len(higher))
    return value, found


def laplacian(f):
    def of(x):
        units = [Array(unit) for unit in np.eye(x.shape[0])]
        return reduce(Array.__add__, [_along(_along(f, unit), unit)(x) for unit in units])

    return of


def divergence(f):
    def of(x):
        units = [Array(unit) for unit in np.eye(x.shape[0])]
        return reduce(Array.__add__, [jvp(f, x, unit)[1][k] for k, unit in enumerate(units)])

    return of


def _along(f, v):
    return lambda x: jvp(f, x, v)[1]


def vmap(f, in_axes=0, out_axes=0, chunk_size=None):
    def loop(*args):
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        flat = [flatten(arg) for arg in args]
        size = next(
            leaves[0].shape[axis]
            for (leaves, _), axis in zip(flat, axes, strict=True)
            if axis is not None
        )
        results = []
        for k in range(size):
            member = [
                build([_member(leaf, axis, k) for leaf in leaves])
                for (leaves, build), axis in zip(flat, axes, strict=True)
            ]
            results.append(flatten(f(*member)))
        every = zip(*(leaves for leaves, _ in results), strict=True)
        return results[0][1]([duals.joined(np.stack, list(each), out_axes) for each in every])

    return loop


def _member(leaf, axis, k):
    return leaf if axis is None else duals.item(duals.moveaxis(leaf, axis, 0), (k,))


def sparse_jacobian(f):
    """Return a function that computes all entries of a Jacobian, with their rows and columns."""

    def entries(x):
        found = jacobian(f)(x)
        rows, columns = np.indices(found.shape)
        return reshape(found, (-1,)), rows.reshape(-1), columns.reshape(-1)

    return entries


def stop_gradient(tree):
    leaves, build = flatten(tree)
    return build([plain(leaf) for leaf in leaves])


def same(f, **options):
    return f


# -- loops ----------------------------------------------------------------------------------------


def scan(step, carry, xs=None, *, length=None, reverse=False, checkpoint=None):
    count = xs.shape[0] if length is None else length
    numbers, ys = range(count), []
    for number in reversed(numbers) if reverse else numbers:
        carry, y = step(carry, None if xs is None else xs[number])
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, None if ys[0] is None else stack(ys)


def fori_loop(n, step, carry):
    for i in range(n):
        carry = step(i, carry)
    return carry


def while_loop(condition, step, carry, *, max_steps=None):
    count = 0
    while count != max_steps and condition(carry):
        carry, count = step(carry), count + 1
    return carry


def cond(predicate, yes, no, *operands):
    return (yes if predicate else no)(*operands)


AG = SimpleNamespace(
    checkpoint=same,
    compile=same,
    cond=cond,
    divergence=divergence,
    fori_loop=fori_loop,
    grad=grad,
    hessian=hessian,
    hvp=hvp,
    jacobian=jacobian,
    jet=jet,
    jvp=jvp,
    laplacian=laplacian,
    linearize=linearize,
    scan=scan,
    sparse_jacobian=sparse_jacobian,
    stop_gradient=stop_gradient,
    taylor=taylor,
    value_and_grad=value_and_grad,
    vjp=vjp,
    vmap=vmap,
    while_loop=while_loop,
)


# -- functions of arrays --------------------------------------------------------------------------


def elementwise(name):
    return lambda x: Array(duals.applied(name, raw(x)))


def reshape(x, shape):
    x = raw(x)
    known = prod(each for each in shape if each != -1)
    size = prod(x.shape) // max(known, 1)
    return Array(duals.reshaped(x, tuple(size if each == -1 else each for each in shape)))


def axis_of(x, axis):
    return axis if axis is None or axis >= 0 else axis + len(x.shape)


def sum_(x, axis=None):
    return Array(duals.total(raw(x), axis_of(x, axis)))


def mean(x, axis=None):
    count = prod(x.shape) if axis is None else x.shape[axis]
    return sum_(x, axis) / count


def var(x):
    return mean((x - mean(x)) ** 2)


def concat(arrays):
    return Array(duals.joined(np.concatenate, [raw(each) for each in arrays], 0))


def stack(arrays, axis=0):
    return Array(duals.joined(np.stack, [raw(each) for each in arrays], axis))


def where(mask, a, b):
    a, b = (duals.broadcast(raw(each), mask.shape) for each in (a, b))
    return Array(duals.where(mask, a, b))


def flip(x):
    return x[::-1]


def roll(x, shift):
    return take(x, (np.arange(x.shape[0]) - shift) % x.shape[0])


def take(x, indices, axis=0):
    return Array(
        duals.item(raw(x), (slice(None),) * axis + (np.asarray(plain(raw_index(indices))),))
    )


def raw_index(x):
    return x.of if isinstance(x, Array) else x


def cumulative_sum(x):
    return Array(duals.moved(lambda x, lead: np.cumsum(x, lead), raw(x)))


def broadcast_to(x, shape):
    return Array(duals.broadcast(raw(x), shape))


def max_(x):
    order = np.argsort(plain(raw(x)))
    apart(np.diff(plain(raw(x))[order])[-1:])
    return x[int(order[-1])]


def sort(x):
    order = np.argsort(plain(raw(x)))
    apart(np.diff(plain(raw(x))[order]))
    return take(x, order)


def softmax(x):
    shares = XP.exp(x - float(np.max(plain(raw(x)))))
    return shares / sum_(shares)


def outer(x, y):
    return reshape(x, (-1, 1)) * y


def solve(a, b):
    b = raw(b)
    matrix = duals.reshaped(b, (b.shape[0], -1)) if len(b.shape) == 1 else b
    return Array(duals.reshaped(duals.solved(raw(a), matrix), b.shape))


def diagonal(x):
    places = np.arange(x.shape[0])
    return x[places, places]


def tensordot(x, y, axes=1):
    assert axes == 1
    return x @ y


def eye(n):
    return Array(np.eye(n))


def scatter_add(values, places, shape):
    base = np.zeros(shape)
    return Array(duals.written(base, places, raw(values)))


def asarray(x):
    return x if isinstance(x, Array) else Array(np.asarray(x))


XP = SimpleNamespace(
    **{name: elementwise(name) for name in duals.ELEMENTWISE},
    asarray=asarray,
    broadcast_to=broadcast_to,
    concat=concat,
    cumulative_sum=cumulative_sum,
    eye=eye,
    flip=flip,
    linalg=SimpleNamespace(diagonal=diagonal, outer=outer, solve=solve),
    max=max_,
    mean=mean,
    nn=SimpleNamespace(softmax=softmax),
    reshape=reshape,
    roll=roll,
    scatter_add=scatter_add,
    sort=sort,
    stack=stack,
    sum=sum_,
    take=take,
    tensordot=tensordot,
    var=var,
    vecdot=lambda x, y: sum_(x * y),
    where=where,
)
