"""One call of a wrapped function: its arrays among arguments and results, and where they lie."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_named, domain_of
from agnograd._arrays.levels import is_tracked
from agnograd._arrays.variable import Variable
from agnograd._functions.moving import carried
from agnograd._functions.numeric import pulled, pushed
from agnograd._functions.runs import TAKEN, Prepared
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import is_array
from agnograd._util.trees import flatten, paths, unflatten
from agnograd.errors import MissingRuleError, RuleError, UnsupportedArrayError

_CPU = (1, 3, 11, 13)  # DLPack's devices whose memory the host can read: kDLCPU, and pinned memory
Arrays = Sequence[Any]
# For each argument with arrays: its structure, and which of its leaves are arrays.
Groups = list[tuple[Any, list[bool]]]


class Wrapped(NamedTuple):
    """What ``wrap`` was given, whether ``vjp`` is told what is needed, and the op's pullback."""

    f: Callable[..., Any]
    vjp: Any
    jvp: Callable[..., Any] | None
    host: bool
    told: bool
    pullback: type[Any]


def _dealt(values: Arrays, groups: Groups) -> list[list[Any]]:
    """Return what belongs to the leaves of each argument, of values of all arrays among them."""
    left = iter(values)
    return [[next(left) if one else None for one in arrays] for _, arrays in groups]


def raw(values: Arrays) -> list[Any]:
    """Return raw arrays, of which some may be Variables."""
    return [x.data if isinstance(x, Variable) else x for x in values]


