"""Array-api-signal and GLASS: signals, and simulations of galaxy surveys."""

import numpy as np

LIBRARY = "array-api-signal, glass"
IMPORTS = ("array_api_signal", "glass")
INPUTS = {
    "x": np.asarray([1.3, 0.4, 2.2, 1.7, 0.9, 3.1]),
    "A": np.asarray([[1.3, 0.4, 2.2], [0.9, 3.1, 2.6]]),
    "B": np.asarray([[0.5, 1.2], [0.3, 0.8], [1.4, 0.2]]),
    "z": np.asarray([0.1, 0.4, 0.9, 1.3]),
    "f": np.asarray([0.2, 0.8, 0.5, 0.3]),
    "S": np.asarray([[2.0, 0.3, 0.5], [0.3, 1.5, 0.2], [0.5, 0.2, 1.8]]),
    "s": np.asarray(0.7),
    "d": np.asarray([0.4, -0.2, 0.9]),
    "v": np.asarray([0.95, 0.3, 1.2]),
}


def scope():
    """Return what the calls name."""
    import array_api_signal
    import glass
    from glass import arraytools

    return {"array_api_signal": array_api_signal, "arraytools": arraytools, "glass": glass}


CALLS = """
array_api_signal.trapezoid(f, z)
array_api_signal.trapezoid(A, dx=0.5, axis=0)
array_api_signal.simpson(A, axis=1)
array_api_signal.simpson(f[:3], x=z[:3])
array_api_signal.interp(v, z, f)
array_api_signal.logsumexp(x)
array_api_signal.logsumexp(A, axis=1, keepdims=True)
array_api_signal.ndtr(x)
array_api_signal.i0e(x)
array_api_signal.convolve(x, d, mode='constant')
array_api_signal.gaussian_filter1d(x, 0.7, mode='constant')
arraytools.trapezoid_product((z, f), (z, f))
arraytools.cumulative_trapezoid(f, z)
arraytools.ndinterp(v, z, f)
glass.algorithm.cov_clip((S + S.T) / 2)
glass.algorithm.nearcorr((S + S.T) / 2)
glass.algorithm.nnls(B, d)
glass.loglinear_bias(d, s)
glass.linear_bias(d, s)
glass.gaussian_nz(z, 0.6, 0.3)
glass.gaussian_nz(z, v[0], s)
glass.smail_nz(z, 0.6, 2.0, 1.5)
glass.effective_bias(z, f, glass.RadialWindow(z, f, 0.5))
glass.deflect(d, v, d * 0.1 + 0.05j * v)
glass.displace(d, v, d * 0.1 + 0.05j * v)
glass.algorithm.cov_nearest((S + S.T) / 2)
glass.observations.equal_dens_zbins(z, f, 2)
"""
