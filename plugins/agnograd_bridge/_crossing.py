"""Functions that cross between libraries: another library's as ours, and ours as another's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agnograd import Function, Variable, asarray, autodiff, is_grad_enabled, no_grad
from agnograd.errors import LostGradientError, RuleError
from agnograd.extend import Bridge, Record, domain_named, is_array, is_python_scalar
from agnograd.extend.arguments import flatten, unflatten
from agnograd.extend.transforms import Prepared, Trace, connected, domain_of, recording_since


class Foreign(Function, constant_attributes=True):
    """A run of a function that another library records and differentiates.

    Its gradient is such a run, too, of the library's own pullback: so there are derivatives of
    every order that the library has.
    """

    def __init__(self, record: Callable[[Sequence[Any]], Record]) -> None:
        self.record = record

    def forward(self, xp: Any, *inputs: Any) -> Any:
        """Run the function."""
        self.run = self.record(inputs)
        self.save(*inputs)
        return tuple(self.run.outputs)

    def backward(self, xp: Any, *grads: Any) -> Any:
        """Return the gradients of the inputs; of Variables by a run of the pullback."""
        if not isinstance(grads[0], Variable):
            return tuple(self.run.pull(grads))
        values, run, raw = [*self.saved, *grads], self.run, [g.data for g in grads]
        places = [place for place, value in enumerate(values) if value.requires_grad]
        if not places:
            return tuple(run.pull(raw))
        pullback = type(self)(lambda _: run.pulled(raw, places))
        return pullback(*(values[place] for place in places))


class Adopted:
    """A function of another library: called with Variables, it returns Variables.

    For each parameter that it trains besides its arguments there is a leaf in graphs. When a pass
    has succeeded, what has accumulated in the leaf goes to the library.
    """

    def __init__(self, f: Callable[..., Any], library: str, bridge: Bridge) -> None:
        self.f, self.library, self.bridge = f, library, bridge
        name = getattr(f, "__name__", type(f).__name__)
        self.op: type[Foreign] = type(name, (Foreign,), {})  # the name that hooks see
        self.known: dict[int, tuple[Any, Variable]] = {}
        for parameter, value in bridge.parameters(f):
            leaf: Variable = domain_named(library).Variable(value)
            leaf.register_post_accumulate_grad_hook(partial(_hand_over, bridge, parameter))
            self.known[id(parameter)] = parameter, leaf

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function on its library's arrays, and record the call as one op."""
        run = Prepared(self.f, args, kwargs, is_array)
        arrays = run.take()
        moved = [asarray(x, backend=self.library) for x in arrays]
        raw = [x.data for x in moved]
        recording = is_grad_enabled()
        tracked = [place for place, x in enumerate(moved) if recording and x.requires_grad]
        parameters, leaves = self._parameters() if recording else ([], [])

        def of_tracked(inputs: Sequence[Any]) -> list[Any]:
            known = dict(zip(tracked, inputs, strict=True))
            return run([known.get(place, x) for place, x in enumerate(raw)])

        def record(inputs: Sequence[Any]) -> Record:
            return self.bridge.record(of_tracked, inputs[: len(tracked)], parameters)

        if tracked or parameters:
            outputs = self.op(record)(*(moved[place] for place in tracked), *leaves)
        else:
            outputs = record(()).outputs
        first = [*(x for x in arrays if isinstance(x, Variable)), *arrays, self.library][0]
        return unflatten(run.structure, [asarray(out, backend=first) for out in outputs])

    def _parameters(self) -> tuple[list[Any], list[Variable]]:
        """Return the parameters as they are now, and their leaves.

        A leaf that was made later would be unknown to a checkpoint around the call.
        """
        parameters, leaves = [], []
        for parameter, value in self.bridge.parameters(self.f):
            _, leaf = self.known.get(id(parameter), (None, None))
            if leaf is None or _facts(leaf.data) != _facts(value):
                raise RuleError(
                    "a parameter was added, unfrozen, or moved to another dtype or device since "
                    "the function was made an op; make it one again"
                )
            parameters.append(parameter)
            leaves.append(leaf)
        return parameters, leaves


