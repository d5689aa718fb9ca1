"""Programs traced from functions, as text, and results compared bit for bit."""

from itertools import compress

import numpy as np

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd._util.trees import flatten
from agnograd_compile._lowerings import lowering_for
from agnograd_compile._passes import passes
from agnograd_compile._programs.program import CALLS, GUARD, Missed, Ref, TracedProgram, mapped
from agnograd_compile._programs.straight import named_function, straight
from agnograd_compile._trace import ARRAY, Callee, Signature, record


def traced(backend, f, *args):
    """Return the program of a function of these arrays."""
    leaves, tree = flatten((args, {}))
    domain = domain_named(backend)
    is_array = [isinstance(leaf, domain.array_types) for leaf in leaves]
    others = (ARRAY if one else leaf for one, leaf in zip(is_array, leaves, strict=True))
    callee = Callee(f, Signature(tuple(others), tree))
    with np.errstate(all="ignore"):
        return record(callee, domain, [*compress(leaves, is_array)], f.__name__).program


def raw(backend, values, dtype="float64"):
    """Return a raw array of a backend."""
    xp = ag.namespace(backend)
    return xp.asarray(values, dtype=getattr(xp, dtype)).data


def ops(program):
    """Return the ops of a program's steps, in their order."""
    return [step.op for step in program.steps]


def outcome(runnable, arrays):
    """Return the results of a program, or the guard that failed and what it saw."""
    with np.errstate(all="ignore"):
        try:
            return [np.asarray(each) for each in runnable(arrays)]
        except Missed as missed:
            return missed.number, missed.seen


def same_bits(found, expected):
    """Return whether two outcomes are the same, with the signs of zeros; any NaN is NaN."""
    if isinstance(expected, tuple) or isinstance(found, tuple):
        return found == expected
    return len(found) == len(expected) and all(map(_same, found, expected))


def _same(one, other):
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if one.dtype.kind == "c":
        return _same(one.real, other.real) and _same(one.imag, other.imag)
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    signs = (np.signbit(one) == np.signbit(other)) | np.isnan(one)
    return np.array_equal(one, other, equal_nan=True) and bool(np.all(signs))


def is_sound(program: TracedProgram):
    """Check that each value is made once, before it is read, and that its facts are known."""
    known = {*program.inputs, *program.constants}
    for step in program.steps:
        assert set(step.uses()) <= known, step
        assert set(step.views) <= set(step.uses()), step
        assert known.isdisjoint(step.outs), step
        assert (step.op == GUARD) == (not step.outs), step
        known.update(step.outs)
    assert set(program.outputs) <= known
    assert known <= program.facts.keys()
    assert all(type(ref) is Ref for ref in known)


def check(program, *arrays, names=passes.DEFAULT, others=(), lowered=False):
    """Run passes on a program; return what they made, whose results are those of the program.

    They are compared on the arrays of the trace, and on others; if ``lowered``, those
    of NumPy's lowering, too.
    """
    after = passes.run(program, names)
    is_sound(after)
    assert after.inputs == program.inputs
    plain, runnables = straight(program), [straight(after)]
    if lowered:
        runnables.append(lowering_for("numpy", "numpy").lower(after))
    for given in (arrays, *others):
        expected = outcome(plain, list(given))
        for runnable in runnables:
            assert same_bits(outcome(runnable, list(given)), expected)
    with np.errstate(all="ignore"):
        facts_hold(after, arrays)
    return after


def facts_hold(program, arrays):
    """Check that each value of a run is what the program's facts say."""
    values = {**program.constants, **dict(zip(program.inputs, arrays, strict=True))}
    for step in program.steps:
        if step.op == GUARD:
            continue
        args = mapped(values.__getitem__, step.args)
        kwargs = {} if step.op in CALLS else step.kwargs
        found = named_function(program, step.op, step.kwargs)(
            *args, **{name: mapped(values.__getitem__, each) for name, each in kwargs.items()}
        )
        for ref, value in zip(step.outs, found if step.several else (found,), strict=True):
            values[ref] = value
            domain, fact = program.domain, program.facts[ref]
            assert (tuple(value.shape), value.dtype, type(value)) == (*fact[:2], fact.kind), step
            assert domain.device(value) == fact.device, step
            found = fact._replace(strides=domain.backend.strides(value))
            assert _strides(found) == _strides(fact), step


def _strides(fact):
    """Return the strides along axes that have any steps to take."""
    if fact.strides is None or not fact.size:
        return None
    return [step for length, step in zip(fact.shape, fact.strides, strict=True) if length > 1]
