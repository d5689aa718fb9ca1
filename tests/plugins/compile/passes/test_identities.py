"""Identities: what goes, and what looks like one and is not."""

import numpy as np
import pytest

import agnograd as ag
from traced import check, ops, raw, traced

NAMES = ("identities", "dead")
XP = ag.namespace("numpy")
# Each with -0.0, NaN and infinities among its elements.
SPECIAL = [-0.0, 0.0, 1.5, -2.0, np.nan, np.inf, -np.inf, 1e-320]


def left(f, *arrays, **settings):
    program = traced("numpy", f, *arrays)
    return ops(check(program, *arrays, names=NAMES, **settings))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: XP.positive(x),
        lambda x: x * 1,
        lambda x: 1.0 * x,
        lambda x: x / 1,
        lambda x: x**1,
        lambda x: x - 0,
        lambda x: x - 0.0,
        lambda x: XP.negative(XP.negative(x)),
        lambda x: XP.reshape(x, x.shape),
        lambda x: XP.astype(x, x.dtype),
        lambda x: XP.astype(x, x.dtype, copy=False),
        lambda x: XP.broadcast_to(x, x.shape),
        lambda x: XP.permute_dims(x, (0,)),
        lambda x: XP.conj(x),
        lambda x: XP.real(x),
        lambda x: x[...],
        lambda x: x[:],
        lambda x: x[0:],
    ],
)
def test_what_gives_its_argument(f):
    x = np.array(SPECIAL)
    assert left(lambda x: f(XP.trunc(x)), x, others=[[x[::-1].copy()]]) == ["trunc"]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + 0.0,  # of -0.0
        lambda x: x - (-0.0),
        lambda x: 1.0 / x,
        lambda x: x * 0,
        lambda x: 0.0 - x,
        lambda x: XP.flip(x),
        lambda x: x[::-1],
        lambda x: XP.reshape(x, (2, -1)),
        lambda x: XP.astype(x, XP.float32),
        lambda x: XP.pow(1, x),
    ],
)
def test_what_does_not(f):
    x = np.array(SPECIAL)
    assert len(left(f, x)) == 1


def test_products_of_complex_numbers_with_one():
    z = np.array([complex(np.inf, -0.0), complex(-0.0, -1.0), 1 + 2j])
    for f in (lambda z: z * 1, lambda z: z / 1.0, lambda z: z**1):
        assert len(left(lambda z, f=f: f(z), z)) == 1
    assert left(lambda z: XP.sin(z - 0), z) == ["sin"]


def test_dtypes_decide():
    x = np.array([1, 2, 3])
    assert left(lambda x: XP.sin((x * 1) / 2), x) == ["divide", "sin"]
    assert left(lambda x: x * 1.0, x) == ["multiply"]
    assert left(lambda x: x / 1, x) == ["divide"]
    single = np.array([1.0], dtype="float32")
    assert left(lambda x: XP.sin(x * 1.0), single) == ["sin"]


def test_strides_decide():
    x = np.arange(12.0).reshape(3, 4)[:, ::2]
    # A product is an array in rows; x is not, and NumPy adds in another order.
    assert left(lambda x: XP.sum(x * 1, axis=0), x) == ["multiply", "sum"]
    columns = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert left(lambda x: XP.sum(x * 1), columns) == ["sum"]


def test_scalars_and_arrays_without_axes_are_told_apart():
    x = np.array(2.0)
    assert left(lambda x: x * 1, x) == ["multiply"]  # a scalar, and x is an array
    assert left(lambda x: (XP.sin(x) * 1) * 1, x) == ["sin"]


