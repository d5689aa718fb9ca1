"""What all checks rely on: a backend's capabilities are so, and its methods do what they say."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from agnograd._backend import Backend
from agnograd._backends import require
from agnograd.errors import MixedBackendsWarning

__all__ = ["BackendError", "check_basics"]


class BackendError(ValueError):
    """A backend is not what it says."""


def check_basics(backend: Backend) -> None:
    """Try a backend's methods and capabilities, each by itself.

    Raises
    ------
    BackendError
        If one is wrong; the message names it, and says what was found.
    """
    with backend.conformance():
        xp: Any = require(backend)
        for method, trial in _TRIALS.items():
            try:
                found = trial(backend, xp)
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            if found is not None:
                raise BackendError(f"{type(backend).__name__}.{method}: {found}")


def _array_types(backend: Backend, xp: Any) -> str | None:
    made = xp.ones((2,))
    if isinstance(made, backend.array_types()):
        return None
    return f"namespace() makes arrays of type {type(made)!r}, which is not among them"


def _capabilities(backend: Backend, xp: Any) -> str | None:
    declared = backend.capabilities
    wanted = [("float64", "float64=False")] if declared.float64 else []
    wanted += [("complex64", "complex=False")] if declared.complex else []
    for name, instead in wanted:
        dtype = getattr(xp, name, None)
        if dtype is None:
            return f"the namespace has no dtype {name!r}: declare {instead}"
        found = xp.ones((2,), dtype=dtype).dtype
        if name not in str(found):
            return (
                f"an array that is asked to be {name} has dtype {found}: declare {instead}, or "
                "let conformance() set what it needs"
            )
    if not declared.immutable:
        try:
            xp.ones((2,))[0] = 2.0
        except TypeError as error:
            return f"arrays cannot be written to ({error}): declare immutable=True"
    return None


def _numbers(backend: Backend, array: Any) -> list[float]:
    return [float(each) for each in backend.to_host(array).reshape(-1)]


def _expecting(
    program: Callable[[Backend, Any], Any], expected: list[float]
) -> Callable[[Backend, Any], str | None]:
    """Return a trial of a program that gives an array, or fails."""

    def trial(backend: Backend, xp: Any) -> str | None:
        found = _numbers(backend, program(backend, xp))
        return None if found == expected else f"it gives {found}, and should give {expected}"

    return trial


def _item(backend: Backend, xp: Any) -> str | None:
    found = backend.item(xp.asarray(2.5))
    return None if found == 2.5 else f"it gives {found!r} for 2.5"


def _set(backend: Backend, xp: Any) -> str | None:
    x = xp.asarray([1.0, 2.0])
    found = _numbers(backend, backend.set(x, 0, 5.0))
    if found != [5.0, 2.0]:
        return f"it gives {found}, and should give [5.0, 2.0]"
    return None if _numbers(backend, x) == [1.0, 2.0] else "it changes its argument"


def _counter(backend: Backend, xp: Any) -> str | None:
    found = [backend.counter()(xp.zeros(shape)) for shape in ((2, 3), (), (0, 3))]
    return None if found == [6, 1, 0] else f"it gives {found} elements, and should give [6, 1, 0]"


def _constant(backend: Backend, xp: Any) -> str | None:
    host = backend.to_host(_ramp(xp))[::-1]
    if not backend.accepts(host):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixedBackendsWarning)
        return _expecting(lambda backend, xp: backend.constant(host), [4.0, 2.0, 1.0])(backend, xp)


def _flat(backend: Backend, xp: Any) -> str | None:
    if backend.large is None:
        return None
    x = xp.zeros((2, 3))
    for name, array in (("an array", x), ("a transposed one", xp.permute_dims(x, (1, 0)))):
        view = backend.flat(array)
        if view is None:
            continue
        view[1] = 1.0
        first = _numbers(backend, array)
        view[1] = 0.0
        if first != [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]:
            return f"writing to the second element of what it gives for {name} makes it {first}"
    return None


def _uniform(backend: Backend, xp: Any) -> str | None:
    if backend.large is None:
        return None
    found = backend.uniform(xp.reshape(_ramp(xp)[:2], (1, 2)))
    if found is not None:
        return f"it gives {found!r} for an array of 1.0 and 2.0"
    found = backend.uniform(xp.broadcast_to(xp.asarray(3.0), (2, 3)))
    return None if found is None or found == 3.0 else f"it gives {found!r} for threes"


def _zeros(xp: Any) -> Any:
    return xp.zeros((3,))


def _indices(xp: Any) -> Any:
    return xp.asarray([2, 0, 2])


def _ramp(xp: Any) -> Any:
    return xp.asarray([1.0, 2.0, 4.0])


_TRIALS: dict[str, Callable[[Backend, Any], str | None]] = {
    "array_types()": _array_types,
    "capabilities": _capabilities,
    "to_host()": _expecting(lambda backend, xp: _ramp(xp), [1.0, 2.0, 4.0]),
    "item()": _item,
    "own()": _expecting(lambda backend, xp: backend.own(_ramp(xp)), [1.0, 2.0, 4.0]),
    "set()": _set,
    "constant()": _constant,
    "counter()": _counter,
    "flat()": _flat,
    "uniform()": _uniform,
    "put()": _expecting(lambda backend, xp: backend.put(_ramp(xp), 1, 7.0), [1.0, 7.0, 4.0]),
    "scatter_add()": _expecting(
        lambda backend, xp: backend.scatter_add(_zeros(xp), (_indices(xp),), _ramp(xp)),
        [2.0, 0.0, 5.0],
    ),
    "scatter_add_axis()": _expecting(
        lambda backend, xp: backend.scatter_add_axis(_zeros(xp), _indices(xp), _ramp(xp), 0),
        [2.0, 0.0, 5.0],
    ),
}
