"""Pickles of 0.2.0, in which compiled functions and sparse derivatives were in other modules.

They are what that version made of ``functions.tripled``, and of a Variable.
"""

import pickle
from pathlib import Path

import numpy as np
import pytest

import agnograd as ag

PICKLED = Path(__file__).parent / "pickled"
X = np.linspace(0.5, 1.0, 4)


def loaded(name):
    return pickle.loads((PICKLED / f"{name}-0.2.0.pickle").read_bytes())


def test_a_compiled_function():
    compiled = loaded("compiled")
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), 3.0 * X)
    assert isinstance(compiled, type(ag.compile(np.negative)))


def test_a_prepared_derivative():
    pytest.importorskip("scipy", reason="matrices are SciPy's")
    prepared = loaded("prepared")
    np.testing.assert_array_equal(prepared(X).toarray(), 3.0 * np.eye(4))


def test_a_variable():
    variable = loaded("variable")
    np.testing.assert_array_equal(variable.data, X)
    assert variable.requires_grad


def test_where_modules_were_is_no_name_of_the_package():
    assert not [each for each in dir(ag) if each.startswith(("_compile", "_sparse"))]


def test_functions_are_found_where_they_were():
    assert pickle.loads(b"cagnograd._transforms.gauss_newton\ngnvp\n.") is ag.gnvp
