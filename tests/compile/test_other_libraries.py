"""NumPy's arrays in functions of another library's: constants under transformations, too."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import MixedBackendsError


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
