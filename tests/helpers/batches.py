"""Calls on which batching rules are tried, beside the samples of derivatives."""

import numpy as np

from agnograd.extend import Sample, array


def regular(x, xp):
    return x + 3 * xp.eye(x.shape[-1])


def integers(*shape, low=-3, high=4, dtype="int64"):
    return array(*shape, low=low, high=high, dtype=dtype)


def booleans(*shape):
    return array(*shape, dtype="bool")


NAN = array(values=[0.5, float("nan"), -1.0])
SORTED = array(values=[-0.5, 0.0, 0.0, 0.5, float("nan")])
UNARY_TESTS = ("isfinite", "isinf", "isnan", "signbit", "logical_not", "bitwise_invert")
BINARY_TESTS = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift")
# Beside the samples of derivatives: functions that have none, members without axes or elements,
# inputs of other ranks, and every way to name axes.
CASES = [
    *(Sample(name, array(2, 3)) for name in UNARY_TESTS[:4]),
    *(Sample(name, each) for name in UNARY_TESTS[4:] for each in (booleans(2), booleans())),
    *(Sample(name, integers(2, 1), integers(3)) for name in BINARY_TESTS),
    *(Sample(name, integers(), integers(3)) for name in BINARY_TESTS),
    *(Sample(f"logical_{name}", booleans(2, 1), booleans(3)) for name in ("and", "or", "xor")),
    *(
        Sample(name, integers(3, low=0), integers(2, 1, low=0))
        for name in (*BITWISE, "bitwise_right_shift")
    ),
    Sample("bitwise_invert", integers(2)),
    Sample("greater", array(3), 0.0),
    Sample("less", 0.0, array()),
    # Creation
    *(Sample(f"{name}_like", array(2, 3)) for name in ("ones", "zeros")),
    Sample("empty_like", array(2, 3), after=lambda out, xp: xp.zeros_like(out)),
    Sample("ones_like", array(), dtype=np.float32),
    Sample("arange", array(values=0.0), array(values=3.0), array(values=1.0)),
    Sample("full", 3, integers()),
    Sample("full", (2, 0), array()),
    Sample("full", (), booleans(), dtype=np.float32),
    Sample("full_like", array(2, 3), array(), dtype=np.complex64),
    Sample("full_like", integers(2), array()),
    Sample("full_like", array(), 2.0),
    Sample("linspace", array(), array(), 1),
    Sample("linspace", array(), 2.0, 5, endpoint=False),
    Sample("linspace", 1, array(dtype="float32"), 4),
    Sample("linspace", array(), array(dtype="complex128"), 0),
    Sample("linspace", array(low=-9), array(high=9), 4, dtype=np.int64),
    Sample("meshgrid", array(), array(3)),
    Sample("meshgrid", array(2), array(1), array(), indexing="ij"),
    Sample("tril", integers(2, 3, 4), k=1),
    Sample("triu", booleans(3, 3), k=-1),
    # Data types
    Sample("astype", array(2), np.int64),
    Sample("astype", array(), np.complex128, copy=False),
    # Linear algebra
    *(
        Sample(name, array(*one), array(*other))
        for name in ("matmul", "linalg.matmul")
        for one, other in (
            ((3,), (3,)),
            ((3,), (3, 1)),
            ((3,), (2, 3, 4)),
            ((2, 3), (3, 1)),
            ((2, 3), (5, 3, 2)),
            ((4, 2, 3), (3,)),
            ((4, 2, 3), (5, 1, 3, 2)),
            ((2, 0), (0, 3)),
            ((0, 3), (3, 2)),
        )
    ),
    Sample("matmul", integers(2, 3), integers(3)),
    Sample("tensordot", array(), array(2), axes=0),
    Sample("tensordot", array(2, 3), array(3, 2), axes=((-1, 0), (0, -1))),
    Sample("tensordot", array(2, 3, 4), array(5, 4, 2), axes=((2, 0), (1, 2))),
    Sample("tensordot", array(2, 0), array(0, 3), axes=1),
    Sample("vecdot", array(2, 3), array(3, dtype="complex128")),
    Sample("vecdot", array(3, 2, 1), array(2, 4), axis=-2),
    Sample("vecdot", array(3, 2), array(3, 2), axis=0),
    # Manipulation
    Sample("broadcast_arrays", array(), array(2, 1), array(3)),
    Sample("broadcast_to", array(), (2, 3)),
    Sample("broadcast_to", array(), ()),
    Sample("broadcast_to", array(1), 3),
    Sample("concat", [array(), array(2, 2)], axis=None),
    Sample("concat", [array(0, 2), array(3, 2)], axis=-2),
    Sample("expand_dims", array(), 0),
    Sample("expand_dims", array(2, 3), -3),
    Sample("flip", array()),
    Sample("flip", array(2, 3), axis=(0, -1)),
    Sample("moveaxis", array(2, 3, 4), (0, -1), (-1, 0)),
    Sample("permute_dims", array(), ()),
    Sample("permute_dims", array(2, 3), (-1, 0)),
    Sample("repeat", array(2, 3), integers(3, low=0), axis=-1),
    Sample("repeat", array(), 3),
    Sample("reshape", array(2, 3), (-1,)),
    Sample("reshape", array(0, 3), (3, -1)),
    Sample("reshape", array(1), ()),
    Sample("reshape", array(2, 2), -1, copy=True),
    Sample("roll", array(), 1),
    Sample("roll", array(2, 3), 4),
    Sample("roll", array(2, 3), (1, -1), axis=(-1, 0)),
    Sample("squeeze", array(1, 2, 1), (0, -1)),
    Sample("stack", [array(), array()]),
    Sample("stack", [array(2), array(2)], axis=-2),
    Sample("tile", array(), (2, 3)),
    Sample("tile", array(2, 3), (2,)),
    Sample("tile", array(2), ()),
    Sample("unstack", array(2, 3), axis=-1),
    Sample("to_device", array(2), "cpu"),
    # Searching, sorting and sets
    *(
        Sample(name, each, **options)
        for name in ("argmax", "argmin", "count_nonzero")
        for each, options in (
            (integers(2, 3), {}),
            (integers(2, 3), {"keepdims": True}),
            (integers(2, 3), {"axis": -2, "keepdims": True}),
            (integers(2, 3), {"axis": 1}),
            (integers(), {}),
            (integers(), {"keepdims": True}),
        )
    ),
    Sample("count_nonzero", integers(2, 3, 2), axis=(0, -1)),
    Sample("nonzero", integers(3)),
    *(
        Sample("searchsorted", SORTED, each, side=side)
        for side in ("left", "right")
        for each in (array(), array(2, 3), NAN, array(0), array(values=[0.0, 0.5, -0.5]))
    ),
    Sample("searchsorted", array(0), array(2)),
    Sample(
        "searchsorted",
        array(values=[1, 3, 3, 4, 6, 7, 7], dtype="int64"),
        integers(5, low=0, high=9),
    ),
    Sample(
        "searchsorted",
        array(values=[0.5, -0.5, 0.0]),
        array(4),
        sorter=array(values=[1, 2, 0], dtype="int64"),
    ),
    Sample("searchsorted", array(values=[0.0, 1.0]), 0.5),
    *(
        Sample("isin", one, other, **options)
        for one, other in (
            (integers(2, 3), integers(2, 2)),
            (integers(), integers()),
            (integers(4), integers(0)),
            (integers(0), integers(3)),
            (2, integers(3)),
            (integers(3), 2),
        )
        for options in ({}, {"invert": True})
    ),
    Sample("where", booleans(2, 1), 1.0, array(3)),
    Sample("where", booleans(), array(2, 2), array()),
    *(
        Sample(name, integers(3, 4), **options)
        for name in ("sort", "argsort")
        for options in ({}, {"axis": 0, "descending": True}, {"axis": -2, "stable": False})
    ),
    Sample("sort", integers(2, 3), axis=None),
    # Statistics
    *(
        Sample(name, each, **options)
        for name in ("sum", "prod", "mean", "max", "min", "var", "std", "all", "any")
        for each, options in (
            (array(), {}),
            (array(), {"keepdims": True}),
            (array(2, 3, 4), {"axis": (0, -1), "keepdims": True}),
            (array(2, 3), {"axis": ()}),
            (array(2, 0), {"axis": 0}),
            (array(2, 3), {"keepdims": True}),
        )
    ),
    *(Sample(name, array(), axis=0) for name in ("sum", "prod", "max", "min", "all", "any")),
    Sample("sum", integers(2, 3, dtype="int8")),
    Sample("cumulative_sum", array(0)),
    Sample("cumulative_prod", array(2, 3), axis=-2, include_initial=True),
    Sample("cumulative_sum", integers(2, 3, dtype="int8"), axis=1),
    Sample("cumulative_sum", array(3, dtype="float32"), dtype=np.float64),
    # Differences
    Sample("diff", array(2, 3), prepend=0.0, append=array(), order=0),
    Sample("diff", array(2, 3), axis=0, prepend=array(2, 3), append=array(1, 3)),
    Sample("diff", array(3), n=0, append=array(1)),
    # Indexing
    *(
        Sample("take", each, indices, axis=axis)
        for each, indices, axis in (
            (array(4), integers(3), None),
            (array(4), integers(), 0),
            (array(2, 4), integers(3, 2), -1),
            (array(3, 2), integers(5, high=3), 0),
            (array(3, 2), integers(5, high=6, low=-6), None),
            (array(3, 0), integers(2, high=3), 0),
            (array(3, 2), integers(0), 0),
        )
    ),
    Sample("take_along_axis", array(3, 1), integers(2, 4, high=3), axis=0),
    Sample("take_along_axis", array(3, 4), integers(3, 0)),
    *(
        Sample("scatter_add_axis", values, indices, axis=axis, shape=shape)
        for values, indices, axis, shape in (
            (array(5), integers(5), 0, (4,)),
            (array(), integers(), 0, (4,)),
            (array(2, 5, 3), integers(5), 1, (2, 4, 3)),
            (array(2, 5, 3), integers(5), -2, (2, 4, 3)),
            (array(2, 3, 2), integers(3, 2), -1, (2, 4)),
            (array(0, 2), integers(0), 0, (3, 2)),
        )
    ),
    # The linear algebra extension
    *(
        Sample(f"linalg.{name}", array(*one, low=1.0, high=2.0), array(*other), before=regular)
        for name in ("solve", "solve_adjoint", "solve_triangle")
        for one, other in (
            ((3, 3), (3, 2)),
            ((2, 3, 3), (3, 2)),
            ((3, 3), (4, 3, 2)),
            ((2, 1, 3, 3), (4, 3, 1)),
            ((0, 0), (0, 2)),
            ((3, 3), (3, 0)),
        )
    ),
    Sample("linalg.solve", array(3, 3), array(3), before=regular),
    Sample("linalg.solve", array(2, 3, 3), array(3), before=regular),
    Sample("linalg.cross", array(2, 3), array(3)),
    Sample("linalg.cross", array(3, 2), array(3, 2), axis=0),
    Sample("linalg.cross", array(3, 1), array(4, 3, 2), axis=-2),
    Sample("linalg.outer", array(2), array(0)),
    Sample("linalg.pinv", array(3, 2), rtol=array(low=0.0)),
    Sample("linalg.pinv", array(4, 3, 2), rtol=array(4, low=0.0)),
    Sample("linalg.matrix_rank", array(3, 3)),
    Sample("linalg.matrix_rank", array(3, 3), rtol=array(low=0.0)),
    Sample("linalg.matrix_rank", array(4, 3, 3), rtol=array(low=0.0)),
    Sample("linalg.vector_norm", array(), ord=1),
    Sample("linalg.vector_norm", array(2, 3), keepdims=True),
    Sample("linalg.vector_norm", array(2, 3, 4), axis=(0, -1), ord=3),
    # Fourier transforms
    Sample("fft.fft", array(3, 4), n=5, axis=0),
    Sample("fft.fftn", array(2, 3, 4)),
    Sample("fft.fftn", array(2, 3, 4), s=(3, 4), axes=(0, 1)),
    Sample("fft.irfftn", array(2, 3, 4, dtype="complex128"), axes=(-1, 0)),
    Sample("fft.ifftshift", array(3, 4), axes=-1),
]
