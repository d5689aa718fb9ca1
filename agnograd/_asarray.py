"""Making Variables of raw arrays, Python scalars, and nested lists; and of other dtypes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agnograd._fit import is_python_scalar
from agnograd._variable import Variable
from agnograd.errors import MixedBackendsError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = ["holds_variable", "make_asarray", "make_astype", "make_from_dlpack"]


def make_asarray(domain: Domain) -> Callable[..., Variable]:
    """Return the ``asarray`` function of a backend's namespace."""

    def asarray(
        obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
    ) -> Variable:
        """Return ``obj`` as a Variable.

        A Variable of this backend comes back as it is, still connected, unless a copy, another
        dtype or another device is asked for. Variables inside of nested lists stay connected.
        """
        xp = domain.namespace
        if isinstance(obj, Variable):
            if obj._domain is not domain:
                raise MixedBackendsError(
                    f"asarray: the Variable is on backend {obj._domain.backend.name!r}, not on "
                    f"{domain.backend.name!r}; {domain.how_to_meet(obj._domain)}"
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
