"""Arrays of any backend on the host, as NumPy's, and how two of them differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnograd._arrays.domains import domain_named
from agnograd._arrays.variable import Variable

__all__ = ["all_on_host", "assert_close", "bits_of", "copied", "inner", "on_host"]


def on_host(variable: Variable) -> Any:
    """Return a Variable's values as a NumPy array, which may share its memory."""
    return variable._domain.backend.to_host(variable.data)


def all_on_host(variables: Sequence[Variable]) -> list[Any]:
    """Return the values of Variables as NumPy arrays, which may share their memory."""
    return [on_host(each) for each in variables]


def copied(variables: Sequence[Variable]) -> list[Any]:
    """Return copies of Variables on the host."""
    np = domain_named("numpy").library
    return [np.asarray(on_host(each), copy=True) for each in variables]


def bits_of(dtype: Any) -> int:
    """Return 32 or 64, the bits of a real number of a library's dtype, or 0 for any other dtype."""
    name = str(dtype)
    return 32 * ("float32" in name or "complex64" in name) or 64 * (
        "float64" in name or "complex128" in name
    )


def inner(ones: Sequence[Any], others: Sequence[Any]) -> float:
    """Return the real inner product of two lists of NumPy arrays."""
    np = domain_named("numpy").library
    pairs = zip(ones, others, strict=True)
    return sum(float(np.sum(np.real(np.conj(one) * other))) for one, other in pairs)


def assert_close(
    what: str,
    found: Any,
    expected: Any,
    tolerance: float = 0.0,
    source: str = "expected",
) -> None:
    """Compare shapes and values of NumPy arrays; what is undefined in both is equal.

    Parameters
    ----------
    what : str
        What the array is, for the message.
    found, expected : array
        NumPy arrays.
    tolerance : float
        Absolute, and relative to the expected value.
    source : str
        What the other value is, for the message.
    """
    numpy = domain_named("numpy")
    np = numpy.library
    if found.shape != expected.shape:
        raise AssertionError(f"{what} has shape {found.shape}, and {expected.shape} {source}")
    same = (found == expected) | ((found != found) & (expected != expected))
    if tolerance and not np.all(same):
        with numpy.backend.quiet():
            same |= np.abs(found - expected) <= tolerance * (1 + np.abs(expected))
    if not np.all(same):
        place = np.unravel_index(int(np.argmin(same)), same.shape)
        raise AssertionError(
            f"{what}, element {tuple(int(k) for k in place)}: {found[place]}, "
            f"and {expected[place]} {source}"
        )
