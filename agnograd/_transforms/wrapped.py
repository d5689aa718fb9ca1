"""One call of a wrapped function: its arrays among arguments and results, and where they lie."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agnograd._arrays.domains import domain_named, domain_of
from agnograd._arrays.variable import Variable
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import is_array
from agnograd._transforms.moving import carried
from agnograd._transforms.numeric import pulled, pushed
from agnograd._util.trees import flatten, paths, unflatten
from agnograd.errors import MissingRuleError, RuleError, UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain
    from agnograd._transforms.wrap import Wrapped

_CPU = (1, 3, 11, 13)  # DLPack's devices whose memory the host can read: kDLCPU, and pinned memory

ARRAY: Any = object()  # stands for an array among leaves


def called(wrapped: Wrapped, args: tuple[Any, ...]) -> tuple[WrappedCall, list[Any]]:
    """Return a call, which keeps no array alive, and the arrays among its arguments."""
    leaves, tree = flatten(args)
    places = [place for place, leaf in enumerate(leaves) if is_array(leaf)]
    arrays = [leaves[place] for place in places]
    for place in places:
        leaves[place] = ARRAY
    asked = [isinstance(array, Variable) and array.requires_grad for array in arrays]
    return WrappedCall(wrapped, leaves, tree, places, asked), arrays


class WrappedCall:
    """One call: how its arrays belong to its arguments and results.

    Attributes
    ----------
    leaves, tree, places
        The leaves of the positional arguments, with ``ARRAY`` for arrays, their structure, and
        which of them are arrays.
    asked
        For each of these arrays, whether it is tracked, and so a cotangent may be asked for.
    kwargs : dict
        The keyword arguments.
    results, structure
        The leaves of the result, with ``ARRAY`` for arrays, and their structure.
    """

    kwargs: dict[str, Any]
    results: list[Any]
    structure: Any

    def __init__(
        self,
        wrapped: Wrapped,
        leaves: list[Any],
        tree: Any,
        places: list[int],
        asked: list[bool],
    ) -> None:
        self.wrapped, self.leaves, self.tree, self.places = wrapped, leaves, tree, places
        self.asked = asked

    def filled(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Return the positional arguments with these arrays."""
        known = dict(zip(self.places, arrays, strict=True))
        leaves = [known.get(place, leaf) for place, leaf in enumerate(self.leaves)]
        args: tuple[Any, ...] = unflatten(self.tree, leaves)
        return args

    def result(self, arrays: Sequence[Any], cotangents: bool = False) -> Any:
        """Return the result with these arrays; cotangents are None where it has no array."""
        given = iter(arrays)
        leaves = [
            next(given) if one is ARRAY else None if cotangents else one for one in self.results
        ]
        # None has no leaves of its own: it stands where the result has something.
        return unflatten(self.structure, leaves)

    def computed(self, arrays: Sequence[Any], domain: Domain) -> list[Any]:
        """Call the function on raw arrays; return the arrays of its result."""
        found, self.structure = flatten(self.wrapped.f(*self.filled(arrays), **self.kwargs))
        self.results = [ARRAY if is_array(x) or type(x) in (float, complex) else x for x in found]
        return [
            domain.to_raw(x) for x, kind in zip(found, self.results, strict=True) if kind is ARRAY
        ]

    def holding(self, values: Sequence[Any]) -> list[tuple[Any, Any, list[int]]]:
        """Return what stands for each argument with arrays if these values are the leaves.

        With it come the argument's structure, and which of its leaves are arrays.
        """
        found = []
        arguments = unflatten(self.tree, self.leaves), unflatten(self.tree, values)
        for argument, value in zip(*arguments, strict=True):
            leaves, tree = flatten(argument)
            arrays = [index for index, leaf in enumerate(leaves) if leaf is ARRAY]
            if arrays:
                found.append((value, tree, arrays))
        return found

    def cotangents(self, found: Any) -> list[Any]:
        """Return the cotangent of each array among the arguments, from what ``vjp`` returned."""
        holding = self.holding(self.leaves)
        several = isinstance(found, tuple | list)
        if len(holding) == 1 and not (isinstance(found, tuple) and len(found) == 1):
            found, several = (found,), True
        if not several or len(found) != len(holding):
            count = len(found) if several else 1
            raise RuleError(
                f"the vjp of {self.wrapped.name} returned {count} cotangents for {len(holding)} "
                "arguments with arrays; return one for each, in their order, or None"
            )
        flat: list[Any] = []
        for (_, tree, arrays), one in zip(holding, found, strict=True):
            leaves = None if one is None else self._like(tree, one)
            flat += [None if leaves is None else leaves[index] for index in arrays]
        return flat

    def _like(self, tree: Any, one: Any) -> list[Any]:
        """Return the leaves of a cotangent that has the structure of its argument."""
        try:
            found: list[Any] = tree.flatten_up_to(one)
        except ValueError as error:
            raise RuleError(
                f"the vjp of {self.wrapped.name} returned a cotangent that has not the structure "
                f"of its argument: {error}"
            ) from error
        return found

    def named(self, index: int) -> str:
        """Return what the argument is called that an array belongs to."""
        first, *rest = paths(unflatten(self.tree, self.leaves))[self.places[index]]
        try:
            names = list(inspect.signature(self.wrapped.f).parameters)
        except (TypeError, ValueError):
            names = []
        name = names[first] if first < len(names) else first
        return f"argument {name!r}" + "".join(f"[{part!r}]" for part in rest)

    def fitted(self, found: Sequence[Any], inputs: Sequence[Any], domain: Domain) -> list[Any]:
        """Return cotangents that were checked: each has its input's shape and dtype."""
        return [
            None if one is None else self._fitted(one, x, f"for {self.named(index)}", domain)
            for index, (one, x) in enumerate(zip(found, inputs, strict=True))
        ]

    def _fitted(self, one: Any, x: Any, where: str, domain: Domain) -> Any:
        if is_python_scalar(one):
            one = domain.library.asarray(one, dtype=x.dtype, device=domain.device(x))
        what = f"the vjp of {self.wrapped.name} returned {where}"
        if not isinstance(one, (domain.Variable, *domain.array_types)):
            raise RuleError(
                f"{what} {type(one).__name__}, not an array of backend {domain.backend.name!r}"
            )
        for fact in ("shape", "dtype"):
            if getattr(one, fact) != getattr(x, fact):
                raise RuleError(
                    f"{what} an array of {fact} {getattr(one, fact)}; the argument has "
                    f"{getattr(x, fact)}"
                )
        return one

    # -- the derivatives on raw arrays, where the functions take them ------------------------------

    def pull(self, grads: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """Return the cotangents of the inputs; arrays may be raw or Variables."""
        vjp = self.wrapped.vjp
        if vjp is None:
            raise MissingRuleError(
                f"{self.wrapped.name} was wrapped without a derivative: give "
                f"ag.wrap({self.wrapped.name}, vjp=...) one, or vjp='numeric'; or use "
                "ag.stop_gradient on its arguments, if no gradient shall flow through it"
            )
        domain = domain_of(inputs[0])
        if vjp == "numeric":
            return self._numeric(grads, inputs, domain)
        g, out = self.result(grads, cotangents=True), self.result(outputs)
        told = {"needed": self.needed()} if self.wrapped.told else {}
        found = self.cotangents(vjp(g, out, *self.filled(inputs), **self.kwargs, **told))
        return self.fitted(found, inputs, domain)

    def needed(self) -> tuple[bool, ...]:
        """Return, for each argument with arrays, whether its cotangent may be asked for."""
        known = dict(zip(self.places, self.asked, strict=True))
        holding = self.holding([known.get(place, False) for place in range(len(self.leaves))])
        return tuple(any(flatten(value)[0]) for value, _, _ in holding)

    def _numeric(self, grads: Sequence[Any], inputs: Sequence[Any], domain: Domain) -> list[Any]:
        """Return central differences by those arrays that are tracked, and None for others."""
        chosen = [index for index, asked in enumerate(self.asked) if asked]

        def of_chosen(arrays: Sequence[Any]) -> list[Any]:
            known = dict(zip(chosen, arrays, strict=True))
            return self.computed([known.get(i, x) for i, x in enumerate(inputs)], domain)

        found = dict(
            zip(chosen, pulled(of_chosen, [inputs[i] for i in chosen], grads), strict=True)
        )
        return [found.get(index) for index in range(len(inputs))]

    def push(self, tangents: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """Return the tangents of the outputs, raw."""
        domain, jvp = domain_of(inputs[0]), self.wrapped.jvp
        if jvp is None:
            return pushed(functools.partial(self.computed, domain=domain), inputs, tangents)
        known = dict(zip(self.places, tangents, strict=True))
        holding = self.holding([known.get(place) for place in range(len(self.leaves))])
        given = tuple(tangent for tangent, _, _ in holding)
        out = self.result(outputs)
        found = flatten(jvp(given, out, *self.filled(inputs), **self.kwargs))[0]
        if len(found) != len(outputs):
            raise RuleError(
                f"the jvp of {self.wrapped.name} returned {len(found)} tangents for "
                f"{len(outputs)} results"
            )
        return [domain.to_raw(each) for each in found]


def _host() -> Domain:
    return domain_named("numpy")


def on_host(x: Any, call: WrappedCall) -> Any:
    """Return a raw array as NumPy's.

    Raises
    ------
    UnsupportedArrayError
        If it is lazy, or lies where the host cannot read it.
    """
    domain = domain_of(x)
    backend = domain.backend
    x = backend.array(x)
    if domain is _host():
        return x
    reason = "are lazy"
    if not backend.capabilities.lazy:
        try:
            kind = int(x.__dlpack_device__()[0])
            if kind in _CPU:
                return backend.to_host(x, copy=False)
            reason = f"lie on another device ({domain.device(x)})"
        except Exception as error:
            reason = f"cannot be shared with NumPy ({type(error).__name__})"
    raise UnsupportedArrayError(
        f"{call.wrapped.name} takes NumPy's arrays (host=True), and those of backend "
        f"{backend.name!r} {reason}: move them first, with their gradient, by "
        "ag.asarray(x, backend='numpy')"
    )


def brought_back(x: Any, domain: Domain) -> Any:
    """Return NumPy's array as one of a backend's, of the same dtype."""
    return domain.backend.array(x) if domain is _host() else carried(x, _host(), domain)
