"""Functions that are not array-API programs, such as compiled ones, as ops with derivatives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from reprlib import repr as shown
from typing import Any, Literal, overload

from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._functions.function import Function
from agnograd._functions.moving import asarray
from agnograd._plugins.backends import is_array
from agnograd._transforms.members import is_above, member_by_member
from agnograd._transforms.wrapped import Wrapped, WrappedCall, raw
from agnograd._util.checks import flag_in
from agnograd.errors import AgnogradError, ArgumentError, LostGradientError, RuleError

AnyFunction = Callable[..., Any]
Pull = AnyFunction | Literal["numeric"] | None


@overload
def wrap(
    f: AnyFunction, /, *, vjp: Pull = None, jvp: AnyFunction | None = None, host: bool = False
) -> AnyFunction: ...
@overload
def wrap(
    f: None = None, /, *, vjp: Pull = None, jvp: AnyFunction | None = None, host: bool = False
) -> Callable[[AnyFunction], AnyFunction]: ...
def wrap(
    f: AnyFunction | None = None,
    /,
    *,
    vjp: Pull = None,
    jvp: AnyFunction | None = None,
    host: bool = False,
) -> AnyFunction:
    """Turn a function of raw arrays, such as a compiled one, into a function of Variables.

    Parameters
    ----------
    f : callable
        A function that takes and returns raw arrays, or pytrees of them. It must not change its
        arguments. Other arguments, and keyword arguments, are passed on unchanged, and so are
        results that are neither arrays nor floats. Without ``f``, ``wrap`` returns a decorator.
    vjp : callable or "numeric", optional
        ``vjp(g, out, *args, **kwargs)`` returns a tuple with the cotangent of each positional
        argument that is an array or a pytree with arrays, or the cotangent itself if there is only
        one. It has the argument's structure, shapes and dtypes; None stands for no gradient. ``g``
        is the cotangent of the result ``out``, and has its structure.

        If ``vjp`` has a keyword-only parameter ``needed``, it gets a tuple with one bool for each
        of these arguments: whether its cotangent may be needed. For those that are constants,
        ``vjp`` can return None and save the work.

        In a first-order pass, ``vjp`` gets raw arrays as ``f`` does. Under ``create_graph`` it gets
        Variables. If it uses only array functions, operators and wrapped functions, it has
        derivatives itself.

        ``"numeric"`` takes central differences. This calls ``f`` twice for each element of the
        tracked arguments (four times if the element is complex), gives only first derivatives, and
        loses a third or more of the digits.

        Without a ``vjp``, asking for a gradient through ``f`` raises an error.
    jvp : callable, optional
        ``jvp(tangents, out, *args, **kwargs)`` returns the tangent of the result, for forward mode.
        ``tangents`` is a tuple like the one that ``vjp`` returns. Without it, forward mode
        transposes ``vjp``, and so calls it with Variables.
    host : bool
        Whether the functions take only NumPy arrays. They then get arrays of other backends on the
        host as NumPy arrays, without a copy where possible, and their results become arrays of that
        backend. Under ``create_graph``, ``vjp`` gets Variables on backend ``numpy``.

    Returns
    -------
    callable
        Takes Variables or raw arrays, all of one backend, where ``f`` takes raw arrays, and returns
        Variables. Hooks see a call as an op with the name of ``f``.

    Raises
    ------
    RuleError
        In a backward pass, if the result of ``vjp`` does not fit, or if the derivative of ``vjp``
        is needed and it does not consist of array functions. The message names the argument.
    MissingRuleError
        In a backward pass without ``vjp``.
    UnsupportedArrayError
        When it is called with ``host`` on arrays that are lazy, traced, or on a device.

    Examples
    --------
    >>> import agnograd as ag
    >>> import math
    >>> @ag.wrap(vjp=lambda g, out, x: g * out)
    ... def exp(x):
    ...     return math.exp(x)
    >>> float(ag.grad(exp)(0.0)), float(ag.grad(ag.grad(exp))(0.0))
    (1.0, 1.0)
    """
    if f is None:
        return functools.partial(wrap, vjp=vjp, jvp=jvp, host=host)
    for what, given in (("f", f), ("vjp", vjp), ("jvp", jvp)):
        numeric = what == "vjp" and isinstance(given, str) and given == "numeric"
        if given is not None and not numeric and not callable(given):
            raise ArgumentError(f"wrap: {what} must be a function, not {shown(given)}")
    flag_in("wrap: host", host)
    if jvp is not None and not callable(vjp):
        raise ArgumentError("wrap: jvp is given beside a vjp that is a function")
    name = str(getattr(f, "__name__", type(f).__name__))
    op: type[Forward] = type(name, (Forward,), {})  # the name that hooks see
    pullback = type(f"{name}_vjp", (Pullback,), {})
    wrapped = Wrapped(f, vjp, jvp, host, callable(vjp) and _names_needed(vjp), pullback)

    @functools.wraps(f, updated=())
    def function(*args: Any, **kwargs: Any) -> Any:
        if is_above(args):
            again = wrap(f, vjp=vjp, jvp=jvp, host=host)  # this function would refer to itself
            return member_by_member(again, args, kwargs)
        call = WrappedCall(wrapped, args)
        return call.result(op(call)(*call.take(), **kwargs))

    return function


def _names_needed(vjp: AnyFunction) -> bool:
    try:
        named = inspect.signature(vjp).parameters.get("needed")
    except (TypeError, ValueError):  # it is compiled, and does not tell
        return False
    return named is not None and named.kind is named.KEYWORD_ONLY


class Forward(Function, constant_attributes=True):
    """The op of one call."""

    def __init__(self, call: WrappedCall) -> None:
        self.call = call

    def forward(self, xp: Any, *arrays: Any, **kwargs: Any) -> Any:
        """Call the function."""
        call, domain = self.call, domain_of(arrays[0])
        call.kwargs = {
            key: call.inside(x, domain_of(x)) if call.wrapped.host and is_array(x) else x
            for key, x in kwargs.items()
        }
        outputs = call.outside(call.computed([call.inside(x, domain) for x in arrays]), domain)
        self.save(*arrays, *outputs)
        return tuple(outputs)

    def backward(self, xp: Any, *grads: Any) -> Any:
        """Return the cotangents of the arrays."""
        call, wrapped = self.call, self.call.wrapped
        count = len(call.places)
        inputs, outputs = self.saved[:count], self.saved[count:]
        if not isinstance(grads[0], Variable):
            return tuple(call.on_raw(call.pull, grads, inputs, outputs))
        tracked = any(x.requires_grad for x in inputs)
        if wrapped.vjp == "numeric" or (wrapped.jvp is not None and not tracked):
            pullback = wrapped.pullback(call, [x.data for x in outputs], tracked)
            found = iter(pullback(*grads, *inputs))
            return tuple(next(found) if one else None for one in pullback.given)
        lists: Any = [grads, inputs, outputs]
        if wrapped.host:
            lists = [[asarray(x, backend="numpy") for x in each] for each in lists]
        try:
            again = call.pull(*lists)
        except TypeError as error:
            if isinstance(error, AgnogradError) and not isinstance(error, LostGradientError):
                raise
            raise RuleError(
                f"a derivative of the vjp of {call.name} is needed, and it is not made of "
                "array functions of Variables: write it with those, or with functions that "
                "ag.wrap gives a vjp of their own; in forward mode a jvp serves as well"
            ) from error
        return tuple(None if x is None else asarray(x, backend=inputs[0]) for x in again)


class Pullback(Function, constant_attributes=True):
    """The pullback of a call as a function of the cotangents, whose transpose is a push.

    The inputs are arguments, too, so that asking for a derivative by them can raise.
    """

    def __init__(self, call: WrappedCall, outputs: Sequence[Any], tracked: bool) -> None:
        self.call, self.outputs, self.tracked = call, outputs, tracked
        self.given: list[bool] = []  # which inputs have a cotangent; shared by all copies

    def forward(self, xp: Any, *arrays: Any) -> Any:
        """Return the existing cotangents."""
        grads, inputs = arrays[: len(self.outputs)], arrays[len(self.outputs) :]
        self.save(*inputs)
        found = self.call.on_raw(self.call.pull, grads, inputs, self.outputs)
        self.given[:] = [x is not None for x in found]
        return tuple(x for x in found if x is not None)

    def backward(self, xp: Any, *tangents: Any) -> Any:
        """Return the tangents of the outputs."""
        if self.tracked or any(isinstance(x, Variable) and x.requires_grad for x in tangents):
            raise RuleError(
                f"a second derivative of {self.call.name} is needed, which vjp='numeric' and jvp "
                "do not have: ag.wrap it with a vjp that is made of array functions"
            )
        left, inputs = iter(raw(tangents)), raw(self.saved)
        given = [next(left) if one else None for one in self.given]
        found = self.call.on_raw(self.call.push, given, inputs, self.outputs)
        return (*found, *(None for _ in inputs))
