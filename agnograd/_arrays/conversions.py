"""Arrays into Variables and out of them: what a backend's functions and operators are given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Number
from operator import index
from types import EllipsisType, NoneType
from typing import TYPE_CHECKING, Any

from agnograd._arrays.domain import Domain
from agnograd._arrays.levels import above, derived, entered_above, highest, is_tracked, taken_over
from agnograd._arrays.variable import Variable
from agnograd._graph.nodes import Edge
from agnograd._hooks.state import is_grad_enabled
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import backend_of_array, is_array
from agnograd._util.deferred import later
from agnograd.errors import NoGradientError, UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._graph.calls import Call


# The types of parts of keys that stay as they are.
_PARTS = frozenset({bool, int, EllipsisType, NoneType})


def add_conversions(domain: Domain, module: str) -> None:
    """Give a backend's namespace the functions that make Variables of what is not one."""
    convert: Callable[..., Variable] = domain.namespace.astype
    domain.convert = convert

    @functools.wraps(convert)
    def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Variable:
        here = device is None or (isinstance(x, Variable) and device == x.device)
        if not copy and here and isinstance(x, Variable) and x.dtype == dtype:
            return x
        return convert(x, dtype, copy=copy, device=device)

    def asarray(
        obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
    ) -> Variable:
        """Return ``obj`` as a Variable.

        A Variable of this backend comes back as it is, still connected, unless a copy, another
        dtype or another device is asked for. Variables inside nested lists stay connected.
        """
        if derived and (at := _at_level(domain, "asarray", obj)) is not None:
            return at(obj, dtype=dtype, device=device, copy=copy)  # type: ignore[no-any-return]
        obj = _lifted(domain, obj) if domain.level else obj
        if isinstance(obj, Variable):
            if obj._domain is not domain:
                raise domain.mixed("asarray: a Variable is given", obj._domain.backend)
            return _converted(obj, domain, dtype, device, copy)
        if isinstance(obj, list | tuple) and holds_variable(obj):
            _check_copies(copy)
            return _converted(stacked(obj, domain.namespace), domain, dtype, device, None)
        if isinstance(obj, domain.array_types) and dtype is None is device and not copy:
            return domain.Variable._make(domain.backend.array(obj), None)
        options = {"dtype": dtype, "device": device, "copy": copy}
        return domain.Variable._make(domain.library.asarray(obj, **options), None)

    def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Variable:
        """Return a Variable, without a gradient, over an array of any library.

        Tracked Variables refuse; pass ``x.detach()``.
        """
        asked = {"device": device, "copy": copy}
        given = {name: value for name, value in asked.items() if value is not None}
        if derived and (at := _at_level(domain, "from_dlpack", x)) is not None:
            return at(x, **given)  # type: ignore[no-any-return]
        return domain.Variable._make(domain.backend.from_dlpack(x, **given), None)

    _add_functions(domain.namespace, module, astype, asarray, from_dlpack)


def _check_copies(copy: bool | None) -> None:
    if copy is False:
        raise ValueError("asarray: a list needs a copy, but copy is False; leave copy out")


def _add_functions(namespace: Any, module: str, *functions: Any) -> None:
    for function in functions:
        function.__module__, function.__qualname__ = module, function.__name__
        setattr(namespace, function.__name__, function)


def _lifted(domain: Domain, obj: Any) -> Any:
    """Return what an array, or a Variable, from below is on a level; all else as it is."""
    lifted = domain.backend.lift(obj)
    if lifted is NotImplemented:
        return obj
    return lifted if isinstance(lifted, Variable) else domain.Variable._make(lifted, None)


def _at_level(domain: Domain, name: str, obj: Any) -> Callable[..., Any] | None:
    return above(domain, name, obj) or entered_above(domain, name)


def _converted(x: Variable, domain: Domain, dtype: Any, device: Any, copy: bool | None) -> Variable:
    xp = domain.namespace
    recast = dtype is not None and dtype != x.dtype
    moved = device is not None and device != x.device
    if copy is False and (recast or moved):
        raise ValueError(
            "asarray: another dtype or device needs a copy, but copy is False; leave copy out"
        )
    if recast or (copy and not moved):
        x = xp.astype(x, dtype if recast else x.dtype)
    if moved:
        x = xp.to_device(x, device)
    return x


