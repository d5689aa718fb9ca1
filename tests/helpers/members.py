"""Calls of an op for many members at once, and the single calls that they stand for."""

import itertools
from operator import attrgetter

import numpy as np

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd._ops.batching import batching_rule
from arrays import host

DOMAIN = domain_named("numpy")
SIZE = 3


def drawn(op, sample, seed):
    """Return a sample's call, bound to the op's parameters."""
    args, kwargs = sample.make(DOMAIN.library, seed)
    if sample.before is not None:
        args = (sample.before(args[0], DOMAIN.raw), *args[1:])
    return op.signature.bind(*args, **kwargs)


def copied(call):
    return call.signature.bind(*call.args, **call.kwargs)


def choices(op, sample):
    """Yield each choice of mapped inputs, with the calls of all members and that of the batch."""
    calls = [drawn(op, sample, seed) for seed in range(SIZE)]
    given = calls[0].arguments
    arrays = [
        name
        for name in op.arrays
        if isinstance(given.get(name), np.ndarray) or (name == op.sequence and given.get(name))
    ]
    for count in range(1, len(arrays) + 1):
        for mapped in itertools.combinations(arrays, count):
            members, whole = [copied(calls[0]) for _ in range(SIZE)], copied(calls[0])
            for name in mapped:
                each = [one.arguments[name] for one in calls]
                for member, value in zip(members, each, strict=True):
                    member.arguments[name] = value
                if name == op.sequence:
                    together = [np.stack(values) for values in zip(*each, strict=True)]
                else:
                    together = np.stack(each)
                whole.arguments[name] = together
            yield frozenset(mapped), members, whole


def computed(op, xp, mapped, call, size=SIZE):
    """Return what the op's rule computes of a batch, one array or several, as a list."""
    with DOMAIN.backend.quiet():
        return listed(batching_rule(op)(xp, size, mapped, copied(call)))


def single(op, xp, call):
    with DOMAIN.backend.quiet():
        return listed(attrgetter(op.name)(xp)(*call.args, **call.kwargs))


def listed(out):
    return [*out] if isinstance(out, tuple | list) else [out]


def assert_same(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    digits = 1e-4 if found.dtype in (np.float32, np.complex64) else 1e-9
    np.testing.assert_allclose(found, wanted, rtol=digits, atol=digits)


def assert_stacked(op, sample):
    """Fail unless a batch is the stack of single calls, whatever is mapped, also of no members."""
    for mapped, members, whole in choices(op, sample):
        out = computed(op, DOMAIN.raw, mapped, whole)
        for index, call in enumerate(members):
            for one, other in zip(out, single(op, DOMAIN.raw, call), strict=True):
                assert_same(one[index], other)
        empty = copied(whole)
        for name in mapped:
            given = whole.arguments[name]
            empty.arguments[name] = [x[:0] for x in given] if name == op.sequence else given[:0]
        none = computed(op, DOMAIN.raw, mapped, empty, size=0)
        for one, other in zip(none, out, strict=True):
            assert (one.shape, one.dtype) == ((0, *other.shape[1:]), other.dtype)


def assert_gradients_stacked(op, sample):
    """Fail unless what the rule computes has the gradients of single calls."""
    xp = DOMAIN.namespace
    for mapped, members, whole in choices(op, sample):
        weights = [
            np.cos(np.arange(each.size)).reshape(each.shape)
            for each in computed(op, DOMAIN.raw, mapped, whole)
        ]
        call, leaves = tracked(op, whole, mapped)
        if not leaves:
            continue
        backward(computed(op, xp, mapped, call), weights)
        for index, member in enumerate(members):
            call, own = tracked(op, member, mapped)
            backward(single(op, xp, call), [each[index] for each in weights])
            for found, wanted in zip(leaves, own, strict=True):
                if wanted.grad is None:
                    assert found.grad is None or not np.any(host(found.grad))
                else:
                    assert_same(host(found.grad)[index], host(wanted.grad))


def tracked(op, call, names):
    """Return a call whose named inputs have gradients, and these."""
    made, leaves = copied(call), []
    for name in op.arrays:
        if name not in names or name not in op.rules or op.rules[name].reason:
            continue
        given = made.arguments[name]
        each = [
            ag.Variable(x, requires_grad=True) if x.dtype.kind in "fc" else x
            for x in (given if name == op.sequence else [given])
        ]
        leaves += [x for x in each if isinstance(x, ag.Variable)]
        made.arguments[name] = each if name == op.sequence else each[0]
    return made, leaves


def backward(outs, weights):
    """Add up the gradients of all results that have some."""
    xp, total = DOMAIN.namespace, 0.0
    for out, weight in zip(outs, weights, strict=True):
        if getattr(out, "requires_grad", False):
            total = total + xp.sum(xp.real(out * weight))
    with DOMAIN.backend.quiet():
        total.backward()
