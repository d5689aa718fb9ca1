"""What Python and other libraries ask of an array: operators, scalars, interchange, copies."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from agnograd._arrays.levels import is_tracked
from agnograd._graph.nodes import Edge
from agnograd._hooks.state import current_mode
from agnograd._plugins.backend import RawDomain
from agnograd._util.deferred import later
from agnograd.errors import LostGradientError, LostGradientWarning, NoUfuncError


class Ufuncs(dict[Any, "Callable[..., Any]"]):
    """What ufuncs are on one backend, each looked up when it is first called."""

    def __init__(self, domain: RawDomain) -> None:
        self._domain = domain

    def __missing__(self, ufunc: Any) -> Callable[..., Any]:
        ufunc_for = later("agnograd._plugins.protocols", "ufunc_for")
        self[ufunc] = ufunc_for(self._domain.namespace, ufunc)[1]
        return self[ufunc]


def _of_an_instance(_: object) -> NoReturn:
    raise NoUfuncError(
        "a Variable has __array_ufunc__ on its class, where NumPy's ufuncs look for it; a function "
        "that looks at the array, as one compiled by numba.vectorize does, has no derivative here: "
        "give it one by ag.wrap(f, vjp=...), or pass v.detach(), an array without a gradient"
    )


class _ArrayUfunc(property):
    """Answer for NumPy's ufuncs, ``raw * variable`` among them: ``__array_ufunc__`` of the class.

    Instances have none. NumPy looks it up on the class; other libraries' arrays, masked ones among
    them, look at the instance, and only where they find none leave ``other * variable`` to it. (A
    method behind this property would cost each operator a call more.) So what calls that of an
    instance, as a function compiled by ``numba.vectorize`` does, is told what to do instead.
    """

    def __call__(
        self, variable: Any, ufunc: Any, method: str, /, *inputs: Any, **options: Any
    ) -> Any:
        if method == "__call__" and not options:
            return variable._ufuncs[ufunc](*inputs)
        xp = variable._domain.namespace
        protocol, function = later("agnograd._plugins.protocols", "ufunc_for")(xp, ufunc)
        return protocol.call_ufunc(xp, ufunc, function, method, inputs, options)


class Protocols:
    """Python scalars, iteration, interchange with other libraries, copies."""

    __slots__ = ()
    __array_priority__ = 1000
    __array_ufunc__ = _ArrayUfunc(_of_an_instance)

    # Of the Variable that this is a part of.
    _domain: ClassVar[Any]
    _ufuncs: ClassVar[Ufuncs]
    _raw: Any
    _node: Edge | None
    data: Any

    # Python's operators are ops, which ``agnograd._arrays.operators`` makes for each backend.
    if TYPE_CHECKING:

        def __getitem__(self, key: Any, /) -> Self: ...
        def __setitem__(self, key: Any, value: Any, /) -> None: ...
        def __neg__(self) -> Self: ...
        def __add__(self, other: Any, /) -> Self: ...
        def __eq__(self, other: object, /) -> Self: ...  # type: ignore[override]
        def __ne__(self, other: object, /) -> Self: ...  # type: ignore[override]

        __abs__ = __pos__ = __invert__ = __neg__
        __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __mul__ = __rmul__ = __imul__ = (
            __add__
        )
        __truediv__ = __rtruediv__ = __itruediv__ = __floordiv__ = __rfloordiv__ = __add__
        __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __add__
        __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __add__

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any, /) -> Any:
        """Answer for NumPy's other functions, unless another library's arrays are among them."""
        # What is neither a Variable nor a backend's array may know better.
        backend_of = later("agnograd._plugins.backends", "backend_of")
        if not all(hasattr(each, "_domain") or backend_of(each) is not None for each in types):
            return NotImplemented
        xp = self._domain.namespace
        return later("agnograd._plugins.protocols", "function_for")(xp, function)(xp, args, kwargs)

    def item(self, *index: Any) -> bool | int | float | complex:
        """Return an element, by default the only one, as a Python scalar, without a gradient.

        ``index`` is one place in the flat array, or one for each axis.
        """
        if (above := self._taken_over()) is not None:
            return above.item(*index)  # type: ignore[no-any-return]
        data = self._raw
        if index:
            key = index[0] if isinstance(index[0], tuple) else index
            flat = len(key) != len(data.shape)
            data = (self._domain.raw.reshape(data, (-1,)) if flat else data)[tuple(key)]
        elif self._domain.size(data) != 1:
            raise ValueError(f"item() needs an array of one element, not of shape {data.shape}")
        elif data.shape:
            data = data[(0,) * len(data.shape)]
        item: bool | int | float | complex = self._domain.item(data)
        return item

    def _taken_over(self) -> Any:
        """Return the Variable that stands for this one where a level takes over all ops, or None.

        There, what Python sees of an array from outside may differ in the next run.
        """
        mode = current_mode()
        if mode is None or mode.whole is None or mode.whole is self._domain:
            return None
        level: Any = mode.whole
        lifted = level.backend.lift(self)
        if lifted is NotImplemented:
            return None
        known = isinstance(lifted, level.Variable)
        return lifted if known else level.Variable._make(lifted, None)

    def _looked_at(self) -> Any:
        """Return the raw array whose value Python looks at."""
        above = self._taken_over()
        return self._raw if above is None else above._raw

    def __bool__(self) -> bool:
        return bool(self._looked_at())

    def __int__(self) -> int:
        return int(self._looked_at())

    def __index__(self) -> int:
        # Python takes no CuPy array for an index, but the number in it.
        raw = self._looked_at()
        value: Any = raw if hasattr(raw, "__index__") else self.item()
        return operator.index(value)

    def __float__(self) -> float:
        value = float(self._looked_at())  # which an array that holds a derivative refuses
        self._warn_lost("float")
        return value

    def __complex__(self) -> complex:
        value = complex(self._looked_at())  # which an array that holds a derivative refuses
        self._warn_lost("complex")
        return value

    def _warn_lost(self, kind: str) -> None:
        if is_tracked(self):
            warnings.warn(
                f"AGNOGRAD: {kind}(x) of an array that requires a gradient loses the gradient; "
                "use x.item() if that is meant, or array functions if it is not",
                LostGradientWarning,
                stacklevel=3,
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._refuse_to_leave("__array__")
        if (above := self._taken_over()) is not None:
            return above.__array__(dtype, copy)
        return self._domain.backend.to_host(self.data, dtype=dtype, copy=copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        self._refuse_to_leave("__dlpack__")
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        given = {name: value for name, value in asked.items() if value is not None}
        return self.data.__dlpack__(**given)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()

    def _refuse_to_leave(self, protocol: str) -> None:
        if is_tracked(self):
            instead = later("agnograd._plugins.protocols", "instead")(self, protocol)
            raise LostGradientError(
                f"{protocol} of an array that requires a gradient would lose the gradient"
                f"{instead}; pass x.detach(), use the functions of x.__array_namespace__() (which "
                "has SciPy's in xp.special, xp.signal and others), or make the function that takes "
                "the array differentiable by ag.wrap(f, vjp=...)"
            )

    def __len__(self) -> int:
        if not self._raw.shape:
            raise TypeError("len() of a 0-d array")
        return operator.index(self._raw.shape[0])

    def __iter__(self) -> Iterator[Self]:
        shape = self._raw.shape
        if not shape:
            raise TypeError("iteration over a 0-d array")
        rest = (...,) if len(shape) > 1 else ()
        return iter([self[index, *rest] for index in range(shape[0])])

    def __repr__(self) -> str:
        return str(later("agnograd._arrays.repr", "as_text")(self))

    def _repr_html_(self) -> str:
        return str(later("agnograd._arrays.repr", "as_html")(self))

    def __format__(self, spec: str) -> str:
        """Format an array of no axes as the Python number that it holds."""
        if not spec:
            return str(self)
        if self._raw.shape:
            raise TypeError(
                f"the format {spec!r} is for numbers, not for arrays of shape {self._raw.shape}; "
                "format x.item() of one element, or x.data"
            )
        return format(self.item(), spec)

    def __copy__(self) -> Self:
        return self._domain.Variable._make(self._raw, self._node)  # type: ignore[no-any-return]
