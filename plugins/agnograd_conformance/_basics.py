"""What all checks rely on: a backend's capabilities are so, and its methods do what they say."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from agnograd import namespace
from agnograd.errors import MixedBackendsWarning
from agnograd.extend import Backend, Capabilities, backend_named, domain_named
from agnograd_conformance import _at_keys

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
        xp = _raw_namespace(backend)
        for method, trial in _TRIALS.items():
            try:
                found = trial(backend, xp)
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            if found is not None:
                raise BackendError(f"{type(backend).__name__}.{method}: {found}")


def _raw_namespace(backend: Backend) -> Any:
    """Return a backend's namespace; an error says how to install what is missing."""
    try:
        return backend.namespace()
    except ImportError:
        namespace(backend.name)  # which says so
        raise


def _array_types(backend: Backend, xp: Any) -> str | None:
    types, made = backend.array_types(), xp.ones((2,))
    if not issubclass(type(made), types):
        return f"namespace() makes arrays of type {type(made)!r}, which is not among them"
    types += backend.scalar_types()
    for what, result in (
        ("x + x", made + made),
        ("x[0]", made[0]),
        ("sin(x)", xp.sin(made)),
        ("sum(x)", xp.sum(made)),
        ("reshape(x, (2, 1))", xp.reshape(made, (2, 1))),
    ):
        if not isinstance(result, types):
            return (
                f"{what} is of type {type(result)!r}, which is not among them: add it if it has "
                "all that arrays have, or let the functions of namespace(), and operator(), "
                "return arrays"
            )
    return None


def _capabilities(backend: Backend, xp: Any) -> str | None:
    declared = backend.capabilities
    wanted = {"float64": "float64", "complex64": "complex", "complex128": "complex128"}
    for name, field in wanted.items():
        if not declared.has(name):
            continue
        instead = f"{field}=False"
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
    return _of_indexing(declared, xp)


def _of_indexing(declared: Capabilities, xp: Any) -> str | None:
    """Return which of the standard's optional forms of indexing there is not, if it is declared."""
    if declared.boolean_indexing:
        try:
            _ramp(xp)[xp.asarray([True, False, True])]
        except (IndexError, NotImplementedError, TypeError, ValueError) as error:
            return f"arrays cannot be read at masks ({error}): declare boolean_indexing=False"
    if declared.data_dependent_shapes and not hasattr(xp, "nonzero"):
        return (
            "the namespace has no function 'nonzero': declare data_dependent_shapes=False, or, if "
            "there are others of its kind, let namespace() give it"
        )
    return None


def _expecting(
    program: Callable[[Backend, Any], Any], expected: list[float]
) -> Callable[[Backend, Any], str | None]:
    """Return a trial of a program that gives an array, or fails."""

    def trial(backend: Backend, xp: Any) -> str | None:
        found = _at_keys.numbers(backend, program(backend, xp))
        return None if found == expected else f"it gives {found}, and should give {expected}"

    return trial


def _item(backend: Backend, xp: Any) -> str | None:
    found = backend.item(xp.asarray(2.5))
    return None if found == 2.5 else f"it gives {found!r} for 2.5"


def _namespace(backend: Backend, xp: Any) -> str | None:
    """Return which of the functions is wrong that the defaults of methods, and many rules, use."""
    x, places = _ramp(xp), _indices(xp)
    cases: list[tuple[str, Callable[[], Any], list[float]]] = [
        ("arange(3)", lambda: xp.arange(3), [0.0, 1.0, 2.0]),
        ("take(x, [2, 0, 2], axis=0)", lambda: xp.take(x, places, axis=0), [4.0, 1.0, 4.0]),
        ("where(x > 1, x, 0 * x)", lambda: xp.where(x > 1.0, x, 0.0 * x), [0.0, 2.0, 4.0]),
        ("concat([x[1:], x[:1]])", lambda: xp.concat([x[1:], x[:1]], axis=0), [2.0, 4.0, 1.0]),
        ("flip(x)", lambda: xp.flip(x, axis=0), [4.0, 2.0, 1.0]),
        ("cumulative_sum(x)", lambda: xp.cumulative_sum(x, axis=0), [1.0, 3.0, 7.0]),
    ]
    for what, function, expected in cases:
        try:
            found = _at_keys.numbers(backend, function())
        except Exception as error:
            return f"{what} fails: {type(error).__name__}: {error}"
        if found != expected:
            return f"{what} gives {found}, and should give {expected}"
    return None


def _device(backend: Backend, xp: Any) -> str | None:
    domain_named(backend.name)  # from then on `device_of` asks the backend
    device = backend.device(_ramp(xp))
    found = backend.device(xp.zeros((2,), device=device))
    return None if found == device else f"what is made on {device!r} is on {found!r} by it"


def _dtype(backend: Backend, xp: Any) -> str | None:
    for name in ("bool", "int64", "float32", "float64", "complex64", "complex128"):
        if not backend.capabilities.has(name):
            continue
        found, arrays = backend.dtype(name), xp.zeros((2,), dtype=getattr(xp, name)).dtype
        if found != arrays or hash(found) != hash(arrays):
            return f"it gives {found!r} for {name!r}, and arrays have {arrays!r}"
    found = backend.dtype("no_such_dtype")
    return None if found is None else f"it gives {found!r} for a name that no library has"


def _from_dlpack(backend: Backend, xp: Any) -> str | None:
    host = backend_named("numpy").namespace()
    given = host.asarray([1.0, 2.0, 4.0], dtype=host.float32)
    try:
        array = backend.from_dlpack(given)
    except Exception as refusal:
        try:
            array = xp.asarray(given)
        except Exception as error:
            return (
                f"it does not take NumPy's array ({type(refusal).__name__}: {refusal}), nor does "
                f"asarray ({type(error).__name__}: {error})"
            )
    if not isinstance(array, backend.array_types()):
        return f"it gives {type(array)!r}, which is not among array_types()"
    return _expecting(lambda backend, xp: array, [1.0, 2.0, 4.0])(backend, xp)


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
        first = _at_keys.numbers(backend, array)
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
    "namespace()": _namespace,
    "item()": _item,
    "device()": _device,
    "dtype()": _dtype,
    "from_dlpack()": _from_dlpack,
    "own()": _expecting(lambda backend, xp: backend.own(_ramp(xp)), [1.0, 2.0, 4.0]),
    "set()": _at_keys.set_,
    "constant()": _constant,
    "counter()": _counter,
    "flat()": _flat,
    "uniform()": _uniform,
    "put()": _at_keys.put,
    "scatter_add()": _at_keys.scatter_add,
    "scatter_add_axis()": _expecting(
        lambda backend, xp: backend.scatter_add_axis(_zeros(xp), _indices(xp), _ramp(xp), 0),
        [2.0, 0.0, 5.0],
    ),
    "scatter_add(), for gradients": _at_keys.gradients,
}
