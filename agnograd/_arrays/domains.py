"""The domains of this process: found by the backend's name, and by arrays."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable
from inspect import getattr_static
from operator import attrgetter
from types import ModuleType
from typing import Any, overload

from agnograd._arrays.conversions import as_operand
from agnograd._arrays.domain import Domain
from agnograd._arrays.levels import derived, highest
from agnograd._arrays.namespace import Namespace, build, filling, path_of
from agnograd._arrays.operators import OF_TWO, compiled
from agnograd._arrays.variable import Variable as Variable
from agnograd._arrays.variable import built, owners
from agnograd._hooks.state import current_mode
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backend import Backend
from agnograd._plugins.backends import backend_of_array, backends, default_name
from agnograd._plugins.op_sets import registered_in
from agnograd.errors import UnsupportedArrayError


def domain_named(name: str) -> Domain:
    """Return the domain of the backend with this name, built on first use."""
    domain = built.get(name)
    if domain is None:
        with filling:
            domain = built.get(name)
            if domain is None:
                domain = built[name] = build(name)
                for kind in (domain.Variable, domain.View):
                    copyreg.pickle(kind, _reduced)
    return domain


def _reduced(variable: Variable) -> tuple[Any, ...]:
    mode = current_mode()
    inside = mode is not None and mode.inside
    if not variable.is_leaf or (variable.requires_grad and inside):
        raise TypeError(
            "a value in the middle of a graph, as in a function that is transformed, cannot be "
            "pickled; pickle x.detach(), or a leaf"
        )
    grad = variable.grad if variable.requires_grad else None
    if grad is not None and not grad.is_leaf:
        grad = grad.detach()  # of a pass that was recorded
    backend = variable._domain.backend.name
    return _rebuilt, (backend, variable.data, variable.requires_grad, grad)


def _rebuilt(backend: str, raw: Any, requires_grad: bool, grad: Variable | None) -> Variable:
    variable = domain_named(backend).Variable(raw, requires_grad)
    if grad is not None:
        variable.grad = grad
    return variable


def _at(path: str) -> Any:
    """Return the namespace of a backend, or an extension of it, by its path."""
    name, _, extension = path.partition(".")
    return attrgetter(extension)(namespace(name)) if extension else namespace(name)


def owner_of(value: object) -> Domain | None:
    """Return the domain of a Variable, or of a raw array of an installed backend; else None."""
    known: Domain | None = owners.get(type(value))
    if known is not None:  # most often
        return known
    if isinstance(value, Variable):
        return value._domain  # type: ignore[no-any-return]
    backend = backend_of_array(value)
    domain = None if backend is None else domain_named(backend.name)
    # Programs may make classes for ever: only the backend's own are known from now on.
    if domain is not None and type(value) in domain.array_types:
        owners[type(value)] = domain
    return domain


def domain_of(value: object) -> Domain:
    """Return the domain that an array belongs to; scalars and lists are the default backend's."""
    domain: Domain | None = owners.get(type(value)) or owner_of(value)
    if domain is not None:
        return domain
    if isinstance(value, list | tuple):
        for each in value:
            if isinstance(each, Variable):
                found: Domain = highest(each._domain, value) if derived else each._domain
                return found
    if is_python_scalar(value) or isinstance(value, list | tuple):
        return domain_named(default_name())
    kind = type(value)
    raise UnsupportedArrayError(
        f"{kind.__module__}.{kind.__qualname__} is not an array of an installed backend "
        f"({', '.join(backends())}); {_inside(value)}pass an array of one of these, a number or a "
        "nested list"
    )


def _inside(value: object) -> str:
    """Return how to differentiate by the array that an object of another library holds, if any."""
    for name in ("magnitude", "data", "values", "value", "array"):
        held = getattr_static(value, name, None)
        array = None if held is None else getattr(value, name, None)
        if owner_of(array) is not None:
            kind = type(value).__name__
            return (
                f"it holds one: differentiate by x.{name}, and make the {kind} of it inside the "
                f"function, as ag.grad(lambda a: f({kind}(a, ...)))(x.{name}); or "
            )
    return ""


