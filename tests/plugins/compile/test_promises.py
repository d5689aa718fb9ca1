"""What holds in every call, also where a function has no program for it."""

import copy
import functools
import pickle
from collections import OrderedDict, defaultdict
from typing import NamedTuple

import numpy as np
import optree
import pytest

import agnograd as ag
from agnograd.errors import CompileWarning

xp = ag.namespace("numpy")
FIRST, SECOND = np.asarray([0.3, 0.4]), np.asarray([1.0, 2.0])


class Layer(NamedTuple):
    weights: dict
    scale: float


KINDS = {
    "a dict": dict,
    "a defaultdict": lambda items: defaultdict(float, items),
    "an OrderedDict": OrderedDict,
    "a dict in a list": lambda items: [dict(items), 1.0],
    "a dict in a named tuple": lambda items: Layer(dict(items), 1.0),
    "a dict in a dict": lambda items: {"inner": dict(items)},
}


def weights_of(params):
    while not isinstance(params, dict) or "inner" in params:
        params = params["inner"] if isinstance(params, dict) else params[0]
    return params


def leaves(tree):
    found = [x.data if isinstance(x, ag.Variable) else x for x in optree.tree_leaves(tree)]
    return [np.asarray(each) for each in found]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("transformed", ["itself", "grad", "jacobian", "vjp"])
def test_the_order_of_keys_counts(kind, transformed, xp, library):
    def network(params, x):
        for w in weights_of(params).values():
            x = xp.tanh(xp.multiply(x, w)) + w
        return xp.sum(x)

    f = {
        "itself": network,
        "grad": ag.grad(network),
        "jacobian": ag.jacobian(network),
        "vjp": lambda params, x: ag.vjp(network, params, x)[1](1.0)[0],
    }[transformed]
    compiled = ag.compile(f, lowering="plain")
    a, b, x = map(library.asarray, (FIRST, SECOND, np.ones(2)))
    for items in 3 * [[("a", a), ("b", b)], [("b", b), ("a", a)]]:
        found, expected = (each(KINDS[kind](items), x) for each in (compiled, f))
        if transformed != "itself":
            assert [*weights_of(found)] == [*weights_of(expected)]
        for one, other in zip(leaves(found), leaves(expected), strict=True):
            np.testing.assert_allclose(one, other)


def test_the_order_of_arguments_by_name_counts(xp, library):
    def f(**named):
        return sum(k * x for k, x in enumerate(named.values(), 1))

    compiled = ag.compile(f, lowering="plain")
    a, b = ag.Variable(library.asarray(FIRST)), ag.Variable(library.asarray(SECOND))
    for _ in range(3):
        np.testing.assert_allclose(compiled(a=a, b=b).data, FIRST + 2 * SECOND)
        np.testing.assert_allclose(compiled(b=b, a=a).data, SECOND + 2 * FIRST)
        members = ag.vmap(lambda x: compiled(a=x, b=b))(a).data
        np.testing.assert_allclose(members[0, ...], FIRST[0] + 2 * SECOND)
        members = ag.vmap(lambda x: compiled(b=b, a=x))(a).data
        np.testing.assert_allclose(members[0, ...], SECOND + 2 * FIRST[0])


OUTSIDE = np.asarray([5.0, 6.0])
SHARED = {
    "an argument": lambda xp, x, outside: x,
    "an argument twice": lambda xp, x, outside: (x, [x]),
    "a part": lambda xp, x, outside: {"part": x[1:], "whole": x},
    "another shape": lambda xp, x, outside: xp.reshape(x, (2, 1)),
    "a value and its parts": lambda xp, x, outside: (lambda y: (y, y[:1], y))(x * 2.0),
    "an array outside": lambda xp, x, outside: (outside, x),
    "itself by a function": lambda xp, x, outside: [xp.asarray(x), xp.real(x)],
    "an argument that is written to": lambda xp, x, outside: written(x),
}


def written(x):
    x[0] = 9.0
    return x


@pytest.mark.filterwarnings("ignore::agnograd.errors.CompileWarning")
@pytest.mark.parametrize("given", ["raw", "variable", "tracked"])
@pytest.mark.parametrize("returned", SHARED)
def test_results_share_memory_with_nothing_in_any_call(returned, given, xp, library):
    backend = xp.empty(0)._domain.backend
    if backend.capabilities.lazy:
        pytest.skip("there is no memory yet")
    outside = library.asarray(OUTSIDE)
    compiled = ag.compile(lambda x, number: SHARED[returned](xp, x, outside))
    for number in range(10):  # a program for each, of which there are eight
        raw = library.asarray(FIRST, copy=True)
        x = raw if given == "raw" else ag.Variable(raw, requires_grad=given == "tracked")
        found = optree.tree_leaves(compiled(x, number))
        assert all(isinstance(each, ag.Variable) == (given != "raw") for each in found)
        arrays = [each.data if isinstance(each, ag.Variable) else each for each in found]
        np.testing.assert_array_equal(np.asarray(raw), FIRST)
        if backend.capabilities.immutable:
            continue
        for place, each in enumerate(arrays):
            others = [raw, outside, *arrays[:place]]
            assert not any(backend.may_share(each, other) for other in others), number


