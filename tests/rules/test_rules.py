"""Every rule, on every sample, on every backend: values, and derivatives to second order."""

import importlib
from operator import attrgetter

import numpy as np
import pytest

import agnograd as ag
from agnograd._registry import op_sets, registered
from agnograd.extend import array

SAMPLES = [
    sample
    for _, op_set in op_sets()
    if op_set.samples is not None
    for sample in importlib.import_module(op_set.samples).samples
]


def runs_on(sample, backend):
    return sample.backends is None or backend in sample.backends


CASES = [
    pytest.param(sample, backend, id=f"{sample!r}-{backend}")
    for sample in SAMPLES
    for backend in ("numpy", "strict")
    if runs_on(sample, backend)
]


class Case:
    """A sample on a backend, as a function of its differentiable arrays."""

    def __init__(self, sample, backend):
        self.xp = ag.namespace(backend)
        self.domain = self.xp.empty(0)._domain
        self.op = registered()[sample.op][0]
        self.function = attrgetter(sample.op)(self.xp)
        self.args, self.kwargs = sample.make(self.domain.library)
        names = list(self.op.signature.parameters)
        last = len(names) - 1
        self.places = [
            index
            for index, arg in enumerate(self.args)
            if names[min(index, last)] in self.op.differentiable and self.holds_arrays(arg)
        ]
        self.keys = [
            key
            for key, arg in self.kwargs.items()
            if key in self.op.differentiable and self.holds_arrays(arg)
        ]

    def holds_arrays(self, arg):
        arrays = arg if isinstance(arg, list | tuple) else [arg]
        types = self.domain.array_types
        return any(
            isinstance(each, types) and self.domain.is_inexact(each.dtype) for each in arrays
        )

    @property
    def inputs(self):
        return [self.args[i] for i in self.places] + [self.kwargs[key] for key in self.keys]

    def __call__(self, *inputs):
        args, kwargs = list(self.args), dict(self.kwargs)
        for place, value in zip(self.places + self.keys, inputs, strict=True):
            if isinstance(place, int):
                args[place] = value
            else:
                kwargs[place] = value
        return self.function(*args, **kwargs)


def arrays_in(value):
    if isinstance(value, list | tuple):
        return [array for each in value for array in arrays_in(each)]
    return [value]


def host(value):
    return np.array(np.asarray(value.detach() if isinstance(value, ag.Variable) else value))


@pytest.mark.parametrize(("sample", "backend"), CASES)
def test_derivatives_agree_with_finite_differences(sample, backend):
    case = Case(sample, backend)
    before = [host(array) for value in case.inputs for array in arrays_in(value)]
    if sample.order:
        ag.check_grad(case, *case.inputs, order=sample.order)
    else:
        case(*case.inputs)
    after = [host(array) for value in case.inputs for array in arrays_in(value)]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other, "an input was changed")


@pytest.mark.parametrize(("sample", "backend"), CASES)
def test_values_are_the_librarys_and_gradients_fit_their_inputs(sample, backend):
    case = Case(sample, backend)
    names = [name for name in sample.op.split(".") if not name.startswith("__")]
    kernel = case.domain.library
    for name in names:
        kernel = getattr(kernel, name, None)
    wrapped = [
        [ag.Variable(each) for each in value]
        if isinstance(value, list | tuple)
        else ag.Variable(value)
        for value in case.inputs
    ]
    out = case(*wrapped)
    if names and kernel is not None and sample.op != "diff":
        expected = kernel(*case.args, **case.kwargs)
        for one, other in zip(arrays_in(out), arrays_in(expected), strict=True):
            np.testing.assert_array_equal(host(one), host(other))
            assert one.dtype == other.dtype
    leaves = [v for v in arrays_in(wrapped) if v.requires_grad]
    outputs = [v for v in arrays_in(out) if v.requires_grad]
    ones = [case.xp.ones_like(v) for v in outputs]
    gradients = ag.autodiff.grad(outputs, leaves, ones, allow_unused=True)
    for leaf, gradient in zip(leaves, gradients, strict=True):
        assert gradient is not None
        assert gradient.shape == leaf.shape
        assert gradient.dtype == leaf.dtype
        assert gradient.device == leaf.device


def test_every_rule_has_samples_and_every_sample_an_op():
    ruled = {name for name, info in ag.ops().items() if info.status == "rule"}
    sampled = {sample.op for sample in SAMPLES}
    assert ruled == sampled


@pytest.mark.parametrize("layout", ["strided", "reversed", "transposed"])
def test_layouts_are_as_they_say(layout):
    made = array(3, 2, layout=layout).make(np, 1)
    assert made.shape == (3, 2)
    assert not made.flags.c_contiguous
