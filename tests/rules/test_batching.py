"""Batching rules: what they compute for many members at once is the stack of single calls."""

import itertools
import pkgutil
from importlib import import_module
from operator import attrgetter

import numpy as np
import pytest

import agnograd as ag
import agnograd.rules
from agnograd._arrays.domains import domain_named
from agnograd._ops.batching import batching_rule
from agnograd.errors import BatchingError
from agnograd.extend import OpSet, array
from agnograd.testing._samples import all_samples
from arrays import host, outcome
from batches import CASES, integers

DOMAIN = domain_named("numpy")
MODULES = [
    import_module(f"agnograd.rules.{module.name}")
    for module in pkgutil.iter_modules(agnograd.rules.__path__)
]
OPS = {
    name: op
    for module in MODULES
    for ops in vars(module).values()
    if isinstance(ops, OpSet)
    for name, op in ops.ops.items()
}
# What tells facts that are the same for all members, or takes arrays of another library.
FACTS = {"can_cast", "finfo", "iinfo", "result_type", "from_dlpack"}
# Ops whose result has another shape for each member, with those of their inputs that decide it.
UNEQUAL = {
    "arange": {"start", "stop", "step"},
    "nonzero": {"x"},
    "repeat": {"repeats"},
    **{f"unique_{kind}": {"x"} for kind in ("all", "counts", "inverse", "values")},
}
SIZE = 3


def taken(sample):
    op = OPS.get(sample.op)
    if op is None or "key" in op.parameters or batching_rule(op) is None:
        return False
    return sample.backends is None or "numpy" in sample.backends


SAMPLES = {}
for each in [*CASES, *(sample for _, _, sample in all_samples())]:
    if taken(each):
        SAMPLES.setdefault(each.op, []).append(each)


def bound(sample, seed):
    args, kwargs = sample.make(DOMAIN.library, seed)
    if sample.before is not None:
        args = (sample.before(args[0], DOMAIN.raw), *args[1:])
    return OPS[sample.op].signature.bind(*args, **kwargs)


def choices(sample):
    """Yield each choice of inputs, with the calls of all members and that of the batch."""
    op = OPS[sample.op]
    drawn = [bound(sample, seed) for seed in range(SIZE)]
    given = drawn[0].arguments
    arrays = [
        name
        for name in op.arrays
        if isinstance(given.get(name), np.ndarray) or (name == op.sequence and given.get(name))
    ]
    for count in range(1, len(arrays) + 1):
        for mapped in itertools.combinations(arrays, count):
            members = [copied(drawn[0]) for _ in range(SIZE)]
            whole = copied(drawn[0])
            for name in mapped:
                each = [one.arguments[name] for one in drawn]
                for member, value in zip(members, each, strict=True):
                    member.arguments[name] = value
                whole.arguments[name] = (
                    [np.stack(values) for values in zip(*each, strict=True)]
                    if name == op.sequence
                    else np.stack(each)
                )
            yield frozenset(mapped), members, whole


def copied(call):
    return call.signature.bind(*call.args, **call.kwargs)


def computed(op, xp, mapped, call, size=SIZE):
    with DOMAIN.backend.quiet():
        return batching_rule(op)(xp, size, mapped, copied(call))


def listed(out):
    return [*out] if isinstance(out, tuple | list) else [out]


def member(out, index):
    """Return what the batch holds of one member."""
    if not isinstance(out, tuple | list):
        return out[index]
    parts = [each[index] for each in out]
    return type(out)(*parts) if hasattr(out, "_fields") else type(out)(parts)


