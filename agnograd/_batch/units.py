"""Unit vectors, along which Jacobians are computed: what is known of them saves products.

The derivative along all elements of a vector begins with as many unit vectors. While they are only
scaled, element by element, they stay rows of a diagonal matrix, and a matrix times each of them is
rows or columns of it, scaled: no product of matrices is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from agnograd._arrays.variable import Variable
from agnograd._levels.interpreted import Interpreted


class Units(NamedTuple):
    """What members are that are scaled unit vectors.

    Attributes
    ----------
    first : int
        The place of the element that the first of them has; each other one has the next.
    scales : array
        That element of each.
    """

    first: int
    scales: Any

    def of(self, array: Any) -> Any:
        """Return the elements, or rows, of an array that members have to do with."""
        return array[self.first : self.first + self.scales.shape[0], ...]


def scale(backend: Any, out: Any, x1: Any, x2: Any) -> None:
    """Note what a product, element by element, makes of unit vectors."""
    raw = backend.below.raw
    for x, units, factor, _ in _found(backend.array_class, x1, x2):
        shape = tuple(getattr(factor, "shape", ()))
        if shape in ((), (1,), x.shape):
            factor = units.of(factor) if shape == x.shape else factor
            out.units = units._replace(scales=raw.multiply(units.scales, factor))


def product(backend: Any, x1: Any, x2: Any) -> Any:
    """Return the product of a matrix and unit vectors: its rows, scaled; None if it is another."""
    array, raw = backend.array_class, backend.below.raw
    for x, units, matrix, is_second in _found(array, x1, x2):
        if len(getattr(matrix, "shape", ())) != 2:
            continue
        matrix = raw.matrix_transpose(matrix) if is_second else matrix
        if matrix.shape[0] == x.shape[0]:
            scales = raw.reshape(units.scales, (-1, 1))
            return array(raw.multiply(scales, units.of(matrix)), x.run)
    return None


def _found(array: type[Interpreted], x1: Any, x2: Any) -> Iterator[tuple[Any, Units, Any, bool]]:
    """Yield each of two arrays that is unit vectors, what they are, and the other array.

    That is a raw one, or a number, which is the same for all members. The last says whether the
    unit vectors are the second array.
    """
    for x, other in ((x1, x2), (x2, x1)):
        units = getattr(x, "units", None) if type(x) is array else None
        if type(other) is array:
            other = None if other.run is not None else other.payload
        if units is not None and other is not None and not isinstance(other, Variable):
            yield x, units, other, x is x2