def namespace(backend: object = None) -> Namespace:
    """Return the differentiable array-API namespace over one backend.

    Parameters
    ----------
    backend : str, array or Variable, optional
        The name of an installed backend, or an array of that backend. The default is
        ``$AGNOGRAD_BACKEND``, or numpy.

    Returns
    -------
    namespace
        Always the same object for one backend.

    Raises
    ------
    UnknownBackendError
        If no installed backend has this name.
    PluginError
        If the backend, or its library, cannot be imported.
    UnsupportedArrayError
        If the array does not belong to any installed backend.
    """
    if backend is None:
        backend = default_name()
    domain = domain_named(backend) if isinstance(backend, str) else domain_of(backend)
    found: Namespace = domain.namespace
    return found


def operand(xp: Any, value: Any) -> Any:
    """Return a function's argument in the form that the ops of a namespace take.

    Variables and Python scalars are returned unchanged; raw arrays and nested lists become
    Variables. Another library's scalar becomes a Python scalar. Its array becomes a constant if the
    backend accepts it. For a namespace of raw arrays, with which the functions of packs are also
    called, the results are raw arrays.

    Raises
    ------
    MixedBackendsError
        If it is another backend's Variable, or an array that the backend does not accept.
    """
    of_engine = vars(xp).get("_operand")  # of a namespace for another library's derivatives
    if of_engine is not None:
        return of_engine(value)
    domain = domain_named(xp.__package__.removeprefix("agnograd."))
    found = as_operand(domain, value)
    return found.data if xp is domain.raw and isinstance(found, Variable) else found


def operands(xp: Any, values: Iterable[Any]) -> list[Any]:
    """Return all arguments of a function as arrays that can meet in its ops.

    They are what ``operand`` returns, but Python scalars, too, become arrays: of the dtype that all
    arguments have together, on the device of the first array.

    Parameters
    ----------
    xp : namespace
        The namespace of Variables.
    values : iterable
        Arrays, nested lists and Python scalars. One of them at least is not a scalar.

    Returns
    -------
    list of Variable
        One for each argument.

    Raises
    ------
    MixedBackendsError
        If one is another backend's Variable, or an array that the backend does not accept.
    """
    found = [operand(xp, value) for value in values]
    first = next(each for each in found if not is_python_scalar(each))
    dtype = xp.result_type(*found) if any(map(is_python_scalar, found)) else None
    return [
        xp.asarray(each, dtype=dtype, device=first.device) if is_python_scalar(each) else each
        for each in found
    ]


@overload
def backend_of(value: ModuleType) -> Backend: ...
@overload
def backend_of(value: object) -> Backend | None: ...
def backend_of(value: object) -> Backend | None:
    """Return the backend of a namespace, or of an array of any installed library; else None."""
    if isinstance(value, ModuleType):
        name = path_of(value).removeprefix("agnograd.").partition(".")[0]
        return domain_named(name).backend
    return backend_of_array(value)


def as_ufunc(xp: Any, name: str) -> Callable[..., Any] | None:
    """Return an op of two arrays that is an operator as NumPy's ufuncs call it, else None.

    It takes whatever may stand beside a Variable, and returns NotImplemented where an operand of
    another library is to answer.
    """
    domain = domain_named(xp.__package__.removeprefix("agnograd."))
    known = name in OF_TWO
    return compiled(domain, registered_in("")[name][0], OF_TWO[name], "ufunc") if known else None


def _named(namespace: ModuleType) -> tuple[Any, ...]:
    return _at, (path_of(namespace).removeprefix("agnograd."),)


# What these do needs the domains, which need them.
Variable._domain_of = staticmethod(domain_of)
copyreg.pickle(Namespace, _named)