def _facts(raw: Any) -> tuple[Any, ...]:
    return raw.shape, raw.dtype, domain_of(raw).device(raw)


def _hand_over(bridge: Bridge, parameter: Any, leaf: Variable) -> None:
    """Add a leaf's gradient to what the library keeps."""
    assert leaf.grad is not None
    bridge.accumulate(parameter, leaf.grad.data)
    leaf.grad = None


class Exported(Prepared):
    """One call of a function of Variables, as another library sees it; a ``Program``.

    ``f`` gets its raw arrays as Variables on ``backend``. ``results``, if given, takes what ``f``
    takes, and returns objects with the shapes and dtypes of its results.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        library: str,
        backend: str,
        results: Callable[..., Any] | None,
    ) -> None:
        super().__init__(f, args, kwargs, lambda x: is_array(x) and not isinstance(x, Variable))
        self.library, self.backend, self.results = library, backend, results

    def inputs(self) -> list[Any]:
        """Return the arrays among the arguments as the library's own."""
        types = domain_named(self.library).array_types
        return [
            x if isinstance(x, types) else asarray(x, backend=self.library).data
            for x in (self.leaves[place] for place in self.places)
        ]

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
            return [_owned(out) for out in self._results(*constants)]

    def record(self, inputs: Sequence[Any]) -> Recorded:
        """Run the function and record it."""
        # Integers have no gradient.
        places = tuple(n for n, x in enumerate(inputs) if domain_of(x).is_inexact(x.dtype))

        def run() -> Sequence[Variable]:
            self.trace = Trace(self._results, tuple(inputs), {}, places)
            outputs: Sequence[Variable] = self.trace.result
            return outputs

        outputs, loses = connected(run)
        if loses:
            raise LostGradientError(
                f"{self.name} uses a tracked Variable that is none of its arguments, and whose "
                "gradient would be lost on the way through another library: pass it as an "
                "argument, or x.detach()"
            )
        variables = [*inputs]
        for place, x in zip(places, self.trace.inputs, strict=True):
            variables[place] = x
        return Recorded(variables, outputs, self.trace.start)

    def _results(self, *inputs: Variable) -> list[Variable]:
        found = self([self._given(x) for x in inputs])
        for out in found:
            if not (is_array(out) or is_python_scalar(out)):
                raise RuleError(
                    f"{self.name} returned {type(out).__name__}; it must return an array, or a "
                    "pytree of arrays"
                )
        home = inputs[0] if inputs else self.library
        return [asarray(out, backend=home) for out in found]

    def _given(self, x: Variable) -> Variable:
        """Return an input as the function gets it, which may write to it: never ``x`` itself."""
        moved = asarray(x, backend=self.backend)
        return domain_of(x).convert(x, x.dtype, copy=False) if moved is x else moved


class Recorded:
    """A run of a function of Variables; a ``Record``."""

    def __init__(self, inputs: Sequence[Any], results: Sequence[Variable], start: int) -> None:
        self.inputs, self.results, self.start = inputs, results, start

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
        inputs = [x for x in self.inputs if isinstance(x, Variable) and x.requires_grad]
        given = zip(self.results, cotangents, strict=True)
        pairs = [(out, g) for out, g in given if out.requires_grad and g is not None]
        found: Sequence[Variable | None] = [None] * len(inputs)
        if pairs and inputs:
            outputs, seeds = zip(*pairs, strict=True)
            found = autodiff.grad(
                outputs,
                inputs,
                seeds,
                retain_graph=True,
                create_graph=create_graph,
                allow_unused=True,
            )
        return [
            x.__array_namespace__().zeros_like(x.detach()) if g is None else g
            for x, g in zip(inputs, found, strict=True)
        ]


def _owned(out: Variable) -> Any:
    """Return a copy of a raw result: the other library's users may write to it."""
    return domain_of(out).copy(out.data)
