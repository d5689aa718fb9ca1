"""Pytrees of unknowns as one real vector, in which a linear system has a real matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agnograd import Variable
from agnograd.extend.arguments import known_size
from agnograd.extend.transforms import domain_of, highest

__all__ = ["Layout", "functions_of", "raw", "variable"]


def variable(x: Any) -> Variable:
    """Return an array as a Variable; a raw one as a constant."""
    return x if isinstance(x, Variable) else domain_of(x).Variable(x, requires_grad=False)


def raw(x: Any) -> Any:
    """Return the raw array of what may be a Variable."""
    return x.data if isinstance(x, Variable) else x


class Layout:
    """How the leaves of unknowns lie in a vector: one after the other.

    A complex array is two real ones, its real and its imaginary part. The derivative of any
    function of complex numbers is linear over the real ones, and cotangents of agnograd are paired
    with tangents as such vectors are: so one real matrix serves all.
    """

    def __init__(self, leaves: Sequence[Any]) -> None:
        domain = domain_of(leaves[0])
        self.shapes = [tuple(leaf.shape) for leaf in leaves]
        self.dtypes = [leaf.dtype for leaf in leaves]
        self.complex = [domain.is_complex(dtype) for dtype in self.dtypes]
        sizes = [known_size(shape) for shape in self.shapes]
        self.sizes = [n * (1 + two) for n, two in zip(sizes, self.complex, strict=True)]
        self.size = sum(self.sizes)
        xp = domain.raw
        ones = [
            xp.abs(xp.zeros((), dtype=dtype)).dtype if two else dtype  # finfo's may be a string
            for dtype, two in zip(self.dtypes, self.complex, strict=True)
        ]
        self.dtype = xp.result_type(*ones)

    def pack(self, leaves: Sequence[Any]) -> Any:
        """Return the vector of leaves, raw arrays or Variables of this layout."""
        xp, parts = functions_of(leaves), []
        for leaf, two in zip(leaves, self.complex, strict=True):
            for part in (xp.real(leaf), xp.imag(leaf)) if two else (leaf,):
                part = xp.reshape(part, (math.prod(part.shape),))
                parts.append(part if part.dtype == self.dtype else xp.astype(part, self.dtype))
        return parts[0] if len(parts) == 1 else xp.concat(parts)

    def unpack(self, vector: Any) -> list[Any]:
        """Return the leaves of a vector."""
        xp, leaves, start = functions_of([vector]), [], 0
        each = zip(self.shapes, self.dtypes, self.complex, self.sizes, strict=True)
        for shape, dtype, two, size in each:
            part = vector if size == self.size else vector[start : start + size]
            start += size
            if two:
                real, imag = (xp.astype(x, dtype) for x in (part[: size // 2], part[size // 2 :]))
                part = real + 1j * imag
            part = xp.reshape(part, shape)
            leaves.append(part if part.dtype == dtype else xp.astype(part, dtype))
        return leaves


def functions_of(arrays: Sequence[Any]) -> Any:
    """Return the namespace that computes with arrays: one of Variables if any of them is."""
    domain = highest(domain_of(arrays[0]), arrays)
    return domain.namespace if any(isinstance(x, Variable) for x in arrays) else domain.raw
