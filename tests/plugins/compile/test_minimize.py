"""SciPy's solvers take compiled functions as they take others."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

import agnograd as ag

xp = ag.namespace("numpy")
START = np.asarray([0.5, 1.0, 0.7, 0.4, 1.3])


def rosenbrock(x):
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_value_and_gradient():
    f = ag.compile(ag.value_and_grad(rosenbrock))
    value, gradient = f(START)
    assert value == pytest.approx(rosen(START), rel=1e-14)
    np.testing.assert_allclose(gradient, rosen_der(START), rtol=1e-13)
    found = minimize(f, START, jac=True, method="BFGS", tol=1e-10)
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)
    as_it_is = minimize(ag.value_and_grad(rosenbrock), START, jac=True, method="BFGS", tol=1e-10)
    assert abs(found.nit - as_it_is.nit) <= 2  # they may round otherwise


def test_a_gradient_and_products_with_the_hessian():
    found = minimize(
        ag.compile(rosenbrock),
        START,
        jac=ag.compile(ag.grad(rosenbrock)),
        hessp=ag.compile(lambda x, p: ag.hvp(rosenbrock, x, p)),
        method="Newton-CG",
        tol=1e-12,
    )
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)
