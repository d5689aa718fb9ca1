"""The functions that users call: each is generated when it is called first."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc
from types import FunctionType
from typing import Any

from agnograd._hooks.state import REFERENCE
from agnograd._ops.op import Form, Op
from agnograd._plugins.backend import RawDomain
from agnograd._util.deferred import deferred_function, now
from agnograd._util.signatures import prototype


def compile_op(
    op: Op, domain: RawDomain, kernel: Callable[..., Any], form: Form = "function"
) -> Callable[..., Any]:
    """Return the op's function on one backend, where ``kernel`` computes it on raw arrays."""
    name, scope = op.name.rpartition(".")[2], {"__name__": f"agnograd.ops.{op.chapter}"}

    def make() -> FunctionType:
        from agnograd._codegen.functions import generated  # with all that writes functions

        return generated(op, domain, now(kernel), form)

    if REFERENCE:
        from agnograd._codegen.plain import plain  # few processes need it

        function = plain(op, domain, kernel, form)
    else:
        function = deferred_function(name, scope, make, prototype(op.text))
    function.__name__, function.__qualname__ = name, op.name
    function.__module__ = domain.namespace.__package__
    function.__doc__ = (op.forward and getdoc(op.forward)) or (
        f"Compute ``{op.name}`` ({op.chapter}), recorded for differentiation."
    )
    return function
