"""Samples of functions of eigenvalues and singular values, repeated ones included."""

from typing import Any

from agnograd.extend import Sample, array
from agnograd.rules.samples.decompositions import ANY, REPEATED, SQUARE, hermitian

IDENTITY = array(values=[[1.0, 0.0], [0.0, 1.0]])
# Those of a rotation of diag(1, 1, 3), which rounding makes not quite equal.
ROTATED = array(values=[[1.5, 0.5, 2**0.5 / 2], [0.5, 1.5, 2**0.5 / 2], [2**0.5 / 2] * 2 + [2.0]])


def _values_for(x: Any) -> Any:
    return array(*x.shape[:-2], min(x.shape[-2:]), low=0.5)


def _sum(values: Any, xp: Any) -> Any:
    return xp.sum(values)


def _squares(values: Any, xp: Any) -> Any:
    return xp.sum(values**2)


def _largest(values: Any, xp: Any) -> Any:
    return xp.max(values)


samples = [
    *(Sample("linalg.eigvalsh", x, before=hermitian) for x in SQUARE),
    *(Sample("linalg.svdvals", x) for x in ANY),
    *(Sample("linalg.with_eigenvalues", x, _values_for(x), before=hermitian) for x in SQUARE),
    *(Sample("linalg.with_singular_values", x, _values_for(x)) for x in ANY),
    *(
        Sample("linalg.eigvalsh", x, before=hermitian, after=after, order=order)
        for x in (IDENTITY, REPEATED, ROTATED)
        for after, order in ((_sum, 2), (_squares, 1))
    ),
    *(
        Sample("linalg.svdvals", x, after=after, order=order)
        for x in (IDENTITY, REPEATED, ROTATED)
        for after, order in ((_sum, 2), (_squares, 1))
    ),
    *(Sample("linalg.eigvalsh", x, before=hermitian, after=_largest) for x in (REPEATED, ROTATED)),
    *(Sample("linalg.svdvals", x, after=_largest) for x in (REPEATED, ROTATED)),
]
