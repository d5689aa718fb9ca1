"""What an array library can do, as its backend declares it."""

from __future__ import annotations

from typing import NamedTuple


class Capabilities(NamedTuple):
    """What an array library can and cannot do.

    The conformance suite skips what the library cannot do, and checks that these statements are
    true. The table in the documentation is made from them. A misspelt name raises TypeError.

    Attributes
    ----------
    lazy : bool
        Whether ops build a graph that is computed when a value is needed. Passes must then compute
        nothing, and finite differences are taken on NumPy.
    immutable : bool
        Whether arrays cannot be written to. ``Backend.set`` and ``put`` then make new arrays.
    float64 : bool
        Whether there are float64 arrays.
    complex : bool
        Whether there are complex arrays.
    unknown_shapes : bool
        Whether sizes may be unknown until they are computed, such as the size of what a mask
        selects. No cotangent fits such a result.
    devices : tuple of str
        The kinds of devices that arrays can be on.
    complex128 : bool or None
        Whether there are complex128 arrays; None means the same as ``float64``.
    boolean_indexing : bool
        Whether arrays can be read and written with masks: the standard's "boolean indexing".
    data_dependent_shapes : bool
        Whether there are functions whose result has a shape that depends on values, such as
        ``nonzero``: the standard's "data-dependent shapes".
    """

    lazy: bool = False
    immutable: bool = False
    float64: bool = True
    complex: bool = True
    unknown_shapes: bool = False
    devices: tuple[str, ...] = ("cpu",)
    complex128: bool | None = None
    boolean_indexing: bool = True
    data_dependent_shapes: bool = True

    def has(self, dtype: str) -> bool:
        """Return whether there are arrays of a dtype, by its name in the standard."""
        wide = self.float64 if self.complex128 is None else self.complex128
        known = {"float64": self.float64, "complex64": self.complex}
        return (known | {"complex128": self.complex and wide}).get(dtype, True)
