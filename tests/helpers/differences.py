"""Checks of a program's derivatives: by finite differences, and of one mode against the other."""

import numpy as np

import agnograd as ag
from drawn import RAW, XP

STEP, TOLERANCE = 1e-3, 1e-6


def flat(arrays):
    return np.concatenate([np.reshape(np.asarray(each), (-1,)) for each in arrays])


def differences(f, inputs, along):
    """Return five-point central differences of two steps, the second one of half the first."""
    pairs = list(zip(inputs, along, strict=True))
    at = {k: f([x + k * STEP / 2 * u for x, u in pairs]) for k in (-4, -2, -1, 1, 2, 4)}
    return (
        (at[-4] - 8 * at[-2] + 8 * at[2] - at[4]) / (12 * STEP),
        (at[-2] - 8 * at[-1] + 8 * at[1] - at[2]) / (6 * STEP),
    )


class Wide:
    """A namespace whose narrow dtypes are wide."""

    def __init__(self, xp):
        self.xp = xp

    def __getattr__(self, name):
        wide = {"float16": "float64", "float32": "float64", "complex64": "complex128"}
        return getattr(self.xp, wide.get(name, name))


def close(found, expected, tolerance):
    scale = 1 + np.max(np.abs(expected), initial=0.0)
    return bool(np.all(np.abs(found - expected) <= tolerance * scale))


class Derivatives:
    """A program's value and derivatives on a namespace, as NumPy arrays."""

    def __init__(self, program, xp=XP):
        self.function = program.function()
        self.narrow = None if isinstance(xp, Wide) else program.narrow
        self.xp = xp

    def __call__(self, *inputs):
        return self.function(self.xp, *inputs)

    def value(self, inputs):
        return np.asarray(self(*(ag.Variable(x, requires_grad=False) for x in inputs)).data)

    def gradient(self, inputs):
        return flat(ag.grad(self, tuple(range(len(inputs))))(*inputs))

    def product(self, inputs, along):
        return flat(ag.hvp(self, tuple(inputs), tuple(along)))

    def forward(self, inputs, along):
        """Return the first derivative in forward mode, and the second by forward over reverse."""
        inputs, along = tuple(inputs), tuple(along)
        gradient = ag.grad(self, tuple(range(len(inputs))))
        return [
            np.asarray(ag.jvp(self, inputs, along)[1]),
            flat(ag.jvp(gradient, inputs, along)[1]),
        ]

    def both(self, inputs, along):
        """Return the first derivative along a direction, and the product with the Hessian.

        Both are computed in reverse and in forward mode, which must agree.
        """
        found = [self.gradient(inputs) @ flat(along), self.product(inputs, along)]
        for order, (one, other) in enumerate(
            zip(found, self.forward(inputs, along), strict=True), 1
        ):
            if not close(other, one, 1e-9 if self.narrow is None else self.narrow):
                raise AssertionError(
                    f"order {order}: {one} in reverse mode, {other} in forward mode"
                )
        return found


def directions(inputs):
    rng = np.random.default_rng(1)
    return [rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1, 1], x.shape) for x in inputs]


def check(program, xp=XP):
    """Check both derivatives, and return for each whether the check is conclusive.

    Differences are not where the two steps' disagree: there is a kink, or a jump, within the step.
    A program with narrow dtypes is compared with itself in double precision; that says nothing
    where a change of rounding makes another result.
    """
    of, inputs = Derivatives(program, xp), program.inputs
    along = directions(inputs)
    if program.as_in_numpy:
        expected = of.function(RAW, *(np.array(x) for x in inputs))
        assert close(of.value(inputs), expected, 1e-12), "the value is not NumPy's"
    if program.narrow is None:
        return check_by_differences(of, inputs, along)
    wide = Derivatives(program, Wide(xp))
    conclusive = check_by_differences(wide, inputs, along)
    shifts = [1 - program.narrow / 50, 1 + program.narrow / 50]
    near = [wide.both([x * shift for x in inputs], along) for shift in shifts]
    for order, (one, other, found) in enumerate(zip(*near, of.both(inputs, along), strict=True)):
        conclusive[order] &= close(one, other, program.narrow / 2)
        if conclusive[order] and not close(found, one, program.narrow):
            raise AssertionError(
                f"order {order + 1}: the derivative is {found}, in double precision {one}"
            )
    return conclusive


def check_by_differences(of, inputs, along):
    found = of.both(inputs, along)
    conclusive = []
    for order, (f, derivative) in enumerate(zip((of.value, of.gradient), found, strict=True), 1):
        coarse, fine = differences(f, inputs, along)
        conclusive.append(close(coarse, fine, TOLERANCE / 10))
        if conclusive[-1] and not close(derivative, fine, TOLERANCE):
            raise AssertionError(
                f"order {order}: the derivative is {derivative}, finite differences give {fine}"
            )
    return conclusive
