"""What a library that differentiates by itself offers, to be mixed with agnograd's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

# A function of raw arrays: a list in, a list out.
Flat = Callable[[Sequence[Any]], Sequence[Any]]


class Record(Protocol):
    """A recorded run of a function: its results, and the way back.

    Gradients and cotangents of complex arrays follow agnograd's convention, dL/da + i dL/db.
    """

    @property
    def outputs(self) -> Sequence[Any]:
        """The results, raw."""

    def pull(self, cotangents: Sequence[Any]) -> Sequence[Any]:
        """Return the gradient of each input of floating-point or complex dtype, raw.

        Pass a cotangent for each output; those of outputs of other dtypes are ignored. You may call
        it many times.
        """

    def pulled(self, cotangents: Sequence[Any], places: Sequence[int]) -> Record:
        """Return a record of ``pull`` itself, whose outputs are what ``pull`` returns.

        Its inputs are those of ``[*inputs, *cotangents]`` at ``places``.
        """


class Program(Protocol):
    """A function of Variables for another library: it takes raw arrays of any backend."""

    @property
    def backend(self) -> str:
        """The name of the backend that it computes on."""

    def record(self, inputs: Sequence[Any]) -> Record:
        """Run the function and record it."""

    def outputs(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Run the function, and return its results on the inputs' own backend."""

    def expected(self) -> Sequence[Any] | None:
        """Return objects with the results' ``shape`` and ``dtype``, if known in advance."""


class Bridge:
    """What a library with its own derivatives offers (``Backend.bridge``)."""

    def export(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the program's results so that the library can differentiate them by the inputs.

        The inputs and the results are the library's arrays. The library uses ``Record.pull`` as the
        derivative of the program, ``Record.pulled`` as the derivative of that, and so on.
        """
        raise NotImplementedError(f"{type(self).__name__} must override export()")

    def record(self, f: Flat, inputs: Sequence[Any], parameters: Sequence[Any] = ()) -> Record:
        """Run a function of the library's arrays, recorded by the library itself.

        ``parameters`` are some of those that ``self.parameters`` returned, and count as further
        inputs. Without inputs and parameters, only the results of the record are needed.
        """
        raise NotImplementedError(f"{type(self).__name__} must override record()")

    def parameters(self, f: Any) -> Sequence[tuple[Any, Any]]:
        """Return what a function of the library trains besides its arguments.

        These are pairs: the library's own object for the parameter, and the raw array of its value.
        """
        return ()

    def accumulate(self, parameter: Any, gradient: Any) -> None:
        """Add a gradient to what the library keeps for one of the parameters."""
        raise NotImplementedError(f"{type(self).__name__} must override accumulate()")
