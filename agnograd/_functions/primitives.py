"""Ops as other libraries' engines see them: what computes an op, saves a call, and pulls it back.

The gradients are those of agnograd's own backward functions, which are called with a namespace of
the engine's functions as ``xp``: so a rule serves the engine, too, in every order that it has.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from inspect import getdoc
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agnograd._arrays.conversions import (
    as_operand,
    holds_variable,
    is_plain_numpy,
    stacked,
)
from agnograd._arrays.namespace import bound_to, within
from agnograd._arrays.variable import Variable
from agnograd._codegen.forward import arguments
from agnograd._codegen.functions import call_of
from agnograd._ops.batching import batching_rule
from agnograd._ops.fitting import mismatch
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import conjugate_if_complex, device_of, is_python_scalar, told
from agnograd._ops.saved import Saved, saved_values, works
from agnograd._plugins.engines import engine_of
from agnograd._plugins.op_sets import op_named
from agnograd._util.deferred import function_from, now

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain
    from agnograd._plugins.engines import Engine

_FUNCTION = """
def {name}{signature}:
    return _calling({arrays}, {options})
"""

_COMPUTE = """
def compute(_arrays, _options):
    {arrays} = _arrays
    {options} = _options
    return _kernel({given})
"""

_SAVE = """
def save(_arrays, _options, _results):
    {arrays} = _arrays
    {options} = _options
    {out} = _results
    return {saved}
