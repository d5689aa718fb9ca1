"""SciPy, calculus: ``integrate``, ``differentiate``, ``optimize`` and ``interpolate``."""

import numpy as np

LIBRARY = "SciPy"
IMPORTS = ("scipy",)
INPUTS = {
    "y": np.asarray([1.3, 0.4, 2.2, 1.7, 0.9]),
    "t": np.asarray([0.1, 0.4, 0.9, 1.5, 2.3]),
    "Y": np.asarray([[1.3, 0.4, 2.2], [0.9, 3.1, 2.6]]),
    "s": np.asarray(0.7),
    "c": np.asarray([0.5, 0.9, 1.4]),
    "x": np.asarray([1.2, 0.8, 1.1]),
    "lo": np.asarray([0.1, 0.2]),
    "hi": np.asarray([1.1, 1.4]),
    "q": np.asarray([0.3, 0.7, 1.9]),
    "P": np.asarray([[0.1, 0.3], [0.8, 0.2], [0.5, 0.9], [0.2, 0.7]]),
    "Q": np.asarray([[0.2, 0.5], [0.3, 0.35]]),
    "v": np.asarray([1.2, 0.7, 1.9, 0.4]),
}


def scope():
    """Return what the calls name."""
    from array_api_compat import array_namespace
    from scipy import differentiate, integrate, interpolate, optimize
    from scipy.optimize import elementwise

    def number(value, like):
        """Return a number as an array: SciPy asks the limits for their namespace."""
        return array_namespace(like).asarray(value, dtype=like.dtype)

    def gauss(x, c):
        return array_namespace(x).exp(-c * x * x)

    def cubic(x, c):
        return x**3 - c

    def quartic(x, c):
        return (x - c) ** 4 + (x - c) ** 2 + 0.5 * c

    def quadratic_form(x):
        return x[0, ...] ** 2 * x[1, ...] + x[2, ...] ** 3

    def several(x):
        xp = array_namespace(x)
        return xp.stack([x[0, ...] * x[1, ...], x[2, ...] ** 2 * x[0, ...]])

    def product(x):
        return array_namespace(x).prod(x, axis=-1)

    modules = {"differentiate": differentiate, "integrate": integrate}
    modules |= {"interpolate": interpolate, "optimize": optimize}
    modules["elementwise"] = elementwise
    functions = (number, gauss, cubic, quartic, quadratic_form, several, product)
    return modules | {function.__name__: function for function in functions}


