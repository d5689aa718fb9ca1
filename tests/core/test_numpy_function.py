"""NumPy's functions by name, in the namespace of every backend."""

import pickle

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import UnsupportedFunctionError
from agnograd_numpy_functions import numpy_function


def _values(array):
    return np.asarray(array.detach() if isinstance(array, ag.Variable) else array)


def test_functions_of_variables_are_numpys_and_connected(xp):
    x = ag.Variable(xp.asarray([0.5, 2.0, 3.0, 7.0]).data)
    np.testing.assert_allclose(_values(xp.gradient(x)), np.gradient([0.5, 2.0, 3.0, 7.0]))
    windows = xp.lib.stride_tricks.sliding_window_view(xp.pad(x, (1, 0)), 2)
    xp.sum(xp.max(windows, axis=-1) * xp.asarray([1.0, 2.0, 3.0, 4.0])).backward()
    assert _values(x.grad).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_raw_arrays_give_raw_arrays(xp):
    raw = xp.asarray([[1.0, 2.0], [4.0, 8.0]]).data
    space = xp.empty(0)._domain.raw
    assert isinstance(space.cumsum(raw), type(raw))
    rows, columns = space.gradient(raw)
    np.testing.assert_allclose(_values(rows), [[3.0, 6.0], [3.0, 6.0]])
    np.testing.assert_allclose(_values(columns), [[1.0, 1.0], [4.0, 4.0]])


def test_a_function_that_numpy_does_not_have_here_is_an_error(xp):
    with pytest.raises(UnsupportedFunctionError, match="einsum_path has no counterpart"):
        numpy_function("einsum_path")(xp, "ij->i", xp.zeros((2, 2)))


def test_an_extension_of_an_extension_is_pickled_by_name(xp):
    assert pickle.loads(pickle.dumps(xp.lib.stride_tricks)) is xp.lib.stride_tricks
    assert pickle.loads(pickle.dumps(xp.lib)) is xp.lib
