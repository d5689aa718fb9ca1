"""Functions as arguments of samples."""

from typing import Any

__all__ = ["Program"]


class Program:
    """A function that is printed as its source."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.function = eval(source)

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return self.function(*args)

    def __repr__(self) -> str:
        return f"({self.source})"