CALLS = """
integrate.trapezoid(y)
integrate.trapezoid(y, t)
integrate.trapezoid(Y, dx=0.5, axis=0)
integrate.cumulative_trapezoid(y, t)
integrate.cumulative_trapezoid(y, dx=0.5, initial=0)
integrate.cumulative_trapezoid(Y, axis=0)
integrate.simpson(y)
integrate.simpson(y, x=t)
integrate.simpson(y[:4], x=t[:4])
integrate.simpson(Y, axis=1, dx=0.3)
integrate.cumulative_simpson(y)
integrate.cumulative_simpson(y, x=t)
integrate.cumulative_simpson(Y, axis=1, dx=0.3, initial=0)
integrate.romb(y)
integrate.fixed_quad(lambda u: xp.exp(-s * u), 0.0, 1.0)
integrate.fixed_quad(lambda u: s * u**2, 0.0, 1.0, n=3)
integrate.quad(lambda u: s * u**2, 0.0, 1.0)
integrate.quad_vec(lambda u: c * u**2, 0.0, 1.0)
integrate.tanhsinh(gauss, lo, hi, args=(c[:2],)).integral
integrate.tanhsinh(gauss, lo, hi, args=(c[:2],), log=False, maxlevel=6).integral
integrate.tanhsinh(lambda u: xp.exp(-u), s, xp.inf).integral
integrate.tanhsinh(gauss, -xp.inf, xp.inf, args=(c,)).integral
integrate.tanhsinh(gauss, number(-xp.inf, c), number(xp.inf, c), args=(c,)).integral
integrate.nsum(lambda k, c: 1 / (k + c) ** 3, number(1, c), number(10, c), args=(c,)).sum
integrate.nsum(lambda k, c: 1 / (k + c) ** 3, number(1, c), number(xp.inf, c), args=(c,)).sum
integrate.cubature(lambda u: product(u) * s, xp.asarray([0.0, 0.0], dtype=xp.float64), xp.asarray([1.0, 2.0], dtype=xp.float64)).estimate
integrate.cubature(product, lo, hi).estimate
integrate.cubature(product, lo, hi, rule='genz-malik').estimate
integrate.cubature(product, lo, hi, rule='gk15').estimate
integrate.solve_ivp(lambda u, v: -v * s, (0.0, 1.0), c).y
integrate.odeint(lambda v, u: -v, c, [0.0, 1.0])
differentiate.derivative(lambda u: u**4, c).df
differentiate.derivative(gauss, lo, args=(hi,)).df
differentiate.derivative(lambda u: xp.exp(u), c, order=4).df
differentiate.derivative(lambda u: xp.exp(u), c, step_direction=1).df
differentiate.derivative(lambda u: xp.exp(u), c, initial_step=0.1, step_factor=3.0).df
differentiate.jacobian(several, x).df
differentiate.jacobian(lambda u: xp.sum(u**3, axis=0), x).df
differentiate.hessian(quadratic_form, x).ddf
elementwise.find_root(cubic, (0.0, 2.0), args=(c,)).x
elementwise.find_root(cubic, (lo, hi + 1.0), args=(c[:2],)).x
elementwise.find_minimum(quartic, (-1.0, 0.3, 3.0), args=(c,)).x
elementwise.find_minimum(quartic, (-1.0, 0.3, 3.0), args=(c,)).f_x
elementwise.bracket_root(cubic, 0.1, args=(c,)).f_bracket
elementwise.bracket_minimum(quartic, -0.3, args=(c,)).f_bracket
optimize.rosen(x)
optimize.rosen_der(x)
optimize.rosen_hess(x)
optimize.rosen_hess_prod(x, c)
optimize.approx_fprime(x, optimize.rosen)
optimize.minimize(lambda u: (u[0] - s) ** 2, [0.0]).x
optimize.root_scalar(lambda u: u**3 - s, bracket=(0.0, 2.0)).root
optimize.brentq(lambda u: u**3 - s, 0.0, 2.0)
optimize.newton(lambda u: u**3 - c, x)
optimize.bisect(lambda u: u**3 - s, 0.0, 2.0)
optimize.fsolve(lambda u: u**3 - c, x)
optimize.curve_fit(lambda u, a, b: a * u + b, t, y)[0]
optimize.least_squares(lambda u: u - c, x).x
optimize.nnls(Y, lo)[0]
optimize.lsq_linear(Y, lo).x
optimize.linprog(c, A_ub=-Y, b_ub=-lo).x
interpolate.CubicSpline(t, y)(q)
interpolate.PchipInterpolator(t, y)(q)
interpolate.Akima1DInterpolator(t, y)(q)
interpolate.BarycentricInterpolator(t, y)(q)
interpolate.KroghInterpolator(t, y)(q)
interpolate.krogh_interpolate(t, y, q)
interpolate.barycentric_interpolate(t, y, q)
interpolate.lagrange(t, y)(q)
interpolate.interp1d(t, y)(q)
interpolate.make_interp_spline(t, y)(q)
interpolate.make_smoothing_spline(t, y)(q)
interpolate.UnivariateSpline(t, y)(q)
interpolate.splrep(t, y)
interpolate.AAA(t, y)(q)
interpolate.FloaterHormannInterpolator(t, y)(q)
interpolate.RegularGridInterpolator(([0.0, 1.0], [0.0, 0.4, 1.0]), Y)(Q)
interpolate.interpn(([0.0, 1.0], [0.0, 0.4, 1.0]), Y, Q)
interpolate.RBFInterpolator(P, v)(Q)
interpolate.Rbf(P[:, 0], P[:, 1], v)(Q[:, 0], Q[:, 1])
interpolate.griddata(P, v, Q)
interpolate.LinearNDInterpolator(P, v)(Q)
interpolate.NearestNDInterpolator(P, v)(Q)
interpolate.pade([1.0, 0.5, 0.2, 0.1], 1)[0](s)
"""
