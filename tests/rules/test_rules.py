"""Every rule, on every sample, on every backend: values, and derivatives to second order."""

import importlib
from operator import attrgetter

import numpy as np
import pytest
import scipy.special

import agnograd as ag
from agnograd._domain import bound
from agnograd._registry import op_sets, registered
from agnograd.extend import array
from agnograd.testing._case import Case
from derivatives import assert_agree, ours

SAMPLES = [
    sample
    for _, op_set in op_sets()
    if op_set.samples is not None
    for sample in importlib.import_module(op_set.samples).samples
]


# Op packs have no functions of the library to be compared with.
PACKS = {
    op_set.chapter
    for _, op_set in op_sets()
    if not str(op_set.samples).startswith("agnograd.rules")
}

# Where differences would take an hour; NumPy's derivatives are checked by them.
BY_NUMPYS_DERIVATIVES = ("dask", "jax")


def arrays_in(value):
    if isinstance(value, list | tuple):
        return [array for each in value for array in arrays_in(each)]
    return [value]


def host(value):
    """Return a copy on the host, made as the array's backend makes it."""
    detached = value.detach() if isinstance(value, ag.Variable) else ag.Variable(value, False)
    return np.array(np.asarray(detached))


def copies(case):
    """Return copies of all arrays that a case was given, indices and masks included."""
    given = arrays_in([list(case.args), list(case.kwargs.values())])
    return [host(array) for array in given if isinstance(array, case.domain.array_types)]


def assert_equal(ours, expected, rtol=0.0):
    """Compare values, shapes and dtypes, by default exactly; NaN equals NaN."""
    for one, other in zip(arrays_in(ours), arrays_in(expected), strict=True):
        np.testing.assert_allclose(host(one), host(other), rtol=rtol, atol=rtol, strict=True)
        assert one.dtype == other.dtype


def expected_values(sample, case):
    """Compute a sample by the raw library's function, or on NumPy's arrays."""
    if sample.op.startswith("special."):
        return by_scipy(sample, case)
    if case.op.chapter in PACKS:
        return by_the_standard(sample, case)
    if sample.op not in BY_NUMPY:
        kernel = attrgetter(sample.op)(case.domain.library)
        given = list(case.args)
        if sample.before is not None:
            given[0] = sample.before(given[0], case.domain.raw)
        if sample.op in ("full", "full_like"):  # the standard fills with Python scalars alone
            value = given[1]
            dtype = given[0].dtype if sample.op == "full_like" else value.dtype
            return kernel(given[0], case.domain.item(value), **{"dtype": dtype} | case.kwargs)
        return kernel(*given, **case.kwargs)
    args = [to_host(arg, case.domain.array_types) for arg in case.args]
    return case.domain.library.asarray(np.array(BY_NUMPY[sample.op](*args, **case.kwargs)))


def by_scipy(sample, case):
    """Compute a special function by SciPy on the host."""
    args = [to_host(arg, case.domain.array_types) for arg in case.args]
    name = sample.op.removeprefix("special.")
    if name == "log_abs_sum_exp":
        options = dict(zip(("b",), args[1:], strict=False)) | case.kwargs | {"return_sign": True}
        out = scipy.special.logsumexp(args[0], **options)
    else:
        out = getattr(scipy.special, name)(*args, **case.kwargs)
    single = {"float64": "float32", "complex128": "complex64"} if "float32" in repr(sample) else {}

    def made(each):
        each = np.array(each)
        return case.domain.library.asarray(each.astype(single.get(str(each.dtype), each.dtype)))

    return tuple(map(made, out)) if isinstance(out, tuple) else made(out)


def by_the_standard(sample, case):
    """Compute an op of a pack on NumPy's arrays, without kernels of libraries."""
    numpy = Case(sample, "numpy")
    raw, backend = numpy.domain.raw, numpy.domain.backend
    forward = bound(case.op.forward, xp=lambda: raw, backend=lambda: backend)
    out = forward(*numpy.args, **numpy.kwargs)
    if isinstance(out, list | tuple):
        return [case.domain.library.asarray(host(each)) for each in out]
    return case.domain.library.asarray(host(out))


def to_host(value, array_types):
    if isinstance(value, tuple):
        return tuple(to_host(each, array_types) for each in value)
    return host(value) if isinstance(value, array_types) else value


def written(x, key, value):
    out = np.array(x)
    out[key] = value
    return out


def added(values, key, shape):
    out = np.zeros(shape, dtype=values.dtype)
    np.add.at(out, key, values)
    return out


def added_along(values, indices, axis, shape):
    return added(values, (slice(None),) * (axis % len(shape)) + (indices,), shape)


def cofactors(x):
    """Return the adjugate of each matrix, by the determinants of its minors."""
    size = x.shape[-1]
    out = np.empty_like(x)
    for i, j in np.ndindex(size, size):
        minor = np.delete(np.delete(x, i, axis=-2), j, axis=-1)
        out[..., j, i] = (-1) ** (i + j) * np.linalg.det(minor)
    return out


