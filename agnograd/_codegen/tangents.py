"""What ops make of tangents: fast where their rules say how, without the transpose of a pullback.

A rule is declared as element-wise, linear, multilinear, or as a pullback. The first multiplies
tangents as it does cotangents. An op that is linear, in all or in each of its inputs, is applied to
the tangents themselves. Of a pullback, only that of a single real number helps: the gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

from agnograd._codegen.products import guarded
from agnograd._graph.nodes import FIRST, OP, Node
from agnograd._ops.op import Kind, Op
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backend import RawDomain


class Tangent:
    """A raw tangent; ``masked`` if zeros in it may mean that nothing is asked.

    It is ``kept`` if a node that was recorded needs it as it is, and ``written`` if its array was
    written to.
    """

    __slots__ = ("kept", "masked", "raw", "written")

    def __init__(self, raw: Any, masked: bool = True, written: bool = False) -> None:
        self.raw, self.masked, self.written, self.kept = raw, masked, written, False


# For each edge of a node, or each result of an op; None stands for zeros.
Tangents = Sequence[Tangent | None]


class Along:
    """What pushes tangents through calls of an op, as its rules are declared."""

    def __init__(self, op: Op) -> None:
        self.op = op

    @cached_property
    def kind(self) -> Kind:
        """The kind of the rules."""
        return next(iter(self.op.rules.values())).kind

    @cached_property
    def refuses(self) -> bool:
        """Whether there is no derivative with respect to an input, for a reason."""
        return any(rule.reason for rule in self.op.rules.values())

    @cached_property
    def places(self) -> list[int]:
        """Where differentiable inputs are among arrays, unless these are a sequence."""
        return [self.op.arrays.index(name) for name in self.op.differentiable]

    @cached_property
    def parameters(self) -> tuple[list[str], str | None, list[str]]:
        """The parameters that are given by position, the one with a star, and those by name."""
        found = self.op.signature.parameters.values()
        named = [each.name for each in found if each.kind is each.KEYWORD_ONLY]
        several = next((each.name for each in found if each.kind is each.VAR_POSITIONAL), None)
        return [n for n in self.op.parameters if n not in (*named, several)], several, named

    def __call__(
        self,
        node: Node,
        out: Any,
        given: Tangents,
        inputs: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Tangents | None:
        """Return the tangents of a call's raw results; None if only a transpose gives them.

        ``given`` are those of the node's edges; the op was given ``inputs`` and ``options``.
        """
        domain, op = node[OP].domain, self.op
        if self.kind == "elementwise":  # a complex one is holomorphic, unless its result is real
            holomorphic = domain.is_complex(out.dtype) or not _any_complex(domain, given)
            return [_scaled(node, out, given)] if node[OP].compiled.works and holomorphic else None
        if self.kind == "vjp":
            one = op.outputs == "one" and out.shape == () and not domain.is_complex(out.dtype)
            return (
                [_contracted(node, out, given)] if one and not _any_complex(domain, given) else None
            )
        if self.refuses:
            return None
        for each in given:
            if each is not None and 0 not in each.raw.shape:
                break
        else:  # a mean of no elements is NaN, but does not depend on any
            results = out if isinstance(out, tuple | list) else [out]
            return [Tangent(domain.raw.zeros_like(each)) for each in results]
        found = self._applied(domain, given, inputs, options)
        alike = all(map(_alike, found, out if isinstance(out, tuple | list) else [out]))
        writes = op.overwrite is not None
        return [Tangent(each, written=writes) for each in found] if alike else None

    def _applied(
        self,
        domain: RawDomain,
        given: Tangents,
        inputs: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Sequence[Any]:
        """Apply the op to tangents of its inputs, in all of which or in each it is linear."""
        places = range(len(given)) if self.op.sequence else self.places
        if self.kind == "linear":
            arrays = list(inputs)
            for place, tangent in zip(places, given, strict=True):
                arrays[place] = _zeros(inputs[place], domain) if tangent is None else tangent.raw
            out = self._called(domain, arrays, options)
            return out if isinstance(out, tuple | list) else [out]
        total = None
        for place, tangent in zip(places, given, strict=True):
            if tangent is not None:
                arrays = [*inputs[:place], tangent.raw, *inputs[place + 1 :]]
                part = self._called(domain, arrays, options)
                total = part if total is None else total + part
        return [total]

    def _called(self, domain: RawDomain, arrays: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Call the op on raw arrays."""
        op, (positional, several, named) = self.op, self.parameters
        known = {op.sequence: arrays} if op.sequence else dict(zip(op.arrays, arrays, strict=True))
        known = {**known, **options}
        first = [known[name] for name in positional]
        rest = () if several is None else known[several]
        # Without arrays that are None: it is not always the libraries'.
        others = {n: known[n] for n in named if known[n] is not None or n not in op.arrays}
        return attrgetter(op.name)(domain.raw)(*first, *rest, **others)