def test_sums_of_negatives_are_differences():
    x, y = np.array(SPECIAL), np.array(SPECIAL[::-1])
    others = [[y, y], [-x, x]]
    assert left(lambda x, y: x + (-y), x, y, others=others) == ["subtract"]
    assert left(lambda x, y: (-x) + y, x, y, others=others) == ["subtract"]
    assert left(lambda x, y: x - (-y), x, y, others=others) == ["add"]
    assert left(lambda x, y: (-x) * (-y), x, y, others=others) == ["multiply"]
    assert left(lambda x, y: XP.abs(-x) + y, x, y, others=others) == ["abs", "add"]
    assert left(lambda x: XP.abs(XP.abs(x)), x) == ["abs"]


def test_integers_without_a_sign():
    x, y = np.array([1, 2, 250], dtype="uint8"), np.array([3, 2, 7], dtype="uint8")
    assert left(lambda x: XP.abs(-x), x) == ["negative", "abs"]
    assert left(lambda x, y: (x + (-y), x - (-y), (-x) * (-y), -(x)), x, y)[:-1] == [
        *("subtract", "add", "multiply")
    ]


def test_what_was_just_written_or_stacked():
    x = np.array(SPECIAL)

    def f(x):
        y = XP.zeros_like(x)
        y[2] = x[0] * 3.0
        first = y[2] + 1.0
        y[1:3] = x[4:6]
        s = XP.stack([x[0], x[1] * 2.0])
        return first, y[1:3], y[2:3], s[1] * x[3], s[-2]

    made = left(f, x)
    assert made.count("__getitem__") == 6  # three elements, a slice twice, and y[2:3]
    assert "stack" not in made

    def other(x):
        y = XP.zeros_like(x)
        y[1:3] = x[0]  # of one element
        z = XP.astype(x, XP.float32)
        z[1] = x[1]
        return y[1:3], z[1], XP.stack([x, x * 2.0], axis=1)[0]

    left(other, x)


def test_strides_of_negatives_decide_too():
    x, y = np.ones((2, 3)), np.ones((2, 6))[:, ::2]
    assert left(lambda x, y: x + (-y), x, y) == ["negative", "add"]


def test_views_of_views():
    x = np.arange(24.0).reshape(2, 3, 4)
    swap = (2, 0, 1)
    assert left(lambda x: XP.matrix_transpose(XP.matrix_transpose(XP.sin(x))), x) == ["sin"]
    assert left(lambda x: XP.reshape(XP.reshape(x, (6, 4)), (-1,)), x) == ["reshape"]
    assert left(lambda x: XP.sin(XP.reshape(XP.reshape(x, (6, 4)), (2, 3, 4))), x) == ["sin"]
    assert left(lambda x: XP.permute_dims(XP.permute_dims(x, swap), swap), x) == ["permute_dims"]
    assert left(lambda x: XP.sin(XP.permute_dims(XP.permute_dims(x, swap), (1, 2, 0))), x) == [
        "sin"
    ]
    assert left(
        lambda x: XP.broadcast_to(XP.broadcast_to(x, (5, 2, 3, 4)), (6, 5, 2, 3, 4)), x
    ) == ["broadcast_to"]


def test_a_reshape_that_copies_stays():
    x = np.arange(12.0).reshape(3, 4).T
    two = ["reshape", "reshape"]
    assert left(lambda x: XP.reshape(XP.reshape(x, (-1,)), (4, 3)), x) == two
    assert left(lambda x: XP.sum(XP.reshape(XP.reshape(x, (-1,)), (4, 3))), x) == [*two, "sum"]


@pytest.mark.parametrize("backend", ["numpy", "strict", "torch"], indirect=True)
def test_on_every_library(backend, xp):
    x = raw(backend, [[1.0, -0.0], [float("nan"), 2.0]])

    def f(x):
        y = xp.reshape(xp.sin(x) * 1, (2, 2))
        return xp.exp(xp.negative(xp.negative(y)) + (-x))[...], xp.matrix_transpose(
            xp.matrix_transpose(y)
        )

    after = check(traced(backend, f, x), x, names=NAMES)
    assert ops(after) == ["sin", "subtract", "exp"]
