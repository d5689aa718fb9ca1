"""Functions whose derivatives are programs of every kind: each with its arguments as NumPy arrays.

Each takes a namespace, and arrays.
"""

import numpy as np

R = np.random.default_rng(5)


def perceptron(xp, w1, b, w2, x):
    hidden = xp.tanh(x @ w1 + b)
    return xp.mean((hidden @ w2 - 0.5) ** 2)


def regression(xp, w, x, y):
    return xp.mean(xp.log1p(xp.exp(-y * (x @ w)))) + 0.01 * xp.sum(w * w)


def softmax(xp, w, x):
    z = x @ w
    z = z - xp.max(z, axis=1, keepdims=True)
    return -xp.mean(z[:, 0] - xp.log(xp.sum(xp.exp(z), axis=1)))


def rosenbrock(xp, x):
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def pairs(xp, x):
    apart = x[:, None, :] - x[None, :, :]
    squared = xp.sum(apart * apart, axis=-1) + 1.0
    return xp.sum(1 / squared**3 - 1 / squared)


def lorenz(xp, s):
    for _ in range(12):
        x, y, z = s[0], s[1], s[2]
        s = s + 0.01 * xp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z])
    return xp.sum(s * s)


def heat(xp, u):
    for _ in range(8):
        u = u + 0.1 * (xp.roll(u, 1) - 2 * u + xp.roll(u, -1))
    return xp.sum(u**2)


def chain(xp, x):
    for _ in range(20):
        x = xp.sin(x) * 1.01 + 0.1 * x
    return xp.sum(x)


def scalars(xp, x):
    s = x[0]
    for i in range(1, 12):
        s = 0.5 * s + xp.sin(x[i])
    return s * s


def squares(xp, x):
    s = xp.asarray(0.0, dtype=xp.float64)
    for i in range(x.shape[0]):
        s = s + x[i] * x[i]
    return s


def fan(xp, x):
    s = 0.0
    for k in range(12):
        s = s + xp.sum(x * (0.5 + k))
    return s


def writes(xp, x):
    y = xp.zeros_like(x)
    for i in range(10):
        y[i] = x[i] ** 2 + (y[i - 1] if i else 0.0)
    return xp.sum(y)


def layer(xp, x, g):
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    spread = xp.mean(centred**2, axis=-1, keepdims=True)
    return xp.sum(xp.tanh(centred / xp.sqrt(spread + 1e-5) * g))


def branches(xp, x):
    return xp.sum(xp.where(x > 0, xp.sqrt(xp.abs(x)), xp.exp(x)) * xp.clip(x, -1.0, 1.0))


def inverse(xp, a):
    return xp.sum(xp.linalg.inv(a @ xp.matrix_transpose(a) + 3 * xp.eye(4, dtype=a.dtype)) ** 2)


FUNCTIONS = {
    perceptron: (
        R.normal(size=(4, 6)),
        R.normal(size=6),
        R.normal(size=(6, 2)),
        R.normal(size=(9, 4)),
    ),
    regression: (R.normal(size=5), R.normal(size=(20, 5)), np.sign(R.normal(size=20))),
    softmax: (R.normal(size=(5, 3)), R.normal(size=(8, 5))),
    rosenbrock: (R.normal(size=12),),
    pairs: (R.normal(size=(6, 3)),),
    lorenz: (np.array([1.0, 1.5, 2.0]),),
    heat: (R.normal(size=15),),
    chain: (R.normal(size=10),),
    scalars: (R.normal(size=12),),
    squares: (R.normal(size=14),),
    fan: (R.normal(size=6),),
    writes: (R.normal(size=10),),
    layer: (R.normal(size=(4, 8)), R.normal(size=8)),
    branches: (R.normal(size=(3, 5)),),
    inverse: (R.normal(size=(4, 4)),),
}


def tripled(x):
    """Return three times an array: what pickles of ``tests/plugins/pickled`` are of."""
    return 3.0 * x
