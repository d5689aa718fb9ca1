"""Arrays into Variables and out of them: what a backend's functions and operators are given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from numbers import Number
from operator import index
from typing import TYPE_CHECKING, Any

from agnograd._arrays.variable import Variable
from agnograd._graph.nodes import Edge
from agnograd._hooks.state import is_grad_enabled
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import backend_of_array, is_array
from agnograd._util.deferred import later
from agnograd.errors import MixedBackendsError, NoGradientError, UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain
    from agnograd._graph.calls import Call
    from agnograd._plugins.backend import Backend


def make_asarray(domain: Domain) -> Callable[..., Variable]:
    """Return the ``asarray`` function of a backend's namespace."""

    def asarray(
        obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
    ) -> Variable:
        """Return ``obj`` as a Variable.

        A Variable of this backend comes back as it is, still connected, unless a copy, another
        dtype or another device is asked for. Variables inside nested lists stay connected.
        """
        xp = domain.namespace
        if isinstance(obj, Variable):
            if obj._domain is not domain:
                raise MixedBackendsError(
                    f"asarray: the Variable is on backend {obj._domain.backend.name!r}, not on "
                    f"{domain.backend.name!r}; {domain.how_to_meet(obj._domain.backend)}"
                )
            return _converted(obj, domain, dtype, device, copy)
        if isinstance(obj, list | tuple) and holds_variable(obj):
            if copy is False:
                raise ValueError("asarray: a list needs a copy, but copy is False; leave copy out")
            return _converted(_stacked(obj, xp), domain, dtype, device, None)
        raw = domain.library.asarray(obj, dtype=dtype, device=device, copy=copy)
        made: Variable = domain.Variable._make(raw, None)
        return made

    return asarray


def _converted(x: Variable, domain: Domain, dtype: Any, device: Any, copy: bool | None) -> Variable:
    xp = domain.namespace
    recast = dtype is not None and dtype != x.dtype
    moved = device is not None and device != x.device
    if copy is False and (recast or moved):
        raise ValueError(
            "asarray: another dtype or device needs a copy, but copy is False; leave copy out"
        )
    if recast:
        x = xp.astype(x, dtype)
    if moved:
        x = xp.to_device(x, device)
    if copy and not recast and not moved:
        x = xp.astype(x, x.dtype, copy=True)
    return x


def holds_variable(values: Any) -> bool:
    """Return whether a nested list has a Variable in it."""
    return any(
        isinstance(each, Variable) or (isinstance(each, list | tuple) and holds_variable(each))
        for each in values
    )


def _stacked(obj: Any, xp: Any) -> Variable:
    """Stack a nested sequence; each level of nesting is one axis."""
    # Python's scalars take the dtype of the arrays that they stand beside; a bool is a number, too.
    leaves = [leaf for leaf in _leaves(obj) if not isinstance(leaf, bool)]
    dtype = xp.result_type(*leaves)

    def stack(part: Any) -> Any:
        if isinstance(part, list | tuple):
            return xp.stack([stack(each) for each in part])
        if is_python_scalar(part):
            return xp.asarray(part, dtype=dtype)
        return xp.astype(part, dtype, copy=False)

    stacked: Variable = stack(obj)
    return stacked


def _leaves(obj: Any) -> list[Any]:
    if isinstance(obj, list | tuple):
        return [leaf for each in obj for leaf in _leaves(each)]
    return [obj]


def make_astype(domain: Domain) -> Callable[..., Variable]:
    """Return the ``astype`` function of a backend's namespace."""
    convert = domain.convert

    @functools.wraps(convert)
    def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Variable:
        here = device is None or (isinstance(x, Variable) and device == x.device)
        if not copy and here and isinstance(x, Variable) and x.dtype == dtype:
            return x
        return convert(x, dtype, copy=copy, device=device)

    return astype


def make_from_dlpack(domain: Domain) -> Callable[..., Variable]:
    """Return the ``from_dlpack`` function of a backend's namespace."""

    def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Variable:
        """Return a Variable, without a gradient, over an array of any library.

        Tracked Variables refuse; pass ``x.detach()``.
        """
        options = {"device": device, "copy": copy}
        given = {name: value for name, value in options.items() if value is not None}
        made: Variable = domain.Variable._make(domain.backend.from_dlpack(x, **given), None)
        return made

    return from_dlpack


def unwrap(call: Call, name: str, value: Any, beside: Any = None) -> tuple[Any, Edge | None]:
    """Return an argument as the backend takes it, and the node that made it.

    Views are brought up to date, scalars of another library become Python scalars, lists arrays,
    and arrays of another library constants ``beside`` the only other one if the backend accepts
    them; what is not an array at all is left to the backend to judge.

    Raises
    ------
    MixedBackendsError
        If the argument is an array, or a Variable, of another backend.
    """
    domain = call.domain
    if isinstance(value, Variable):
        if value._domain is domain:
            return value._raw, value._node
        what = f"a Variable on {value._domain.backend.name}"
        raise _mixed(call, name, what, value._domain.backend)
    if isinstance(value, domain.array_types):
        return value if type(value) in domain.plain_types else domain.backend.array(value), None
    if isinstance(value, Number):
        return later("agnograd._util.checks", "python_number")(value), None
    if isinstance(value, list | tuple):
        return unwrap(call, name, as_operand(domain, value))
    if is_array(value):
        if domain.backend.accepts(value):
            return domain.backend.constant(value, beside), None
        kind = type(value)
        what = f"an array of type {kind.__module__}.{kind.__qualname__}"
        raise _mixed(call, name, what, backend_of_array(value))
    if getattr(type(value), "__array_function__", None) is not None:
        raise _answering(call, name, type(value))
    return value, None