def _scaled(node: Node, out: Any, given: Tangents) -> Tangent:
    """Multiply tangents with the derivatives of an element-wise op, as its rules do cotangents."""
    call, masked = node[OP], False
    total: Any = None
    domain, compiled = call.domain, call.compiled
    xp, backend = domain.raw, domain.backend
    # Without facts of the inputs, gradients are not summed over broadcast axes, or cast.
    names, saved = call.plan.names, call.unpack(node[FIRST : call.first])
    values = [None if name == "match" else x for name, x in zip(names, saved, strict=True)]
    is_complex = domain.is_complex(out.dtype)
    for number, tangent in enumerate(given):
        if tangent is None:
            continue
        g, hidden = tangent.raw, tangent.masked
        g = g if g.dtype == out.dtype else xp.astype(g, out.dtype)
        g = g if g.shape == out.shape else xp.broadcast_to(g, out.shape)
        g = xp.conj(g) if is_complex else g
        edges: list[Any] = [None] * len(given)
        edges[number] = node[call.first + number]
        one = [*node[:FIRST], *values, *edges]
        # As in a pass: zeros are looked for until there are none.
        zeros = backend.has_zeros(g) if hidden and compiled.guards else False
        found = None if zeros is None else compiled.backward(g, one, xp)[number][1]
        if found is None or (zeros and backend.has_nan(found)):
            found = compiled.guarded(g, one, xp)[number][1]
        found = xp.conj(found) if is_complex else found
        total = found if total is None else total + found
        masked = masked or (hidden and not (compiled.guards and zeros is False))
    return Tangent(total if total.dtype == out.dtype else xp.astype(total, out.dtype), masked)


def _contracted(node: Node, out: Any, given: Tangents) -> Tangent:
    """Contract tangents with the gradients of one real number: its Jacobian is a single row."""
    call = node[OP]
    total: Any = None
    domain, xp = call.domain, call.domain.raw
    edges = [None if t is None else e for e, t in zip(node[call.first :], given, strict=True)]
    taken = [*node[:FIRST], *call.unpack(node[FIRST : call.first]), *edges]
    pairs = call.compiled.backward(domain.ones(out), taken, xp)
    for (_, g), tangent in zip(pairs, given, strict=True):
        if g is not None and tangent is not None:
            part = xp.sum(
                guarded(domain, tangent.raw, g, xp) if tangent.masked else tangent.raw * g
            )
            total = part if total is None else total + part
    if total is None:
        return Tangent(xp.zeros_like(out))
    return Tangent(total if total.dtype == out.dtype else xp.astype(total, out.dtype))


def _zeros(x: Any, domain: RawDomain) -> Any:
    if x is None:
        return None
    return type(x)(0) if is_python_scalar(x) else domain.raw.zeros_like(x)


def _any_complex(domain: RawDomain, given: Tangents) -> bool:
    return any(each is not None and domain.is_complex(each.raw.dtype) for each in given)


def _alike(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and one.dtype == other.dtype)