def test_a_function_is_called_as_it_is_from_the_ninth_program_on(xp, library):
    compiled = ag.compile(lambda x, number: x * number)
    x = library.asarray(FIRST)
    for number in range(1, 9):
        compiled(x, number)
    with pytest.warns(CompileWarning):
        np.testing.assert_allclose(compiled(x, 9), 9 * FIRST)


def test_what_depends_on_no_leaf_is_as_it_is_without_compiling(xp, library):
    outside = ag.Variable(library.asarray(SECOND))

    def f(x, y, z):
        return (
            *(xp.sin(x) * 2.0, xp.sum(z * 0.0 + 3.0), xp.exp(xp.asarray(library.asarray(FIRST)))),
            *(xp.where(x > 0.0, x, x + ag.stop_gradient(y)), outside.detach() * 1.0, x > 0.0),
        )

    def run(function):
        given = [ag.Variable(library.asarray(FIRST)) for _ in range(3)]
        results = function(*given)
        (xp.sum(results[0]) + xp.sum(results[3]) + results[1]).backward()
        grads = [None if x.grad is None else np.asarray(x.grad).tolist() for x in given]
        return [each.requires_grad for each in results], grads, outside.grad

    compiled = ag.compile(f, lowering="plain")
    expected = run(f)
    assert expected[1][1] is None
    for _ in range(3):
        found = run(compiled)
        assert found[0] == expected[0]
        assert found[2] is expected[2] is None
        for one, other in zip(found[1], expected[1], strict=True):
            assert (one is None) == (other is None)
            assert one is None or np.allclose(one, other)


@pytest.mark.filterwarnings(
    "ignore::agnograd.errors.MixedBackendsWarning", "ignore::agnograd.errors.CompileWarning"
)
def test_constants_of_another_library_are_not_shared_either(xp, library):
    backend = xp.empty(0)._domain.backend
    constant = np.ones(2)
    if not backend.accepts(constant) or backend.capabilities.lazy:
        pytest.skip("arrays of NumPy are no constants of the library")
    compiled = ag.compile(lambda x, c, number: (xp.asarray(c), x * c, c))
    x = library.asarray(FIRST)
    for number in range(12):
        constant = np.asarray([2.0, 3.0]) * number
        made, product, same = compiled(x, constant, 1)
        expected = constant.copy()
        np.testing.assert_allclose(np.asarray(product), FIRST * expected)
        constant[...] = -1.0
        np.testing.assert_array_equal(np.asarray(made), expected)
        np.testing.assert_array_equal(np.asarray(same), expected)


# -- pickles --------------------------------------------------------------------------------------


def squared(x):
    return xp.sum(x * x)


def elements(x):
    return x * x * x


@ag.checkpoint
def kept(x):
    return xp.sum(xp.exp(x))


TRANSFORMED = {
    "grad": lambda: ag.grad(squared),
    "value_and_grad": lambda: ag.value_and_grad(squared),
    "vmap of grad": lambda: ag.vmap(ag.grad(squared, argnums=0), in_axes=1),
    "grad of grad": lambda: ag.grad(lambda_free),
    "jacobian": lambda: ag.jacobian(elements, mode="forward"),
    "hessian": lambda: ag.hessian(squared),
    "elementwise": lambda: ag.elementwise_grad(elements),
    "checkpoint": lambda: ag.grad(ag.checkpoint(squared)),
    "decorated": lambda: ag.grad(kept),
    "sparse": lambda: ag.sparse_jacobian(elements),
    "compiled inside": lambda: ag.grad(ag.compile(squared)),
}


def lambda_free(x):
    return xp.sum(ag.grad(squared)(x) ** 2)


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))]
)
def test_compiled_transformations_are_pickled_by_what_they_are_of(name, make):
    compiled = ag.compile(TRANSFORMED[name](), lowering="plain")
    x = np.asarray([[0.5, -1.0, 2.0]]).T if name == "vmap of grad" else np.asarray([0.5, -1.0])
    expected, found = compiled(x), make(compiled)(x)
    for one, other in zip(optree.tree_leaves(expected), optree.tree_leaves(found), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_a_user_makes_of_a_transformation_is_not_pickled_as_it():
    gradient = ag.grad(squared)

    @functools.wraps(gradient)
    def twice(x):
        return 2.0 * gradient(x)

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(ag.compile(twice))


def test_a_sparse_derivative_is_pickled():
    made = pickle.loads(pickle.dumps(ag.sparse_jacobian(elements)))
    x = np.asarray([0.5, -1.0])
    assert (made(x) != ag.sparse_jacobian(elements)(x)).nnz == 0
