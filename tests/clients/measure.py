"""What becomes of the gradient of a call: its status, by central differences on plain NumPy."""

import builtins
import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import agnograd as ag
from agnograd._plugins.backends import backend_named, is_array

from .matrix import Call

STEP = 1e-3  # of the five-point formula
RTOL, ATOL = 1e-5, 1e-7


@dataclass
class Outcome:
    """What a call came to.

    The status is one of

    - ``right``;
    - ``no gradient``, where differences are zero as well;
    - ``wrong``, in the value or the gradient;
    - ``lost``, where an output that depends on the inputs is not connected to them;
    - ``warned``, where that is so, or a part is missing, and a LostGradientWarning said it;
    - ``refused``, where an exception was raised;
    - ``unsupported``, where the library does not take raw arrays of the backend either;
    - ``broken``, where the call fails on plain NumPy.
    """

    status: str
    error: str = ""
    warnings: list[str] = field(default_factory=list)


def leaves(result: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of a result, in containers or not."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, tuple | list):
        for each in result:
            yield from leaves(each)
    elif isinstance(result, float | complex | np.number) or is_array(result):
        yield result


def floating(result: Any) -> list[Any]:
    """Return the leaves of a result that are of floating-point or complex dtype."""
    return [leaf for leaf in leaves(result) if _is_inexact(leaf)]


def _is_inexact(leaf: Any) -> bool:
    kind = str(getattr(leaf, "dtype", type(leaf).__name__))
    return "float" in kind or "complex" in kind


class Trial:
    """A call, its inputs as NumPy arrays, and weights that its outputs are contracted with."""

    def __init__(self, call: Call) -> None:
        self.names = call.inputs
        self.arrays = [np.asarray(call.module.INPUTS[name]) for name in self.names]
        self._scope = call.module.scope()
        self._code = compile(call.text, "<call>", "eval")

    def run(self, xp: Any, arrays: list[Any]) -> list[Any]:
        """Return the floating-point leaves of the call's result."""
        inputs = dict(zip(self.names, arrays, strict=True))
        scope = {"xp": xp, "__builtins__": builtins} | self._scope | inputs
        return floating(eval(self._code, scope))

    def on_numpy(self, arrays: list[Any]) -> list[Any]:
        """Return the leaves on plain NumPy; the arrays may be changed."""
        return [np.asarray(leaf) for leaf in self.run(np, [np.array(each) for each in arrays])]

    def differences(self, weights: list[Any]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """Yield for each inexact input its name, the gradient, and how far each output moved."""
        for index, (name, array) in enumerate(zip(self.names, self.arrays, strict=True)):
            if _is_inexact(array):
                yield name, *self._difference(index, weights)

    def _difference(self, index: int, weights: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        array = self.arrays[index]
        gradient = np.zeros(array.shape, array.dtype)
        moved = np.zeros(len(weights))
        directions = (1.0, 1j) if array.dtype.kind == "c" else (1.0,)
        for place in np.ndindex(array.shape):
            for direction in directions:
                slopes = self._slopes(index, place, direction * STEP, weights)
                gradient[place] += direction * slopes.sum()
                moved = np.maximum(moved, abs(slopes))
        return gradient, moved

    def _slopes(self, index: int, place: Any, step: complex, weights: list[Any]) -> np.ndarray:
        total = np.zeros(len(weights))
        for multiple, factor in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
            arrays = list(self.arrays)
            arrays[index] = arrays[index].copy()
            arrays[index][place] += multiple * step
            total += [
                factor * _inner(*each) for each in zip(weights, self.on_numpy(arrays), strict=True)
            ]
        return total / (12 * STEP)


def _inner(weight: np.ndarray, leaf: np.ndarray) -> float:
    return float(np.sum(np.real(np.conj(weight) * leaf)))


def _weights(outputs: list[np.ndarray]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    drawn = [rng.uniform(0.5, 1.5, out.shape) * rng.choice([-1, 1], out.shape) for out in outputs]
    return [
        weight + 1j * rng.uniform(0.5, 1.5, out.shape) if out.dtype.kind == "c" else weight
        for weight, out in zip(drawn, outputs, strict=True)
    ]


def measure(call: Call, backend: str) -> Outcome:
    """Return what a call comes to on a backend."""
    with _listening() as usual:
        try:
            trial = Trial(call)
            values = trial.on_numpy(trial.arrays)
            if not values:
                raise TypeError("no output is of floating-point dtype")
        except Exception as error:
            return Outcome("broken", _said(error))
    with backend_named(backend).conformance():
        if backend != "numpy":
            with _listening() as more:
                reason = _unsupported(trial, backend)
            if reason:
                return Outcome("unsupported", reason)
            usual += more
        with _listening() as caught:
            found = _differentiated(trial, ag.namespace(backend), values)
    heard = {_warned(each) for each in caught} - {_warned(each) for each in usual}
    with _listening() as more:
        outcome = found
        if not isinstance(found, Outcome):
            told = any(each.startswith("LostGradientWarning") for each in heard)
            outcome = _judged(trial, backend, values, told, *found)
    if backend == "numpy":
        heard -= {_warned(each) for each in more}
    outcome.warnings = sorted(heard)
    return outcome


def _judged(trial: Trial, backend: str, values: Any, told: bool, *found: Any) -> Outcome:
    """Return what comes of comparing with differences, or with gradients on numpy.

    Where a warning told that a gradient is lost, one on numpy is no reference.
    """
    if backend != "numpy" and not told:
        usual = _differentiated(trial, ag.namespace("numpy"), values)
        if not isinstance(usual, Outcome):
            return _same(*found[1:], *usual[1:])
    outcome = _compared(trial, *found)
    if told and outcome.status in ("lost", "wrong"):
        outcome.status = "warned"
    return outcome


@contextlib.contextmanager
def _listening() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def _warned(message: warnings.WarningMessage) -> str:
    return f"{message.category.__name__}: {message.message}"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]


def _unsupported(trial: Trial, backend: str) -> str:
    """Return why the library does not take raw arrays of this backend; "" where it does."""
    kept = ag.namespace(backend).empty(0)
    try:
        raw = [_array(ag.namespace(backend), array).data for array in trial.arrays]
        results = trial.run(kept._domain.raw, raw)
    except Exception as error:
        return _said(error)
    kind = type(kept.data)
    foreign = [leaf for leaf in results if not isinstance(leaf, kind | float | complex)]
    return f"the result is a {type(foreign[0]).__name__}" if foreign else ""


def _differentiated(trial: Trial, xp: Any, values: list[np.ndarray]) -> Any:
    """Return the weights, which outputs are tracked, and the gradients; or what went wrong."""
    inputs = [ag.Variable(_array(xp, array).data) for array in trial.arrays]
    inexact = [x for x, array in zip(inputs, trial.arrays, strict=True) if _is_inexact(array)]
    weights = _weights(values)
    try:
        outputs = trial.run(xp, inputs)
        tracked = [isinstance(out, ag.Variable) and out.requires_grad for out in outputs]
        if len(outputs) != len(values):
            return Outcome("wrong", f"{len(outputs)} outputs, {len(values)} on plain NumPy")
        for out, value in zip(outputs, values, strict=True):
            found = np.asarray(out.detach() if isinstance(out, ag.Variable) else out)
            same = found.shape == value.shape and np.allclose(found, value, RTOL, ATOL, True)
            if not same:
                return Outcome("wrong", f"the value is {found!r}, on plain NumPy {value!r}")
        chosen = [(o, w) for o, w, t in zip(outputs, weights, tracked, strict=True) if t]
        if chosen:
            cotangents = [xp.astype(_array(xp, w), o.dtype) for o, w in chosen]
            ag.autodiff.backward([out for out, _ in chosen], cotangents)
    except Exception as error:
        return Outcome("refused", _said(error))
    return weights, tracked, [None if x.grad is None else np.asarray(x.grad) for x in inexact]


def _array(xp: Any, array: np.ndarray) -> Any:
    """Return a NumPy array as one of a namespace, without what only NumPy's arrays have."""
    dtype = getattr(xp, array.dtype.name)
    return xp.reshape(xp.asarray(array.ravel().tolist(), dtype=dtype), array.shape)


def _compared(trial: Trial, weights: Any, tracked: list[bool], gradients: Any) -> Outcome:
    """Return what comes of comparing gradients with differences on plain NumPy."""
    moved = np.zeros(len(weights))
    wrong = ""
    for (name, reference, how_far), g in zip(trial.differences(weights), gradients, strict=True):
        if not np.all(np.isfinite(reference)):
            return Outcome("broken", f"{name}: differences are not finite")
        moved = np.maximum(moved, how_far)
        g = np.zeros_like(reference) if g is None else g
        if not (wrong or np.allclose(g, reference, RTOL, _atol(reference))):
            wrong = f"{name}: {g.tolist()}, by differences {reference.tolist()}"
    lost = [i for i, how_far in enumerate(moved) if how_far > ATOL and not tracked[i]]
    if lost:
        return Outcome("lost", f"output {lost[0]} is not connected")
    if wrong:
        return Outcome("wrong", wrong)
    return Outcome("right" if np.any(moved > ATOL) else "no gradient")


def _same(tracked: Any, gradients: Any, connected: Any, references: Any) -> Outcome:
    """Return what comes of comparing gradients with those on numpy."""
    if tracked != connected:
        return Outcome("lost", f"outputs are connected: {tracked}, on numpy {connected}")
    for g, reference in zip(gradients, references, strict=True):
        one, other = (np.asarray(0.0 if each is None else each) for each in (g, reference))
        if not np.allclose(one, other, RTOL, _atol(other)):
            return Outcome("wrong", f"{one.tolist()}, on numpy {other.tolist()}")
    some = any(g is not None and np.any(abs(g) > ATOL) for g in references)
    return Outcome("right" if some else "no gradient")


def _atol(reference: np.ndarray) -> float:
    return ATOL * max(1.0, np.max(abs(reference), initial=0))
