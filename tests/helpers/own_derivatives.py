"""Functions with derivatives of their own: on agnograd, and as the twin computes them."""

import numpy as np

from duals import add, applied, moved, multiply, negative, own, reciprocal, total
from twin import Array, raw, scatter_add

# By name, the source. Most of these derivatives are wrong on purpose, so that it shows who computed
# them.
OWN = {
    "Rounded": """
class Rounded(ag.Function):
    def forward(self, xp, x):
        return xp.round(4.0 * x) * 0.25

    def backward(self, xp, g):
        return g
""",
    "Reversed": """
class Reversed(ag.Function):
    def forward(self, xp, x):
        return x * 1.0

    def backward(self, xp, g):
        return -0.5 * g
""",
    "Steep": """
class Steep(ag.Function):
    def forward(self, xp, x):
        self.save(x)
        return xp.sin(x)

    def backward(self, xp, g):
        (x,) = self.saved
        return g * (x + 2.0)
""",
    "OfOutput": """
class OfOutput(ag.Function):
    def forward(self, xp, x):
        y = xp.tanh(x)
        self.save(y)
        return y

    def backward(self, xp, g):
        (y,) = self.saved
        return xp.exp(y) * g
""",
    "Mixed": """
class Mixed(ag.Function):
    def forward(self, xp, x):
        self.save(x)
        return xp.cumulative_sum(x) * 0.5

    def backward(self, xp, g):
        (x,) = self.saved
        return xp.flip(g) + x * xp.sum(g)
""",
    "Product": """
class Product(ag.Function):
    def forward(self, xp, x, y):
        self.save(x, y)
        return x * y

    def backward(self, xp, g):
        x, y = self.saved
        return g * xp.cos(y), 0.5 * g * x
""",
    "Pushed": """
class Pushed(ag.Function):
    def forward(self, xp, x):
        y = xp.cos(x)
        self.save(x, y, masks=True)
        return y

    def backward(self, xp, g):
        x, y = self.saved
        return g * (y - x)

    def guarded_backward(self, xp, g):
        return self.backward(xp, xp.zeros_like(self.saved[0]) if g is None else g)

    def jvp(self, xp, t):
        x, y = self.saved
        return t * (y - x)
""",
    "Joined": """
class Joined(ag.Function, pure=True, lifts=True):
    def forward(self, xp, x, y):
        self.save(x, y)
        return x - y

    def backward(self, xp, g):
        x, y = self.saved
        return g * y, -0.5 * g * x

    def jvp(self, xp, s, t):
        x, y = self.saved
        if s is None:
            return -0.5 * t * x
        return s * y if t is None else s * y - 0.5 * t * x
""",
    "wrapped": """
wrapped = ag.wrap(lambda x: x * x + 0.5, vjp=lambda g, out, x: g * (x + out))
""",
    "root": """
def newton(a):
    x = 0.0 * a
    for _ in range(60):
        x = x - (x * x * x + x - a) / (3.0 * x * x + 1.0)
    return x


root = ag.implicit(newton, lambda x, a: x**3 + x - a)
""",
    "fixed": """
def iterated(a):
    x = 0.0 * a
    for _ in range(60):
        x = 0.3 * x / (1.0 + x * x) + a
    return x


fixed = ag.implicit(iterated, fixed_point=lambda x, a: 0.3 * x / (1.0 + x * x) + a)
""",
    "dense": """
def dense(entries, xp, n):
    values, rows, columns, _ = entries
    return xp.scatter_add(values, (rows, columns), shape=(n, n))
""",
}


def newton(a):
    x = 0.0 * a
    for _ in range(60):
        x = x - (x * x * x + x - a) / (3.0 * x * x + 1.0)
    return x


def iterated(a):
    x = 0.0 * a
    for _ in range(60):
        x = 0.3 * x / (1.0 + x * x) + a
    return x


def slope(f):
    """Return a push that multiplies by what ``f`` computes of the result and the argument."""
    return lambda t, out, x: multiply(t, f(out, x))


def mixed(t, out, x):
    flipped = moved(lambda x, lead: np.flip(x, lead), t, 1)
    inner = total(multiply(t, x), None, 1)
    return add(flipped, moved(lambda y, lead: y[..., None], inner, 1))


def product(s, t, out, x, y):
    terms = []
    if s is not None:
        terms.append(multiply(s, applied("cos", y)))
    if t is not None:
        terms.append(multiply(multiply(t, x), 0.5))
    return terms[0] if len(terms) == 1 else add(*terms)


def joined(s, t, out, x, y):
    terms = []
    if s is not None:
        terms.append(multiply(s, y))
    if t is not None:
        terms.append(multiply(multiply(t, x), -0.5))
    return terms[0] if len(terms) == 1 else add(*terms)


def slope_of_fixed(out, x):
    """Return 1 / (1 - 0.3 (1 - out^2) / (1 + out^2)^2)."""
    square = multiply(out, out)
    below = reciprocal(add(square, 1.0))
    inner = multiply(multiply(add(negative(square), 1.0), multiply(below, below)), -0.3)
    return reciprocal(add(inner, 1.0))


RULES = {
    "Rounded": (lambda x: np.round(4.0 * x) * 0.25, lambda t, out, x: t),
    "Reversed": (lambda x: x * 1.0, lambda t, out, x: multiply(t, -0.5)),
    "Steep": (np.sin, slope(lambda out, x: add(x, 2.0))),
    "OfOutput": (np.tanh, slope(lambda out, x: applied("exp", out))),
    "Mixed": (lambda x: np.cumsum(x) * 0.5, mixed),
    "Product": (np.multiply, product),
    "Pushed": (np.cos, slope(lambda out, x: add(out, negative(x)))),
    "Joined": (np.subtract, joined),
    "wrapped": (lambda x: x * x + 0.5, slope(lambda out, x: add(x, out))),
    "root": (
        newton,
        slope(lambda out, x: reciprocal(add(multiply(multiply(out, out), 3.0), 1.0))),
    ),
    "fixed": (iterated, slope(slope_of_fixed)),
}


def called(forward, push):
    return lambda *args: Array(own(forward, push, *map(raw, args)))


def instances(function):
    return lambda: function


FUNCTIONS = {name: called(*rule) for name, rule in RULES.items()}
TWINS = {
    name: instances(function) if name[0].isupper() else function
    for name, function in FUNCTIONS.items()
}
TWINS["dense"] = lambda entries, xp, n: scatter_add(entries[0], entries[1:], (n, n))
assert set(TWINS) == set(OWN)
