"""What a backend can do and cannot, declared in one place."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Capabilities"]


class Capabilities(NamedTuple):
    """What an array library can do and cannot.

    The conformance suite leaves out what follows from it, and checks that it is true; the
    documentation's table is made of it. A misspelt name is a TypeError.

    Attributes
    ----------
    lazy : bool
        Whether ops build a graph that is computed when a value is asked for. Passes must then
        compute nothing, and differences are taken on NumPy.
    immutable : bool
        Whether arrays cannot be written to; ``Backend.set`` and ``put`` make copies then.
    float64 : bool
        Whether there are float64 and complex128 arrays.
    complex : bool
        Whether there are complex arrays.
    unknown_shapes : bool
        Whether sizes may be unknown before they are computed (of what a mask selects, say): no
        cotangent fits such a result.
    devices : tuple of str
        The kinds of devices that arrays live on.
    """

    lazy: bool = False
    immutable: bool = False
    float64: bool = True
    complex: bool = True
    unknown_shapes: bool = False
    devices: tuple[str, ...] = ("cpu",)
