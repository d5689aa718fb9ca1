"""Floating-point operations and bytes of a program and its gradient: an interpretation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from agnograd.extend import Interpretation, Op, Run

__all__ = ["Counting", "Counts", "count"]

# What moves elements, but computes nothing with them.
_MOVES = {"creation", "data_type", "indexing", "manipulation", "searching", "sorting"}
_PRODUCTS: dict[str, Callable[[Any, Any, Any], int]] = {
    "matmul": lambda x1, x2, out: 2 * _size(out) * x1.shape[-1],
    "vecdot": lambda x1, x2, out: 2 * max(_size(x1), _size(x2)),
    "tensordot": lambda x1, x2, out: 2 * math.isqrt(_size(x1) * _size(x2) * _size(out)),
}


class Counts(Run):
    """What the ops of one run do, by their names.

    Attributes
    ----------
    flops : Counter
        Floating-point operations. A function of an element, such as ``exp``, counts as one.
    bytes : Counter
        Bytes read and written; a view needs none.
    unknown : set of str
        The ops whose operations are not counted, because nothing here says how many they are.
    """

    def __init__(self) -> None:
        self.flops: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.unknown: set[str] = set()


class Counting(Interpretation):
    """Ops compute what they always do, and are counted unless all arrays come from outside."""

    title = "count"

    def rule(self, op: Op) -> Callable[..., Any] | None:
        """Let an op that is a program of others be counted as these."""
        program = op.forward is not None and op.batch is None
        return None if program else super().rule(op)

    def compute(
        self, op: Op, xp: Any, run: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Compute an op, and count what it does."""
        out = super().compute(op, xp, run, args, kwargs)
        counts = self.running.get()
        inputs, outputs = list(_arrays([*args, *kwargs.values()])), list(_arrays(out))
        if (flops := _flops(op, inputs, outputs)) is None:
            counts.unknown.add(op.name)
        counts.flops[op.name] += flops or 0
        if op.view is None:
            counts.bytes[op.name] += sum(_bytes(each, xp) for each in inputs + outputs)
        return out


def count(f: Callable[..., Any]) -> Callable[..., tuple[Any, Counts]]:
    """Return a function that returns what ``f`` does, and its ``Counts``."""

    @wraps(f)
    def counted(*args: Any, **kwargs: Any) -> tuple[Any, Counts]:
        counts = Counts()
        return Counting.interpret(f, *args, run=counts, **kwargs), counts

    return counted


def _flops(op: Op, inputs: list[Any], outputs: list[Any]) -> int | None:
    """Return how many operations an op takes, None if that is not known."""
    name = op.name.removeprefix("linalg.")
    if name in _PRODUCTS:
        return _PRODUCTS[name](*inputs, *outputs)
    if op.chapter in _MOVES:
        return _size(inputs[0]) if name.startswith("scatter_add") else 0
    if op.chapter == "elementwise":
        return sum(map(_size, outputs))
    return sum(map(_size, inputs)) if op.chapter in ("statistical", "utility") else None


def _arrays(value: Any) -> Iterator[Any]:
    """Yield the arrays in arguments or results."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from _arrays(each)
    elif hasattr(value, "dtype") and not isinstance(value, type):  # NumPy's dtypes may be types
        yield value


def _size(array: Any) -> int:
    return math.prod(array.shape)


def _bytes(array: Any, xp: Any) -> int:
    if xp.isdtype(array.dtype, "bool"):
        return _size(array)
    info = xp.iinfo if xp.isdtype(array.dtype, "integral") else xp.finfo
    parts = 2 if xp.isdtype(array.dtype, "complex floating") else 1
    return _size(array) * parts * int(info(array.dtype).bits) // 8
