"""Functions that cross between libraries: another library's as ours, and ours as another's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from agnograd._arrays.domains import domain_named, domain_of
from agnograd._arrays.variable import Variable
from agnograd._engine.ends import gradients
from agnograd._graph.nodes import Leaf, next_rank
from agnograd._graph.paths import older
from agnograd._hooks.entering import no_grad, recording_since
from agnograd._hooks.state import is_grad_enabled
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import is_array
from agnograd._transforms.function import Function
from agnograd._transforms.moving import asarray
from agnograd._util.trees import flatten, unflatten
from agnograd.errors import LostGradientError, RuleError

if TYPE_CHECKING:
    from agnograd._plugins.bridges import Bridge, Record


class Foreign(Function):
    """A run of a function that another library records and differentiates.

    Its gradient is such a run, too, of the library's own pullback: so there are derivatives of
    every order that the library has.
    """

    _knows_attributes = True

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
        values = [*self.saved, *grads]
        places = [place for place, value in enumerate(values) if value.requires_grad]
        raw = [g.data for g in grads]
        if not places:
            return tuple(self.run.pull(raw))
        run = self.run
        pullback = type(self)(lambda _: run.pulled(raw, places))
        return pullback(*(values[place] for place in places))


class Adopted:
    """A function of another library: called with Variables, it returns Variables.

    Parameters
    ----------
    f : callable
        The function.
    library : str
        The name of its backend.
    bridge : Bridge
        That backend's bridge.
    """

    def __init__(self, f: Callable[..., Any], library: str, bridge: Bridge) -> None:
        self.f = f
        self.library = library
        self.bridge = bridge
        self.parameters = Parameters(f, library, bridge)
        name = getattr(f, "__name__", type(f).__name__)
        self.op: type[Foreign] = type(name, (Foreign,), {})  # the name that hooks see

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function on its library's arrays, and record the call as one op."""
        leaves, tree = flatten((args, kwargs))
        places = [place for place, leaf in enumerate(leaves) if is_array(leaf)]
        home = _home([leaves[place] for place in places], self.library)
        moved = [asarray(leaves[place], backend=self.library) for place in places]
        raw = dict(zip(places, [x.data for x in moved], strict=True))
        recording = is_grad_enabled()
        tracked = {
            p: x for p, x in zip(places, moved, strict=True) if recording and x.requires_grad
        }
        parameters, stand_ins = self.parameters.now() if recording else ([], [])
        structure: Any = None

        def run(inputs: Sequence[Any]) -> list[Any]:
            nonlocal structure
            given = raw | dict(zip(tracked, inputs, strict=True))
            filled = [given.get(place, leaf) for place, leaf in enumerate(leaves)]
            args, kwargs = unflatten(tree, filled)
            found, structure = flatten(self.f(*args, **kwargs))
            return found

        if tracked or parameters:
            record = partial(self._record, run, len(tracked), parameters)
            outputs = self.op(record)(*tracked.values(), *stand_ins)
        else:
            outputs = self.bridge.record(run, ()).outputs
        return unflatten(structure, [asarray(out, backend=home) for out in outputs])

    def _record(
        self,
        run: Callable[[Sequence[Any]], Sequence[Any]],
        count: int,
        parameters: Sequence[Any],
        inputs: Sequence[Any],
    ) -> Record:
        return self.bridge.record(run, inputs[:count], parameters)


class Parameters:
    """What a function trains besides its arguments, and the leaves that stand for it in graphs.

    When a pass has succeeded, what has accumulated in a leaf goes to the library.
    """

    def __init__(self, f: Any, library: str, bridge: Bridge) -> None:
        self.f = f
        self.bridge = bridge
        self.known: dict[int, tuple[Any, Variable]] = {}
        for parameter, value in bridge.parameters(f):
            leaf: Variable = domain_named(library).Variable(value)
            leaf.register_post_accumulate_grad_hook(partial(_hand_over, bridge, parameter))
            self.known[id(parameter)] = parameter, leaf

    def now(self) -> tuple[list[Any], list[Variable]]:
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


def _home(arrays: Sequence[Any], library: str) -> str:
    """Return the backend that results go to: that of the first Variable, or else array."""
    variables = [x for x in arrays if isinstance(x, Variable)]
    for x in (*variables, *arrays):
        return domain_of(x).backend.name
    return library


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
