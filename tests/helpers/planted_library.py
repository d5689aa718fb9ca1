"""A library with planted defects: what certificates must find, and at which line."""

import os
import time
from pathlib import Path

import numpy as np
from array_api_compat import array_namespace

import agnograd as ag


def sound(x, scale=2.0):
    xp = array_namespace(x)
    return xp.sum(xp.sin(x) ** 2) * scale


def by_float(x):
    return x * float(x[0])  # the gradient ends here


def by_asarray(x):
    return np.asarray(x) * 2.0  # which refuses


def detached(x):
    return x.detach() if isinstance(x, ag.Variable) else x


def part_detached(x):
    return x * x, detached(x)


class Doubled(ag.Function):
    """The identity, with a derivative that is twice what it should be."""

    def forward(self, xp, x):
        return x

    def backward(self, xp, g):
        return 2 * g


def doubled(x):
    return Doubled()(x) if isinstance(x, ag.Variable) else x


_cubed = ag.wrap(lambda x: x**3, vjp=lambda g, out, x: 2 * x**2 * g)


def cubed(x):
    return _cubed(x) if isinstance(x, ag.Variable) else x**3


def behind_where(x):
    xp = array_namespace(x)
    root = xp.sqrt(x - x[0])  # whose derivative at 0 is infinite
    return xp.where(x > 1.0, x, root * 0.0)


def behind_product(x):
    xp = array_namespace(x)
    root = xp.sqrt(xp.sum((x - x) ** 2))  # of which 0 times infinity is made
    return x + root**2


def other_value(x):
    return x + 1.0 if isinstance(x, ag.Variable) else x


def fewer(x):
    return [x] if isinstance(x, ag.Variable) else [x, x]


def failing(x):
    raise ZeroDivisionError(f"of {x.shape[0]} elements")


def failing_on_variables(x):
    if isinstance(x, ag.Variable):
        raise RuntimeError("no Variables")
    return x


def branching(x):
    xp = array_namespace(x)
    return x if xp.sum(x) > 0 else -x


def widened(x):
    xp = array_namespace(x)
    return x * xp.asarray([1.0, 2.0], dtype=xp.float64)


def _constant_slope(g, out, x):
    return 2.0 * g * (x.detach() if isinstance(x, ag.Variable) else x)


_squared = ag.wrap(lambda x: x * x, vjp=_constant_slope)


def once(x):
    """Return the square, whose derivative has lost its own."""
    return _squared(x) if isinstance(x, ag.Variable) else x * x


def rounded(x):
    return array_namespace(x).round(x + 0.2)


def rooted(x):
    return array_namespace(x).sqrt(x - 0.5)


def kinked(x):
    xp = array_namespace(x)
    return xp.sum(xp.where(x > 0.5, x, 2.0 * x))


def noisy(x):
    if isinstance(x, ag.Variable):
        import warnings

        warnings.warn("a Variable", UserWarning, stacklevel=1)
    return x * x


def dying(x):
    if isinstance(x, ag.Variable):
        os._exit(3)
    return x


def sleeping(x):
    """Sleep for a minute, as does a child that holds what was open; a file says that they do."""
    if isinstance(x, ag.Variable):
        if hasattr(os, "fork"):
            os.fork()
        Path("asleep").touch()
        time.sleep(60)
    return x
