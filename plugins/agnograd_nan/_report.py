"""What was found: as attributes, and in words that say what to do."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from math import prod
from typing import Any, Literal

import array_api_compat

__all__ = ["NaNError", "NaNWarning", "facts_of", "is_bad", "report"]

_FLOATING = ("real floating", "complex floating")
_HANDED_IN = (
    "check the gradient that was passed in, hooks on Variables, and values of many uses, whose "
    "gradients may overflow in their sum."
)


class _Found(Exception):  # noqa: N818 - both an error and a warning
    op: str | None
    chapter: str | None
    direction: Literal["forward", "backward"]
    index: int
    kind: Literal["NaN", "infinity"]
    shape: tuple[int, ...]
    dtype: Any
    count: int
    first: tuple[int, ...]
    sources: tuple[str, ...]
    location: str | None

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        vars(self).update(facts)


class NaNError(_Found, FloatingPointError):
    """An op, or its rule, computed a NaN or an infinity.

    Attributes
    ----------
    op, chapter : str or None
        The op and its chapter; None for values that arose in the gradient of a leaf.
    direction : {"forward", "backward"}
        Where they arose: in the op's outputs, or in the gradients of its inputs.
    index : int
        Which output, or which input's gradient.
    kind : {"NaN", "infinity"}
        What was found; of an array that has both, NaN.
    shape, dtype
        Those of the array.
    count : int
        How many of its elements are so.
    first : tuple of int
        The index of the first of them.
    sources : tuple of str
        What the op was given that had such values already: ``inputs[i]``, ``grad_outputs[i]``.
    location : str or None
        ``file:line in function`` of the code that called the op, if it is known.
    """

    __module__ = "agnograd_nan"


class NaNWarning(_Found, UserWarning):
    """What ``NaNError`` says, with the same attributes, as a warning."""

    __module__ = "agnograd_nan"


def is_bad(value: Any, inf: bool) -> bool:
    """Return whether an array, or a Python scalar, has a NaN (or, if ``inf``, an infinity)."""
    kind = type(value), getattr(value, "dtype", None)
    test = _TESTS.get(kind)
    if test is None:
        test = _TESTS[kind] = _test(value)
    return test(value, inf)


# By type and dtype: to ask the library takes several times as long as a test of a small array.
_TESTS: dict[tuple[type, Any], Callable[[Any, bool], bool]] = {}


def _test(value: Any) -> Callable[[Any, bool], bool]:
    """Return what tests values of this kind."""
    if not array_api_compat.is_array_api_obj(value):
        return _is_bad_scalar if isinstance(value, float | complex) else _is_never_bad
    xp = array_api_compat.array_namespace(value)
    if not xp.isdtype(value.dtype, _FLOATING):
        return _is_never_bad
    isfinite, isnan, every, some = xp.isfinite, xp.isnan, xp.all, xp.any

    def is_bad_array(value: Any, inf: bool) -> bool:
        return not every(isfinite(value)) if inf else bool(some(isnan(value)))

    return is_bad_array


def _is_bad_scalar(value: complex, inf: bool) -> bool:
    return not cmath.isfinite(value) if inf else cmath.isnan(value)


def _is_never_bad(value: Any, inf: bool) -> bool:
    return False


def facts_of(value: Any) -> dict[str, Any]:
    """Return what to say about an array that has a NaN or an infinity."""
    xp = array_api_compat.array_namespace(value)
    bad, kind = xp.isnan(value), "NaN"
    if not xp.any(bad):
        bad, kind = ~xp.isfinite(value), "infinity"
    ones = xp.astype(xp.reshape(bad, (-1,)), xp.int32)
    position = int(xp.argmax(ones))
    first: list[int] = []
    for length in reversed(value.shape):
        position, index = divmod(position, length)
        first.insert(0, index)
    return {
        "kind": kind,
        "shape": tuple(value.shape),
        "dtype": value.dtype,
        "count": int(xp.sum(ones)),
        "first": tuple(first),
    }


def report(found: dict[str, Any]) -> str:
    """Return the message for what was found."""
    return (
        f"{found['kind']} in the {found['direction']} pass: {_array(found)}, shape "
        f"{found['shape']}, dtype {found['dtype']}: {found['count']} of {prod(found['shape'])} "
        f"elements, the first at index {found['first']}.{_place(found)}\n"
        f"  {_advice(found)}{_hint(found)}"
    )


def _array(found: dict[str, Any]) -> str:
    if found["op"] is None:
        return "the gradient of a leaf"
    array = "outputs" if found["direction"] == "forward" else "grad_inputs"
    return f"{array}[{found['index']}] of op {found['op']!r} ({found['chapter']})"


def _place(found: dict[str, Any]) -> str:
    if found["op"] is None:
        return ""
    if found["location"] is None:
        return "\n  To see where the op was called, activate the plugin in the forward pass too."
    return f"\n  The op was called at {found['location']}."


def _advice(found: dict[str, Any]) -> str:
    had = f"{', '.join(found['sources'])} had such values already:"
    if found["op"] is None or "grad_outputs[" in had:
        what = "No op on the way made them:" if found["op"] is None else had
        return f"{what} {_HANDED_IN}"
    if found["direction"] == "forward":
        if found["sources"]:
            return f"{had} check where that array was made, before the plugin saw it."
        return (
            "Its inputs had none: check their values there, for the op's domain and for overflow; "
            "mask or clip the inputs, not the result, so that gradients stay finite too."
        )
    if found["sources"]:
        return f"{had} look for the op that made them in the forward pass."
    return (
        "What came in had none: the derivative is not finite there, or overflowed; keep the "
        "input away from that point with xp.where or xp.clip before the op, not after it."
    )


def _hint(found: dict[str, Any]) -> str:
    return " If infinities are meant, pass inf=False." if found["kind"] == "infinity" else ""
