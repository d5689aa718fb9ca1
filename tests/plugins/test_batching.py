"""Batching rules of the packs: what they compute for many members is the stack of single calls."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from agnograd._ops.batching import batching_rule
from agnograd._plugins.op_sets import extensions, registered_in
from agnograd.extend import Sample, array
from agnograd.testing._samples import all_samples
from members import DOMAIN, assert_gradients_stacked, assert_stacked, computed

PACKS = ("agnograd_fft", "agnograd_nn", "agnograd_random", "agnograd_scipy", "agnograd_special")
OPS = {
    name: op
    for extension in ("", *extensions())
    for name, (op, _) in registered_in(extension).items()
    if op.forward is not None and op.forward.__module__.startswith(PACKS)
}
# What has no rule, and runs as a program on all members: no library's kernel computes it.
PROGRAMS = {
    *(f"nn.{name}{rank}d" for name in ("conv", "conv_transpose") for rank in (1, 2, 3)),
    *(f"nn.{name}_pool{rank}d" for name in ("avg", "max") for rank in (1, 2, 3)),
    *("nn.cross_entropy", "nn.dropout", "nn.linear", "random.categorical", "random.key"),
}
Window = import_module("agnograd_nn.windows").Window
PLAIN = Window((2,), (1,), ((0, 0),), (1,))
UNEVEN = Window((2, 3), (2, 1), ((1, 0), (2, 1)), (1, 2))


def complexes(*shape):
    return array(*shape, dtype="complex128")


def indices(*shape, high=4):
    return array(*shape, low=0, high=high, dtype="int64")


# Beside the samples of derivatives: members without axes or elements, members of other ranks, and
# options under which the arrays of members meet in another way.
CASES = [
    # nn
    Sample("nn.relu", array()),
    Sample("nn.softmax", array(3)),
    Sample("nn.softmax", array(2, 3), axis=0),
    Sample("nn.log_softmax", array(2, 3, 2), axis=-2),
    Sample("nn.softmax", array(0, 3)),
    *(
        Sample("nn.scaled_dot_product_attention", array(*q), array(*k), array(*v), *mask, **options)
        for q, k, v, mask, options in (
            ((2, 3), (4, 3), (4, 5), (), {}),
            ((2, 3), (4, 3), (4, 5), (array(4),), {"scale": 2.0}),
            ((2, 3), (4, 3), (4, 5), (array(2, 1, dtype="bool"),), {}),
            ((6, 2, 3), (4, 3), (1, 4, 5), (array(),), {}),
            ((3, 3), (5, 2, 3, 3), (2, 3, 1), (), {"is_causal": True}),
        )
    ),
    *(
        Sample("nn.convolution", array(*x), array(*weight), *bias, window=window, groups=groups)
        for bias in ((), (array(4),))
        for x, weight, window, groups in (
            ((2, 3, 5), (4, 3, 2), PLAIN, 1),
            ((2, 6, 5), (4, 3, 2), PLAIN, 2),
            ((0, 6, 5), (4, 3, 2), PLAIN, 2),
            ((2, 4, 3, 4), (4, 1, 2, 3), UNEVEN, 4),
        )
    ),
    *(
        Sample(f"nn.convolution_{name}", array(*one), array(*two), shape=shape, **options)
        for name, one, two, shape, options in (
            ("input", (2, 4, 4), (4, 3, 2), (2, 6, 5), {"window": PLAIN, "groups": 2}),
            ("input", (2, 4, 2, 3), (4, 1, 2, 3), (2, 4, 3, 4), {"window": UNEVEN, "groups": 4}),
            ("input", (0, 4, 4), (4, 3, 2), (0, 3, 5), {"window": PLAIN}),
            ("weight", (2, 6, 5), (2, 4, 4), (4, 3, 2), {"window": PLAIN, "groups": 2}),
            ("weight", (2, 4, 3, 4), (2, 4, 2, 3), (4, 1, 2, 3), {"window": UNEVEN, "groups": 4}),
            ("weight", (0, 3, 5), (0, 4, 4), (4, 3, 2), {"window": PLAIN}),
        )
    ),
    Sample("nn.convolution", complexes(2, 3, 5), complexes(4, 3, 2), window=PLAIN),
    Sample("nn.max_pooling", array(2, 3, 4, 5), window=UNEVEN),
    Sample("nn.max_picking", array(2, 3, 5), array(2, 3, 5), array(2, 3, 4), window=PLAIN),
    Sample("nn.max_unpooling", array(2, 3, 4), array(2, 3, 5), array(2, 3, 4), window=PLAIN),
    Sample("nn.sum_pooling", array(2, 3, 4, 5), window=UNEVEN),
    Sample("nn.sum_pooling", array(0, 3, 5), window=PLAIN),
    Sample("nn.sum_unpooling", array(2, 3, 4), shape=(2, 3, 5), window=PLAIN),
    Sample("nn.embedding", indices(), array(4, 2)),
    Sample("nn.embedding", indices(0), array(4, 2)),
    Sample("nn.embedding", indices(2, 3), array(4, 2), padding_idx=-3),
    Sample("nn.embedding", array(3, low=-4, high=4, dtype="int64"), array(4, 0), order=0),
    Sample("nn.embedding", array(3, low=0, high=4, dtype="uint8"), array(4, 2)),
    Sample("nn.layer_norm", array(2, 3), 3, array(3), array(3)),
    Sample("nn.layer_norm", array(5, 2, 3), (2, 3), array(2, 3)),
    Sample("nn.layer_norm", array(3), (3,), None, array(3)),
    Sample("nn.layer_norm", array(2, 3, dtype="float32"), (3,), array(3)),
    Sample("nn.batch_norm", array(4, 3), training=True),
    Sample("nn.batch_norm", array(0, 3, 2), array(3), array(3, low=1), training=True),
    Sample("nn.batch_norm", array(4, 3, 2), array(3), array(3, low=1), None, array(3)),
    # einsum
    Sample("einsum", "ij,jk", array(2, 3), array(3, 4)),
    Sample("einsum", "b...a, a...c", array(2, 5, 3), array(3, 4)),
    Sample("einsum", "...ii->...", array(4, 3, 3)),
    Sample("einsum", "i,i->", array(3), array(1)),
    Sample("einsum", ",->", array(), array()),
    Sample("einsum", "ba", complexes(2, 3)),
    Sample("einsum", "ij,jk->ik", array(2, 0), array(0, 3)),
    # linalg
    *(Sample(f"linalg.{name}", array(2, 0, 0)) for name in ("expm", "logm", "sqrtm", "lu_parts")),
    Sample("linalg.sylvester", array(2, 2, low=1), array(5, 3, 3, low=1), array(2, 3)),
    Sample("linalg.lu_parts", array(4, 3, 2)),
    # fft, ndimage, interpolate
    Sample("fft.dct", array(3, 4), axis=0),
    Sample("fft.dst", array(4), type=3, n=6),
    Sample("ndimage.spline_filter1d", array(4, 5), 3, 0),
    Sample("ndimage.spline_filter1d", array(5), mode="reflect"),
    Sample("interpolate.solve_banded", array(3, 4, low=1), array(4), lower=1, upper=1),
    Sample("interpolate.solve_banded", array(3, 4, low=1), array(4, 2), lower=0, upper=2),
    Sample("interpolate.solve_banded", array(3, 4, low=1), array(4, 0), lower=1, upper=1),
    # signal
    Sample("signal.all_pole", array(2, 5), array(3, low=1)),
    Sample("signal.all_pole", array(0), array(3, low=1)),
    Sample("signal.convolve", array(), array()),
    *(
        Sample("signal.convolve", array(*one), array(*two), mode=mode, method=method)
        for mode in ("full", "same", "valid")
        for method in ("auto", "direct", "fft")
        for one, two in (((5,), (2,)), ((2,), (5,)), ((4, 3), (2, 3)), ((7, 6), (7, 6)))
    ),
    Sample("signal.convolve", complexes(40), complexes(35)),
    Sample(
        "signal.convolve",
        array(5, low=-9, high=9, dtype="int64"),
        array(3, low=-9, high=9, dtype="int64"),
    ),
    # special
    Sample("special.airy", array()),
    Sample("special.sici", array(0)),
    Sample("special.ellipj", array(2, 1), array(3, low=0.1)),
    Sample("special.log_sum_exp", array()),
    Sample("special.log_sum_exp", array(), keepdims=True),
    Sample("special.log_sum_exp", array(2, 3, 4), axis=(0, -1), keepdims=True),
    Sample("special.log_abs_sum_exp", array()),
    Sample("special.log_abs_sum_exp", array(), array(), keepdims=True),
    Sample("special.log_abs_sum_exp", array(), array(3)),
    Sample("special.log_abs_sum_exp", array(2, 1), array(3), axis=-1),
    Sample("special.log_abs_sum_exp", array(3), array(2, 3), axis=0, keepdims=True),
    Sample("special.softmax", array()),
    Sample("special.softmax", array(2, 3)),
    Sample("special.log_softmax", array(2, 3), (0, 1)),
    Sample("special.log_softmax", array(2, 0), 0),
]


def taken(sample):
    op = OPS.get(sample.op)
    if op is None or op.composed or batching_rule(op) is None:
        return False
    return sample.backends is None or "numpy" in sample.backends


SAMPLES = {}
for each in [*CASES, *(sample for _, _, sample in all_samples())]:
    if taken(each):
        SAMPLES.setdefault(each.op, []).append(each)


@pytest.mark.parametrize(
    ("name", "shapes", "options", "message"),
    [
        ("nn.layer_norm", [(3, 3)], {"normalized_shape": (3, 3)}, "does not end in"),
        ("nn.softmax", [(3, 3)], {"axis": 1}, "axis 1 is out of bounds"),
        ("nn.scaled_dot_product_attention", [(3, 3), (3, 3), (3, 3)], {}, "two axes or more"),
        ("special.log_abs_sum_exp", [(3, 3), (3, 3)], {"axis": -2}, "axis -2 is out of bounds"),
        ("linalg.expm", [(3, 3)], {}, "takes matrices"),
        ("fft.dct", [(3, 3)], {"axis": -2}, "axis -2 is out of bounds"),
        ("signal.all_pole", [(3,), (3, 2)], {}, "one axis at least"),
    ],
)
def test_the_axis_of_members_is_no_axis_of_theirs(name, shapes, options, message):
    op = OPS[name]
    arrays = dict(zip(op.arrays, map(np.ones, shapes), strict=False))
    given = arrays | options
    call = op.signature.bind_partial()
    call.arguments.update({name: given[name] for name in op.parameters if name in given})
    with pytest.raises((IndexError, ValueError), match=message):
        computed(op, DOMAIN.raw, frozenset(arrays), call)


def test_every_op_has_a_rule_or_is_a_program():
    rules = {name for name, op in OPS.items() if not op.composed and batching_rule(op)}
    assert {name for name, op in OPS.items() if not op.composed} - rules == PROGRAMS


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_no_kernel_computes_what_runs_as_a_program(name):
    folder = Path(import_module("agnograd_nn.kernels").__file__).parent
    kernels = [module.read_text() for module in folder.glob("*.py")]
    assert not any(f'"{name.removeprefix("nn.")}"' in each for each in kernels)
    assert any('"convolution"' in each for each in kernels)


def test_every_declared_rule_is_tried():
    declared = {name for name, op in OPS.items() if op.batch is not None}
    assert declared - SAMPLES.keys() == set()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_batch_is_the_stack_of_single_calls(name):
    for sample in SAMPLES[name]:
        assert_stacked(OPS[name], sample)


@pytest.mark.parametrize("name", [name for name in SAMPLES if OPS[name].batch is not None])
def test_a_batch_has_the_gradients_of_single_calls(name):
    for sample in [each for each in SAMPLES[name] if each.order][:8]:
        assert_gradients_stacked(OPS[name], sample)