def assert_same(found, wanted):
    for one, other in zip(listed(found), listed(wanted), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        digits = 1e-4 if one.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(one, other, rtol=digits, atol=digits)


def assert_right(sample):
    op, function = OPS[sample.op], attrgetter(sample.op)(DOMAIN.raw)
    after = sample.after or (lambda out, xp: out)
    for mapped, members, whole in choices(sample):
        if mapped & UNEQUAL.get(op.name, set()):
            with pytest.raises(BatchingError, match=f"^{op.name}: the shape of the result would"):
                computed(op, DOMAIN.raw, mapped, whole)
            continue
        out = computed(op, DOMAIN.raw, mapped, whole)
        for index, each in enumerate(members):
            with DOMAIN.backend.quiet():
                single = function(*each.args, **each.kwargs)
                found = after(member(out, index), DOMAIN.raw)
                assert_same(found, after(single, DOMAIN.raw))
        assert_no_members_are_right(op, mapped, whole, out)


def assert_no_members_are_right(op, mapped, whole, out):
    """Assert that a batch without members has results with the same axes behind the first."""
    empty = copied(whole)
    for name in mapped:
        given = whole.arguments[name]
        empty.arguments[name] = [x[:0] for x in given] if name == op.sequence else given[:0]
    none = computed(op, DOMAIN.raw, mapped, empty, size=0)
    for one, other in zip(listed(none), listed(out), strict=True):
        assert (one.shape, one.dtype) == ((0, *other.shape[1:]), other.dtype)


def test_every_op_that_takes_arrays_has_a_rule():
    without = {name for name, op in OPS.items() if op.arrays and batching_rule(op) is None}
    assert {name for name in without if "key" not in OPS[name].parameters} == FACTS


def test_every_rule_is_tried():
    beyond = {name for name, op in OPS.items() if "key" in op.parameters}
    with_rule = {name for name, op in OPS.items() if op.arrays and batching_rule(op) is not None}
    assert with_rule - beyond - SAMPLES.keys() == set()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_batch_is_the_stack_of_single_calls(name):
    for sample in SAMPLES[name]:
        assert_right(sample)


# -- what a rule refuses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("arange", {"start": array()}, "arange: .*; use start \\+ step \\* xp.arange"),
        ("repeat", {"x": array(2), "repeats": integers(2)}, "repeat: .* of a batch; repeat the"),
        ("nonzero", {"x": array(3)}, "nonzero: .*xp.where"),
        ("unique_values", {"x": array(3)}, "unique_values: .*sort the elements"),
    ],
)
def test_a_shape_that_depends_on_values_is_an_error(name, arguments, message):
    op = OPS[name]
    given = {key: spec._replace(shape=(SIZE, *spec.shape)) for key, spec in arguments.items()}
    call = op.signature.bind_partial()
    call.arguments.update({key: each.make(DOMAIN.library, 1) for key, each in given.items()})
    with pytest.raises(BatchingError, match=message):
        batching_rule(op)(DOMAIN.raw, SIZE, frozenset(arguments), call)
    assert issubclass(BatchingError, ag.errors.AgnogradError)
    assert issubclass(BatchingError, TypeError)


@pytest.mark.parametrize(
    ("name", "shapes", "options", "error"),
    [
        # Of as many members as there are elements, the batch would be a matrix.
        *(
            (f"linalg.{name}", [(3, 3)], {}, ValueError)
            for name in ("inv", "det", "pinv", "matrix_rank", "eigvalsh", "svd", "trace")
        ),
        ("tril", [(3, 3)], {}, ValueError),
        ("matrix_transpose", [(3, 3)], {}, ValueError),
        ("matmul", [(3,), (3, 3)], {}, ValueError),
        ("tensordot", [(3, 2, 3), (3, 3, 2)], {"axes": 2}, ValueError),
        ("sum", [(3, 3)], {"axis": 1}, IndexError),
        ("sum", [(3, 3)], {"axis": -2}, IndexError),
        ("expand_dims", [(3, 3)], {"axis": 2}, IndexError),
        ("stack", [[(3, 3), (3, 3)]], {"axis": -3}, IndexError),
        ("cumulative_sum", [(3, 3, 3)], {}, ValueError),
    ],
)
def test_the_axis_of_members_is_no_axis_of_theirs(name, shapes, options, error):
    op = OPS[name]
    made = [
        [np.ones(each) for each in shape] if isinstance(shape, list) else np.ones(shape)
        for shape in shapes
    ]
    call = op.signature.bind(*made, **options)
    mapped = frozenset(op.arrays[: len(shapes)])
    with pytest.raises(error, match=r"axis|axes|matri"):
        batching_rule(op)(DOMAIN.raw, 3, mapped, call)


# -- derivatives of what rules compute -------------------------------------------------------------


def floats(call, names, sequence):
    """Return, by name, the arrays of a call that may have gradients."""
    found = {}
    for name in names:
        given = call.arguments[name]
        for place, each in enumerate(given if name == sequence else [given]):
            if each.dtype.kind in "fc":
                found[name, place] = each
    return found


