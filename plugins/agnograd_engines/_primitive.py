"""Ops as other libraries' engines see them: what computes an op, saves a call, and pulls it back.

The gradients are those of the op's rules, which are called with a namespace of the engine's
functions as ``xp``: so a rule serves the engine, too, in every order that it has.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from inspect import Parameter, getdoc
from types import ModuleType
from typing import Any

from agnograd.errors import MissingRuleError
from agnograd.extend import (
    Deferred,
    Op,
    conjugate,
    conjugate_if_complex,
    device_of,
    fit,
    function_from,
    is_plain_numpy,
    is_python_scalar,
    op_named,
    operand,
    set_device,
    values_named,
)
from agnograd.extend.arguments import holds_variable, stacked
from agnograd.extend.members import batching_rule
from agnograd.extend.transforms import Domain, bound_to, within
from agnograd_engines._engine import Engine, engine_of

_FUNCTION = """
def {name}{signature}:
    return _calling({arrays}, {options})
"""

_CALL = """
def call(_function, _arrays, _options):
    {arrays} = _arrays
    {options} = _options
    return _function({given})
"""

_SAVE = """
def save(_arrays, _options, out):
    {arrays} = _arrays
    {options} = _options
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
        self._operand = self.operand  # by which ``extend.operand`` finds it
        self._kinds = (*domain.array_types, *engine.types())
        set_device(engine.types(), engine.device)

    def operand(self, value: Any) -> Any:
        """Return an argument in the form that functions of the engine take: see ``extend``."""
        if engine_of[type(value)]:
            return value
        if self._holds_arrays(value):
            return stacked(value, self._root)
        raw = operand(self._domain.raw, value)
        return self._engine.constant(raw) if is_plain_numpy(raw) else raw

    def _holds_arrays(self, value: Any) -> bool:
        return isinstance(value, list | tuple) and holds_variable(value, self._kinds)

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
        if isinstance(raw, Deferred):
            raw = raw.loaded()
        if op.status == "no gradient":
            return engine.constant_function(raw)
        backend = self._domain.backend
        own = op.forward is None and not op.kernels.get(backend.name)
        own = (own and op.name not in backend.kernels()) or op.forward is operator.getitem
        if engine.differentiates and own:
            return raw
        return Primitive(op, self._domain, raw, self._root).function(engine)

    def _asarray(self, of_array: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``asarray`` that joins arrays in lists by functions that are differentiated."""

        def asarray(x: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
            if self._holds_arrays(x):
                x, copy = stacked(x, self._root), None
            return of_array(x, dtype=dtype, device=device, copy=copy)

        return asarray


def _program(op: Op, xp: Any) -> Callable[..., Any]:
    """Return the program of a composed op with an engine's functions, named as the op is."""
    assert op.forward is not None
    program = bound_to(op.forward, xp=xp)

    def named(*args: Any, **kwargs: Any) -> Any:
        return program(*args, **kwargs)

    named.__name__, named.__qualname__ = op.name.rpartition(".")[2], op.name
    named.__doc__ = documented(op)
    named.__signature__ = op.signature  # type: ignore[attr-defined]
    return named


def documented(op: Op) -> str:
    """Return what is said of an op."""
    own = op.forward and getdoc(op.forward)
    return own or f"Compute ``{op.name}`` ({op.chapter}), recorded for differentiation."


class Primitive:
    """An op with a rule, as an engine sees it.

    Gradients and cotangents of complex arrays follow agnograd's convention, dL/da + i dL/db.

    Attributes
    ----------
    op : Op
        The op.
    arrays_saved : tuple of int
        Which of the saved values are arrays.
    pushes : bool
        Whether ``push`` gives the derivative along tangents.
    """

    op: Op
    arrays_saved: tuple[int, ...]
    pushes: bool

    def __init__(self, op: Op, domain: Domain, kernel: Callable[..., Any], xp: Any) -> None:
        self.op, self._domain, self._kernel, self._xp = op, domain, kernel, xp
        self._names = tuple(dict.fromkeys(_saved_names(op)))
        arrays = {*op.arrays, "out"}
        self.arrays_saved = tuple(n for n, name in enumerate(self._names) if name in arrays)
        self.pushes = op.by_element
        # What an op tells only after a look at its rules, or its parameters.
        self._broadcasts, self._sequence = op.broadcasts, op.sequence
        self._one = op.outputs == "one"
        self._container: type = tuple
        self._texts = {
            "name": op.name.rpartition(".")[2],
            "signature": op.text[op.text.index("(") :],
            "arrays": op.sequence or _row(op.arrays),
            "options": _row(op.options),
            "given": _given(op),
            "saved": _row(_expression(op, name) for name in self._names),
        }
        self._call = function_from(_CALL.format(**self._texts), {"_without_none": _without_none})
        self._save = function_from(_SAVE.format(**self._texts), {"_fact": _fact})

    def function(self, engine: Engine) -> Callable[..., Any]:
        """Return the function that users and programs call."""
        calling = engine.function(self)
        made = function_from(_FUNCTION.format(**self._texts), {"_calling": calling})
        made.__qualname__ = self.op.name
        made.__doc__ = documented(self.op)
        return made

    def operands(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return arrays and numbers in the form that the op takes, if one at least is an array.

        Element-wise ops take numbers as they are, and their rules do, too.
        """
        if self._broadcasts or not any(map(is_python_scalar, arrays)):
            return arrays
        xp, first = self._xp, next(each for each in arrays if hasattr(each, "dtype"))
        dtype = xp.result_type(*(each for each in arrays if each is not None))
        return tuple(
            xp.asarray(each, dtype=dtype, device=device_of(first))
            if is_python_scalar(each)
            else each
            for each in arrays
        )

    def compute(self, arrays: Sequence[Any], options: Sequence[Any]) -> tuple[Any, ...]:
        """Compute the op on the raw arrays of the engine's backend; return all results."""
        out = self._call(self._kernel, arrays, options)
        if self._one:
            return (out,)
        self._container = type(out)
        return tuple(out)

    def save(
        self, arrays: Sequence[Any], options: Sequence[Any], results: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return what ``pull`` needs of a call: arrays, facts of arrays, and options."""
        out = results[0] if self._one else results
        found: tuple[Any, ...] = self._save(arrays, options, out)
        return found

    def pull(
        self, saved: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[Any]
    ) -> list[Any]:
        """Return the gradient by each of the arrays that are wanted, and None for all others.

        They are computed by functions of the engine, so that it can differentiate them. ``wanted``
        has a truth value for each array. A cotangent of None stands for zeros.
        """
        found: list[Any] = [None] * len(wanted)
        known = dict(zip(self._names, saved, strict=True))
        known |= {"g": cotangents[0] if self._one else [*cotangents], "xp": self._xp}
        if self._sequence and any(wanted):
            ((name, rule),) = self.op.rules.items()
            each = rule.function(*map(known.__getitem__, rule.names))  # type: ignore[operator]
            facts = zip(each, wanted, known[f"{name}_shape"], known[f"{name}_dtype"], strict=True)
            return [fit(g, shape, dtype, self._xp) if on else None for g, on, shape, dtype in facts]
        for place, name in self._differentiable.items():
            if wanted[place]:
                g = found[place] = self._gradient(name, known)
                if f"{name}_shape" in known:
                    shape, dtype = known[f"{name}_shape"], known[f"{name}_dtype"]
                    found[place] = fit(g, shape, dtype, self._xp)
        return found

    def _gradient(self, name: str, known: Mapping[str, Any]) -> Any:
        """Return the gradient with respect to one input, of the shape of the result."""
        op, g, xp = self.op, known["g"], self._xp
        if op.status == "missing":
            raise MissingRuleError(
                f"{op.name} ({op.chapter}) has no derivative rule: register one in an "
                "OpSet, or call it with constants only"
            )
        rule = op.rules[name]
        if not callable(rule.function):
            return g if rule.function == 1 else -g if rule.function else xp.zeros_like(g)
        found = rule.function(*map(known.__getitem__, rule.names))
        if rule.kind != "elementwise":
            return found
        return g * (conjugate(found, xp) if self._domain.is_complex(g.dtype) else found)

    def push(self, saved: Sequence[Any], tangents: Sequence[Any], like: Any) -> Any:
        """Return the tangent of the only result, which is ``like``, if the primitive ``pushes``.

        A tangent of None stands for zeros.
        """
        xp, total = self._xp, None
        known = dict(zip(self._names, saved, strict=True)) | {"xp": xp}
        for place, name in self._differentiable.items():
            tangent = tangents[place]
            if tangent is None:
                continue
            tangent = xp.astype(tangent, like.dtype, copy=False)
            if tangent.shape != like.shape:
                tangent = xp.broadcast_to(tangent, like.shape)
            known["g"] = conjugate_if_complex(tangent, xp)
            part = conjugate_if_complex(self._gradient(name, known), xp)
            total = part if total is None else total + part
        return total

    @cached_property
    def _differentiable(self) -> dict[int, str]:
        """Where differentiable inputs are among arrays, unless these are a sequence."""
        if self._sequence:
            return {}
        return {self.op.arrays.index(name): name for name in self.op.differentiable}

    def rebuilt(self, results: Sequence[Any]) -> Any:
        """Return results as the op returns them: one array, or several in a container."""
        if self._one:
            return results[0]
        kind = self._container
        return kind(*results) if hasattr(kind, "_fields") else kind(results)

    def batched(
        self, size: int, mapped: Sequence[bool], arrays: Sequence[Any], options: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return all results for many members at once, by functions of the engine.

        The arrays that are mapped have one more axis, the first one, for the members; so have all
        results. Without a batching rule, members are computed one after the other.
        """
        op, xp = self.op, self._xp
        rule = None if op.sequence else batching_rule(op)
        if rule is None:
            pairs = list(zip(arrays, mapped, strict=True))
            members = [
                self._of_member([x[i] if each else x for x, each in pairs], options)
                for i in range(size)
            ]
            return tuple(xp.stack(each) for each in zip(*members, strict=True))
        names = {name for name, each in zip(op.arrays, mapped, strict=True) if each}
        bound = op.signature.bind_partial()
        known = dict(zip((*op.options, *op.arrays), (*options, *arrays), strict=True))
        bound.arguments = {name: known[name] for name in op.parameters}
        out = rule(xp, size, names, bound)
        return (out,) if self._one else tuple(out)

    def _of_member(self, arrays: Sequence[Any], options: Sequence[Any]) -> tuple[Any, ...]:
        out = self._call(within(self._xp, self.op.name), arrays, options)
        return (out,) if self._one else tuple(out)


def _saved_names(op: Op) -> Iterator[str]:
    """Yield the names of what the rules need, and of what gradients are fitted to."""
    for name in op.differentiable if op.status != "missing" else ():
        yield from values_named(op, name)
        if op.broadcasts:
            yield from (f"{name}_shape", f"{name}_dtype")


def _row(names: Iterable[str]) -> str:
    """Return the text of a tuple."""
    return f"({''.join(f'{name}, ' for name in names)})"


def _given(op: Op) -> str:
    """Return the text of the arguments of a call.

    An array that may be left out is left out where it is None, for which not all libraries stand.
    """
    parts: list[str] = []
    optional: list[str] = []
    for name, parameter in op.signature.parameters.items():
        if parameter.kind is not Parameter.KEYWORD_ONLY:
            parts.append(f"*{name}" if parameter.kind is Parameter.VAR_POSITIONAL else name)
        else:
            (optional if name in op.arrays else parts).append(f"{name}={name}")
    return ", ".join([*parts, f"**_without_none({', '.join(optional)})"] if optional else parts)


def _without_none(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _expression(op: Op, name: str) -> str:
    """Return the text of a value that rules have a name for."""
    of, _, what = name.rpartition("_")
    return name if name == "out" or name in op.parameters else f"_fact({of}, {what!r}, out)"


def _fact(array: Any, what: str, out: Any) -> Any:
    """Return the shape, dtype, or device of an array, or of each of several."""
    if isinstance(array, list | tuple):
        return [_fact(each, what, out) for each in array]
    if array is None:
        return None
    if what == "device":
        return device_of(array)
    if what == "dtype" and not hasattr(array, "dtype"):  # a number beside an array
        return out.dtype
    return getattr(array, what, ())
