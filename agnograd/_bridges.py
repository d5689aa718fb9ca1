"""What a library that differentiates by itself offers, to be mixed with agnograd's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

__all__ = ["Bridge", "Flat", "Program", "Record"]

# A function of raw arrays: a list in, a list out.
Flat = Callable[[Sequence[Any]], Sequence[Any]]


class Record(Protocol):
    """A run of a function that was recorded: its results, and the way back.

    Gradients and cotangents of complex arrays follow agnograd's convention, dL/da + i dL/db.
    """

    @property
    def outputs(self) -> Sequence[Any]:
        """The results, raw."""
        ...

    def pull(self, cotangents: Sequence[Any]) -> Sequence[Any]:
        """Return the gradient of each input of floating-point or complex dtype, raw.

        There is a cotangent for each output; those of outputs of other dtypes are ignored. It may
        be called many times.
        """
        ...

    def pulled(self, cotangents: Sequence[Any], places: Sequence[int]) -> Record:
        """Return a record of ``pull`` itself, whose outputs are what ``pull`` returns.

        Its inputs are those of ``[*inputs, *cotangents]`` at ``places``.
        """
        ...


class Program(Protocol):
    """A function of Variables, for another library: raw arrays of any backend in and out."""

    @property
    def backend(self) -> str:
        """The name of the backend that it computes on."""
        ...

    def record(self, inputs: Sequence[Any]) -> Record:
        """Run it and record it."""
        ...

    def outputs(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Run it, and return its results on the inputs' own backend."""
        ...

    def expected(self) -> Sequence[Any] | None:
        """Return objects with the results' ``shape`` and ``dtype``, if they are known before."""
        ...


class Bridge:
    """What a backend's library offers that has derivatives of its own (``Backend.bridge``)."""

    def export(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the program's results, so that the library can differentiate them by the inputs.

        The inputs are the library's arrays, and so are the results. The library's derivative of
        the program is ``Record.pull``, and the derivative of that ``Record.pulled``, and so on.
        """
        raise NotImplementedError(f"{type(self).__name__} must override export()")

    def record(self, f: Flat, inputs: Sequence[Any], parameters: Sequence[Any] = ()) -> Record:
        """Run a function of the library's arrays, recorded by the library's own means.

        ``parameters`` are some of those that ``self.parameters`` gave, and count as further inputs.
        Without any of both, the results are all that is asked of the record.
        """
        raise NotImplementedError(f"{type(self).__name__} must override record()")

    def parameters(self, f: Any) -> Sequence[tuple[Any, Any]]:
        """Return what a function of the library trains besides its arguments.

        Pairs: what the library knows it by, and the raw array that it has for a value.
        """
        return ()

    def accumulate(self, parameter: Any, gradient: Any) -> None:
        """Add a gradient to what the library keeps for one of the parameters."""
        raise NotImplementedError(f"{type(self).__name__} must override accumulate()")
