"""The bare tape: what it keeps of the promises, and where it gives up."""

import numpy as np
import pytest

from benchmarks.least import PROMISES, tape

X = np.linspace(0.5, 2.0, 6)


def total(x):
    result = 0.0
    for i in range(X.size):
        result = result + x[i] * x[X.size - 1 - i]
    return result


@pytest.mark.parametrize("kept", range(len(PROMISES) + 1))
def test_it_computes_the_gradient(kept):
    np.testing.assert_allclose(tape(list(PROMISES)[:kept])(total, X), 2 * X[::-1])


def test_it_gives_up_where_a_promise_has_another_answer():
    with pytest.raises(NotImplementedError):
        tape(list(PROMISES))(lambda x: x[0] * X[1], X)
    with pytest.raises(NotImplementedError):
        tape(["operands"])(lambda x: x[0] * x[1:][0], X)
    with pytest.raises(NotImplementedError):
        tape(["constants", "operands", "state", "broadcasting"])(lambda x: x[0] * x[:][0] * x, X)
