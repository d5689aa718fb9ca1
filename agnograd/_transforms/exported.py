"""Functions of Variables, recorded for another library that will ask for their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._engine.commit import gradients
from agnograd._graph.nodes import Leaf, next_rank
from agnograd._graph.paths import older
from agnograd._hooks.entering import no_grad, recording_since
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import is_array
from agnograd._transforms.moving import asarray
from agnograd._util.trees import flatten, unflatten
from agnograd.errors import LostGradientError, RuleError

__all__ = ["Exported", "Recorded"]


class Exported:
    """One call of a function of Variables, as another library sees it; a ``Program``.

    Parameters
    ----------
    f : callable
        The function.
    leaves, tree
        The leaves of its arguments, and their structure.
    places : sequence of int
        Which leaves are arrays.
    library : str
        The name of the other library's backend.
    backend : str
        The backend that ``f`` gets them on.
    results : callable, optional
        Takes what ``f`` takes, and returns objects with the shapes and dtypes of its results.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        leaves: Sequence[Any],
        tree: Any,
        places: Sequence[int],
        library: str,
        backend: str,
        results: Callable[..., Any] | None,
    ) -> None:
        self.f = f
        self.leaves = leaves
        self.tree = tree
        self.places = places
        self.library = library
        self.backend = backend
        self.results = results
        self.structure: Any = None  # of the results, once they are known

    def expected(self) -> list[Any] | None:
        """Return objects with the results' shapes and dtypes, if the caller told them."""
        if self.results is None:
            return None
        args, kwargs = unflatten(self.tree, self.leaves)
        found, self.structure = flatten(self.results(*args, **kwargs))
        return found

    def outputs(self, inputs: Sequence[Any]) -> list[Any]:
        """Run the function; return its results on the inputs' own backend."""
        with no_grad():
            constants = [Variable(x, requires_grad=False) for x in inputs]
            return [_owned(out) for out in self._results(constants)]

    def record(self, inputs: Sequence[Any]) -> Recorded:
        """Run the function and record it."""
        start = next_rank()
        variables = [_argument(x) for x in inputs]
        with recording_since(start):
            outputs = self._results(variables)
        if any(older([out._node for out in outputs], start)):
            raise LostGradientError(
                f"{getattr(self.f, '__name__', 'the function')} uses a tracked Variable that is "
                "none of its arguments, and whose gradient would be lost on the way through "
                "another library: pass it as an argument, or x.detach()"
            )
        return Recorded(variables, outputs, start)

    def _results(self, inputs: Sequence[Variable]) -> list[Variable]:
        filled = list(self.leaves)
        for place, x in zip(self.places, inputs, strict=True):
            filled[place] = asarray(x, backend=self.backend)
        args, kwargs = unflatten(self.tree, filled)
        found, self.structure = flatten(self.f(*args, **kwargs))
        for out in found:
            if not (is_array(out) or is_python_scalar(out)):
                raise RuleError(
                    f"{getattr(self.f, '__name__', 'the function')} returned "
                    f"{type(out).__name__}; it must return an array, or a pytree of arrays"
                )
        home = inputs[0]._domain.backend.name if inputs else self.library
        return [asarray(out, backend=home) for out in found]


class Recorded:
    """A run of a function of Variables; a ``Record``."""

    def __init__(self, inputs: Sequence[Variable], results: Sequence[Variable], start: int) -> None:
        self.inputs = inputs
        self.results = results
        self.start = start

    @property
    def outputs(self) -> list[Any]:
        """The results, raw."""
        return [_owned(out) for out in self.results]

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """Return the gradients of the inputs, raw."""
        return [g.data for g in self._gradients(cotangents, create_graph=False)]

    def pulled(self, cotangents: Sequence[Any], places: Sequence[int]) -> Recorded:
        """Return the gradients of the inputs as functions of inputs and cotangents."""
        given = [None if g is None else Variable(g) for g in cotangents]
        with recording_since(self.start):
            found = self._gradients(given, create_graph=True)
        values: list[Any] = [*self.inputs, *given]
        return Recorded([values[place] for place in places], found, self.start)

    def _gradients(self, cotangents: Sequence[Any], create_graph: bool) -> list[Variable]:
        inputs = [x for x in self.inputs if x.requires_grad]
        pairs = [
            (out, g)
            for out, g in zip(self.results, cotangents, strict=True)
            if out.requires_grad and g is not None
        ]
        found: Iterable[Variable | None] = [None] * len(inputs)
        if pairs and inputs:
            found = gradients(
                pairs,
                inputs,
                retain_graph=True,
                create_graph=create_graph,
                allow_unused=True,
            )
        return [
            x.__array_namespace__().zeros_like(x.detach()) if g is None else g
            for x, g in zip(inputs, found, strict=True)
        ]


def _argument(x: Any) -> Variable:
    """Return an input as the function gets it; integers have no gradient."""
    variable = Variable(x, requires_grad=False)
    if variable._domain.is_inexact(variable.dtype):
        variable._node = Leaf.of_argument(variable)
    return variable


def _owned(out: Variable) -> Any:
    """Return a copy of a raw result: the other library's users may write to it."""
    return out._domain.copy(out.data)
