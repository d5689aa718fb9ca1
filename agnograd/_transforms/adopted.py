"""Functions of another library, as ops whose derivatives that library computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from agnograd._arrays.domains import domain_named, domain_of
from agnograd._arrays.variable import Variable
from agnograd._hooks.state import is_grad_enabled
from agnograd._plugins.backends import is_array
from agnograd._transforms.function import Function
from agnograd._transforms.moving import asarray
from agnograd._util.trees import flatten, unflatten
from agnograd.errors import RuleError

if TYPE_CHECKING:
    from agnograd._plugins.bridges import Bridge, Record

__all__ = ["Adopted"]


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
