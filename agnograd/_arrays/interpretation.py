"""Interpretations: backends that stand on another one, and compute something else of a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from agnograd._arrays.domains import Variable, domain_named
from agnograd._arrays.levels import derived
from agnograd._arrays.namespace import filling, within
from agnograd._arrays.operators import BINARY, COMPARISONS, UNARY
from agnograd._arrays.variable import built, owners
from agnograd._graph.nodes import OP, raw_gradient
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backend import Backend, Capabilities
from agnograd._plugins.backends import add_backend
from agnograd.errors import GradientError

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain
    from agnograd._graph.calls import Backward, Call, Pairs
    from agnograd._graph.nodes import Node


class Interpreted:
    """An array of an interpretation: it stands for its ``payload``, an array from below.

    The payload is a raw array of the domain below, or a Variable where a gradient is recorded
    there. ``run`` is what the interpretation keeps for one run of a program; None if the array is
    the same in every run, as one that came from outside is.

    Parameters
    ----------
    payload : array or Variable
        An array of the domain below, or of one that is further below.
    run : object, optional
        What the array belongs to.
    """

    __slots__ = ("__weakref__", "payload", "run")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # NumPy's arrays leave operators to these
    _backend: ClassVar[Interpretation]

    def __init__(self, payload: Any, run: Any = None) -> None:
        self.payload, self.run = payload, run

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis, as the program sees it."""
        shape: tuple[int, ...] = self.payload.shape
        return shape

    @property
    def dtype(self) -> Any:
        """The dtype of the payload."""
        return self.payload.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def device(self) -> Any:
        """The device of the payload."""
        return self._backend.below.device(getattr(self.payload, "_raw", self.payload))

    @property
    def _raw(self) -> Any:
        """What hooks see of the array."""
        return self.payload

    @property
    def _node(self) -> Any:
        """The node that made the payload, if a gradient is recorded there."""
        return getattr(self.payload, "_node", None)

    @property
    def mT(self) -> Any:  # noqa: N802 - the standard's name
        """The array with its last two axes exchanged."""
        return self._backend.function("matrix_transpose")(self)

    T = mT

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Return the array on another device."""
        return self._backend.function("to_device")(self, device, stream=stream)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """Return the raw functions of the interpretation."""
        return self._backend.namespace()

    def __bool__(self) -> bool:
        return bool(self._backend.concrete(self))

    def __int__(self) -> int:
        return int(self._backend.concrete(self))

    def __index__(self) -> int:
        return self._backend.concrete(self).__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return float(self._backend.concrete(self))

    def __complex__(self) -> complex:
        return complex(self._backend.concrete(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._backend.to_host(self, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._backend.concrete(self).__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._backend.concrete(self).__dlpack_device__()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Any:
        return iter([self[index] for index in range(len(self))])  # type: ignore[index]

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"an array of {self._backend.name} is of one run; it cannot be pickled")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __repr__(self) -> str:
        return f"<array of {self._backend.name}, shape {self.shape}, dtype {self.dtype}>"


class Interpretation(Backend):
    """A backend that stands on a domain, and computes something else of a program.

    Each array holds a payload of the domain below. A subclass says in ``rule`` what an op makes of
    arrays. There is one object for a domain: ``of`` returns it.

    Attributes
    ----------
    below : domain
        What it stands on: ``below.raw`` has its functions on raw arrays, ``below.namespace`` those
        on Variables.
    array_class : type
        The class of its arrays, derived from ``Interpreted``.
    """

    array_class: type[Interpreted] = Interpreted
    modules = ()

    def __init__(self, below: Domain) -> None:
        self.below = below
        self.level = below.level + 1
        self.name = f"{type(self).__name__.lower()}({below.backend.name})"
        self.capabilities: Capabilities = below.backend.capabilities._replace(immutable=True)
        body = {"__slots__": (), "_backend": self, "__module__": "agnograd"}
        self.array_class = type(self.array_class.__name__, (self.array_class,), body)
        self._module = _Functions(self, "")
        self._add_operators()

    @classmethod
    def domain(cls, below: Domain) -> Domain:
        """Return the domain of this interpretation over another one, built on first use."""
        name = f"{cls.__name__.lower()}({below.backend.name})"
        with filling:
            if name not in built:
                backend = cls(below)
                add_backend(backend)
                domain = domain_named(name)
                owners[backend.array_class] = domain
                for kind in (backend.array_class, domain.Variable, domain.View):
                    derived[kind] = domain
        return built[name]

    # -- what a subclass says ----------------------------------------------------------------------

    def rule(self, op: Op) -> Callable[..., Any] | None:
        """Return what computes an op, or None: then its program does, of ops in this backend.

        It is given the op's arguments: arrays of this backend, raw arrays and Variables from below,
        and Python scalars. It returns arrays of this backend.
        """
        raise NotImplementedError(f"{type(self).__name__} must override rule()")

    def concrete(self, array: Any) -> Any:
        """Return a raw array from below whose value Python may look at, or raise an error."""
        payload = array.payload
        return payload.data if isinstance(payload, Variable) else payload

    # -- payloads ----------------------------------------------------------------------------------

    def lift(self, value: Any) -> Any:
        """Return an array, or a Variable, from below as an array of this backend."""
        if type(value) is self.array_class:
            return value
        if isinstance(value, Variable):
            if value._domain.level > self.below.level:
                return NotImplemented
            tracked = value._node is not None
            return self.array_class(value if tracked else value._raw)
        domain: Domain | None = owners.get(type(value))
        if domain is None and isinstance(value, _root(self.below).array_types):
            domain = _root(self.below)
            value = domain.backend.array(value)
        if domain is None or domain.level > self.below.level:
            return NotImplemented
        return self.array_class(value)

    def payload(self, value: Any) -> Any:
        """Return the payload of an array, and anything else from below as it is."""
        return value.payload if type(value) is self.array_class else value

    def functions(self, *payloads: Any) -> Any:
        """Return the namespace below that computes with payloads: one of Variables if any is."""
        for each in payloads:
            if isinstance(each, Variable):
                return self.below.namespace
        return self.below.raw

    def function(self, name: str) -> Callable[..., Any]:
        """Return what computes an op, by its name, on arrays of this backend."""
        found: Callable[..., Any] = attrgetter(name)(built[self.name].raw)
        return found

    # -- as a backend ------------------------------------------------------------------------------

    def namespace(self) -> ModuleType:
        return self._module

    def array_types(self) -> tuple[type, ...]:
        return (self.array_class,)

    def dtype(self, name: str) -> Any:
        return self.below.dtype_or_none(name)

    def device(self, array: Any) -> Any:
        return array.device

    def own(self, array: Any) -> Any:
        return array

    def observed(
        self,
        forward: Callable[..., tuple[Call, Any]],
        op: Call,
        kernel: Callable[..., Any],
        arguments: tuple[Any, ...],
        inputs: tuple[Any, ...],
        parameters: dict[str, Any],
    ) -> tuple[Call, Any]:
        """Compute an op between the hooks of plugins, which see what its arrays stand for.

        Where that is recorded below, they see it there.
        """
        if any(isinstance(self.payload(each), Variable) for each in inputs):
            return op, kernel(*arguments)
        out: list[Any] = []

        def compute() -> Any:
            out.append(kernel(*arguments))
            several = isinstance(out[0], tuple | list)
            return tuple(map(raw_gradient, out[0])) if several else raw_gradient(out[0])

        op, _ = forward(
            self.call(op, inputs), compute, (), (*map(raw_gradient, inputs),), parameters
        )
        return op, out[0]

    def of_function(self, backward: Backward, g: Any, node: Node, xp: Any) -> Pairs:
        """Return the gradients of a call that was recorded below, by a user's function.

        ``g`` is the cotangent, a list if the call has several results. ``xp`` is the namespace of
        Variables if what is computed is to be recorded, and otherwise None.
        """
        given = g if isinstance(g, list) else [g]
        if any(isinstance(each, Variable) for each in given):
            raise GradientError(
                f"{node[OP].name} is a user's function that ran outside of {self.name}: its "
                "gradient cannot be differentiated with respect to a cotangent from inside; call "
                "the function inside, too"
            )
        edges: list[Any] = []

        def pulled(*payloads: Any) -> list[Any]:
            recorded = xp is not None or any(isinstance(each, Variable) for each in payloads)
            below = node[OP].domain
            values = [below.wrap(each) for each in payloads] if recorded else payloads
            pairs = backward(
                [*values] if isinstance(g, list) else values[0],
                node,
                below.namespace if recorded else None,
            )
            edges[:] = [edge for edge, _ in pairs]
            return [part for _, part in pairs]

        found = self.each_member(pulled, given)
        return list(zip(edges, found, strict=True))

    def each_member(
        self, f: Callable[..., Sequence[Any]], arrays: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Call a function of arrays from below that cannot be interpreted; None stays None."""
        found = f(*map(self.payload, arrays))
        return tuple([None if each is None else self.lift(each) for each in found])

    def call(self, op: Call, inputs: tuple[Any, ...]) -> Call:
        """Return how hooks see an op on these inputs."""
        return op

    def mark(self) -> Any:
        return self.below.mark()

    def synchronize(self, array: Any = None) -> None:
        self.below.backend.synchronize(raw_gradient(array))

    def quiet(self) -> Any:
        return self.below.backend.quiet()

    def set(self, x: Any, key: Any, value: Any) -> Any:
        return self.function("__setitem__")(x, key, value)

    def put(self, x: Any, key: Any, value: Any) -> Any:
        return self.set(x, key, value)

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        return into + self.function("scatter_add")(values, key, shape=into.shape)

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        add = self.function("scatter_add_axis")
        return into + add(values, indices, axis=axis, shape=into.shape)

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        found = self.concrete(array)
        return _root(self.below).backend.to_host(found, dtype=dtype, copy=copy)

    def item(self, array: Any) -> Any:
        return _root(self.below).item(self.concrete(array))

    def _add_operators(self) -> None:
        """Give the class of arrays Python's operators, each of which is an op."""

        def deferred(name: str, reflected: bool = False) -> Callable[..., Any]:
            def method(*args: Any) -> Any:
                return self.function(name)(*(args[::-1] if reflected else args))

            return method

        for short, name in (UNARY | COMPARISONS | BINARY | {"getitem": "__getitem__"}).items():
            setattr(self.array_class, f"__{short}__", deferred(name))
            if short in BINARY:
                setattr(self.array_class, f"__r{short}__", deferred(name, reflected=True))


