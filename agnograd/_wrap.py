"""Functions that are no array-API programs, such as compiled ones, as ops with derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from agnograd._function import Function
from agnograd._moving import asarray
from agnograd._namespace import domain_named, domain_of, is_array
from agnograd._variable import Variable
from agnograd._wrapped import Call, brought_back, called, on_host
from agnograd.errors import AgnogradError, LostGradientError, RuleError

__all__ = ["wrap"]

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
    """Return a function of raw arrays, a compiled one say, as one of Variables.

    Parameters
    ----------
    f : callable
        Takes and returns raw arrays, or pytrees of them; it must not change its arguments. Other
        arguments, and keyword arguments, are passed on, and so are results that are no arrays or
        floats. Without ``f``, ``wrap`` returns a decorator.
    vjp : callable or "numeric", optional
        ``vjp(g, out, *args, **kwargs)`` returns the cotangent of each positional argument that
        is an array or a pytree with arrays, as a tuple, or by itself if there is one such
        argument. ``g`` is the cotangent of the result ``out``, and has its structure. A cotangent
        has its argument's structure, shapes and dtypes; None stands for no gradient.

        In a first-order pass it gets raw arrays as ``f`` does. Under ``create_graph`` it gets
        Variables: one that is made of array functions, operators and wrapped functions has
        derivatives itself.

        ``"numeric"`` takes central differences: two calls of ``f`` for each element of the
        arguments (four if it is complex), first derivatives alone, and a third or more of the
        digits lost.

        Without a ``vjp`` it is an error to ask for a gradient through ``f``.
    jvp : callable, optional
        ``jvp(tangents, out, *args, **kwargs)`` returns the tangent of the result. ``tangents`` is
        a tuple as ``vjp`` returns it. It is for forward mode, for which ``vjp`` is otherwise
        transposed, and so called with Variables.
    host : bool
        Whether the functions take NumPy's arrays alone. Arrays of other backends on the host are
        then given as such, without a copy where they can be, and what is returned comes back as
        the backend's; under ``create_graph`` ``vjp`` gets Variables on backend ``numpy``.

    Returns
    -------
    callable
        Takes Variables or raw arrays where ``f`` takes raw arrays, all of one backend, and returns
        Variables. Hooks see a call as an op of ``f``'s name.

    Raises
    ------
    RuleError
        In a backward pass, if what ``vjp`` returns does not fit, or if its derivative is needed
        and it is not made of array functions; the message names the argument.
    MissingRuleError
        In a backward pass without ``vjp``.
    UnsupportedArrayError
        When it is called, with ``host``, on arrays that are lazy, traced, or on a device.

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
        if given is not None and given != "numeric" and not callable(given):
            raise TypeError(f"wrap: {what} must be a function, not {given!r}")
    if jvp is not None and not callable(vjp):
        raise TypeError("wrap: jvp is given beside a vjp that is a function")
    wrapped = Wrapped(f, vjp, jvp, host)

    @functools.wraps(f, updated=())
    def function(*args: Any, **kwargs: Any) -> Any:
        return wrapped(args, kwargs)

    return function


