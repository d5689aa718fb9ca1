"""Whether a library can do what its backend says it can."""

from __future__ import annotations

from typing import Any

from agnograd._backends import Backend, require

__all__ = ["CapabilityError", "check_capabilities"]


class CapabilityError(ValueError):
    """A backend's capabilities say what is not so."""


def check_capabilities(backend: Backend) -> None:
    """Try what a backend's capabilities promise.

    Raises
    ------
    CapabilityError
        If it is not so; the message says what to declare instead.
    """
    with backend.conformance():
        xp: Any = require(backend)
        if backend.capabilities.float64:
            _expect_dtype(backend, xp, "float64", "float64=False")
        if backend.capabilities.complex:
            _expect_dtype(backend, xp, "complex64", "complex=False")
        if backend.capabilities.immutable:
            return
        try:
            xp.ones((2,), dtype=xp.float32)[0] = 2.0
        except TypeError as error:
            raise _wrong(
                backend, f"arrays cannot be written to ({error})", "immutable=True"
            ) from error


def _expect_dtype(backend: Backend, xp: Any, name: str, instead: str) -> None:
    dtype = getattr(xp, name, None)
    if dtype is None:
        raise _wrong(backend, f"the namespace has no dtype {name!r}", instead)
    found = xp.ones((2,), dtype=dtype).dtype
    if name not in str(found):
        what = f"an array that is asked to be {name} has dtype {found}"
        raise _wrong(backend, what, f"{instead}, or let conformance() set what it needs")


def _wrong(backend: Backend, what: str, instead: str) -> CapabilityError:
    kind = type(backend).__name__
    return CapabilityError(f"{kind}.capabilities: {what}; declare {instead}")
