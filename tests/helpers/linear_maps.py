"""Linear functions that transformations return: pullbacks and pushforwards of raw arrays."""

import numpy as np

import agnograd as ag

__all__ = ["check_differentiable"]


def check_differentiable(xp, function, one, slopes, transposed=True):
    """Check derivatives of a function that multiplies two elements by slopes; ``one`` are ones.

    Each is asked for twice: no pass frees what the next call needs. ``transposed`` says whether the
    derivative of the function has a derivative itself, as forward mode and Hessians need.
    """

    def near(found, expected):
        found = found.detach() if isinstance(found, ag.Variable) else found
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9)

    for _ in range(2):
        near(ag.grad(lambda x: xp.sum(function(x)))(one), slopes)
        near(ag.jacobian(function, mode="reverse")(one), np.diag(slopes))
        x = ag.Variable(one)
        xp.sum(function(x)).backward()
        near(x.grad, slopes)
        with ag.GradManager() as manager:
            manager.attach(x)
            manager.backward(xp.sum(function(x)))
        near(x.grad, 2.0 * np.asarray(slopes))
        with ag.no_grad():
            assert not function(x).requires_grad
        assert not isinstance(function(one), ag.Variable)
        if transposed:
            near(ag.jvp(lambda x: function(x), one, one)[1], slopes)
            near(ag.jacobian(function, mode="forward")(one), np.diag(slopes))
            near(ag.hessian(lambda x: xp.sum(function(x) ** 2))(one), 2.0 * np.diag(slopes) ** 2)
            near(ag.grad(ag.checkpoint(lambda x: xp.sum(function(x))))(one), slopes)
