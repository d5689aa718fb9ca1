"""What an interpretation has: arrays, runs, functions, and a border that arguments cross."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from operator import attrgetter
from types import ModuleType
from typing import Any, ClassVar, NoReturn, Self

from agnograd._arrays.conversions import holds_variable, stacked
from agnograd._arrays.domains import domain_of
from agnograd._arrays.levels import over
from agnograd._arrays.namespace import within
from agnograd._arrays.variable import Variable, built
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._util.locks import Lock
from agnograd.errors import AgnogradError, InterpretationError, LostGradientError

_resuming = Lock()  # of all runs: two threads may go on in one


class Run:
    """One run of a function in an interpretation: what the arrays of this run have in common.

    Derive a class from it that keeps what your interpretation finds out.

    Attributes
    ----------
    function : callable or None
        The function that runs.
    returned : bool
        Whether the function has returned.
    """

    function: Callable[..., Any] | None = None
    returned: bool = False
    resumptions: int = 0  # how many pieces of the function run again now
    error: ClassVar[type[AgnogradError]] = InterpretationError

    @property
    def ended(self) -> bool:
        """Whether the function has returned: from then on arrays of the run cannot be used."""
        return self.returned and not self.resumptions

    def meet(self, other: Run | None = None) -> Self:
        """Return this run for arrays of this run and another one.

        Raises
        ------
        InterpretationError
            If the function has returned, or if the other run is not this one. The error names the
            function.
        """
        if self.returned and not self.resumptions:  # as ``ended``, without a call
            raise self.error(
                f"an array of {self._name()} is used after its function returned: it was kept "
                "somewhere, as in a list or an attribute. Return it from the function"
            )
        if other is not None and other is not self:
            raise self.error(
                f"an array of {self._name()} met an array of {other._name()}, which does not run "
                "around it: one of them was kept somewhere, as in a list or an attribute. Return "
                "it from its function, or give it as an argument"
            )
        return self

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Go on for a while, in a pass after the function has returned."""
        with _resuming:
            self.resumptions += 1
        try:
            yield
        finally:
            with _resuming:
                self.resumptions -= 1

    def _name(self) -> str:
        name = getattr(self.function, "__qualname__", "a function")
        code = getattr(self.function, "__code__", None)
        return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else name


# What Python makes of an array whose values it looks at now: "bool" or "int"; None if it does not.
deciding: ContextVar[str | None] = ContextVar("agnograd_deciding", default=None)


