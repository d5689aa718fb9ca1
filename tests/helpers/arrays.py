"""Leaves, their values, what calls come to, and a function with a derivative of its own."""

import numpy as np

import agnograd as ag


def leaf(xp, values, dtype="float64"):
    """Return a tracked Variable."""
    return ag.Variable(xp.asarray(values, dtype=getattr(xp, dtype)).data)


def host(x):
    """Return an array of any library as NumPy's; a device's refuses to become one by itself."""
    return np.asarray(ag.asarray(x).detach())


def values(x):
    """Return the values of a Variable, tracked or not, as a NumPy array."""
    return np.asarray(x.detach())


def outcome(function, *args):
    """Return what a call gives, or the type of its exception, so that two can be compared."""
    try:
        result = function(*args)
    except Exception as error:
        return type(error)
    return result.dtype, np.asarray(result).tolist()


class Square(ag.Function):
    def forward(self, xp, x):
        self.save(x)
        return x * x

    def backward(self, xp, g):
        (x,) = self.saved
        return 2 * x * g
