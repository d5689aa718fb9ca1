"""Pytrees: one array is a tree without optree, and the same structure as any other leaf."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import agnograd as ag
from agnograd._util.trees import flatten, leaves, map_leaves, unflatten


def test_all_single_leaves_have_one_structure():
    x = np.ones(2)
    (found,), structure = flatten(x)
    assert found is x
    assert structure.num_leaves == 1
    for other in (ag.Variable(x), 1.0, np.float64(1.0), "text"):
        assert flatten(other)[1] == structure
        assert leaves(other)[0] is other
    assert flatten((x,))[1] != structure
    assert flatten(None)[1] != structure
    assert unflatten(structure, iter([x])) is x
    with pytest.raises(ValueError, match="too many values"):
        unflatten(structure, [x, x])
    assert map_leaves(lambda leaf: leaf + 1, x).tolist() == [2.0, 2.0]
    assert copy.deepcopy(structure) is structure
    assert pickle.loads(pickle.dumps(structure)) is structure


def test_a_gradient_of_arrays_imports_no_optree():
    code = """
        import sys, numpy as np, agnograd as ag
        xp = ag.namespace("numpy")
        x = np.ones(3)
        ag.grad(lambda x, y: xp.sum(x * y), argnums=(0, 1))(x, x)
        ag.vjp(lambda x: x * x, x)[1](x)
        assert "optree" not in sys.modules
        ag.grad(lambda d: xp.sum(d["x"]))({"x": x})
        assert "optree" in sys.modules
    """
    code = "\n".join(line.strip() for line in code.splitlines())
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_number_fits_the_value_of_one_array():
    xp = ag.namespace("numpy")
    _, pullback = ag.vjp(lambda x: xp.sum(x * x), np.ones(2))
    assert pullback(2.0)[0].tolist() == [4.0, 4.0]
