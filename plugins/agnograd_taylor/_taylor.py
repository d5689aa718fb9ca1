"""Truncated Taylor series as arrays, and the interpretation that computes with them.

A series ``x0 + x1 t + ... + xK t^K`` is an array whose payload is x0, and which holds x1 to xK as
well. Along many directions, which are members of ``ag.vmap``, x0 is the same for all. If only the
sum over the directions is wanted of the highest coefficient, that sum is carried in its place,
since every op is linear in it (Dangel et al., "Collapsing Taylor mode automatic differentiation",
2025).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NoReturn

from agnograd import Variable, enable_grad, is_grad_enabled, namespace, stop_gradient
from agnograd.errors import LostGradientError
from agnograd.extend import Interpretation, Interpreted, Op, Run, is_python_scalar
from agnograd.extend.arguments import map_leaves
from agnograd.extend.transforms import Names, domain_of
from agnograd_taylor._calls import Call
from agnograd_taylor._own import OwnDerivative


class Expansion(Run):
    """One expansion of a function.

    Attributes
    ----------
    order : int
        The highest order.
    direction : array or None
        If coefficients of the highest order are summed over directions, an array whose members
        belong to these.
    weights : array or None
        A number for each direction, by which the sum is weighted; None stands for 1.
    """

    def __init__(self, order: int, direction: Any = None, weights: Any = None) -> None:
        self.order, self.direction, self.weights = order, direction, weights

    def total(self, x: Any) -> Any:
        """Return the sum of a payload over the directions, which is the same for all of them."""
        domain = domain_of(self.direction)
        members: Any = domain.backend
        x = members.lift(x.data if isinstance(x, Variable) else x)
        if self.weights is not None:
            x = x * domain.raw.astype(self.weights, x.dtype)
        return members.array_class(members.gathered(x, None, members.run_of(self.direction)))


_LOST = (
    "a function of another library, or a solver, has no Taylor series here: write it with "
    "functions of xp, give it a derivative by ag.wrap(f, vjp=...), or pass ag.stop_gradient(x)"
)


class _Unknown(tuple[Any, ...]):
    """The coefficients of what another library gave, until a derivative of its own says them."""

    def __getitem__(self, key: Any) -> NoReturn:
        raise LostGradientError(_LOST)

    def __iter__(self) -> NoReturn:
        raise LostGradientError(_LOST)


UNKNOWN = _Unknown()


class Series(Interpreted):
    """An array with its coefficients: ``higher`` has those of order 1 and above, None for zeros."""

    __slots__ = ("higher",)

    def __init__(self, payload: Any, run: Any = None, higher: Iterable[Any] = ()) -> None:
        super().__init__(payload, run)
        self.higher = higher if higher is UNKNOWN else tuple(higher)

    def coefficient(self, k: int) -> Any:
        """Return the coefficient of order k, None if it is zero."""
        if k == 0:
            return self.payload
        known = self.higher is UNKNOWN or k <= len(self.higher)
        return self.higher[k - 1] if known else None

    @property
    def varies(self) -> bool:  # type: ignore[override]
        """Whether a coefficient above order 0 is not zero."""
        return self.higher is UNKNOWN or any(each is not None for each in self.higher)


class Taylor(Interpretation):
    """Ops compute the Taylor series of their results from those of their inputs."""

    title = "taylor"
    array_class = Series

    def rule(self, op: Op) -> Callable[..., Any] | None:
        if op.composed:
            return None
        plain, names = super().rule(op), Names.of(op)
        if not op.rules or plain is None:
            return plain

        def computed(*args: Any, **kwargs: Any) -> Any:
            call = Call(op, names, self, args, kwargs)
            varies = call.active and is_grad_enabled()
            return call.series() if varies else plain(*args, **kwargs)

        return computed

    def by_backward(
        self, backward: Callable[..., Any] | None, inputs: Sequence[Any], out: Any
    ) -> Any:
        """Return what a function with a derivative of its own gave, with its series."""
        varies = any(isinstance(x, Series) and x.varies for x in inputs)
        if not varies or not is_grad_enabled():
            return out
        if backward is None:
            raise LostGradientError(_LOST)
        results = list(out) if isinstance(out, tuple | list) else [out]
        function = backward.__self__  # type: ignore[attr-defined]
        OwnDerivative(self, function, inputs, results).expand()
        return out

    def gathered(self, gradient: Any, run: Any, of_all: Any) -> Any:
        """Return the payload: the gradient of the value that a series begins with."""
        return gradient.payload

    def each_member(
        self, f: Callable[..., Sequence[Any]], arrays: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return what a function of another library gives, without series: these are unknown."""
        found = super().each_member(f, arrays)
        if any(isinstance(each, Series) and each.varies for each in arrays):
            for each in found:
                if each is not None:
                    each.higher = UNKNOWN
        return found

    @classmethod
    def expand(
        cls,
        f: Callable[..., Any],
        run: Expansion,
        given: Sequence[Sequence[Any]],
        fills: bool = False,
    ) -> list[Any]:
        """Return the coefficients of what a function returns, order by order.

        Parameters
        ----------
        f : callable
            A function of as many arrays as there are series.
        run : Expansion
            A new one.
        given : sequence of sequences
            The coefficients of each argument: arrays from order 0 on, None for zeros.
        fills : bool
            Whether zeros are returned as arrays, and not as None.

        Returns
        -------
        list of pytrees
            For each order, what ``f`` returns with coefficients in place of arrays. Above order 0,
            None stands for zeros.
        """
        flat = [each for series in given for each in series if each is not None]

        def seeded(*leaves: Any) -> list[Any]:
            rest, arguments, kind = iter(leaves), [], type(leaves[0].data)
            for series in given:
                first, *higher = [None if c is None else next(rest).data.payload for c in series]
                array = kind(first, run, higher)
                arguments.append(Variable(array, requires_grad=False))
            out = f(*arguments)
            return [
                map_leaves(partial(_coefficient, run, k, fills), out) for k in range(run.order + 1)
            ]

        if is_grad_enabled():
            return cls.interpret(seeded, *flat, run=run)  # type: ignore[no-any-return]
        with enable_grad():  # what a function does under no_grad is a constant: it has to be seen
            found = cls.interpret(seeded, *flat, run=run)
        return stop_gradient(found)  # type: ignore[no-any-return]


def _coefficient(run: Expansion, k: int, fills: bool, result: Any) -> Any:
    """Return the coefficient of order k of a result, which may be no series."""
    if k == 0:
        return result
    array = result.data if isinstance(result, Variable) else result
    found = array.coefficient(k) if isinstance(array, Series) else None
    if found is not None:
        return Variable(type(array)(found, run), requires_grad=False)
    if not fills:
        return None
    return result * 0 if is_python_scalar(result) else namespace(result).zeros_like(result)