def _root(domain: Domain) -> Domain:
    """Return the domain of a library that others stand on."""
    while isinstance(domain.backend, Interpretation):
        domain = domain.backend.below
    return domain


class _Functions(ModuleType):
    """A library's namespace as an interpretation has it: functions that compute with its arrays."""

    def __init__(self, backend: Interpretation, part: str) -> None:
        super().__init__(f"{backend.name}.{part}" if part else backend.name)
        self.__dict__.update(_backend=backend, _part=part)

    def __getattr__(self, name: str) -> Any:
        backend, part = self.__dict__["_backend"], self.__dict__["_part"]
        full = f"{part}.{name}" if part else name
        below = within(backend.below.library, full)
        if isinstance(below, ModuleType):
            return _Functions(backend, full)
        if full == "asarray":
            return partial(_asarray, backend)
        if below is not None and (
            not callable(below) or isinstance(below, type) or name[:2] == "__"
        ):
            return below
        domain = built.get(backend.name)
        found = None if domain is None else within(domain.raw, full)
        if found is None:
            raise AttributeError(f"{self.__name__} has no {name!r}")
        return found

    def __dir__(self) -> list[str]:
        backend, part = self.__dict__["_backend"], self.__dict__["_part"]
        return dir(within(backend.below.library, part))


def _asarray(
    backend: Interpretation,
    obj: Any,
    /,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
) -> Any:
    """Return an array of the interpretation: its arrays never change, and need no copy."""
    if type(obj) is not backend.array_class:
        raw = obj.data if isinstance(obj, Variable) else obj
        if is_python_scalar(raw) or isinstance(raw, list | tuple) or backend.below.level == 0:
            raw = backend.below.library.asarray(raw, dtype=dtype, device=device, copy=copy)
        return backend.lift(raw)
    if dtype is not None and dtype != obj.dtype:
        obj = backend.function("astype")(obj, dtype)
    if device is not None and device != obj.device:
        obj = backend.function("to_device")(obj, device)
    return obj
