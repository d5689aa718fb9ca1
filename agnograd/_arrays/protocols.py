"""What Python and other libraries ask of an array: operators, scalars, interchange, copies."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from agnograd._graph.nodes import Edge
from agnograd._util.deferred import later
from agnograd.errors import LostGradientError, LostGradientWarning, NoUfuncError

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain
    from agnograd._arrays.variable import Variable


class Operators:
    """Python's operators, declared for readers and type checkers.

    ``agnograd._arrays.operators`` makes them for each backend: they are that backend's ops.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __getitem__(self, key: Any, /) -> Variable: ...
        def __setitem__(self, key: Any, value: Any, /) -> None: ...
        def __abs__(self) -> Variable: ...
        def __neg__(self) -> Variable: ...
        def __pos__(self) -> Variable: ...
        def __invert__(self) -> Variable: ...
        def __add__(self, other: Any, /) -> Variable: ...
        def __radd__(self, other: Any, /) -> Variable: ...
        def __iadd__(self, other: Any, /) -> Variable: ...
        def __sub__(self, other: Any, /) -> Variable: ...
        def __rsub__(self, other: Any, /) -> Variable: ...
        def __isub__(self, other: Any, /) -> Variable: ...
        def __mul__(self, other: Any, /) -> Variable: ...
        def __rmul__(self, other: Any, /) -> Variable: ...
        def __imul__(self, other: Any, /) -> Variable: ...
        def __truediv__(self, other: Any, /) -> Variable: ...
        def __rtruediv__(self, other: Any, /) -> Variable: ...
        def __itruediv__(self, other: Any, /) -> Variable: ...
        def __floordiv__(self, other: Any, /) -> Variable: ...
        def __rfloordiv__(self, other: Any, /) -> Variable: ...
        def __mod__(self, other: Any, /) -> Variable: ...
        def __rmod__(self, other: Any, /) -> Variable: ...
        def __pow__(self, other: Any, /) -> Variable: ...
        def __rpow__(self, other: Any, /) -> Variable: ...
        def __matmul__(self, other: Any, /) -> Variable: ...
        def __rmatmul__(self, other: Any, /) -> Variable: ...
        def __and__(self, other: Any, /) -> Variable: ...
        def __or__(self, other: Any, /) -> Variable: ...
        def __xor__(self, other: Any, /) -> Variable: ...
        def __lshift__(self, other: Any, /) -> Variable: ...
        def __rshift__(self, other: Any, /) -> Variable: ...
        def __eq__(self, other: object, /) -> Variable: ...  # type: ignore[override]
        def __ne__(self, other: object, /) -> Variable: ...  # type: ignore[override]
        def __lt__(self, other: Any, /) -> Variable: ...
        def __le__(self, other: Any, /) -> Variable: ...
        def __gt__(self, other: Any, /) -> Variable: ...
        def __ge__(self, other: Any, /) -> Variable: ...


class Ufuncs(dict[Any, "Callable[..., Any]"]):
    """What ufuncs are on one backend, each looked up when it is first called."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def __missing__(self, ufunc: Any) -> Callable[..., Any]:
        ufunc_for = later("agnograd._plugins.protocols", "ufunc_for")
        function: Callable[..., Any]
        _, function = ufunc_for(self._domain.namespace, ufunc)
        self[ufunc] = function
        return function


def _of_an_instance(_: Variable) -> NoReturn:
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

    def __init__(self) -> None:
        super().__init__(_of_an_instance, doc=type(self).__doc__)

    def __call__(
        self, variable: Variable, ufunc: Any, method: str, /, *inputs: Any, **options: Any
    ) -> Any:
        if method == "__call__" and not options:
            return variable._ufuncs[ufunc](*inputs)
        xp = variable._domain.namespace
        protocol, function = later("agnograd._plugins.protocols", "ufunc_for")(xp, ufunc)
        return protocol.call_ufunc(xp, ufunc, function, method, inputs, options)


class Protocols(Operators):
    """Python scalars, iteration, interchange with other libraries, copies."""

    __slots__ = ()
    __array_priority__ = 1000
    __array_ufunc__ = _ArrayUfunc()

    if TYPE_CHECKING:
        _domain: ClassVar[Domain]
        _ufuncs: ClassVar[Ufuncs]
        _raw: Any
        _node: Edge | None

        @property
        def data(self) -> Any: ...
        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def ndim(self) -> int: ...
        @property
        def size(self) -> int | None: ...
        @property
        def is_leaf(self) -> bool: ...
        @property
        def requires_grad(self) -> bool: ...

        @property
        def grad(self) -> Variable | None: ...

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        /,
    ) -> Any:
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
        if index:
            key = index[0] if isinstance(index[0], tuple) else index
            data = (
                self._raw if len(key) == self.ndim else self._domain.raw.reshape(self._raw, (-1,))
            )
            chosen: bool | int | float | complex = self._domain.item(data[tuple(key)])
            return chosen
        if self.size != 1:
            raise ValueError(f"item() needs an array of one element, not of shape {self.shape}")
        data = self._raw[(0,) * self.ndim] if self.ndim else self._raw
        item: bool | int | float | complex = self._domain.item(data)
        return item

    def __bool__(self) -> bool:
        return bool(self._raw)

    def __int__(self) -> int:
        return int(self._raw)

    def __index__(self) -> int:
        # Python takes no CuPy array for an index, but the number in it.
        value: Any = self._raw if hasattr(self._raw, "__index__") else self.item()
        return operator.index(value)

    def __float__(self) -> float:
        self._warn_lost("float")
        return float(self._raw)

    def __complex__(self) -> complex:
        self._warn_lost("complex")
        return complex(self._raw)

    def _warn_lost(self, kind: str) -> None:
        if self._node is not None:
            warnings.warn(
                f"AGNOGRAD: {kind}(x) of an array that requires a gradient loses the gradient; "
                "use x.item() if that is meant, or array functions if it is not",
                LostGradientWarning,
                stacklevel=3,
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._refuse_to_leave("__array__")
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
        options = {
            "stream": stream,
            "max_version": max_version,
            "dl_device": dl_device,
            "copy": copy,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return self.data.__dlpack__(**given)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()

    def _refuse_to_leave(self, protocol: str) -> None:
        if self._node is not None:
            instead = later("agnograd._plugins.protocols", "instead")(self, protocol)
            raise LostGradientError(
                f"{protocol} of an array that requires a gradient would lose the gradient"
                f"{instead}; pass x.detach(), use the functions of x.__array_namespace__() (which "
                "has SciPy's in xp.special, xp.signal and others), or make the function that takes "
                "the array differentiable by ag.wrap(f, vjp=...)"
            )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[Variable]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        rest = (...,) if len(self.shape) > 1 else ()
        return iter([self[index, *rest] for index in range(self.shape[0])])

    def __repr__(self) -> str:
        from agnograd._arrays.repr import as_text

        return as_text(self)  # type: ignore[arg-type]

    def __format__(self, spec: str) -> str:
        """Format an array of no axes as the Python number that it holds."""
        if not spec:
            return str(self)
        if self.shape:
            raise TypeError(
                f"the format {spec!r} is for numbers, not for arrays of shape {self.shape}; "
                "format x.item() of one element, or x.data"
            )
        return format(self.item(), spec)

    def _repr_html_(self) -> str:
        from agnograd._arrays.repr import as_html

        return as_html(self)  # type: ignore[arg-type]

    def __copy__(self) -> Variable:
        copied: Variable = self._domain.Variable._make(self._raw, self._node)
        return copied
