"""What samples of several chapters are made of."""

from typing import Any, Final

from agnograd.extend import array

LAYOUTS: Final = ("strided", "reversed", "transposed")


def z(*shape: int, **options: Any) -> Any:
    """Describe an array of complex128."""
    return array(*shape, dtype="complex128", **options)