def put(call, arrays, sequence):
    made = copied(call)
    for name, place in arrays:
        if name == sequence:
            made.arguments[name] = [*made.arguments[name]]
            made.arguments[name][place] = arrays[name, place]
        else:
            made.arguments[name] = arrays[name, place]
    return made


def gradients(compute, arrays, cotangents):
    """Return the gradients of what has a gradient among the results."""
    leaves = {key: ag.Variable(each, requires_grad=True) for key, each in arrays.items()}
    total = None
    for out, g in zip(listed(compute(leaves)), cotangents, strict=True):
        if isinstance(out, ag.Variable) and out.requires_grad:
            part = DOMAIN.namespace.sum(DOMAIN.namespace.real(out * g))
            total = part if total is None else total + part
    if total is not None:
        total.backward()
    return {key: leaf.grad for key, leaf in leaves.items()}


def samples_with_gradients(name):
    """Return a few: what derivatives compute is tried by the conformance suite."""
    return [each for each in SAMPLES[name] if each.order and each.after is None][:4]


DIFFERENTIABLE = [
    name
    for name in SAMPLES
    if OPS[name].rules and name not in UNEQUAL and OPS[name].outputs != "optional"
]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_batch_has_the_gradients_of_single_calls(name):
    op, xp = OPS[name], DOMAIN.namespace
    function, rule = attrgetter(name)(xp), batching_rule(op)
    tried = samples_with_gradients(name)
    for mapped, members, whole in itertools.chain.from_iterable(map(choices, tried)):
        arrays = floats(whole, mapped, op.sequence)
        outs = listed(computed(op, DOMAIN.raw, mapped, whole))
        cotangents = [np.cos(np.arange(each.size)).reshape(each.shape) for each in outs]
        with DOMAIN.backend.quiet():
            found = gradients(
                lambda leaves, whole=whole, mapped=mapped: rule(
                    xp, SIZE, mapped, put(whole, leaves, op.sequence)
                ),
                arrays,
                cotangents,
            )
            for index, each in enumerate(members):

                def single(leaves, each=each):
                    call = put(each, leaves, op.sequence)
                    return function(*call.args, **call.kwargs)

                own = floats(each, mapped, op.sequence)
                wanted = gradients(single, own, [g[index] for g in cotangents])
                for key, gradient in wanted.items():
                    if gradient is None:
                        assert found[key] is None or not np.any(host(found[key]))
                    else:
                        assert_same(host(found[key])[index], host(gradient))


# -- members without axes --------------------------------------------------------------------------

TWICE = {"repeats": 2, "axis": 0}
OF_NUMBERS = [
    (name, options)
    for options, names in (
        ({}, "argsort sort nn.softmax nn.log_softmax cumulative_sum flip special.softmax"),
        ({"axis": 0}, "argsort sort nn.softmax nn.log_softmax mean argmax cumulative_prod flip"),
        ({"axis": -1}, "special.log_softmax sum linalg.vector_norm argsort"),
        ({"axis": 1}, "argmax argsort sum"),
        ({"axis": None}, "sort cumulative_sum max"),
        ({"axis": ()}, "sum flip"),
        ({"axis": (0,)}, "max linalg.vector_norm special.log_sum_exp"),
        ({"axis": 0, "keepdims": True}, "sum argmin std"),
        ({"include_initial": True}, "cumulative_sum"),
        (TWICE, "repeat"),
    )
    for name in names.split()
]


@pytest.mark.parametrize("backend", ["dask", "numpy", "strict", "torch"], indirect=True)
def test_an_axis_of_members_without_axes_is_what_it_is_of_one_alone(backend, xp):
    x = xp.asarray([1.5, -0.5, 2.0]).data
    for name, options in OF_NUMBERS:
        op = attrgetter(name)(xp)

        def f(x, op=op, options=options):
            return op(x, 2, axis=0) if options == TWICE else op(x, **options)

        alone = [outcome(lambda i=i, f=f: host(f(x[i]))) for i in range(SIZE)]
        if isinstance(alone[0], type):
            assert outcome(ag.vmap(f), x) is alone[0], (name, options)
            continue
        alone = np.stack([np.asarray(values, dtype) for dtype, values in alone])
        found = host(ag.vmap(f)(x))
        assert (found.shape, found.dtype) == (alone.shape, alone.dtype), (name, options)
        np.testing.assert_allclose(found, alone, err_msg=f"{name}: {options}")
