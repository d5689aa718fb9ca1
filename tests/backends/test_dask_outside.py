"""A tracked Variable in a function of Dask's own: its gradient would be lost, so it is refused."""

from functools import partial

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import LostGradientError

dask = pytest.importorskip("dask", reason="Dask: pip install 'agnograd[dask]'")
da = pytest.importorskip("dask.array")

xp = ag.namespace("dask")
x = da.from_array(np.arange(1.0, 7.0), chunks=3)


def from_delayed(function, *args, name=None, **kwargs):
    made = dask.delayed(function)(*args, **kwargs)
    return da.from_delayed(made, (6,), dtype=float, name=name)


def total(block, axis, keepdims):
    return np.sum(block, axis=axis, keepdims=keepdims)


OUTSIDE = {
    "map_blocks": lambda v: da.map_blocks(np.exp, v),
    "map_blocks, closure": lambda v: da.map_blocks(lambda b: b * v, x),
    "map_blocks, keyword": lambda v: da.map_blocks(lambda b, s: b * s, x, s=v, dtype=float),
    "map_blocks, default": lambda v: da.map_blocks(lambda b, s=v: b * s, x, dtype=float),
    "map_blocks, method": lambda v: x.map_blocks(lambda b: b * v),
    "map_blocks, in a list": lambda v: da.map_blocks(lambda b, s: b, x, s=[v], dtype=float),
    "map_overlap, closure": lambda v: da.map_overlap(lambda b: b * v, x, depth=0),
    "blockwise": lambda v: da.blockwise(np.exp, "i", v, "i", dtype=float),
    "blockwise, closure": lambda v: da.blockwise(lambda b: b * v, "i", x, "i", dtype=float),
    "reduction": lambda v: da.reduction(v, total, total, dtype=float),
    "apply_along_axis": lambda v: da.apply_along_axis(np.sum, 0, v),
    "apply_gufunc": lambda v: da.apply_gufunc(np.exp, "()->()", v),
    "from_array": lambda v: da.from_array(v, chunks=3),
    "asarray": da.asarray,
    "stack": lambda v: da.stack([v, v]),
    "einsum": lambda v: da.einsum("i,i->", v, v),
    "where": lambda v: da.where(x > 2.0, v, 0.0),
    "from_delayed": lambda v: from_delayed(lambda b: np.asarray(b) * 2.0, v),
    "from_delayed, named": lambda v: from_delayed(np.exp, v, name="mine"),
    "from_delayed, keyword": lambda v: from_delayed(np.multiply, 2.0, where=[v]),
    "from_delayed, closure": lambda v: from_delayed(lambda b: b * v, np.ones(6)),
    "from_delayed, partial": lambda v: from_delayed(partial(np.multiply, v), 2.0),
    "from_delayed, a later one": lambda v: from_delayed(np.exp, dask.delayed(np.exp)(v)),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_tracked_variable_is_refused_before_there_is_a_graph(name):
    function = OUTSIDE[name]
    with pytest.raises(
        LostGradientError, match=r"of Dask would lose .*use functions of ag\.namesp"
    ):
        ag.grad(lambda v: xp.sum(v) + xp.sum(function(v)))(x)
    v = ag.Variable(x)
    with pytest.raises(LostGradientError):
        function(v)
    assert v.grad is None


def test_a_global_variable_is_seen():
    scope = {"v": ag.Variable(x)}
    f = eval("lambda b: b * v", scope)
    with pytest.raises(LostGradientError, match="that <lambda> uses"):
        da.map_blocks(f, x)


def test_what_is_not_tracked_stays_as_it_was():
    v = ag.Variable(x, requires_grad=False)
    w = np.asarray([2.0, 3.0, 4.0])
    scaled = lambda b: b * w  # noqa: E731
    found = da.map_blocks(scaled, v.data)
    np.testing.assert_array_equal(found.compute(), x.compute() * np.tile(w, 2))
    assert da.map_blocks(scaled, x).name == da.map_blocks(scaled, x).name


def test_what_is_delayed_without_a_variable_stays_as_it_was():
    made = dask.delayed(lambda b: b * 2.0)(np.ones(6))
    again = da.from_delayed(made, (6,), dtype=float)
    assert again.name == da.from_delayed(made, (6,), dtype=float).name
    np.testing.assert_array_equal(again.compute(), np.full(6, 2.0))


def test_variables_of_other_libraries_go_through_tasks_with_their_gradients():
    numpy = ag.namespace("numpy")

    def f(v):
        return numpy.sum(da.map_blocks(lambda b: b * v, da.ones(3, chunks=3)).compute())

    assert ag.grad(f)(np.asarray([1.0, 2.0, 3.0])).tolist() == [1.0, 1.0, 1.0]