"""


class EngineNamespace(ModuleType):
    """The functions of a backend for the arrays of an engine, each made when it is first used.

    The library's own functions are there as they are if it differentiates them itself. All other
    ops with a rule are functions that the engine makes of them, and programs call those.
    """

    def __init__(self, engine: Engine, domain: Domain, part: str = "", root: Any = None) -> None:
        super().__init__(f"agnograd.{type(engine).__name__}{part and '.'}{part}")
        self._engine, self._domain, self._part = engine, domain, part
        self._root = root or self
        self.__package__ = domain.raw.__package__
        self._operand = self.operand
        self._kinds = (*domain.array_types, *engine.types())
        told.update(dict.fromkeys(engine.types(), engine.device))

    def operand(self, value: Any) -> Any:
        """Return an argument in the form that functions of the engine take: see ``extend``."""
        if engine_of(type(value)) is not None:
            return value
        if isinstance(value, list | tuple) and holds_variable(value, self._kinds):
            return stacked(value, self._root)
        found = as_operand(self._domain, value)
        raw = found.data if isinstance(found, Variable) else found
        return self._engine.constant(raw) if is_plain_numpy(raw) else raw

    def __getattr__(self, name: str) -> Any:
        full = f"{self._part}.{name}" if self._part else name
        found = within(self._domain.raw, full)
        if found is None:
            raise AttributeError(f"{self.__name__} has no {name!r}")
        if isinstance(found, ModuleType):
            found = EngineNamespace(self._engine, self._domain, full, self._root)
        elif callable(found) and not isinstance(found, type):
            found = self._function(op_named(full), found)
        setattr(self, name, found)
        return found

    def _function(self, op: Op | None, raw: Callable[..., Any]) -> Callable[..., Any]:
        engine = self._engine
        if raw is self._domain.raw.asarray:
            return self._asarray(engine.asarray(raw))
        if op is None or not op.arrays:
            return raw
        if op.composed:
            return engine.program(_program(op, self._root))
        if op.status == "no gradient":
            return engine.constant_function(now(raw))
        backend = self._domain.backend
        own = op.forward is None and not op.kernels.get(backend.name)
        own = (own and op.name not in backend.kernels()) or op.forward is operator.getitem
        if engine.differentiates and own:
            return raw
        return OpPrimitive(op, self._domain, raw, self._root).function(engine)

    def _asarray(self, of_array: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``asarray`` that joins arrays in lists by functions that are differentiated."""

        def asarray(x: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
            if isinstance(x, list | tuple) and holds_variable(x, self._kinds):
                x, copy = stacked(x, self._root), None
            return of_array(x, dtype=dtype, device=device, copy=copy)

        return asarray


def _program(op: Op, xp: Any) -> Callable[..., Any]:
    """Return the program of a composed op, with functions of an engine."""
    assert op.forward is not None
    return described(bound_to(op.forward, xp=xp), op)


def described(function: Callable[..., Any], op: Op) -> Callable[..., Any]:
    """Return a function of its own that has an op's name, signature and documentation."""

    def described(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    described.__name__, described.__qualname__ = op.name.rpartition(".")[2], op.name
    described.__doc__ = documented(op)
    described.__signature__ = op.signature  # type: ignore[attr-defined]
    return described


def documented(op: Op) -> str:
    """Return what is said of an op."""
    own = op.forward and getdoc(op.forward)
    return own or f"Compute ``{op.name}`` ({op.chapter}), recorded for differentiation."


class OpPrimitive:
    """An op with a rule, for an engine; a ``Primitive``."""

    def __init__(self, op: Op, domain: Domain, kernel: Callable[..., Any], xp: Any) -> None:
        self.op, self.domain, self.kernel, self.xp = op, domain, now(kernel), xp
        self.call = call_of(op, domain)
        saved = saved_values(op)
        self.arrays_saved = tuple(
            place for place, each in enumerate(saved) if each.source is not None
        )
        self.match = next((n for n, each in enumerate(saved) if each.name == "match"), None)
        self.pushes = works(op) is not None
        # What an op tells only after a look at its rules, or its parameters.
        self._broadcasts, self._several = op.broadcasts, op.sequence is not None
        self._one = op.outputs == "one"
        self._container: type = tuple
        names = "".join(f"{name}, " for name in op.arrays)
        self._places = {
            "name": op.name.rpartition(".")[2],
            "signature": op.text[op.text.index("(") :],
            "arrays": op.sequence or f"({names})",
            "options": "(" + "".join(f"{name}, " for name in op.options) + ")",
            "given": arguments(op),
            "out": "(_out,)" if op.outputs == "one" else "_out",
            "saved": "(" + "".join(f"{_expression(op, each)}, " for each in saved) + ")",
        }
        scope = {
            "_device": device_of,
            "_given": _without_none,
            "_kernel": self.kernel,
            "_mismatch": mismatch,
        }
        self._compute = function_from(_COMPUTE.format(**self._places), scope)
        self._save = function_from(_SAVE.format(**self._places), scope)

    def function(self, engine: Engine) -> Callable[..., Any]:
        """Return the function that users and programs call."""
        calling = engine.function(self)
        made = function_from(_FUNCTION.format(**self._places), {"_calling": calling})
        made.__qualname__ = self.op.name
        made.__doc__ = documented(self.op)
        return made

    def operands(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return arrays and numbers in the form that the op takes, if one at least is an array.

        Element-wise ops take numbers as they are, and their rules do, too.
        """
        if self._broadcasts or not any(map(is_python_scalar, arrays)):
            return arrays
        xp, first = self.xp, next(each for each in arrays if hasattr(each, "dtype"))
        dtype = xp.result_type(*(each for each in arrays if each is not None))
        return tuple(
            xp.asarray(each, dtype=dtype, device=device_of(first))
            if is_python_scalar(each)
            else each
            for each in arrays
        )

    def compute(self, arrays: Sequence[Any], options: Sequence[Any]) -> tuple[Any, ...]:
        """Compute the op on raw arrays; return all results."""
        out = self._compute(arrays, options)
        if self._one:
            return (out,)
        self._container = type(out)
        return tuple(out)

    def save(
        self, arrays: Sequence[Any], options: Sequence[Any], results: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return what ``pull`` needs of a call."""
        found: tuple[Any, ...] = self._save(arrays, options, results)
        return found

    def pull(
        self, saved: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[Any]
    ) -> list[Any]:
        """Return the gradient by each array that is wanted, and None for the others."""
        places = range(len(wanted)) if self._several else self.differentiable
        edges = [True if wanted[place] else None for place in places]
        if not any(edges):
            return [None] * len(wanted)
        g = cotangents[0] if self._one else [*cotangents]
        pairs = self.call.compiled.backward(g, [0, None, self.call, *saved, *edges], self.xp)
        found: list[Any] = [None] * len(wanted)
        for place, (_, gradient) in zip(places, pairs, strict=True):
            found[place] = gradient
        return found

    def push(self, saved: Sequence[Any], tangents: Sequence[Any], like: Any) -> Any:
        """Return the tangent of the result, by the partial derivatives."""
        xp = self.xp
        total, saved = None, list(saved)
        if self.match is not None:
            saved[self.match] = None  # tangents are broadcast, and no sums
        for place in self.differentiable:
            tangent = tangents[place]
            if tangent is None:
                continue
            tangent = xp.astype(tangent, like.dtype, copy=False)
            if tangent.shape != like.shape:
                tangent = xp.broadcast_to(tangent, like.shape)
            wanted = [each == place for each in range(len(tangents))]
            g = conjugate_if_complex(tangent, xp)
            part = conjugate_if_complex(self.pull(saved, [g], wanted)[place], xp)
            total = part if total is None else total + part
        return total

    @cached_property
    def differentiable(self) -> list[int]:
        """Where differentiable inputs are among arrays, unless these are a sequence."""
        return [self.op.arrays.index(name) for name in self.op.differentiable]

    def rebuilt(self, results: Sequence[Any]) -> Any:
        """Return one array, or several in a container of the kind that the op has returned."""
        if self._one:
            return results[0]
        kind = self._container
        return kind(*results) if hasattr(kind, "_fields") else kind(results)

    def batched(
        self, size: int, mapped: Sequence[bool], arrays: Sequence[Any], options: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return all results for many members: by the batching rule, or for one after the other."""
        op, xp = self.op, self.xp
        rule = None if op.sequence else batching_rule(op)
        if rule is None:
            pairs = list(zip(arrays, mapped, strict=True))
            members = [
                self._called([x[i] if each else x for x, each in pairs], options)
                for i in range(size)
            ]
            return tuple(xp.stack(each) for each in zip(*members, strict=True))
        names = {name for name, each in zip(op.arrays, mapped, strict=True) if each}
        bound = op.signature.bind_partial()
        bound.arguments = self.arguments(arrays, options)
        out = rule(xp, size, names, bound)
        return (out,) if op.outputs == "one" else tuple(out)

    def arguments(self, arrays: Sequence[Any], options: Sequence[Any]) -> dict[str, Any]:
        """Return the values of an op's parameters, in their order."""
        known: dict[str, Any] = dict(zip(self.op.options, options, strict=True))
        given: Mapping[str, Any] = (
            {self.op.sequence: tuple(arrays)}
            if self.op.sequence
            else dict(zip(self.op.arrays, arrays, strict=True))
        )
        known |= given
        return {name: known[name] for name in self.op.parameters}

    def _called(self, arrays: Sequence[Any], options: Sequence[Any]) -> tuple[Any, ...]:
        bound = self.op.signature.bind_partial()
        bound.arguments = self.arguments(arrays, options)
        out = within(self.xp, self.op.name)(*bound.args, **bound.kwargs)
        return (out,) if self.op.outputs == "one" else tuple(out)


def _without_none(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _expression(op: Op, saved: Saved) -> str:
    if saved.name == "match":
        return f"_mismatch(_out, {', '.join(op.differentiable)})"
    return "None" if saved.name == "_origin" else saved.expression
