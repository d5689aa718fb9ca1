"""Ops with one defect each, named after it; ``sound`` has none."""

import agnograd as ag
from agnograd.extend import OpSet, itself

ops = OpSet("planted", samples="planted.samples")
kept = []
running = []


def cube(xp, x):
    return x * x * x


def register(name, rule, forward=cube, kind=ops.elementwise):
    kind(f"{name}(x, /)", x=rule, forward=forward)


def keeping(xp, x):
    kept.append(x)
    return x * x * x


def changing(x):
    x *= 2.0  # in a first-order pass: in place
    return 0.75 * x * x


def calling_itself(xp, x):
    if not running:
        running.append(True)
        ag.namespace(x).hook_called_twice(x)
        running.clear()
    return x * x * x


def computing(g, x, xp):
    return g * 3 * x * x if bool(xp.any(x != 0)) else g


register("unsampled", lambda x: 3 * x * x)
register("sound", lambda x: 3 * x * x)
register("wrong_sign", lambda x: -3 * x * x)
register("wrong_dtype", lambda x, xp: xp.astype(3 * x * x, xp.float32))
register("leaked_array", lambda x: 3 * x * x, keeping)
register("changed_input", changing)
register("computed_lazy_array", computing, kind=ops.vjp)
register("hook_called_twice", lambda x: 3 * x * x, calling_itself)
register("missing_conjugate", lambda g, x: g * 3 * x * x, kind=ops.vjp)
register("wrong_second_derivative", lambda x: 3 * ag.stop_gradient(x) * ag.stop_gradient(x))
ops.multilinear(
    "wrong_stacking(x1, x2, /)",
    x1=lambda g, x1_shape, x2, xp: g @ xp.matrix_transpose(x2) / x1_shape[0],
    x2=lambda g, x1, xp: xp.matrix_transpose(x1) @ g / x1.shape[0],  # of how many calls?
    forward=lambda x1, x2: x1 @ x2 / x1.shape[0],
    stacks={"x2": 0},
)
ops.vjp(
    "missing_sum(x1, x2, /)",
    x1=lambda g, x2: g * x2,
    # The first row alone, where there should be the sum over all.
    x2=lambda g, x1, x2_shape: (g * x1)[0, ...] if (g * x1).shape != x2_shape else g * x1,
    forward=lambda x1, x2: x1 * x2,
)


def add_once(into, g, key, x_shape, xp):
    """Add at each key, but only once where several are the same."""
    into = xp.zeros(x_shape) if into is None else into
    into[key] += g
    return into


ops.vjp(
    "wrong_batching(x, /)",
    x=lambda g, x, xp: xp.flip(g),
    forward=lambda xp, x: xp.flip(x),
    batch=lambda xp, x: xp.flip(x),  # the members, too
)
ops.elementwise(
    "lost_in_batching(x, /)",
    x=lambda x: 3 * x * x,
    forward=cube,
    batch=lambda x: ag.stop_gradient(x) * x * x,
)
ops.vjp(  # whose rule is right, and calls an op that is not
    "lost_in_passes_at_once(x, /)", x=lambda g, x, xp: xp.part_of_cube(g, x), forward=cube
)
ops.elementwise(
    "part_of_cube(x1, x2, /)",
    x1=lambda x2: 3 * x2 * x2,
    x2=lambda x1, x2: 6 * x1 * x2,
    forward=lambda x1, x2: 3 * x1 * x2 * x2,
    batch=lambda x1, x2: 3 * x1 * ag.stop_gradient(x2) ** 2,
)
ops.elementwise(  # what is no Variable may hold one, at a level
    "lost_below_a_level(x, /)",
    x=lambda x: 3 * x * x if isinstance(x, ag.Variable) else 3 * ag.stop_gradient(x) ** 2,
    forward=cube,
)
ops.linear(
    "wrong_pattern(x, /)",
    x=lambda g, xp: xp.flip(g),
    forward=lambda xp, x: xp.flip(x),
    batch=lambda xp, x: xp.flip(x, axis=[1, 2]),
    pattern=lambda x: x + 0.0,  # each element at its own place
)
for name in ("undeclared_noise", "declared_noise"):  # as of a transform, whose zeros are not exact
    ops.linear(
        f"{name}(x, /)",
        x=lambda g, xp: g + 1e-15 * xp.flip(g),
        forward=lambda xp, x: x + 1e-15 * xp.flip(x),
        batch=lambda xp, x: x + 1e-15 * xp.flip(x, axis=[1, 2]),
        pattern=lambda x: x + 0.0,
    )
ops.elementwise("wrong_negation(x, /)", x=-1, forward=lambda x: 1.0 - x, negation=True)
ops.linear(
    "wrong_reading(x, key, /)",
    x=lambda g, key, x_shape, xp: xp.scatter_add(g, key, shape=x_shape),
    forward=lambda x, key: x[key],
    accumulate=add_once,
    reads=True,
)
ops.elementwise(
    "wrong_dtype_of_result(x, /)", x=0, forward=lambda xp, x: xp.astype(xp.round(x), xp.int64)
)
ops.elementwise(
    "wrong_exactness(x, /)",  # the last bit depends on the array that an element is in
    x=1,
    forward=lambda xp, x: x + 2.0**-40 * len(x.shape),
    exact=True,
    batch="elementwise",
)
ops.elementwise(  # its rules say that it is a product, which has no constant
    "wrong_product(x1, x2, /)",
    x1=itself("x2"),
    x2=itself("x1"),
    forward=lambda x1, x2: x1 * x2 + 1.0,
)
ops.elementwise(
    "wrong_commutation(x1, x2, /)",
    x1=1,
    x2=-1,
    forward=lambda x1, x2: x1 - x2,
    commutative=True,
)
ops.linear(
    "wrong_selection(x, /)",
    x=lambda g, x_shape, xp: g[: x_shape[0], ...],
    forward=lambda xp, x: xp.concat([x, xp.zeros_like(x)]),
    pattern="selects",
)