class Interpreted:
    """An array of an interpretation: it stands for its ``payload``, an array from below.

    It has the attributes and operators of the standard, whose ops the interpretation computes. It
    is never written to: a write makes a new array.

    Parameters
    ----------
    payload : array or Variable
        A raw array from below, or a Variable where a gradient is recorded there.
    run : Run, optional
        The run that the array belongs to. None stands for an array that is the same in every run:
        one from outside that the function closes over, or one that is made of none.

    Attributes
    ----------
    varies : bool
        Whether the array carries a derivative beside its payload, as coefficients of a series are.
        Rules ask it, by ``is_tracked``: some have one formula for a value that is differentiated
        again, and a more exact one for all others.
    """

    __slots__ = ("__weakref__", "payload", "run")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # NumPy's arrays leave operators to these
    _backend: ClassVar[Any]  # the interpretation
    varies: bool = False

    def __init__(self, payload: Any, run: Run | None = None) -> None:
        self.payload, self.run = payload, run

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis, as the program sees it."""
        shape: tuple[int, ...] = self.payload.shape
        return shape

    # Each op asks for it: so it costs no call of a Python function.
    dtype = property(attrgetter("payload.dtype"), doc="The dtype of the payload.")

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

    def detach(self) -> Self:
        """Return the array without what tracks its payload."""
        return self._backend.detached(self)  # type: ignore[no-any-return]

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Return the array on another device."""
        return self._backend.function("to_device")(self, device, stream=stream)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """Return the raw functions of the interpretation."""
        return self._backend.namespace()  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return bool(self._looked_at("bool"))

    def __int__(self) -> int:
        return int(self._looked_at("int"))

    def __index__(self) -> int:
        return self._looked_at("int").__index__()  # type: ignore[no-any-return]

    def _looked_at(self, kind: str) -> Any:
        token = deciding.set(kind)
        try:
            return self._backend.concrete(self)
        finally:
            deciding.reset(token)

    def __float__(self) -> float:
        return float(self._backend.leaving(self))

    def __complex__(self) -> complex:
        return complex(self._backend.leaving(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._backend.leaving(self)
        return self._backend.to_host(self, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._backend.leaving(self).__dlpack__(**options)

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

    def another(self) -> Self:
        """Return another array with all that this one has: identity tells them apart."""
        found = object.__new__(type(self))
        state = object.__getstate__(self)
        for part in state if isinstance(state, tuple) else (state,):
            for name, value in (part or {}).items():
                setattr(found, name, value)
        return found

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __repr__(self) -> str:
        return f"<array of {self._backend.name}, shape {self.shape}, dtype {self.dtype}>"


def map_parts(function: Callable[[Any], Any], value: Any) -> Any:
    """Return a value with what a function returns in place of each part of lists and slices."""
    if isinstance(value, tuple | list):
        parts = [map_parts(function, each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, slice):
        return slice(*[function(bound) for bound in (value.start, value.stop, value.step)])
    return function(value)


def payload_of(array: Interpreted, run: Run) -> Any:
    """Return the payload of a result of a run; it raises if it is an array of another run."""
    if array.run is not None and array.run is not run:
        array.run.meet(run)
    return array.payload


def at_home(backend: Any, payload: Any) -> Any:
    """Return an interpretation as it is over the library of a payload, which may have moved."""
    if payload is None or isinstance(payload, backend.below.array_types):
        return backend
    return over(built[backend.name], domain_of(payload)).backend


class Functions(ModuleType):
    """A library's namespace as an interpretation has it: functions that compute with its arrays."""

    def __init__(self, backend: Any, part: str) -> None:
        super().__init__(f"{backend.name}.{part}" if part else backend.name)
        self.__dict__.update(_backend=backend, _part=part)

    def __getattr__(self, name: str) -> Any:
        backend, part = self.__dict__["_backend"], self.__dict__["_part"]
        full = f"{part}.{name}" if part else name
        below = within(backend.below.library, full)
        if isinstance(below, ModuleType):
            return Functions(backend, full)
        if full == "asarray":
            return partial(_asarray, backend)
        if below is not None and (
            not callable(below) or isinstance(below, type) or name[:2] == "__"
        ):
            return below
        domain = built.get(backend.name)
        found = None if domain is None or below is None else within(domain.raw, full)
        if found is None:
            raise AttributeError(f"{self.__name__} has no {name!r}")
        return found

    def __dir__(self) -> list[str]:
        backend, part = self.__dict__["_backend"], self.__dict__["_part"]
        return dir(within(backend.below.library, part))


def _asarray(
    backend: Any,
    obj: Any,
    /,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
) -> Any:
    """Return an array of the interpretation, a copy only where the interpretation makes one."""
    if isinstance(obj, list | tuple) and holds_variable(obj, (Variable, Interpreted)):
        obj = stacked(_own_of(backend, obj), built[backend.name].raw)
    elif isinstance(obj, Variable):
        obj = _own_of(backend, obj)
        if copy:
            obj = backend.function("astype")(obj, obj.dtype)
    elif type(obj) is not backend.array_class:
        lifted = backend.lift(obj) if backend.below.level else NotImplemented
        if lifted is NotImplemented:  # it is of no level: what is below makes an array of it
            below = backend.below.library
            return backend.lift(below.asarray(obj, dtype=dtype, device=device, copy=copy))
        obj = lifted
    if dtype is not None and dtype != obj.dtype:
        obj = backend.function("astype")(obj, dtype)
    if device is not None and device != obj.device:
        obj = backend.function("to_device")(obj, device)
    return backend.copied(obj) if copy else obj


def _own_of(backend: Any, obj: Any) -> Any:
    """Return an object with an array of the interpretation for each array that is one, or below."""
    if isinstance(obj, list | tuple):
        return [_own_of(backend, each) for each in obj]
    if isinstance(obj, Variable) and obj._domain.backend is backend:
        if obj.requires_grad:
            raise LostGradientError(
                "asarray: a function of raw arrays would lose the gradient of the Variable that it "
                "is given: use the function of x.__array_namespace__(), or pass x.detach()"
            )
        return obj.data
    lifted = NotImplemented if is_python_scalar(obj) else backend.lift(obj)
    return obj if lifted is NotImplemented else lifted
