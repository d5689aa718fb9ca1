"""Building a namespace: every registered op, on one backend's raw arrays and on its Variables."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from agnograd._asarray import make_asarray, make_astype, make_from_dlpack
from agnograd._backends import backend_named
from agnograd._compile import compile_op
from agnograd._domain import Domain, bound
from agnograd._namespace import Namespace
from agnograd._operators import add_operators
from agnograd._ops import Op
from agnograd._registry import registered
from agnograd.errors import PluginError, PluginWarning

__all__ = ["build"]

_CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
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
    domain.raw = SimpleNamespace(asarray=domain.library.asarray)
    _fill(domain.raw, domain, kernels, lambda _: SimpleNamespace())
    domain.namespace = Namespace(f"agnograd.{name}", Namespace.__doc__)
    functions: dict[str, Callable[..., Any]] = {}
    for op_name, kernel in kernels.items():
        functions[op_name] = compile_op(ops[op_name], domain, kernel)
    domain.convert = functions["astype"]
    functions["astype"] = make_astype(domain)
    functions["asarray"] = make_asarray(domain)
    functions["from_dlpack"] = make_from_dlpack(domain)
    _fill(domain.namespace, domain, functions, lambda part: Namespace(f"agnograd.{name}.{part}"))
    add_operators(domain, ops)
    return domain


def _kernel(op: Op, domain: Domain) -> Callable[..., Any] | None:
    """Return what computes an op on raw arrays, or None where the backend cannot."""
    if op.forward is operator.getitem:
        return domain.backend.operator(op.forward)
    if op.forward is not None:
        try:
            forward = op.forward_on(domain.backend.name)
        except PluginError as error:
            warnings.warn(f"AGNOGRAD: an op is left out: {error}", PluginWarning, stacklevel=2)
            return None
        if forward is None:
            return None
        return bound(forward, xp=lambda: domain.raw, backend=lambda: domain.backend)
    found: Any = domain.library
    for part in op.name.split("."):
        found = getattr(found, part, None)
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
