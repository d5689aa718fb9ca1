"""Domains: the types, namespaces and conversions that belong to one backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat, starmap
from operator import setitem
from time import perf_counter
from types import EllipsisType
from typing import Any, ClassVar, NoReturn

from agnograd._arrays.levels import root_of
from agnograd._arrays.variable import Variable, built
from agnograd._arrays.views import View, deep_copy, every_element, keeps_places, replace, view_of
from agnograd._graph.nodes import OP, Node, Output, domain_at, edges_of, maker_of
from agnograd._hooks.state import current_mode
from agnograd._ops.fitting import SCALAR_TYPES
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import device_of, is_python_scalar, selects_view, set_device
from agnograd._plugins.backend import Backend
from agnograd._plugins.backends import backend_of_array, require
from agnograd._util.deferred import later
from agnograd._util.signatures import DTYPES
from agnograd.errors import (
    AgnogradError,
    GradientError,
    MixedBackendsError,
    UnsupportedArrayError,
)

_NAMES = (*DTYPES, "float16", "bfloat16")
_NO_ARRAYS = frozenset({bool, int, float, complex, str, slice, EllipsisType, type(None)})


class Domain:
    """One backend's types, namespaces and conversions: see "Five words" in ``docs/house.md``.

    Attributes
    ----------
    backend : Backend
        The backend, or the interpretation whose level this is.
    level : int
        How many others the domain stands on: 0 for that of an array library.
    library, raw, namespace : namespace
        The library's own, that of raw arrays with all ops, and that of Variables.
    Variable : type
        The class of its Variables: ``Variable(x, requires_grad=False)`` makes a constant.
    array_types : tuple of type
        The types of its raw arrays.
    is_inexact, is_complex : callable
        Whether arrays of a dtype have gradients, and whether they are complex.
    """

    library: Any  # the library's own namespace
    raw: Any  # the namespace of raw arrays: the library's functions, and those that op sets add
    namespace: Any  # the namespace of Variables
    # What functions of ops know by name of this layer: see ``agnograd._arrays.conversions``.
    scope: Mapping[str, Any]
    convert: Callable[..., Variable]  # the op ``astype``, which always makes a new Variable
    put_later: Callable[..., Variable]  # the op ``__setitem__``, whose result ``put`` is given
    held: Any = None  # the newest gradient that was made in blocks (``agnograd._engine.blocks``)
    replace: ClassVar[Callable[..., None]] = staticmethod(replace)
    every_element: ClassVar[Callable[..., Variable]] = staticmethod(every_element)
    device = staticmethod(device_of)

    def __init__(self, backend: Backend) -> None:
        def defines(name: str) -> bool:
            return getattr(type(backend), name) is not getattr(Backend, name)

        self.backend = backend
        self.level = backend.level
        self.library = require(backend)
        self._one: dict[type, Any] = {}
        self._named: dict[str, Any] = {}
        self.large = backend.large
        self.count = backend.counter()
        self.lays_out = defines("laid_out")
        if defines("on_device"):
            Backend.switching = True
        self.mark: Callable[[], Any] = backend.mark if defines("mark") else perf_counter
        # An assignment is one of Python's instructions.
        self.put: Callable[..., Any] = backend.put if defines("put") else setitem
        self.scalar_types = backend.scalar_types()
        SCALAR_TYPES.update(self.scalar_types)
        self.viewable_types = frozenset(backend.array_types())
        self.array_types = backend.array_types() + self.scalar_types
        # Those of arrays that ``Backend.array`` need not look at.
        refuses = defines("array") and not self.scalar_types
        self.ready_types = frozenset() if refuses else self.viewable_types
        self.plain_types = frozenset({*self.array_types, bool, int, float, complex, type(None)})
        if defines("device"):
            set_device(self.array_types, backend.device)
        # The type of a float64 result without axes, if the library gives no array for it.
        self.number_type: type | None = None
        if self.scalar_types:
            zero = self.library.zeros((), dtype=self.dtype_or_none("float64"))
            self.number_type = type(backend.scalar(zero))
        self.complex_dtypes = self._dtypes("complex64", "complex128", "clongdouble")
        floats = self._dtypes("float16", "bfloat16", "float32", "float64", "longdouble")
        self.real_dtypes, self.inexact_dtypes = floats, floats | self.complex_dtypes
        self.is_complex = self.complex_dtypes.__contains__
        self.is_inexact = self.inexact_dtypes.__contains__  # whether arrays have gradients
        # Two backends' Variables are told apart by their types.
        self.Variable: type[Variable] = self._type(Variable)
        self.View: type[View] = self._type(View, self.Variable)
        # What `next` gives is a Variable without anything in it, in four fifths of the time that
        # object.__new__ takes when it is called: the arguments are packed once.
        self.blank: Iterator[Any] = starmap(object.__new__, repeat((self.Variable,)))

    def _type(self, *bases: type) -> Any:
        body: dict[str, Any] = {"__slots__": (), "__module__": "agnograd", "__hash__": None}
        body |= {"__doc__": bases[0].__doc__, "__deepcopy__": deep_copy, "_domain": self}
        return type(bases[0].__name__, bases, body)

    def _dtypes(self, *names: str) -> frozenset[Any]:
        found = map(self.dtype_or_none, names)
        return frozenset(dtype for dtype in found if dtype is not None)

    # -- into and out of Variables ---------------------------------------------------------------

    def to_raw(self, value: Any) -> Any:
        """Return a raw array of this backend for an array, a scalar or a nested list."""
        if isinstance(value, Variable) and value._domain is self:
            return value.data
        if self.level and (lifted := self.backend.lift(value)) is not NotImplemented:
            return lifted._raw if isinstance(lifted, Variable) else lifted
        if isinstance(value, Variable):
            raise self.mixed("a Variable is given", value._domain.backend)
        if isinstance(value, self.array_types):
            return self.backend.array(value)
        if isinstance(value, list | tuple):
            try:
                made = self.library.asarray(value)
            except AgnogradError:
                raise
            except (TypeError, ValueError) as error:
                return self.of_numbers(None, error)
            return self.of_numbers(made)
        if isinstance(value, bool | int | float | complex):
            return self.library.asarray(value)
        kind = type(value)
        raise UnsupportedArrayError(
            f"{kind.__module__}.{kind.__qualname__} is not an array of backend "
            f"{self.backend.name!r}; move it with ag.asarray(x, backend={self._library!r})"
        )

    @property
    def _library(self) -> str:
        """The name of the backend that users move arrays to."""
        return root_of(self).backend.name

    def mixed(self, what: str, other: Backend | None) -> MixedBackendsError:
        """Return the error of an array that is not of this backend: it says how they can meet."""
        here, of = self._library, "" if other is None else f" on backend {other.name!r}"
        if other is None or self.backend.capabilities.lazy or not other.capabilities.lazy:
            how = f"move it there first, with its gradient, by ag.asarray(x, backend={here!r})"
        else:
            how = (
                f"move the arrays of {here!r} to {other.name!r}, with their gradients, by "
                f"ag.asarray(b, backend={other.name!r}), where nothing is computed yet: to move "
                f"it here, by ag.asarray(x, backend={here!r}), would compute and load all of it"
            )
        return MixedBackendsError(f"{what}{of}, where one on {here!r} is needed; {how}")

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
            return rebuilt(out, [self.wrap(each) for each in out])
        return out

    def wrap_outputs(self, out: Any, node: Any) -> Any:
        """Return the results of an op that has several, each connected to its node.

        In forward mode, each may have a node of its own already.
        """
        siblings = [(each.shape, each.dtype) for each in out]
        make, inexact = self.Variable._make, self.inexact_dtypes
        nodes = node if type(node) is tuple else None
        results = [
            make(each, nodes[i] if nodes else Output(node, i, siblings, self))
            if each.dtype in inexact
            else make(each, None)
            for i, each in enumerate(out)
        ]
        return rebuilt(out, results)

    def as_gradient(self, value: Any) -> Variable:
        """Return what a user's hook gave for a gradient as a Variable."""
        value = self.raised(value, True) if self.level else value
        return value if isinstance(value, Variable) else self.wrap(self.to_raw(value))

    def connected(self, node: Node, values: Sequence[Any]) -> list[Any]:
        """Return the values that a node saved as Variables that are connected to the graph.

        Nodes keep raw arrays only; together with their edges they are the Variables that a rule
        needs under ``create_graph``. What a gradient manager, or a pullback, takes for constants is
        connected to nothing, whatever it was computed from.
        """
        mode, sources = current_mode(), node[OP].plan.sources
        kept = None if mode is None else mode.of(self.level).kept
        if kept is not None and not any(kept(node, *edges_of(node))):
            return [
                value
                if source is None or value is None or is_python_scalar(value)
                else (self.home_of(value) or self).wrap(value)
                for value, source in zip(values, sources, strict=True)
            ]
        pairs = zip(values, sources, strict=True)
        found = [self._connect(value, source, node) for value, source in pairs]
        if kept is not None:
            for value in found:
                for each in value if isinstance(value, tuple | list) else (value,):
                    edge = getattr(each, "_node", None)
                    if edge is not None and kept(maker_of(edge)) == (None,):
                        each._node = None
        return found

    def _connect(self, value: Any, source: Any, node: Node) -> Any:
        make = self.Variable._make
        if source is None or value is None or is_python_scalar(value):
            return value
        if source == "constant" or isinstance(source, int):
            edge = edges_of(node)[source] if isinstance(source, int) else None
            home = self.home_of(value) if edge is None else domain_at(edge)
            return value if home is None else home.Variable._make(value, edge)
        if source == "each":
            return [make(each, edge) for each, edge in zip(value, edges_of(node), strict=True)]
        if source == "attributes":  # those with arrays, which a derivative must not read
            return None
        if source == "unknown":
            refuse_unknown(node[OP].name)
        if isinstance(source, tuple):  # one of several results
            _, index, siblings = source
            return make(value, Output(node, index, siblings, self))
        is_all = isinstance(value, tuple | list)
        return self.wrap_outputs(value, node) if is_all else make(value, node)

    def raised_for(self, node: Node, values: Sequence[Any], as_variables: bool) -> list[Any]:
        """Return what a node of a domain below saved, with its arrays as those of this level."""
        sources = node[OP].plan.sources
        return [
            value if source is None else self.raised(value, as_variables)
            for value, source in zip(values, sources, strict=True)
        ]

    def raised(self, value: Any, as_variable: bool) -> Any:
        """Return an array from below as one of this level, raw or as a Variable.

        So are those in a list; all else stays. An array's graph stays with its payload.
        """
        if type(value) in _NO_ARRAYS:
            return value
        lifted = self.backend.lift(value)
        if lifted is NotImplemented:
            if isinstance(value, tuple | list):
                return rebuilt(value, [self.raised(each, as_variable) for each in value])
            return value
        if isinstance(lifted, Variable):
            return lifted if as_variable else lifted._raw
        return self.Variable._make(lifted, None) if as_variable else lifted

    def home_of(self, value: Any) -> Domain | None:
        """Return the domain of a saved value, None if it is not an array: this one, or another one.

        An op that moves arrays saves some of a different backend from that of its results.
        """
        if isinstance(value, self.array_types):
            return self
        backend = backend_of_array(value)
        return None if backend is None else built.get(backend.name)

    def view(self, op: Op, result: Any, base: object, options: Mapping[str, Any]) -> Any:
        """Return an op's result as a view of its input, if it is one in NumPy."""
        if not isinstance(base, Variable):
            return result
        if "key" in options:
            shows = selects_view(options["key"], len(base.shape))
        else:
            shows = not options.get("copy")
            if shows and base._is_view and "copy" in options:
                shows = keeps_places(op, result, base, options)
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
        return rebuilt(results, members)

    # -- facts about arrays ------------------------------------------------------------------------

    def is_large(self, data: Any) -> bool:
        """Return whether what element-wise ops make of an array is better made block by block."""
        known = type(data) in self.viewable_types
        return self.large is not None and known and self.count(data) >= self.large

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
        return next((name for name in _NAMES if self.dtype_or_none(name) == dtype), None)

    def size(self, data: Any) -> int | None:
        """Return the number of elements, or None if unknown."""
        size: int | None = later("array_api_compat", "size")(data)
        return size

    def item(self, data: Any) -> Any:
        """Return a raw 0-d array as a Python scalar."""
        return self.backend.item(self.backend.array(data))

    def ones(self, like: Any) -> Any:
        """Return ones for each element of a raw array."""
        if (known := self._one.get(type(like))) is None and like.shape == () and self.scalar_types:
            # Libraries with scalars have no devices to tell apart, and no traces to leak from.
            known = self.backend.scalar(self.raw.ones((), dtype=like.dtype))
            if type(like) in self.scalar_types:
                self._one[type(like)] = known
        if known is None:
            known = self.raw.ones(like.shape, dtype=like.dtype, device=self.device(like))
        return known

    def own(self, g: Any, given: dict[int, Any], x: Any = None) -> Any:
        """Return a raw gradient as users get it: an array that shares memory with nothing else.

        It is copied if it is a view, or among what is given out already, by identity, as cotangents
        from users are. ``x`` is the raw array as which it is laid out.
        """
        own = g if x is None else self.backend.laid_out(g, x)
        key = id(own)
        if key in given:
            return self.copy(own)
        given[key] = own
        return self.backend.own(own)

    def copy(self, data: Any) -> Any:
        """Return a copy of a raw array."""
        return self.library.asarray(self.backend.array(data), copy=True)


def refuse_unknown(name: str) -> NoReturn:
    """Refuse the derivative of an array that a user's function has saved."""
    raise GradientError(
        f"{name} saved an array that is neither an argument nor a result, so that its own "
        "derivative is unknown: where gradients are themselves differentiated, save only arguments "
        "or results, and compute anything else in backward"
    )


def rebuilt(container: Any, values: list[Any]) -> Any:
    """Return values in a container of the same type: list, tuple, or named tuple."""
    if isinstance(container, list):
        return values
    if hasattr(container, "_fields"):
        return type(container)(*values)
    return tuple(values) if type(container) is tuple else type(container)(values)
