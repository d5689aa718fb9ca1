"""Taylor series of random programs, against pushes of pushes; see ``--programs=N``."""

import zlib

import numpy as np

import agnograd as ag
from agnograd.errors import BatchingError, CompileError
from agnograd_taylor import derivatives_of
from differences import close
from drawn import XP, search

ORDER = 3
# Jets are computed as they are, under transformations and inside of these.
AROUND = {
    "itself": lambda f: f,
    "compile": lambda f: ag.compile(f, lowering="plain"),
    "vmap": lambda f: lambda *xs: [y[0] for y in ag.vmap(f)(*[np.stack([x, x]) for x in xs])],
    "checkpoint": ag.checkpoint,
}


def test_series_of_programs_are_those_of_nested_pushes(request):
    count, refused = max(1, request.config.getoption("--programs") // 10), []

    def holds(program):
        name = list(AROUND)[zlib.crc32(program.source.encode()) % len(AROUND)]
        try:
            compare(program, AROUND[name], name)
        except (BatchingError, CompileError):
            assert program.of_values, "its shapes do not depend on values"
            refused.append(program)

    assert search(count, holds) == count
    assert len(refused) <= 0.4 * count, f"{len(refused)} of {count} programs are refused"


def compare(program, around, name):
    function = program.function()
    directions = [np.cos(np.arange(x.size, dtype=x.dtype)).reshape(x.shape) for x in program.inputs]

    def along(t):
        return function(XP, *[x + t * v for x, v in zip(program.inputs, directions, strict=True)])

    expected, derivative = [], along
    for _ in range(ORDER + 1):
        expected.append(np.asarray(ag.jvp(derivative, 0.0, 1.0)[0]))
        derivative = pushed(derivative)

    def series(*inputs):
        given = [[v, *[None] * (ORDER - 1)] for v in directions]
        value, found = ag.jet(lambda *xs: function(XP, *xs), inputs, given)
        return [value, *derivatives_of(found)]

    scale = max(float(np.max(np.abs(each), initial=1.0)) for each in expected)
    for k, (one, other) in enumerate(zip(around(series)(*program.inputs), expected, strict=True)):
        tolerance = 1e-7 if program.narrow is None else 1e-2
        assert close(np.asarray(one) / scale, other / scale, tolerance), (
            f"{name}, order {k}: {one}, {other}"
        )


def pushed(f):
    return lambda t: ag.jvp(f, t, 1.0)[1]