def _leaves(values: Iterable[Any]) -> list[Any]:
    """Return what is in a nested list."""
    found = []
    for each in values:
        found += _leaves(each) if isinstance(each, list | tuple) else [each]
    return found


def holds_variable(values: Iterable[Any], kinds: tuple[type, ...] = (Variable,)) -> bool:
    """Return whether a nested list has a Variable in it, or an array of other kinds."""
    return any(isinstance(each, kinds) for each in _leaves(values))


def stacked(obj: Any, xp: Any) -> Any:
    """Stack a nested sequence; each level of nesting is one axis."""
    # Python's scalars take the dtype of the arrays that they stand beside; a bool is a number, too.
    dtype = xp.result_type(*[leaf for leaf in _leaves(obj) if not isinstance(leaf, bool)])

    def stack(part: Any) -> Any:
        if isinstance(part, list | tuple):
            return xp.stack([stack(each) for each in part])
        if is_python_scalar(part):
            return xp.asarray(part, dtype=dtype)
        return xp.astype(part, dtype, copy=False)

    return stack(obj)


def unwrap(call: Call, name: str, value: Any, beside: Any = None) -> tuple[Any, Edge | None]:
    """Return an argument as the backend takes it, and the node that made it.

    Views are brought up to date, scalars of another library become Python scalars, lists arrays,
    and arrays of another library constants ``beside`` the only other one if the backend accepts
    them; what is not an array at all is left to the backend to judge.
    """
    domain = call.domain
    if isinstance(value, Variable) and value._domain is domain:
        return value._raw, value._node
    if domain.level and (lifted := domain.backend.lift(value)) is not NotImplemented:
        return (lifted._raw, lifted._node) if isinstance(lifted, Variable) else (lifted, None)
    if isinstance(value, Variable):
        raise domain.mixed(f"{call.name}: argument {name!r} is a Variable", value._domain.backend)
    if isinstance(value, domain.array_types):
        return value if type(value) in domain.plain_types else domain.backend.array(value), None
    if isinstance(value, Number):
        return _python_number(domain, call.name, value), None
    if isinstance(value, list | tuple):
        if holds_variable(value):
            return unwrap(call, name, as_operand(domain, value))
        # The namespace would make an array of the level that is entered.
        return domain.library.asarray(value, dtype=_listed_dtype(domain, value)), None
    if is_array(value):
        return _constant(domain, f"{call.name}: argument {name!r}", value, beside), None
    if getattr(type(value), "__array_function__", None) is not None:
        raise UnsupportedArrayError(
            f"{call.name}: argument {name!r} is a {_type_of(value)}, which answers NumPy's "
            f"functions and is not an array of backend {domain.backend.name!r}: call NumPy's "
            "function instead of the namespace's (xarray does with skipna=False), or pass the "
            "array that it holds"
        )
    return value, None


def _python_number(domain: Domain, name: str, value: Any) -> Any:
    """Return a number of any class as one of Python's; a level knows no others."""
    found = later("agnograd._util.checks", "python_number")(value)
    if domain.level and not is_python_scalar(found):
        raise TypeError(f"{name}: a {_type_of(value)} is neither an array nor a number of Python's")
    return found


def _constant(domain: Domain, what: str, value: Any, beside: Any) -> Any:
    """Return another library's array as a backend's own, if the backend accepts it."""
    if domain.backend.accepts(value):
        return domain.backend.constant(value, beside)
    raise domain.mixed(f"{what} is an array of type {_type_of(value)}", backend_of_array(value))


