"""The array-API namespace over one backend, whose functions take and return Variables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from agnograd._asarray import make_asarray, make_from_dlpack
from agnograd._backends import backend_named, backend_of, backends, default_name
from agnograd._compile import compile_op
from agnograd._domain import Domain, bound
from agnograd._fit import is_python_scalar
from agnograd._operators import add_operators
from agnograd._ops import Op
from agnograd._registry import registered
from agnograd._variable import Variable
from agnograd.errors import UnsupportedArrayError

__all__ = ["Namespace", "domain_named", "domain_of", "namespace"]

_CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
_INSPECTION = ("__array_api_version__", "__array_namespace_info__")


class Namespace(ModuleType):
    """The differentiable array-API namespace over one backend.

    There is one object per backend in a process. It has every function, constant, dtype and
    extension of the standard that the backend's own namespace has, and the ops of installed op
    sets. Its functions take Variables, raw arrays of the backend (as constants) and Python
    scalars, and return Variables. It is picklable by name.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return namespace, (self.__name__.removeprefix("agnograd."),)

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r}>"

    # The functions are real entries of __dict__; type checkers alone need this method.
    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"namespace {self.__name__!r} has no {name!r}")


def _build(name: str) -> Domain:
    """Build all of one backend's ops, on raw arrays and on Variables."""
    domain = Domain(backend_named(name))
    ops = {name: op for name, (op, _) in registered().items()}
    kernels = {
        name: kernel for name, op in ops.items() if (kernel := _kernel(op, domain)) is not None
    }
    domain.raw = SimpleNamespace(asarray=domain.library.asarray)
    _fill(domain.raw, domain, kernels, lambda _: SimpleNamespace())
    domain.namespace = Namespace(f"agnograd.{name}", Namespace.__doc__)
    functions: dict[str, Callable[..., Any]] = {}
    for op_name, kernel in kernels.items():
        functions[op_name] = compile_op(ops[op_name], domain, kernel)
    functions["asarray"] = make_asarray(domain)
    functions["from_dlpack"] = make_from_dlpack(domain)
    _fill(domain.namespace, domain, functions, lambda part: Namespace(f"agnograd.{name}.{part}"))
    add_operators(domain, ops)
    return domain


def _kernel(op: Op, domain: Domain) -> Callable[..., Any] | None:
    """Return what computes an op on raw arrays, or None where the backend cannot."""
    found: Any = domain.library
    for part in op.name.split("."):
        found = getattr(found, part, None)
    if found is None and op.forward is not None:
        found = bound(op.forward, xp=lambda: domain.raw, backend=lambda: domain.backend)
    kernel: Callable[..., Any] | None = found
    return kernel


def _fill(
    target: Any, domain: Domain, functions: dict[str, Any], extension: Callable[[str], Any]
) -> None:
    """Give a namespace its constants, dtypes, functions and extensions."""
    for name in (*_CONSTANTS, *_DTYPES, *_INSPECTION):
        if hasattr(domain.library, name):
            setattr(target, name, getattr(domain.library, name))
    for name, function in functions.items():
        part, _, short = name.rpartition(".")
        if part and part not in vars(target):
            setattr(target, part, extension(part))
        setattr(vars(target)[part] if part else target, short, function)


_lock = threading.RLock()
_domains: dict[str, Domain] = {}
_owners: dict[type, Domain] = {}


def domain_named(name: str) -> Domain:
    """Return the domain of the backend with this name, built on first use."""
    domain = _domains.get(name)
    if domain is None:
        with _lock:
            domain = _domains.get(name)
            if domain is None:
                domain = _domains[name] = _build(name)
    return domain


def domain_of(value: object) -> Domain:
    """Return the domain that an array belongs to; scalars and lists are the default backend's.

    Raises
    ------
    UnsupportedArrayError
        If the value is an array of no installed backend.
    """
    if isinstance(value, Variable):
        return value._domain
    kind = type(value)
    domain = _owners.get(kind)
    if domain is None:
        if isinstance(value, list | tuple):
            first = next((each for each in value if isinstance(each, Variable)), None)
            return domain_of(first) if first is not None else domain_named(default_name())
        if is_python_scalar(value):
            return domain_named(default_name())
        backend = backend_of(kind)
        if backend is None or not isinstance(value, domain_named(backend.name).array_types):
            raise UnsupportedArrayError(
                f"{kind.__module__}.{kind.__qualname__} is no array of an installed backend "
                f"({', '.join(backends())})"
            )
        domain = _owners[kind] = domain_named(backend.name)
    return domain


def namespace(backend: object = None) -> Namespace:
    """Return the differentiable array-API namespace over one backend.

    Parameters
    ----------
    backend : str, array or Variable, optional
        The name of an installed backend, or an array whose backend is meant; by default
        ``$AGNOGRAD_BACKEND``, or numpy.

    Returns
    -------
    Namespace
        Always the same object for one backend.

    Raises
    ------
    UnknownBackendError
        If no installed backend has this name.
    PluginError
        If the backend, or its library, cannot be imported.
    UnsupportedArrayError
        If the array is one of no installed backend.
    """
    if backend is None:
        backend = default_name()
    domain = domain_named(backend) if isinstance(backend, str) else domain_of(backend)
    found: Namespace = domain.namespace
    return found
