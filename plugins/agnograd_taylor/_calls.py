"""Calls of ops whose inputs are Taylor series.

An op computes the coefficients of its results in one of four ways:

- *linear*: from the coefficients of each order by themselves;
- *product*: from all combinations of coefficients whose orders add up;
- *composed*: an element-wise function of one array, from its own Taylor polynomial at x0;
- *integrated*: every other op, by its derivative rules (``agnograd_taylor._integration``).

Each way gives a list for each order from 1 on: of the coefficients of the results, or None where
they are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from operator import attrgetter
from typing import Any

import agnograd as ag
from agnograd.extend import Op
from agnograd.extend.transforms import Bound, Names, map_parts
from agnograd_taylor._integration import Orders, bare, integrated, multiplied, summed
from agnograd_taylor._slopes import SLOPES


class Call:
    """A call of an op.

    Attributes
    ----------
    inputs : list
        What it is given for its differentiable inputs, each array of a sequence by itself.
    names : list of str
        What these inputs are called.
    active : list of int
        Which of them are series that vary.
    """

    def __init__(self, op: Op, names: Names, taylor: Any, args: Any, kwargs: Any) -> None:
        self.op, self.parameters, self.taylor = op, names, taylor
        self.bound = Bound(names, args, kwargs)
        self.inputs: list[Any] = []
        self.names: list[str] = []
        self.others: list[Any] = []  # the payloads of all else, such as a condition

        def other(each: Any) -> Any:
            self.others.append(taylor.payload(each))
            return each

        for name, value in self.bound.arguments.items():
            if name not in op.differentiable:
                map_parts(other, value)
        for name in op.differentiable:
            value = self.bound.arguments.get(name)
            found = value if isinstance(value, tuple | list) else [value]
            self.inputs += found
            self.names += [name] * len(found)
        kind = taylor.array_class
        self.active = [i for i, x in enumerate(self.inputs) if type(x) is kind and x.varies]

    def series(self) -> Any:
        """Return the results, as series."""
        taylor, higher, run = self.taylor, list[Any](), self.inputs[self.active[0]].run
        for i in self.active:
            run = self.inputs[i].run.meet(run)
            higher += [c for c in self.inputs[i].higher if c is not None]
        self.run, self.orders = run, range(1, run.order + 1)
        self.zeroth = [taylor.payload(x) for x in self.inputs]
        self.xp = taylor.functions(*self.zeroth, *higher, *self.others)
        out = self.compute(self.zeroth)
        several = isinstance(out, tuple | list)
        self.outputs = list(out) if several else [out]
        # Integers and booleans, as of a cast, have no derivatives.
        inexact = [taylor.below.is_inexact(x.dtype) for x in self.outputs]
        found = self._way()() if any(inexact) else []
        series = [
            taylor.array_class(x, run, [c[place] if c and inexact[place] else None for c in found])
            for place, x in enumerate(self.outputs)
        ]
        if not several:
            return series[0]
        return type(out)(*series) if hasattr(out, "_fields") else type(out)(series)

    def compute(self, inputs: Sequence[Any], xp: Any = None) -> Any:
        """Return what the op gives for other inputs, which are payloads."""
        rest, bound = iter(inputs), Bound(self.parameters, (), {})
        for name, value in self.bound.arguments.items():
            if name not in self.op.differentiable:
                found = map_parts(self.taylor.payload, value)
            elif isinstance(value, tuple | list):
                found = type(value)(next(rest) for _ in value)
            else:
                found = next(rest)
            bound.arguments[name] = found
        return attrgetter(self.op.name)(self.xp if xp is None else xp)(*bound.args, **bound.kwargs)

    # -- the four ways -----------------------------------------------------------------------------

    def _way(self) -> Callable[[], Orders]:
        op = self.op
        rules = [op.rules[self.names[i]] for i in self.active]
        kinds = {rule.kind for rule in op.rules.values()}
        if any(rule.reason for rule in rules):
            return self._integrated  # which says why
        if kinds == {"linear"}:
            return self._linear
        if kinds == {"multilinear"} or op.product:
            return self._product
        if kinds == {"elementwise"}:
            if not any(callable(rule.function) for rule in rules):
                return self._signed
            # A complex one may not be holomorphic.
            values = [*self.outputs, *(self.zeroth[i] for i in self.active)]
            is_complex = any(self.taylor.below.is_complex(x.dtype) for x in values)
            if len(self.active) == 1 and not is_complex:
                return self._composed
        return self._integrated

    def _linear(self) -> Orders:
        """Apply the op to the coefficients of each order."""
        found: Orders = []
        for k in self.orders:
            given = [self._coefficient(i, k) for i in range(len(self.inputs))]
            if all(each is None for each in given):
                found.append(None)
                continue
            pairs = zip(given, self.zeroth, strict=True)
            out = self.compute([self._zeros(x) if c is None else c for c, x in pairs])
            found.append(list(out) if isinstance(out, tuple | list) else [out])
        return found

    def _signed(self) -> Orders:
        """Add the coefficients of each order, with the signs of the inputs, or 0."""
        signs: list[Any] = [self.op.rules[self.names[i]].function for i in self.active]
        found: Orders = []
        for k in self.orders:
            given = [self._coefficient(i, k) for i in self.active]
            pairs = [(c, sign) for c, sign in zip(given, signs, strict=True) if c is not None]
            found.append(self._added([c if sign == 1 else -c for c, sign in pairs if sign]))
        return found

    def _product(self) -> Orders:
        """Multiply coefficients whose orders add up."""
        order = self.run.order
        terms: list[list[Any]] = [[] for _ in range(order + 1)]
        inner: list[Any] = []
        for orders in product(range(order + 1), repeat=len(self.active)):
            inputs, k = list(self.zeroth), sum(orders)
            if not 0 < k <= order:
                continue
            for i, each in zip(self.active, orders, strict=True):
                inputs[i] = self.inputs[i].coefficient(each)
            if all(inputs[i] is not None for i in self.active):
                of_lower = k == order and max(orders) < order
                (inner if of_lower else terms[k]).append(self.compute(inputs))
        terms[order].append(self._total(summed(inner)))
        return [self._added(terms[k]) for k in self.orders]

    def _composed(self) -> Orders:
        """Put an input's series into the Taylor polynomial of the function."""
        order, (i,) = self.run.order, self.active
        first = [None, *(self._coefficient(i, k) for k in self.orders)]
        terms: list[list[Any]] = [[] for _ in first]
        power = first  # of the series without x0: the coefficients of its m-th power
        for m, slope in enumerate(self._slopes(i), 1):
            if m > 1:
                power = [_convolved(power, first, k) for k in range(order + 1)]
            for k in range(m, order + 1):
                if power[k] is not None and slope is not None:
                    of_lower = m > 1 and k == order
                    inner = self._total(power[k]) if of_lower else power[k]
                    terms[k].append(multiplied(slope, inner))
        return [self._added(terms[k]) for k in self.orders]

    def _slopes(self, i: int) -> list[Any]:
        """Return the derivatives of the function by one input at x0, divided by factorials."""
        order, x = self.run.order, self.zeroth[i]
        if (table := SLOPES.get((self.op.name, self.names[i]))) is not None:
            found = table(self.xp, self.zeroth, self.outputs[0], order)
            if found is not None:
                return found
        one, run = self.xp.ones_like(x), type(self.run)(order)
        series = integrated(self.taylor, run, order, self._push([i]), [[x, one]], [x], [[one]])
        return [None if each is None else each[0] for each in series]

    def _integrated(self) -> Orders:
        inputs = [self.inputs[i] for i in self.active]
        series = [[x.payload, *x.higher] for x in inputs]
        points, tangents = [x.payload for x in inputs], [x.higher for x in inputs]
        push, order = self._push(self.active), self.run.order
        return integrated(self.taylor, self.run, order, push, series, points, tangents)

    def _push(self, places: Sequence[int]) -> Callable[..., list[Any]]:
        """Return a function of some inputs and their tangents that gives those of the results."""

        def function(*arrays: Any) -> Any:
            inputs = list(self.zeroth)
            for i, array in zip(places, arrays, strict=True):
                inputs[i] = array
            return self.compute(inputs, ag.namespace(arrays[0]))

        def push(*arrays: Any) -> list[Any]:
            count = len(places)
            out = ag.jvp(function, arrays[:count], arrays[count:])[1]
            found = out if isinstance(out, tuple | list) else [out]
            # Tangents of integers, such as indices, are none.
            return [bare(x) if self.taylor.below.is_inexact(x.dtype) else None for x in found]

        return push

    # -- coefficients ------------------------------------------------------------------------------

    def _coefficient(self, i: int, k: int) -> Any:
        """Return a coefficient of an input, of order 1 or above; None for zeros."""
        return self.inputs[i].coefficient(k) if i in self.active else None

    def _zeros(self, x: Any) -> Any:
        return self.xp.zeros_like(x) if hasattr(x, "dtype") else x if x is None else x * 0

    def _added(self, terms: Iterable[Any]) -> list[Any] | None:
        """Return the sum of terms, with the shape and dtype of the result."""
        total, out = summed(terms), self.outputs[0]
        if total is None:
            return None
        if tuple(total.shape) != tuple(out.shape):
            total = self.xp.broadcast_to(total, out.shape)
        return [total if total.dtype == out.dtype else self.xp.astype(total, out.dtype)]

    def _total(self, x: Any) -> Any:
        """Return a term of the highest order that is made of lower ones: summed, if all are."""
        return x if x is None or self.run.direction is None else self.run.total(x)


def _convolved(one: Sequence[Any], other: Sequence[Any], k: int) -> Any:
    pairs = [(one[j], other[k - j]) for j in range(1, k)]
    return summed(multiplied(a, b) for a, b in pairs if a is not None and b is not None)