class WrappedCall(Prepared):
    """One call: how its arrays belong to its arguments and results, none of which it keeps."""

    kwargs: dict[str, Any]
    results: list[Any]  # the leaves of the result, TAKEN for arrays

    def __init__(self, wrapped: Wrapped, args: tuple[Any, ...]) -> None:
        super().__init__(wrapped.f, args, {}, is_array)
        self.wrapped = wrapped
        # Whether each array among the arguments is tracked, and its cotangent may be asked for.
        self.asked = [is_tracked(self.leaves[place]) for place in self.places]

    def filled(self, values: Iterable[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with these arrays."""
        return super().filled(values)[0], self.kwargs

    def computed(self, arrays: Arrays) -> list[Any]:
        """Call the function on raw arrays; return the arrays of its result."""
        domain, found = domain_of(arrays[0]), self(arrays)
        self.results = [TAKEN if is_array(x) or type(x) in (float, complex) else x for x in found]
        return [
            domain.to_raw(x) for x, one in zip(found, self.results, strict=True) if one is TAKEN
        ]

    def result(self, arrays: Arrays, cotangents: bool = False) -> Any:
        """Return the result with these arrays; cotangents are None where it has no array."""
        given = iter(arrays)
        leaves = [
            next(given) if one is TAKEN else None if cotangents else one for one in self.results
        ]
        # None has no leaves of its own: it stands where the result has something.
        return unflatten(self.structure, leaves)

    def _groups(self) -> Groups:
        args, _ = unflatten(self.tree, self.leaves)
        groups = []
        for leaves, tree in map(flatten, args):
            arrays = [leaf is TAKEN for leaf in leaves]
            if any(arrays):
                groups.append((tree, arrays))
        return groups

    # -- the derivatives on arrays as the functions take them --------------------------------------

    def pull(self, grads: Arrays, inputs: Arrays, outputs: Arrays) -> list[Any]:
        """Return the cotangents of the inputs; arrays may be raw or Variables."""
        wrapped, domain = self.wrapped, domain_of(inputs[0])
        if wrapped.vjp is None:
            raise MissingRuleError(
                f"{self.name} was wrapped without a derivative: give "
                f"ag.wrap({self.name}, vjp=...) one, or vjp='numeric'; or use "
                "ag.stop_gradient on its arguments, if no gradient shall flow through it"
            )
        if wrapped.vjp == "numeric":
            return self._numeric(grads, inputs)
        g, out = self.result(grads, cotangents=True), self.result(outputs)
        told, (args, kwargs) = {}, self.filled(inputs)
        groups = self._groups()
        if wrapped.told:
            told["needed"] = tuple(any(each) for each in _dealt(self.asked, groups))
        found = self._cotangents(wrapped.vjp(g, out, *args, **kwargs, **told), groups)
        return [
            None if one is None else self._fitted(one, x, index, domain)
            for index, (one, x) in enumerate(zip(found, inputs, strict=True))
        ]

    def _cotangents(self, found: Any, groups: Groups) -> list[Any]:
        """Return the cotangent of each array among the arguments, from what ``vjp`` returned."""
        several = isinstance(found, tuple | list)
        if len(groups) == 1 and not (isinstance(found, tuple) and len(found) == 1):
            found, several = (found,), True
        if not several or len(found) != len(groups):
            count = len(found) if several else 1
            raise RuleError(
                f"the vjp of {self.name} returned {count} cotangents for {len(groups)} "
                "arguments with arrays; return one for each, in their order, or None"
            )
        flat: list[Any] = []
        for (tree, arrays), one in zip(groups, found, strict=True):
            try:
                leaves = [None] * len(arrays) if one is None else tree.flatten_up_to(one)
            except ValueError as error:
                raise RuleError(
                    f"the vjp of {self.name} returned a cotangent that has not the structure "
                    f"of its argument: {error}"
                ) from error
            flat += [leaf for leaf, is_one in zip(leaves, arrays, strict=True) if is_one]
        return flat

    def _fitted(self, one: Any, x: Any, index: int, domain: Domain) -> Any:
        """Return a cotangent that was checked: it has its input's shape and dtype."""
        if is_python_scalar(one):
            one = domain.library.asarray(one, dtype=x.dtype, device=domain.device(x))
        wrong = ""
        kinds: tuple[Any, ...] = (domain.Variable, *domain.array_types)
        if not isinstance(one, kinds):
            wrong = f"{type(one).__name__}, not an array of backend {domain.backend.name!r}"
        elif one.shape != x.shape:
            wrong = f"an array of shape {one.shape}; the argument has {x.shape}"
        elif one.dtype != x.dtype:
            wrong = f"an array of dtype {one.dtype}; the argument has {x.dtype}"
        if wrong:
            raise RuleError(f"the vjp of {self.name} returned for {self._named(index)} {wrong}")
        return one

    def _named(self, index: int) -> str:
        """Return what the argument is called that an array belongs to."""
        _, first, *rest = paths(unflatten(self.tree, self.leaves))[self.places[index]]
        try:
            names = list(inspect.signature(self.f).parameters)
        except (TypeError, ValueError):
            names = []
        name = names[first] if first < len(names) else first
        return f"argument {name!r}" + "".join(f"[{part!r}]" for part in rest)

    def _numeric(self, grads: Arrays, inputs: Arrays) -> list[Any]:
        """Return central differences by those arrays that are tracked, and None for others."""
        chosen = [index for index, asked in enumerate(self.asked) if asked]

        def of_chosen(arrays: Arrays) -> list[Any]:
            known = dict(zip(chosen, arrays, strict=True))
            return self.computed([known.get(index, x) for index, x in enumerate(inputs)])

        found = iter(pulled(of_chosen, [inputs[index] for index in chosen], grads))
        return [next(found) if asked else None for asked in self.asked]

    def push(self, tangents: Arrays, inputs: Arrays, outputs: Arrays) -> list[Any]:
        """Return the tangents of the outputs, raw."""
        jvp, domain = self.wrapped.jvp, domain_of(inputs[0])
        if jvp is None:
            return pushed(self.computed, inputs, tangents)
        groups = self._groups()
        dealt = zip(groups, _dealt(tangents, groups), strict=True)
        given = tuple(unflatten(tree, leaves) for (tree, _), leaves in dealt)
        args, kwargs = self.filled(inputs)
        found = flatten(jvp(given, self.result(outputs), *args, **kwargs))[0]
        if len(found) != len(outputs):
            raise RuleError(
                f"the jvp of {self.name} returned {len(found)} tangents for {len(outputs)} results"
            )
        return [domain.to_raw(each) for each in found]

    # -- where the arrays lie ----------------------------------------------------------------------

    def on_raw(self, method: Callable[..., list[Any]], *lists: Arrays) -> list[Any]:
        """Call ``pull`` or ``push`` with raw arrays; return raw ones on the inputs' backend."""
        domain = domain_of(lists[1][0])
        lists = tuple([x if x is None else self.inside(x, domain) for x in xs] for xs in lists)
        # A vjp that calls wrapped functions returns Variables.
        return self.outside(raw(method(*lists)), domain)

    def inside(self, x: Any, domain: Domain) -> Any:
        """Return a raw array as the functions take it: NumPy's, if they ask for that."""
        backend = domain.backend
        x = backend.array(x)
        if not self.wrapped.host or domain is domain_named("numpy"):
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
            f"{self.name} takes NumPy's arrays (host=True), and those of backend "
            f"{backend.name!r} {reason}: move them first, with their gradient, by "
            "ag.asarray(x, backend='numpy')"
        )

    def outside(self, found: Arrays, domain: Domain) -> list[Any]:
        """Return what the functions made as raw arrays of a backend, of the same dtype."""
        host = domain_named("numpy")
        if not self.wrapped.host or domain is host:
            return list(found)
        return [None if x is None else carried(x, host, domain) for x in found]