def with_eigenvalues(x, values):
    v = np.linalg.eigh((x + np.conj(x.mT)) / 2)[1]
    return (v * values[..., None, :]) @ np.conj(v.mT)


def with_singular_values(x, values):
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return (u * values[..., None, :]) @ vh


def solve_triangular(x1, x2, lower=True):
    return np.linalg.solve(np.tril(x1) if lower else np.triu(x1), x2)


BY_NUMPY = {
    "linalg.adjugate": cofactors,
    "linalg.solve_triangular": solve_triangular,
    "linalg.with_eigenvalues": with_eigenvalues,
    "linalg.with_singular_values": with_singular_values,
    "__getitem__": lambda x, key: x[key],
    "__setitem__": written,
    "scatter_add": added,
    "scatter_add_axis": added_along,
    "to_device": lambda x, device: x,
}


def test_derivatives_agree_with_differences_or_numpys(sample, backend):
    case = Case(sample, backend)
    before = copies(case)
    if sample.order and backend in BY_NUMPYS_DERIVATIVES:
        single = "32" in repr(sample) or "complex64" in repr(sample)
        assert_agree(ours(sample, backend), ours(sample), 1e-3 if single else 1e-9)
    elif sample.order:
        ag.check_grad(case, *case.inputs, order=sample.order)
    else:
        case(*case.inputs)
    for one, other in zip(before, copies(case), strict=True):
        np.testing.assert_array_equal(one, other, "an input was changed")


def test_values_are_the_librarys_and_gradients_fit_their_inputs(sample, backend):
    case = Case(sample, backend)
    before = copies(case)
    wrapped = [
        [ag.Variable(each) for each in value]
        if isinstance(value, list | tuple)
        else ag.Variable(value)
        for value in case.inputs
    ]
    out = case.result(*wrapped)
    rtol = (
        1e-13
        if sample.op.startswith(("linalg.adjugate", "linalg.solve_triangular", "linalg.with_"))
        else 0.0
    )
    if case.op.chapter in PACKS:  # each library has kernels of its own
        rtol = 1e-5 if "float32" in repr(sample) else 1e-12
    assert_equal(out, expected_values(sample, case), rtol)
    for one, other in zip(before, copies(case), strict=True):
        np.testing.assert_array_equal(one, other, "an input was changed")
    leaves = [v for v in arrays_in(wrapped) if v.requires_grad]
    outputs = [v for v in arrays_in(out) if v.requires_grad]
    inexact = [v for v in arrays_in(out) if case.domain.is_inexact(v.dtype)]
    assert len(outputs) == (len(inexact) if leaves else 0)
    if not outputs:
        return
    ones = [case.domain.namespace.ones_like(v) for v in outputs]
    gradients = ag.autodiff.grad(outputs, leaves, ones, allow_unused=True)
    for leaf, gradient in zip(leaves, gradients, strict=True):
        assert gradient is not None
        assert gradient.shape == leaf.shape
        assert gradient.dtype == leaf.dtype
        assert gradient.device == leaf.device


@pytest.mark.parametrize(
    "sample",
    [
        sample
        for sample in SAMPLES
        if registered()[sample.op][0].view is not None and sample.order == 2
    ],
    ids=repr,
)
def test_writes_through_views_reach_the_base_as_in_numpy(sample):
    case = Case(sample, "numpy")
    (x,) = case.inputs
    kernel = BY_NUMPY.get(sample.op) or attrgetter(sample.op)(case.domain.library)
    expected = np.array(x)
    shared = arrays_in(kernel(expected, *case.args[1:], **case.kwargs))
    # Where NumPy makes a copy there is nothing to compare with, but gradients are right there too.
    are_views = all(
        isinstance(each, np.ndarray) and np.may_share_memory(each, expected) for each in shared
    )
    refuses = sample.op == "broadcast_to"
    assert not refuses or not any(each.flags.writeable for each in shared)

    def write(value):
        base = value * 1.0
        for view in arrays_in(case(base)):
            view[...] = view * view
        return base

    if refuses:
        with pytest.raises(ValueError, match="read-only"):
            write(ag.Variable(x))
        return
    if are_views:
        for each in shared:
            each[...] = each * each
        assert_equal(write(ag.Variable(x)), expected)
    ag.check_grad(write, x)


def test_every_rule_has_samples_and_every_sample_an_op():
    ruled = {name for name, info in ag.ops().items() if info.status == "rule"}
    sampled = {sample.op for sample in SAMPLES}
    assert ruled == sampled


@pytest.mark.parametrize("layout", ["strided", "reversed", "transposed"])
def test_layouts_are_as_they_say(layout):
    made = array(3, 2, layout=layout).make(np, 1)
    assert made.shape == (3, 2)
    assert not made.flags.c_contiguous
