"""The functions that users call: each is generated when it is called first."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc
from types import FunctionType
from typing import TYPE_CHECKING, Any

from agnograd._hooks.state import REFERENCE
from agnograd._ops.op import Op
from agnograd._plugins.backend import RawDomain
from agnograd._util.deferred import deferred_function, now
from agnograd._util.signatures import prototype

if TYPE_CHECKING:
    from agnograd._codegen.forward import Form


def compile_op(
    op: Op, domain: RawDomain, kernel: Callable[..., Any], form: Form = "function"
) -> Callable[..., Any]:
    """Return the op's function on one backend, where ``kernel`` computes it on raw arrays."""
    if REFERENCE:
        from agnograd._codegen.plain import plain  # few processes need it

        return plain(op, domain, kernel, form)

    def make() -> FunctionType:
        from agnograd._codegen.functions import generated  # with all that writes functions

        return generated(op, domain, now(kernel), form)

    name, scope = op.name.rpartition(".")[2], {"__name__": f"agnograd.ops.{op.chapter}"}
    function = deferred_function(name, scope, make, prototype(op.text))
    function.__qualname__ = op.name
    function.__module__ = domain.namespace.__package__
    function.__doc__ = (op.forward and getdoc(op.forward)) or (
        f"Compute ``{op.name}`` ({op.chapter}), recorded for differentiation."
    )
    return function