def _type_of(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def unwrap_each(
    call: Call, name: str, values: Sequence[Any]
) -> tuple[Sequence[Any], tuple[Edge | None, ...] | None]:
    """Unwrap every array of a sequence, which may also be one array with a leading axis.

    If one belongs to a level above, there are no edges, and nothing is unwrapped.
    """
    domain = call.domain
    if derived and highest(domain, values) is not domain:
        return values, None
    arrays: list[Any] = []
    edges: list[Edge | None] = []
    for place, value in enumerate(values):
        if type(value) is domain.Variable:
            arrays.append(value._raw)
            edges.append(value._node)
        else:
            array, edge = unwrap(call, f"{name}[{place}]", value)
            arrays.append(array)
            edges.append(edge)
    return arrays, tuple(edges)


def is_operand(call: Call, value: Any) -> bool:
    """Return whether a binary operator takes this operand, or leaves it to the operand's type.

    A raw array of a level above answers itself: its rules compute with raw arrays only.
    """
    level = derived.get(type(value))
    if level is not None and level.level > call.domain.level and not isinstance(value, Variable):
        return False
    return (
        isinstance(value, (Variable, Number, *call.domain.array_types))
        or (isinstance(value, list | tuple) and holds_variable(value))
        or is_array(value)
        or call.domain.backend.accepts(value)
    )


def option(call: Call, name: str, value: Any) -> Any:
    """Return what was given for a parameter that takes no array; NumPy's integers become Python's.

    It raises for a tracked Variable, whose gradient would be lost.
    """
    if not isinstance(value, Variable):
        try:
            return value if isinstance(value, bool) else index(value)
        except TypeError:
            return value
    if is_tracked(value) and is_grad_enabled():
        raise NoGradientError(
            f"{call.name}: {name!r} requires a gradient, and is not an input that has one: pass "
            f"{name}={name}.item(), or detach() what is not a single number"
        )
    return value.data if value.shape else value.item()


def raw_key(key: Any) -> Any:
    """Return a key with every Variable in it (masks, integers, bounds of slices) unwrapped.

    NumPy's integers and booleans become Python's.
    """
    if type(key) in _PARTS:
        return key
    if isinstance(key, tuple):
        return tuple([raw_key(part) for part in key])
    if isinstance(key, Variable):
        return key._raw
    if isinstance(key, slice):
        bounds = key.start, key.stop, key.step
        if not {*map(type, bounds)} <= _PARTS:
            return slice(*map(raw_key, bounds))
    elif isinstance(key, Integral):
        return index(key)
    elif type(key).__name__ in ("bool", "bool_") and type(key).__module__ == "numpy":
        return bool(key)  # NumPy's, which other libraries do not know
    return key


def _listed_dtype(domain: Domain, values: Any) -> Any:
    """Return the dtype that Python's numbers have in NumPy: libraries have others by default.

    It is None, the library's own choice, where there are only integers, or arrays.
    """
    kinds = {type(each) for each in _leaves(values)}
    if not kinds <= {bool, int, float, complex} or kinds <= {bool, int}:
        return None
    return domain.dtype_named("complex128" if complex in kinds else "float64")


def as_operand(domain: Domain, value: Any, beside: Any = None) -> Any:
    """Return an operand as a Variable, but a Python scalar as it is: it takes the others' dtype.

    ``beside`` is the other operand, if there is just one.
    """
    if isinstance(value, domain.Variable) or is_python_scalar(value):
        return value
    if derived and highest(domain, (value,)) is not domain:
        return value
    if isinstance(value, list | tuple):
        return domain.namespace.asarray(value, dtype=_listed_dtype(domain, value))
    own = isinstance(value, domain.array_types) or (
        domain.level and domain.backend.lift(value) is not NotImplemented
    )
    if not own and backend_of_array(value) not in (None, domain.backend):
        if isinstance(value, Number):
            return _python_number(domain, "an operand", value)
        value = _constant(domain, "an operand", value, beside)
    return domain.namespace.asarray(value)


def is_plain_numpy(value: Any) -> bool:
    """Return whether a value is a NumPy array that backends may use as a constant.

    Masked arrays and matrices are not, because they have their own rules for operands.
    """
    is_numpy_array: Callable[[Any], bool] = later("array_api_compat", "is_numpy_array")
    return is_numpy_array(value) and bool(value.__array_priority__ <= 0.0)


# By the names that the functions of ops have for them.
Domain.scope = {
    "_above": above,
    "_entered_above": entered_above,
    "_taken_over": taken_over,
    "_derived": derived,
    "_as_operand": as_operand,
    "_is_operand": is_operand,
    "_option": option,
    "_raw_key": raw_key,
    "_unwrap": unwrap,
    "_unwrap_each": unwrap_each,
}
