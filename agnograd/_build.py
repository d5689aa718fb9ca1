"""Building a namespace: every registered op, on one backend's raw arrays and on its Variables."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from importlib import import_module
from inspect import getdoc
from types import SimpleNamespace
from typing import Any

from agnograd._asarray import make_asarray, make_astype, make_from_dlpack
from agnograd._backends import backend_named
from agnograd._compile import compile_op
from agnograd._domain import DTYPES, Domain, bound
from agnograd._namespace import Extension, Namespace
from agnograd._operators import add_operators
from agnograd._ops import Op
from agnograd._registry import registered
from agnograd.errors import PluginError

__all__ = ["build"]

_CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
_INSPECTION = ("__array_api_version__", "__array_namespace_info__")


def build(name: str) -> Domain:
    """Build all of one backend's ops, on raw arrays and on Variables."""
    domain = Domain(backend_named(name))
    ops = {name: op for name, (op, _) in registered().items()}
    faster = domain.backend.kernels()
    kernels = {
        name: kernel
        for name, op in ops.items()
        if (kernel := faster.get(name) or _kernel(op, domain)) is not None
    }
    domain.raw = SimpleNamespace(**_facts(domain), asarray=domain.library.asarray)
    domain.namespace = Namespace(f"agnograd.{name}", Namespace.__doc__)
    vars(domain.namespace).update(_facts(domain))

    def functions(part: str) -> dict[str, Callable[..., Any]]:
        return {
            short: (_composed if ops[full].composed else compile_op)(ops[full], domain, kernel)
            for short, (full, kernel) in parts[part].items()
        }

    parts = _parts(kernels)
    for part, members in parts.items():
        raw = {short: kernel for short, (_, kernel) in members.items()}
        if not part:
            vars(domain.raw).update(raw)
            vars(domain.namespace).update(functions(part))
            continue
        setattr(domain.raw, part, SimpleNamespace(**raw))
        extension = Extension(f"agnograd.{name}.{part}", partial(functions, part))
        setattr(domain.namespace, part, extension)
    domain.convert = domain.namespace.astype
    domain.namespace.astype = make_astype(domain)
    domain.namespace.asarray = make_asarray(domain)
    domain.namespace.from_dlpack = make_from_dlpack(domain)
    add_operators(domain, ops)
    return domain


def _facts(domain: Domain) -> dict[str, Any]:
    """Return the constants, dtypes, and what else is the library's own."""
    names = (*_CONSTANTS, *DTYPES, *_INSPECTION)
    return {n: getattr(domain.library, n) for n in names if hasattr(domain.library, n)}


def _parts(kernels: dict[str, Any]) -> dict[str, dict[str, tuple[str, Any]]]:
    """Return kernels, with their ops' names, by extension (or none) and short name."""
    parts: dict[str, dict[str, tuple[str, Any]]] = {}
    for full, kernel in kernels.items():
        part, _, short = full.rpartition(".")
        parts.setdefault(part, {})[short] = full, kernel
    return parts


def _kernel(op: Op, domain: Domain) -> Callable[..., Any] | None:
    """Return what computes an op on raw arrays, or None where the backend cannot."""
    if op.forward is operator.getitem:
        return domain.backend.operator(op.forward)
    forward = None if op.forward is None else _bound(op.forward, domain)
    module = op.kernels.get(domain.backend.name)
    if module is not None and not op.composed:
        return _when_called(op.name, module, forward, domain)
    if forward is not None:
        return forward
    found: Any = domain.library
    for part in op.name.split("."):
        found = getattr(found, part, None)
    kernel: Callable[..., Any] | None = found
    return kernel


def _bound(function: Callable[..., Any], domain: Domain) -> Callable[..., Any]:
    """Bind the namespace and the backend that a function may name first."""
    return bound(function, xp=lambda: domain.raw, backend=lambda: domain.backend)


def _when_called(
    name: str, module: str, forward: Callable[..., Any] | None, domain: Domain
) -> Callable[..., Any]:
    """Return a kernel that is looked up in its module when it is first called.

    It leaves calls that it answers with NotImplemented to ``forward``.
    """
    found: Callable[..., Any] | None = None

    def kernel(*args: Any, **kwargs: Any) -> Any:
        nonlocal found
        if found is None:
            own = getattr(import_module(module), name.rpartition(".")[2], None)
            found = (forward or _not_implemented) if own is None else _bound(own, domain)
        out = found(*args, **kwargs)
        if out is not NotImplemented:
            return out
        if forward is None:
            raise PluginError(f"{module} cannot compute this {name}, which has no `forward`")
        return forward(*args, **kwargs)

    return kernel


def _not_implemented(*_: Any, **__: Any) -> Any:
    return NotImplemented


def _composed(op: Op, domain: Domain, _: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that users call of an op that is made of others."""
    assert op.forward is not None
    program = bound(op.forward, xp=lambda: domain.namespace)

    def function(*args: Any, **kwargs: Any) -> Any:
        return program(*args, **kwargs)

    function.__name__ = function.__qualname__ = op.name.rpartition(".")[2]
    function.__module__ = domain.namespace.__name__
    function.__doc__ = getdoc(op.forward)
    function.__signature__ = op.signature  # type: ignore[attr-defined]
    return function
