"""Unit vectors, along which Jacobians are computed: what is known of them saves products.

The derivative along all elements of a vector begins with as many unit vectors. While they are only
scaled, element by element, they stay rows of a diagonal matrix, and a matrix times each of them is
rows or columns of it, scaled: no product of matrices is computed.
"""

from __future__ import annotations

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
    array, raw = backend.array_class, backend.below.raw
    for x, other in ((x1, x2), (x2, x1)):
        units = getattr(x, "units", None) if type(x) is array else None
        factor = None if units is None else _same_for_all(array, other)
        if units is None or factor is None:
            continue
        shape = tuple(getattr(factor, "shape", ()))
        if shape in ((), (1,), x.shape):
            factor = units.of(factor) if shape == x.shape else factor
            out.units = units._replace(scales=raw.multiply(units.scales, factor))


def product(backend: Any, x1: Any, x2: Any) -> Any:
    """Return the product of a matrix and unit vectors: its rows, scaled; None if it is another."""
    array, raw = backend.array_class, backend.below.raw
    for x, other, turned in ((x1, x2, False), (x2, x1, True)):
        units = getattr(x, "units", None) if type(x) is array else None
        matrix = None if units is None else _same_for_all(array, other)
        if units is None or matrix is None or len(getattr(matrix, "shape", ())) != 2:
            continue
        matrix = raw.matrix_transpose(matrix) if turned else matrix
        if matrix.shape[0] == x.shape[0]:
            scales = raw.reshape(units.scales, (-1, 1))
            return array(raw.multiply(scales, units.of(matrix)), x.run)
    return None


def _same_for_all(array: type[Interpreted], value: Any) -> Any:
    """Return the raw array, or number, that a value is for all members; None if it is none."""
    if type(value) is array:
        value = None if value.run is not None else value.payload
    return None if isinstance(value, Variable) else value
