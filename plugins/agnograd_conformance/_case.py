"""A sample on a backend, as a function of its differentiable arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from agnograd.extend import Op, Sample, domain_named, op_named

__all__ = ["Case", "arrays_in", "op_of"]


def arrays_in(value: Any) -> list[Any]:
    """Return the items of nested lists and tuples, in order."""
    if isinstance(value, list | tuple):
        return [array for each in value for array in arrays_in(each)]
    return [value]


def op_of(sample: Sample) -> Op:
    """Return the op that a sample calls."""
    op = op_named(sample.op)
    if op is None:
        raise KeyError(sample.op)
    return op


class Case:
    """A sample on a backend, as a function of its differentiable arrays.

    Attributes
    ----------
    args, kwargs
        The op's arguments: raw arrays of the backend, and options.
    names : dict
        The parameter that each argument is given for, by its position or keyword.
    places : list of int or str
        Which of them are differentiated: those with a rule and a floating-point or complex dtype.
    """

    def __init__(self, sample: Sample, backend: str, seed: int = 0) -> None:
        self.sample = sample
        self.domain = domain_named(backend)
        self.op = op_of(sample)
        self.args, self.kwargs = sample.make(self.domain.library, seed)
        parameters = list(self.op.signature.parameters)
        self.names: dict[int | str, str] = {
            place: parameters[min(place, len(parameters) - 1)] for place in range(len(self.args))
        }
        self.names |= {name: name for name in self.kwargs}
        self.places: list[int | str] = [
            place
            for place, name in self.names.items()
            if name in self.op.differentiable
            and not (name in self.op.rules and self.op.rules[name].reason)
            and self._holds_arrays(self.argument(place))
        ]

    def argument(self, place: Any) -> Any:
        """Return the argument at a position or keyword."""
        return self.args[place] if isinstance(place, int) else self.kwargs[place]

    def _holds_arrays(self, arg: Any) -> bool:
        types: Any = self.domain.array_types
        return any(
            isinstance(each, types) and self.domain.is_inexact(each.dtype)
            for each in arrays_in(arg)
        )

    @property
    def inputs(self) -> list[Any]:
        """The raw arrays (or lists of them) that are differentiated."""
        return [self.argument(place) for place in self.places]

    @property
    def arrays(self) -> list[Any]:
        """All raw arrays among the arguments, indices and masks included."""
        given = arrays_in([list(self.args), list(self.kwargs.values())])
        return [each for each in given if isinstance(each, self.domain.array_types)]

    def called(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what the op gives for other arguments."""
        xp, args = self.domain.namespace, list(args)
        if self.sample.before is not None:
            args[0] = self.sample.before(args[0], xp)
        return attrgetter(self.sample.op)(xp)(*args, **kwargs)

    def result(self, *inputs: Any) -> Any:
        """Return what the op gives with other arrays in these places."""
        return self.called(*self.filled(*inputs))

    def on_raw(self, *args: Any) -> Any:
        """Return what the op gives for raw arrays in place of its arguments by position."""
        return attrgetter(self.op.name)(self.domain.raw)(*args, **self.kwargs)

    def filled(self, *inputs: Any) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments with other arrays in the differentiated places."""
        args, kwargs = list(self.args), dict(self.kwargs)
        for place, value in zip(self.places, inputs, strict=True):
            if isinstance(place, int):
                args[place] = value
            else:
                kwargs[place] = value
        return args, kwargs

    def after(self, out: Any) -> Any:
        """Return what derivatives are checked of, given the op's result."""
        after = self.sample.after
        return out if after is None else after(out, self.domain.namespace)

    def __call__(self, *inputs: Any) -> Any:
        """Return what derivatives are checked of."""
        return self.after(self.result(*inputs))