class Wrapped:
    """What ``wrap`` was given."""

    def __init__(self, f: AnyFunction, vjp: Pull, jvp: AnyFunction | None, host: bool) -> None:
        self.f, self.vjp, self.jvp, self.host = f, vjp, jvp, host
        self.name = str(getattr(f, "__name__", type(f).__name__))
        self.op: type[Forward] = type(self.name, (Forward,), {})  # the name that hooks see
        self.pullback: type[Pullback] = type(f"{self.name}_vjp", (Pullback,), {})

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function, and record the call as one op."""
        call, arrays = called(self, args)
        return call.result(self.op(call)(*arrays, **kwargs))


class Forward(Function):
    """The op of one call."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.host = call.wrapped.host

    def forward(self, xp: Any, *arrays: Any, **kwargs: Any) -> Any:
        """Call the function."""
        call, domain = self.call, domain_of(arrays[0])
        call.kwargs = kwargs
        if self.host:
            there = domain_named("numpy")
            call.kwargs = {key: on_host(x, call) if is_array(x) else x for key, x in kwargs.items()}
            found = call.computed([on_host(x, call) for x in arrays], there)
            outputs = [brought_back(x, domain) for x in found]
        else:
            outputs = call.computed([domain.backend.array(x) for x in arrays], domain)
        self.save(*arrays, *outputs)
        return tuple(outputs)

    def backward(self, xp: Any, *grads: Any) -> Any:
        """Return the cotangents of the arrays."""
        count = len(self.call.places)
        inputs, outputs = self.saved[:count], self.saved[count:]
        if not isinstance(grads[0], Variable):
            return tuple(_pull(self.call, grads, inputs, outputs))
        wrapped = self.call.wrapped
        tracked = any(x.requires_grad for x in inputs)
        if wrapped.vjp == "numeric" or (wrapped.jvp is not None and not tracked):
            pullback = wrapped.pullback(self.call, [x.data for x in outputs], tracked)
            found = iter(pullback(*grads, *inputs))
            return tuple(next(found) if one else None for one in pullback.given)
        return self._again(grads, inputs, outputs)

    def _again(self, grads: Sequence[Any], inputs: Any, outputs: Any) -> Any:
        """Return the cotangents as Variables, connected to all that they depend on."""
        call = self.call
        home = inputs[0]._domain.backend.name
        lists = [grads, inputs, outputs]
        if self.host:
            lists = [[asarray(x, backend="numpy") for x in each] for each in lists]
        try:
            found = call.pull(*lists)
        except TypeError as error:
            if isinstance(error, AgnogradError) and not isinstance(error, LostGradientError):
                raise
            raise RuleError(
                f"a derivative of the vjp of {call.wrapped.name} is needed, and it is not made of "
                "array functions of Variables: write it with those, or with functions that "
                "ag.wrap gives a vjp of their own; in forward mode a jvp serves as well"
            ) from error
        return tuple(None if x is None else asarray(x, backend=home) for x in found)


class Pullback(Function):
    """The pullback of a call as a function of the cotangents, whose transpose is a push.

    The inputs are arguments, too, so that to ask for a derivative by them can be an error.
    """

    def __init__(self, call: Call, outputs: Sequence[Any], tracked: bool) -> None:
        self.call, self.outputs, self.tracked = call, outputs, tracked
        self.given: list[bool] = []  # which inputs have a cotangent; shared by all copies

    def forward(self, xp: Any, *arrays: Any) -> Any:
        """Return the cotangents that there are."""
        count = len(self.outputs)
        self.inputs = arrays[count:]
        found = _pull(self.call, arrays[:count], self.inputs, self.outputs)
        self.given[:] = [x is not None for x in found]
        return tuple(x for x in found if x is not None)

    def backward(self, xp: Any, *tangents: Any) -> Any:
        """Return the tangents of the outputs."""
        wrapped, domain = self.call.wrapped, domain_of(self.inputs[0])
        if self.tracked or any(isinstance(x, Variable) and x.requires_grad for x in tangents):
            raise RuleError(
                f"a second derivative of {wrapped.name} is needed, which vjp='numeric' and jvp do "
                "not have: ag.wrap it with a vjp that is made of array functions"
            )
        given = iter(x.data if isinstance(x, Variable) else x for x in tangents)
        lists: list[Sequence[Any]] = [
            [next(given) if one else None for one in self.given],
            self.inputs,
            self.outputs,
        ]
        if wrapped.host:
            lists = [[None if x is None else on_host(x, self.call) for x in xs] for xs in lists]
        found = self.call.push(*lists)
        if wrapped.host:
            found = [None if x is None else brought_back(x, domain) for x in found]
        return (*found, *(None for _ in self.inputs))


def _pull(call: Call, grads: Any, inputs: Any, outputs: Any) -> Any:
    """Return the cotangents of raw inputs, raw, on their own backend."""
    domain, lists = domain_of(inputs[0]), [grads, inputs, outputs]
    if call.wrapped.host:
        lists = [[on_host(x, call) for x in each] for each in lists]
    else:
        lists = [[domain.backend.array(x) for x in each] for each in lists]
    # A vjp that calls wrapped functions returns Variables.
    found = [x.data if isinstance(x, Variable) else x for x in call.pull(*lists)]
    if call.wrapped.host:
        found = [None if x is None else brought_back(x, domain) for x in found]
    return found