def unwrap_each(
    call: Call, name: str, values: Sequence[Any]
) -> tuple[list[Any], tuple[Edge | None, ...]]:
    """Unwrap every array of a sequence, which may also be one array with a leading axis."""
    domain = call.domain
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
    """Return whether a binary operator takes this operand, or leaves it to the operand's type."""
    if isinstance(value, (Variable, Number, *call.domain.array_types)):
        return True
    if isinstance(value, list | tuple) and holds_variable(value):
        return True
    return is_array(value) or call.domain.backend.accepts(value)


def option(call: Call, name: str, value: Any) -> Any:
    """Return what was given for a parameter that takes no array; NumPy's integers become Python's.

    Raises
    ------
    NoGradientError
        If it is a tracked Variable, whose gradient would be lost.
    """
    if not isinstance(value, Variable):
        return as_integer(value)
    if value.requires_grad and is_grad_enabled():
        raise NoGradientError(
            f"{call.name}: {name!r} requires a gradient, and is not an input that has one: pass "
            f"{name}={name}.item(), or detach() what is not a single number"
        )
    return value.data if value.shape else value.item()


def as_integer(value: Any) -> Any:
    """Return a NumPy integer, which is not an ``int``, as Python's, and others as they are."""
    try:
        return value if isinstance(value, bool) else index(value)
    except TypeError:
        return value


def _answering(call: Call, name: str, kind: type) -> UnsupportedArrayError:
    return UnsupportedArrayError(
        f"{call.name}: argument {name!r} is a {kind.__module__}.{kind.__qualname__}, which answers "
        f"NumPy's functions and is not an array of backend {call.domain.backend.name!r}: call "
        "NumPy's function instead of the namespace's (xarray does with skipna=False), or pass the "
        "array that it holds"
    )


def _mixed(call: Call, name: str, what: str, owner: Backend | None) -> MixedBackendsError:
    backend = call.domain.backend.name
    return MixedBackendsError(
        f"{call.name}: argument {name!r} is {what}, but the op runs on backend {backend!r}; "
        f"{call.domain.how_to_meet(owner)}"
    )


def raw_key(key: Any) -> Any:
    """Return a key with every Variable in it (masks, integers, bounds of slices) unwrapped."""
    if type(key) is int:
        return key
    if isinstance(key, tuple):
        return tuple([raw_key(part) for part in key])
    if isinstance(key, Variable):
        return key._raw
    if isinstance(key, slice) and any(
        isinstance(bound, Variable) for bound in (key.start, key.stop, key.step)
    ):
        return slice(*(raw_key(bound) for bound in (key.start, key.stop, key.step)))
    return key


_BUILTINS = {bool: "bool", float: "float64", complex: "complex128"}


def _listed_dtype(domain: Domain, values: Any) -> Any:
    """Return the dtype that Python's numbers have in NumPy: libraries have others by default.

    It is None, the library's own choice, where there are only integers, or arrays.
    """
    kinds = set(_kinds_in(values))
    if not kinds <= {bool, int, float, complex}:
        return None
    for kind in (complex, float):
        if kind in kinds:
            return domain.dtype_named(_BUILTINS[kind])
    return None


def _kinds_in(values: Any) -> Iterator[type]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _kinds_in(value)
        else:
            yield type(value)


def as_operand(domain: Domain, value: Any, beside: Any = None) -> Any:
    """Return what ``as_array`` does, but a Python scalar as it is: it takes the others' dtype.

    ``beside`` is the other operand, if there is just one.
    """
    if isinstance(value, domain.Variable) or is_python_scalar(value):
        return value
    if isinstance(value, list | tuple):
        return domain.namespace.asarray(value, dtype=_listed_dtype(domain, value))
    if isinstance(value, domain.array_types) or (owner := backend_of_array(value)) in (
        None,
        domain.backend,
    ):
        return domain.namespace.asarray(value)
    if isinstance(value, Number):
        return later("agnograd._util.checks", "python_number")(value)
    if domain.backend.accepts(value):
        return domain.namespace.asarray(domain.backend.constant(value, beside))
    kind, name = type(value), domain.backend.name
    raise MixedBackendsError(
        f"an array of type {kind.__module__}.{kind.__qualname__} met a Variable on backend "
        f"{name!r}{'' if owner is None else f' (it is one of {owner.name!r})'}; "
        f"{domain.how_to_meet(owner)}"
    )


def is_plain_numpy(value: Any) -> bool:
    """Return whether a value is a NumPy array that backends may use as a constant.

    Masked arrays and matrices are not, because they have their own rules for operands.
    """
    is_numpy_array: Callable[[Any], bool] = later("array_api_compat", "is_numpy_array")
    return is_numpy_array(value) and bool(value.__array_priority__ <= 0.0)


# By the names that the functions of ops have for them.
SCOPE = {
    "_as_operand": as_operand,
    "_is_operand": is_operand,
    "_option": option,
    "_raw_key": raw_key,
    "_unwrap": unwrap,
    "_unwrap_each": unwrap_each,
}
