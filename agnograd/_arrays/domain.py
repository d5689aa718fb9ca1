"""Domains: the types, namespaces and conversions that belong to one backend."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat, starmap
from operator import attrgetter, setitem
from sys import getrefcount
from time import perf_counter
from typing import Any, ClassVar
from weakref import getweakrefcount

from agnograd._arrays.conversions import SCOPE
from agnograd._arrays.variable import Variable
from agnograd._arrays.views import View, replace, view_of
from agnograd._graph.nodes import Node, Output
from agnograd._hooks.state import current_mode
from agnograd._ops.fitting import SCALAR_TYPES
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import device_of, selects_view, told
from agnograd._plugins.backend import Backend
from agnograd._plugins.backends import require
from agnograd._plugins.capabilities import DTYPES
from agnograd._util.deferred import later
from agnograd.errors import AgnogradError, MixedBackendsError, UnsupportedArrayError

_NAMES = (*DTYPES, "float16", "bfloat16")


class _Holder:
    """As a Variable holds its array."""

    __slots__ = ("_raw",)

    def __init__(self) -> None:
        self._raw = object()


_holder = _Holder()
_ALONE = getrefcount(_holder._raw)


class Domain:
    """One backend's types, namespaces and conversions.

    Attributes
    ----------
    backend : Backend
        The backend.
    library : module
        The library's own namespace.
    raw : namespace
        The ops on raw arrays: the library's functions, and those that op sets add.
    namespace : Namespace
        The ops on Variables.
    blank : iterator
        Variables of the backend without anything in them, without end.
    Variable, View : type
        The backend's subclasses; two backends' Variables are told apart by their types.
    convert : callable
        The op ``astype``, which always makes a Variable of its own.
    put : callable
        ``Backend.put``, by one instruction of Python's if it is an assignment.
    put_later : callable
        The op ``__setitem__``, whose result is what ``put`` is to be given.
    mark : callable
        ``Backend.mark``.
    large : int or None
        From how many elements on arrays are large: ``Backend.large``.
    ready_types : frozenset of type
        Those of arrays that need not be looked at by ``Backend.array``.
    count : callable
        Gives the number of an array's elements: ``Backend.counter``.
    number_type : type or None
        The type of a float64 result without axes, if the library gives no array for it.
    lays_out : bool
        Whether gradients are laid out as their inputs: ``Backend.laid_out``.
    held : array or None
        The newest gradient that was made in blocks (``agnograd._engine.blocks``).
    """

    raw: Any
    namespace: Any
    # What the functions of ops know by name of this layer.
    scope: ClassVar[Mapping[str, Any]] = SCOPE
    convert: Callable[..., Variable]
    put_later: Callable[..., Variable]
    held: Any = None

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.library = require(backend)
        self._one: dict[Any, Any] = {}
        self._named: dict[str, Any] = {}
        self.large = backend.large
        self.count = backend.counter()
        self.lays_out = type(backend).laid_out is not Backend.laid_out
        if type(backend).on_device is not Backend.on_device:
            Backend.switching = True
        own_clock = type(backend).mark is not Backend.mark
        self.mark: Callable[[], Any] = backend.mark if own_clock else perf_counter
        plain_put = type(backend).put is Backend.put
        self.put: Callable[..., Any] = setitem if plain_put else backend.put
        self.scalar_types = backend.scalar_types()
        self.array_types = backend.array_types() + self.scalar_types
        self.number_type = self._number_type()
        SCALAR_TYPES.update(self.scalar_types)
        self.viewable_types = frozenset(backend.array_types())
        if type(backend).device is not Backend.device:
            told.update(dict.fromkeys(self.array_types, backend.device))
        refuses = type(backend).array is not Backend.array and not self.scalar_types
        self.ready_types = frozenset() if refuses else self.viewable_types
        self.plain_types = frozenset({*self.array_types, bool, int, float, complex, type(None)})
        self.complex_dtypes = self._dtypes("complex64", "complex128", "clongdouble")
        floats = self._dtypes("float16", "bfloat16", "float32", "float64", "longdouble")
        self.inexact_dtypes = floats | self.complex_dtypes
        body: dict[str, Any] = {
            "__slots__": (),
            "__module__": "agnograd",
            "__hash__": None,
            "_domain": self,
        }
        body["__deepcopy__"] = _deep_copy
        self.Variable: Any = type("Variable", (Variable,), body | {"__doc__": Variable.__doc__})
        # What `next` gives is a Variable without anything in it, in four fifths of the time that
        # object.__new__ takes when it is called: the arguments are packed once.
        self.blank = starmap(object.__new__, repeat((self.Variable,)))
        self.View: Any = type("View", (View, self.Variable), body | {"__doc__": View.__doc__})

    def _dtypes(self, *names: str) -> frozenset[Any]:
        found = (self.dtype_or_none(name) for name in names)
        return frozenset(dtype for dtype in found if dtype is not None)

    def _number_type(self) -> type | None:
        if not self.scalar_types:
            return None
        dtype = self.dtype_or_none("float64")
        return type(self.backend.scalar(self.library.zeros((), dtype=dtype)))

    # -- into and out of Variables ---------------------------------------------------------------

    def to_raw(self, value: Any) -> Any:
        """Return a raw array of this backend for an array, a scalar or a nested list."""
        if isinstance(value, Variable):
            if value._domain is not self:
                raise MixedBackendsError(
                    f"a Variable on backend {value._domain.backend.name!r} was given where one on "
                    f"{self.backend.name!r} is needed; {self.how_to_meet(value._domain.backend)}"
                )
            return value.data
        if isinstance(value, self.array_types):
            return self.backend.array(value)
        if isinstance(value, list | tuple):
            try:
                return self.of_numbers(self.library.asarray(value))
            except (TypeError, ValueError) as error:
                if isinstance(error, AgnogradError):
                    raise
                return self.of_numbers(None, error)
        if isinstance(value, bool | int | float | complex):
            return self.library.asarray(value)
        kind = type(value)
        raise UnsupportedArrayError(
            f"{kind.__module__}.{kind.__qualname__} is not an array of backend "
            f"{self.backend.name!r}; move it with ag.asarray(x, backend={self.backend.name!r})"
        )

    def how_to_meet(self, other: Backend | None) -> str:
        """Return how arrays of this backend and of another one come together, for an error."""
        here = self.backend.name
        if other is None or self.backend.capabilities.lazy or not other.capabilities.lazy:
            return f"move it there first, with its gradient, by ag.asarray(x, backend={here!r})"
        lazy = other.name
        return (
            f"move the arrays of {here!r} to it, with their gradients, by "
            f"ag.asarray(b, backend={lazy!r}), where nothing is computed yet: to move it here, by "
            f"ag.asarray(x, backend={here!r}), would compute and load all of it"
        )

    def of_numbers(self, made: Any, why: object = "its elements are not numbers") -> Any:
        """Return what was made of a list; it raises if that is not an array of numbers."""
        if made is not None and self.library.isdtype(made.dtype, ("bool", "numeric")):
            return made
        raise UnsupportedArrayError(
            f"a list of which backend {self.backend.name!r} makes no array: {why}; give a nested "
            "list of numbers, with rows of one length"
        )

    def wrap(self, out: Any) -> Any:
        """Return an op's result with every array in it as a Variable without gradient."""
        if isinstance(out, self.array_types):
            return self.Variable._make(out, None)
        if isinstance(out, tuple | list):
            return _rebuilt(out, [self.wrap(each) for each in out])
        return out

    def wrap_outputs(self, out: Any, node: Node) -> Any:
        """Return the results of an op that has several, each connected to its node."""
        siblings = [(each.shape, each.dtype) for each in out]
        make, inexact = self.Variable._make, self.inexact_dtypes
        results = [
            make(each, Output(node, i, siblings, self) if each.dtype in inexact else None)
            for i, each in enumerate(out)
        ]
        return _rebuilt(out, results)

    def as_gradient(self, value: Any) -> Variable:
        """Return what a user's hook gave for a gradient as a Variable."""
        if isinstance(value, Variable):
            return value
        made: Variable = self.Variable._make(self.to_raw(value), None)
        return made

    def connected(self, node: Node, values: Sequence[Any]) -> list[Any]:
        """Return the values that a node saved as Variables that are connected to the graph."""
        found: list[Any] = later("agnograd._arrays.reconnect", "connected")(node, values)
        return found

    # -- views -----------------------------------------------------------------------------------

    def view(self, op: Op, result: Any, base: object, options: Mapping[str, Any]) -> Any:
        """Return an op's result as a view of its input, if it is one in NumPy."""
        if not isinstance(base, Variable):
            return result
        if "key" in options:
            shows = selects_view(options["key"], len(base.shape))
        else:
            shows = not options.get("copy")
            if shows and base._is_view and "copy" in options:
                shows = later("agnograd._arrays.strides", "keeps_places")(op, result, base, options)
        return view_of(op, result, base, options) if shows else result

    def views(self, op: Op, results: Any, base: object, options: Mapping[str, Any]) -> Any:
        """Return each of an op's results as a view of its input; single elements are copies.

        Of arrays that are broadcast together, each result is one of them, or a view of it.
        """
        if isinstance(base, tuple):
            spread = later("agnograd._plugins.op_sets", "registered_in")("")["broadcast_to"][0]
            members = [
                each
                if isinstance(each, Variable) and each.shape == result.shape
                else self.view(spread, result, each, {"shape": result.shape})
                for result, each in zip(results, base, strict=True)
            ]
        elif isinstance(base, Variable) and len(base.shape) != 1:
            members = [
                view_of(op, result, base, {**options, "index": index})
                for index, result in enumerate(results)
            ]
        else:
            return results
        return _rebuilt(results, members)

    def every_element(self, variable: Variable) -> Variable:
        """Return all elements along one axis, a view."""
        elements: Variable = later("agnograd._arrays.strides", "every_element")(variable)
        return elements

    def take_view(self, op: Op, base: Variable, options: Mapping[str, Any]) -> Variable:
        """Take a view of a base once more."""
        function = attrgetter(op.name)(self.namespace)
        arguments = inspect.BoundArguments(op.signature, {op.arrays[0]: base, **options})
        result = function(*arguments.args, **arguments.kwargs)
        taken: Variable = result if op.outputs == "one" else result[options["index"]]
        return taken

    def put_view(
        self, op: Op, base: Variable, value: Variable, options: Mapping[str, Any]
    ) -> Variable:
        """Return the base with what the view shows replaced by ``value``."""
        assert op.view is not None
        known = {"base": base, "value": value, "xp": self.namespace, "write": self.write, **options}
        names = inspect.signature(op.view).parameters
        result: Variable = op.view(**{name: known[name] for name in names})
        return result

    def write(self, x: Variable, key: Any, value: Any) -> Variable:
        """Return ``x`` with ``value`` at ``key``.

        It is written in place, when the result takes the place of ``x``, if ``x`` is all that
        refers to its array: then neither the graph, nor a view, nor the user needs it as it was,
        and none may come to need it (``agnograd._codegen.products``).
        A hook may yet fail, and let the write have no effect: then it is a copy, too.
        """
        mode = current_mode()
        if (
            (mode is None or mode.observers is None)
            and not x._is_view
            and getrefcount(x._raw) == _ALONE
            and not getweakrefcount(x._raw)
            and self.backend.alone(x._raw)
        ):
            return self.put_later(x, key, value)
        written: Variable = self.namespace.__setitem__(x, key, value)
        return written

    replace = staticmethod(replace)

    # -- facts about arrays ------------------------------------------------------------------------

    def is_inexact(self, dtype: Any) -> bool:
        """Return whether arrays of a dtype have gradients."""
        return dtype in self.inexact_dtypes

    def is_large(self, data: Any) -> bool:
        """Return whether what element-wise ops make of an array is better made block by block."""
        known = type(data) in self.viewable_types
        return self.large is not None and known and self.count(data) >= self.large

    def is_complex(self, dtype: Any) -> bool:
        """Return whether a dtype is complex."""
        return dtype in self.complex_dtypes

    def dtype_or_none(self, name: str) -> Any:
        """Return the dtype of this name as arrays have it, or None if the library has none."""
        if name not in self._named:
            dtype = self.backend.dtype(name)
            if dtype is None and name not in _NAMES:
                return None  # programs may ask for any name, for ever
            self._named[name] = dtype
        return self._named[name]

    def dtype_named(self, name: str) -> Any:
        """Return the dtype of this name; it raises if there is none."""
        dtype = self.dtype_or_none(name)
        if dtype is None:
            raise UnsupportedArrayError(
                f"backend {self.backend.name!r} has no dtype {name!r} as it is set up; choose "
                "another one"
            )
        return dtype

    def name_of(self, dtype: Any) -> str | None:
        """Return the name that libraries share for a dtype, or None if it has none."""
        names = (name for name in _NAMES if self.dtype_or_none(name) == dtype)
        return next(names, None)

    def size(self, data: Any) -> int | None:
        """Return the number of elements, or None if unknown."""
        size: int | None = later("array_api_compat", "size")(data)
        return size

    def device(self, data: Any) -> Any:
        """Return the device of a raw array."""
        return device_of(data)

    def item(self, data: Any) -> Any:
        """Return a raw 0-d array as a Python scalar."""
        return self.backend.item(self.backend.array(data))

    def ones(self, like: Any) -> Any:
        """Return ones for each element of a raw array."""
        dtype = like.dtype
        known = self._one.get(dtype) if like.shape == () else None
        if known is None:
            known = self.raw.ones(like.shape, dtype=dtype, device=self.device(like))
            # Libraries with scalars have no devices to tell apart, and no traces to leak from.
            if like.shape == () and self.scalar_types:
                self._one[dtype] = known
        return known

    def copy(self, data: Any) -> Any:
        """Return a copy of a raw array."""
        return self.library.asarray(self.backend.array(data), copy=True)

    def versioned_namespace(self, api_version: str | None) -> Any:
        """Return the namespace, if it has the version of the standard that is asked for."""
        newest = self.library.__array_api_version__
        if api_version is not None and not ("2021.12" <= api_version <= newest):
            raise ValueError(
                f"array API version {api_version!r} is not supported by backend "
                f"{self.backend.name!r}; the newest one is {newest}"
            )
        return self.namespace


def _deep_copy(variable: Variable, memo: dict[int, Any]) -> Variable:
    copied: Variable = later("agnograd._arrays.copies", "deep_copy")(variable, memo)
    return copied


def _rebuilt(container: Any, values: list[Any]) -> Any:
    """Return values in a container of the same type: list, tuple, or named tuple."""
    if isinstance(container, list):
        return values
    if hasattr(container, "_fields"):
        return type(container)(*values)
    return tuple(values) if type(container) is tuple else type(container)(values)
