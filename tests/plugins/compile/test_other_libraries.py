"""NumPy's arrays in functions of another library's: constants under transformations, too."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import CompileError, CompileWarning, MixedBackendsError


@pytest.fixture(params=["torch", "jax"])
def xp(request):
    pytest.importorskip(request.param, reason=f"pip install 'agnograd[{request.param}]'")
    return ag.namespace(request.param)


def raw(xp, values):
    return xp.asarray(values, dtype=xp.float32).data


def values_of(found):
    return np.asarray(found).tolist()


def test_a_constant_is_what_it_is_without_the_compiler(xp):
    scale, x = np.asarray([1.0, 2.0, 4.0], "float32"), raw(xp, [1.0, 2.0, 3.0])

    def f(x):
        return xp.sum(x * scale + xp.maximum(x, scale) - scale / x)

    compiled = ag.compile(ag.grad(f))
    for _ in range(3):
        assert values_of(compiled(x)) == pytest.approx(values_of(ag.grad(f)(x)))
    assert len(compiled._entries) == 1
    scale *= 3  # and another one, since the program was made for its elements
    for _ in range(3):
        assert values_of(compiled(x)) == pytest.approx(values_of(ag.grad(f)(x)))
    assert len(compiled._entries) == 2


def test_arrays_beside_it_stay_inputs():
    torch = pytest.importorskip("torch", reason="pip install 'agnograd[torch]'")
    xp = ag.namespace("torch")
    scale, weights = np.ones(3, "float32"), torch.ones(3)
    compiled = ag.compile(lambda x: xp.sum(x * weights * scale))
    for number in range(5):
        weights.fill_(number)
        assert compiled(torch.ones(3)).item() == 3.0 * number
    assert len(compiled._entries) == 1


def test_one_that_python_makes_of_an_input():
    torch = pytest.importorskip("torch", reason="pip install 'agnograd[torch]'")
    xp = ag.namespace("torch")
    weights = torch.ones(3)
    compiled = ag.compile(lambda x: xp.sum(x * np.asarray(weights)))
    for number in (1, 2, 2, 3):
        weights.fill_(number)
        assert compiled(torch.ones(3)).item() == 3.0 * number


ARGUMENTS = {
    "an array": np.asarray([1.0, 2.0, 4.0], "float32"),
    "an array of integers": np.asarray([1, 2, 4]),
    "an array without axes": np.asarray(2.0, "float32"),
    "a scalar": np.float64(2.0),
    "an integer": np.int64(2),
}


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_an_argument_is_what_it_is_without_the_compiler(xp, kind):
    c, x = ARGUMENTS[kind], raw(xp, [1.0, 2.0, 3.0])

    def f(x, c):
        return x * x * c

    def of_tree(tree):
        return f(tree["x"], *tree["rest"])

    expected, slope = f(xp.asarray(x), c).data, [2.0, 4.0, 6.0] * np.asarray(c)
    compiled, by_tree = ag.compile(f), ag.compile(of_tree)
    gradient = ag.compile(ag.grad(lambda x, c: xp.sum(f(x, c))))
    for _ in range(3):
        by_name = compiled(c=c, x=x)
        found = [compiled(x, c), by_name, by_tree({"x": x, "rest": [c]})]
        assert [values_of(each) for each in found] == [values_of(expected)] * 3
        assert {each.dtype for each in found} == {expected.dtype}
        assert values_of(gradient(x, c)) == values_of(slope)
    assert values_of(ag.compile(lambda c, x: f(x, c))(c, x)) == values_of(expected)
    assert values_of(ag.grad(lambda x, c: xp.sum(f(x, c)))(x, c)) == values_of(slope)


def test_an_argument_that_is_written_to_is_another_one(xp):
    x, c = raw(xp, [1.0, 2.0]), np.asarray([1.0, 2.0], "float32")
    for compiled in (ag.compile(lambda x, c: x * c), ag.compile(lambda x, c: x * c, static=1)):
        first = c.copy()
        assert values_of(compiled(x, first)) == [1.0, 4.0]
        first *= 3.0
        assert values_of(compiled(x, first)) == [3.0, 12.0]
        assert values_of(compiled(x, c)) == [1.0, 4.0]


def test_an_argument_that_the_function_writes_to_is_refused(xp):
    def f(x, c):
        c[0] = 5.0
        return x * c

    c = np.ones(2, "float32")
    with pytest.raises(CompileError, match="writes to"):
        ag.compile(f)(raw(xp, [1.0, 2.0]), c)
    assert c.tolist() == [1.0, 1.0]


def test_too_many_arguments_run_the_function_as_it_is(xp):
    compiled, x = ag.compile(lambda x, c: x * c), raw(xp, [1.0, 2.0])
    constants = [np.asarray([number, 1.0], "float32") for number in range(10)]
    with pytest.warns(CompileWarning, match="arrays of another library differ"):
        found = [values_of(compiled(x, c)) for c in constants]
    assert found == [[number, 2.0] for number in range(10)]


def test_what_programs_take_is_explained_beside_a_constant(xp):
    explained = ag.compile(lambda x, c: x * c).explain(raw(xp, [1.0]), np.asarray([2.0], "float32"))
    assert "multiply" in str(explained)


def test_a_result_is_a_copy_of_the_librarys_own(xp):
    c, w, x = np.ones(2, "float32"), raw(xp, [1.0, 2.0]), raw(xp, [3.0, 4.0])
    compiled = ag.compile(lambda x: (x * w, c, np.asarray(w) * 1.0, np.float64(2.0)))
    for _ in range(3):
        found = compiled(x)
        assert list(map(values_of, found)) == [[3.0, 8.0], [1.0, 1.0], [1.0, 2.0], 2.0]
        assert type(found[1]) is np.ndarray
        found[1][:] = 7.0
    members = ag.compile(ag.vmap(lambda x: (x * w, c)))(raw(xp, [[3.0, 4.0], [1.0, 1.0]]))
    assert list(map(values_of, members)) == [[[3.0, 8.0], [1.0, 2.0]], [[1.0, 1.0]] * 2]


def test_a_result_of_an_array_that_is_written_to():
    torch = pytest.importorskip("torch", reason="pip install 'agnograd[torch]'")
    w = torch.ones(2)
    compiled = ag.compile(lambda x: (x * w, torch.asarray(np.asarray(w) * 1.0)))
    for number in (1.0, 2.0, 2.0, 3.0):
        w.fill_(number)
        assert list(map(values_of, compiled(torch.ones(2)))) == [[number] * 2] * 2


@pytest.mark.parametrize("backend", ["torch", "jax", "dask"])
def test_indices_that_select_as_many_elements(backend):
    pytest.importorskip(backend, reason=f"pip install 'agnograd[{backend}]'")
    xp, order = ag.namespace(backend), np.asarray([2, 0, 1])
    compiled = ag.compile(lambda x: x[order])
    for _ in range(2):
        assert values_of(compiled(raw(xp, [1.0, 2.0, 3.0]))) == [3.0, 1.0, 2.0]


def test_members_of_vmap_meet_a_constant(xp):
    scale, x = np.asarray([1.0, 2.0], "float32"), raw(xp, [[1.0, 2.0], [3.0, 4.0]])
    assert values_of(ag.vmap(lambda x: scale * x + x * scale)(x)) == [[2.0, 8.0], [6.0, 16.0]]
    gradient = ag.vmap(ag.grad(lambda x: xp.sum(x * x * scale)))
    assert values_of(gradient(x)) == [[2.0, 8.0], [6.0, 16.0]]


def test_what_the_library_refuses_is_refused():
    torch = pytest.importorskip("torch", reason="pip install 'agnograd[torch]'")
    x, other = np.ones(2), torch.ones(2, dtype=torch.float64)
    for transformed in (ag.vmap, ag.compile):
        with pytest.raises(MixedBackendsError, match="backend 'torch'"):
            transformed(lambda x: x * other)(x)
