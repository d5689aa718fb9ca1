"""What functions of op packs are given, as the ops of a namespace take it."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._namespace import domain_named
from agnograd.errors import MixedBackendsError
from agnograd.extend import is_plain_numpy, operand
from arrays import leaf, values


def test_operands_are_variables_and_pythons_scalars(xp):
    x = leaf(xp, [1.0, 2.0])
    assert operand(xp, x) is x
    assert [operand(xp, each) for each in (2, 0.5, 1j, True)] == [2, 0.5, 1j, True]
    for given in (x.data, [1.0, 2.0]):
        found = operand(xp, given)
        assert type(found) is type(xp.ones(2))
        assert values(found).tolist() == [1.0, 2.0]


def test_another_librarys_scalar_is_a_number():
    assert type(operand(ag.namespace("strict"), np.float64(0.5))) is float


def test_a_namespace_of_raw_arrays_gets_raw_arrays(backend):
    raw = domain_named(backend).raw
    x = raw.asarray([1.0, 2.0])
    assert type(operand(raw, x)) is type(operand(raw, [1.0, 2.0])) is type(x)
    assert operand(raw, 0.5) == 0.5


def test_another_backends_array_is_an_error():
    x = ag.namespace("strict").ones(2)
    for given in (x, x.data):
        with pytest.raises(MixedBackendsError, match=r"ag\.asarray\(x, backend='numpy'\)"):
            operand(ag.namespace("numpy"), given)


def test_arrays_with_rules_of_their_own_are_not_plain():
    assert is_plain_numpy(np.ones(2))
    for other in (np.ma.ones(2), np.ones((1, 2)).view(np.matrix), [1.0], 1.0):
        assert not is_plain_numpy(other)
