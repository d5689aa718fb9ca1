"""What the conformance suite leaves to say of rules: values by another way, and views."""

from operator import attrgetter

import numpy as np
import pytest
import scipy.special

import agnograd as ag
from agnograd._plugins.op_sets import registered
from agnograd.extend import array
from agnograd.testing._samples import all_samples
from agnograd_conformance._case import Case, arrays_in
from agnograd_special._set import NEEDED
from agnograd_special._set import ops as special_ops
from arrays import host

SAMPLES = [sample for _, _, sample in all_samples()]


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


def solve_triangle(x1, x2, lower=True):
    return np.linalg.solve(np.tril(x1) if lower else np.triu(x1), x2)


# Ops whose values no function of the standard gives.
BY_NUMPY = {
    "linalg.adjugate": cofactors,
    "linalg.solve_adjoint": lambda x1, x2: np.linalg.solve(np.conj(x1.mT), x2),
    "linalg.solve_triangle": solve_triangle,
    "linalg.with_eigenvalues": with_eigenvalues,
    "linalg.with_singular_values": with_singular_values,
    "__getitem__": lambda x, key: x[key],
    "__setitem__": written,
    "full": lambda shape, value, dtype=None: np.full(shape, value, dtype or value.dtype),
    "full_like": lambda x, value, dtype=None: np.full(x.shape, value, dtype or x.dtype),
    "scatter_add": added,
    "scatter_add_axis": added_along,
    "to_device": lambda x, device: x,
}


def by_scipy(name, x, *args, **options):
    """Compute a special function by SciPy."""
    if name == "log_abs_sum_exp":
        options |= dict(zip(("b",), args, strict=False)) | {"return_sign": True}
        return scipy.special.logsumexp(x, **options)
    name = "logsumexp" if name == "log_sum_exp" else name
    return getattr(scipy.special, name)(x, *args, **options)


# Of what only rules need SciPy has no function; tests/plugins compares the rules with mpmath.
OURS = {name for name in special_ops.ops if name.removeprefix("special.") in NEEDED}


@pytest.mark.parametrize(
    "sample",
    [sample for sample in SAMPLES if sample.op.startswith("special.") and sample.op not in OURS],
    ids=repr,
)
def test_special_functions_are_scipys(sample):
    case = Case(sample, "numpy")
    found = arrays_in(case.result(*case.inputs))
    expected = arrays_in(by_scipy(sample.op.removeprefix("special."), *case.args, **case.kwargs))
    rtol = 1e-5 if "float32" in repr(sample) else 1e-12
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.data, other, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if sample.op in BY_NUMPY], ids=repr
)
def test_values_are_those_of_another_way(sample):
    case = Case(sample, "numpy")
    found = case.result(*case.inputs)
    args = list(case.args)
    if sample.before is not None:
        args[0] = sample.before(args[0], case.domain.raw)
    expected = BY_NUMPY[sample.op](*args, **case.kwargs)
    rtol = 1e-13 if sample.op.startswith("linalg.") else 0.0
    np.testing.assert_allclose(found.data, expected, rtol=rtol, atol=rtol, strict=True)


@pytest.mark.parametrize(
    "sample",
    [
        sample
        for sample in SAMPLES
        if registered()[sample.op][0].view is not None
        and registered()[sample.op][0].sequence is None
        and sample.order == 2
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
    refuses = any(isinstance(each, np.ndarray) and not each.flags.writeable for each in shared)

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
        np.testing.assert_array_equal(write(ag.Variable(x)).detach(), expected, strict=True)
    ag.check_grad(write, x)


def test_every_rule_has_samples_and_every_sample_an_op():
    status = {name: info.status for name, info in ag.ops().items()}
    sampled = {sample.op for sample in SAMPLES}
    assert {name for name in status if status[name] == "rule"} <= sampled
    # Ops without a gradient may have samples, too: their values are checked.
    assert {status[name] for name in sampled} <= {"rule", "no gradient"}


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_norms_and_deviations_have_directions_at_all_magnitudes(xp, size):
    x = xp.asarray([3.0 * size, -4.0 * size], dtype=xp.float64).data
    matrix = xp.reshape(xp.asarray(x), (1, 2)).data
    with xp.empty(0)._domain.backend.quiet():
        vector = np.asarray(ag.grad(xp.linalg.vector_norm)(x))
        along = np.asarray(
            ag.grad(lambda x: xp.sum(xp.linalg.vector_norm(x, axis=1, keepdims=True)))(matrix)
        )
        frobenius = np.asarray(ag.grad(xp.linalg.matrix_norm)(matrix))
        deviation = np.asarray(ag.grad(xp.std)(x))
        second = np.asarray(ag.hvp(xp.linalg.vector_norm, (x,), (x,))[-1])
    np.testing.assert_allclose(vector, [0.6, -0.8], rtol=1e-14)
    np.testing.assert_allclose(along, [[0.6, -0.8]], rtol=1e-14)
    np.testing.assert_allclose(frobenius, [[0.6, -0.8]], rtol=1e-14)
    np.testing.assert_allclose(deviation, [0.5, -0.5], rtol=1e-14)
    np.testing.assert_allclose(second, [0.0, 0.0], atol=1e-14)  # it is linear along x


@pytest.mark.parametrize("order", [-1, -2, -0.5, 0.5])
def test_norms_of_orders_below_one(xp, order):
    norm = lambda x: xp.linalg.vector_norm(x, ord=order)  # noqa: E731
    ag.check_grad(norm, xp.asarray([1.0, -2.0, 3.0], dtype=xp.float64).data)
    with xp.empty(0)._domain.backend.quiet():
        found = np.asarray(ag.grad(norm)(xp.asarray([0.0, 2.0, 3.0], dtype=xp.float64).data))
    if order < 0:  # as the norm is 0, whatever the others are
        assert found.tolist() == [0.0, 0.0, 0.0]
    else:
        assert found[0] == 0.0
        assert (found[1:] > 0).all()


@pytest.mark.parametrize("layout", ["strided", "reversed", "transposed"])
@pytest.mark.parametrize("values", [None, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
def test_layouts_are_as_they_say_and_change_no_value(layout, values):
    made = array(3, 2, layout=layout, values=values).make(np, 1)
    assert made.shape == (3, 2)
    assert not made.flags.c_contiguous
    np.testing.assert_array_equal(made, array(3, 2, values=values).make(np, 1))


def test_a_negative_real_base_has_a_derivative_by_a_complex_exponent():
    xp = ag.namespace("numpy")  # array-api-strict refuses a real base of a complex exponent
    base = xp.asarray([-2.0, 2.0], dtype=xp.float64).data
    exponent = xp.asarray([1.3 + 0.4j, 1.3 + 0.4j], dtype=xp.complex128).data

    def power(exponent):
        return xp.sum(xp.real(base**exponent))

    z, x = host(exponent), host(base) + 0j
    expected = np.conj(x**z * np.log(x))
    assert np.allclose(host(ag.grad(power)(exponent)), expected)
    ag.check_grad(power, exponent)
