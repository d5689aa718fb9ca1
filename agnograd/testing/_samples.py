"""Sample inputs: what an op is checked on, as data that stands beside its rules."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Literal, NamedTuple

from agnograd._ops.rule_helpers import device_of

__all__ = ["ArraySpec", "Sample", "all_samples", "array", "nested"]

Layout = Literal["contiguous", "strided", "reversed", "transposed"]


class ArraySpec(NamedTuple):
    """An array to be made on whatever backend is tested; see ``array``."""

    shape: tuple[int, ...]
    low: float
    high: float
    dtype: str
    layout: Layout
    values: Any

    def make(self, xp: Any, seed: int) -> Any:
        """Return the array, a raw one of namespace ``xp``; the same one for the same seed."""
        numbers, shape = self.in_memory(seed)
        dtype = getattr(xp, self.dtype)
        made = xp.zeros(shape, dtype=dtype) if numbers is None else xp.asarray(numbers, dtype=dtype)
        if self.layout == "strided" and shape:
            return made[(slice(None, None, 2),) * len(shape)]
        if self.layout == "reversed" and shape:
            return xp.flip(made)
        if self.layout == "transposed" and shape:
            return xp.permute_dims(made, tuple(range(len(shape)))[::-1])
        return made

    def in_memory(self, seed: int) -> tuple[Any, tuple[int, ...]]:
        """Return nested lists as the array lies in memory (None if it is empty), and their shape.

        The array is every second element along each axis, the transpose, or the reverse of it.
        """
        flat, shape = self._elements(seed)
        memory, places = _in_memory(shape, self.layout)
        numbers = None if 0 in memory else nested([flat[place] for place in places], memory)
        return numbers, memory

    def _elements(self, seed: int) -> tuple[list[Any], tuple[int, ...]]:
        """Return the elements, row by row, and the shape."""
        if self.values is None:
            return self.drawn(seed), self.shape
        flat, shape = [self.values], []
        while isinstance(flat[0] if flat else None, list):
            shape.append(len(flat[0]))
            flat = [each for row in flat for each in row]
        return flat, tuple(shape)

    def drawn(self, seed: int) -> list[Any]:
        """Return the elements that are drawn for a seed."""
        from random import Random  # op sets import this module, and draw nothing

        rng = Random(seed)
        count = math.prod(self.shape)
        if self.dtype == "bool":
            return [rng.random() < 0.5 for _ in range(count)]
        if self.dtype.startswith(("int", "uint")):
            return [rng.randrange(int(self.low), int(self.high)) for _ in range(count)]
        uniform, low, high = rng.uniform, self.low, self.high
        if self.dtype.startswith("complex"):
            return [complex(uniform(low, high), uniform(low, high)) for _ in range(count)]
        return [uniform(low, high) for _ in range(count)]


def nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    """Return elements that are given row by row as nested lists of a shape without zeros."""
    for length in reversed(shape):
        flat = [flat[k : k + length] for k in range(0, len(flat), length)]
    return flat[0]


def _in_memory(shape: tuple[int, ...], layout: Layout) -> tuple[tuple[int, ...], list[int]]:
    """Return the shape that an array has in memory, and which element stands in each place."""
    if layout == "strided":  # beside each element there is one that is skipped
        memory = tuple(2 * length for length in shape)
    else:
        memory = shape[::-1] if layout == "transposed" else shape
    places = []
    for index in itertools.product(*map(range, memory)):
        at: Any = [k // 2 for k in index] if layout == "strided" else index
        place = 0
        for k, length in zip(at[::-1] if layout == "transposed" else at, shape, strict=True):
            place = place * length + k
        places.append(place)
    return memory, places[::-1] if layout == "reversed" else places


def array(
    *shape: int,
    low: float = -1.0,
    high: float = 1.0,
    dtype: str = "float64",
    layout: Layout = "contiguous",
    values: Any = None,
) -> ArraySpec:
    """Describe a sample array.

    Parameters
    ----------
    *shape : int
        The shape; no argument means a 0-d array.
    low, high : float
        The bounds of the values, which are drawn uniformly from a fixed seed.
    dtype : str
        The standard's name for the dtype.
    layout : {"contiguous", "strided", "reversed", "transposed"}
        The layout in memory.
    values : nested list, optional
        The exact values, instead of random ones.

    Examples
    --------
    >>> from agnograd.extend import Sample, array
    >>> samples = [Sample("sum", array(3, 4, layout="strided"), axis=0)]
    """
    return ArraySpec(shape, low, high, dtype, layout, values)


class Sample:
    """One call of an op, on which its derivatives are checked.

    Parameters
    ----------
    op : str
        The op's name, as in the registry.
    *args, **kwargs
        The op's arguments; ``array(...)`` stands for an array, also inside lists and tuples.
    order : {0, 1, 2}
        The highest order of derivatives to check; 0 only checks that the op computes.
    backends : tuple of str, optional
        The backends that can run the sample, if it goes beyond the standard.
    before : callable, optional
        ``before(x, xp)`` makes the op's first argument from the sample's. For example, it makes
        matrices Hermitian for an op on Hermitian matrices.
    after : callable, optional
        ``after(out, xp)`` returns what to check of the result. For vectors that are determined only
        up to their sign, for example, it returns the squares.
    noisy_zeros : bool
        Whether derivatives that are zero may come out as rounding errors, as those of a convolution
        by Fourier transforms do. Where the op's pattern has no entry, the check ``sparse`` accepts
        up to 1e-14 of a row's largest derivative, and exact zeros only for all other samples.
    """

    __slots__ = ("after", "args", "backends", "before", "kwargs", "noisy_zeros", "op", "order")

    def __init__(
        self,
        op: str,
        /,
        *args: Any,
        order: int = 2,
        backends: tuple[str, ...] | None = None,
        before: Callable[[Any, Any], Any] | None = None,
        after: Callable[[Any, Any], Any] | None = None,
        noisy_zeros: bool = False,
        **kwargs: Any,
    ) -> None:
        self.op = op
        self.before = before
        self.after = after
        self.backends = backends
        self.args = args
        self.kwargs = kwargs
        self.order = order
        self.noisy_zeros = noisy_zeros

    def make(self, xp: Any, seed: int = 0) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with raw arrays of namespace ``xp``; other ones for each seed."""
        seeds = itertools.count(1 + 1000 * seed)
        made = self.mapped(lambda value: _realized(value, xp, seeds))
        return made.args, made.kwargs

    def items(self) -> Iterator[Any]:
        """Yield every argument, and what is in lists and tuples, in order."""
        stack = [*reversed([*self.args, *self.kwargs.values()])]
        while stack:
            value = stack.pop()
            if isinstance(value, list | tuple) and not isinstance(value, ArraySpec):
                stack += reversed(value)
            else:
                yield value

    def specs(self) -> list[ArraySpec]:
        """Return the descriptions of all arrays, in order."""
        return [item for item in self.items() if isinstance(item, ArraySpec)]

    def mapped(self, change: Callable[[Any], Any]) -> Sample:
        """Return a sample with arguments that ``change`` makes of these, item by item."""

        def changed(value: Any) -> Any:
            if isinstance(value, list | tuple) and not isinstance(value, ArraySpec):
                return type(value)(changed(each) for each in value)
            return change(value)

        found = copy(self)
        found.args = changed(self.args)
        found.kwargs = {name: changed(arg) for name, arg in self.kwargs.items()}
        return found

    def code(self, backend: str, seed: int = 0) -> str:
        """Return a script that makes the call on a backend, and checks its derivatives."""
        from agnograd.testing._script import script

        return script(self, backend, seed, all_samples())

    def __repr__(self) -> str:
        parts = [_short(arg) for arg in self.args]
        parts += [f"{name}={_short(arg)}" for name, arg in self.kwargs.items()]
        if self.before is not None:
            parts[0] = f"{self.before.__name__}({parts[0]})"
        return f"{self.op}({', '.join(parts)})"


def all_samples() -> Iterator[tuple[str, int, Sample]]:
    """Yield the samples of all op sets, each with its module and its place in the list there."""
    from agnograd._plugins.op_sets import op_sets

    for _, op_set in op_sets():
        if op_set.samples is not None:
            for index, sample in enumerate(importlib.import_module(op_set.samples).samples):
                yield op_set.samples, index, sample


def _realized(value: Any, xp: Any, seeds: Iterator[int]) -> Any:
    """Return an item of an argument as it is given: an array for the description of one."""
    if isinstance(value, ArraySpec):
        return value.make(xp, next(seeds))
    if isinstance(value, str) and value.startswith("dtype:"):
        return getattr(xp, value.removeprefix("dtype:"))
    if value == "device:":
        return device_of(xp.empty(0))
    return value


def _short(value: Any) -> str:
    if isinstance(value, ArraySpec):
        dtype = "" if value.dtype == "float64" else value.dtype
        layout = "" if value.layout == "contiguous" else value.layout
        return f"{dtype}{list(value.shape) if value.values is None else value.values}{layout}"
    if isinstance(value, list | tuple):
        return f"({', '.join(_short(each) for each in value)})"
    return repr(value)
