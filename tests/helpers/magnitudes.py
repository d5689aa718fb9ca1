"""First and second derivatives of element-wise programs at all magnitudes, held against mpmath.

A program and its exact value make a ``Program``; ``mismatches`` evaluates its derivatives on a grid
and returns those that lost their digits. The exact derivatives are central differences of the exact
value, in so many digits that nothing is lost, or functions that the program gives.
"""

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np

import agnograd as ag

# Powers of ten for numbers of which one argument takes many, and each of several takes fewer.
MAGNITUDES = (
    *(1e-300, 1e-200, 1e-160, 1e-150, 1e-100, 1e-70, 1e-37, 1e-30, 1e-20, 1e-15, 1e-9, 1e-7, 1e-5),
    *(1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 1.0, 1.001, 1.5, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0),
    *(20.0, 30.0, 40.0, 60.0, 80.0, 100.0, 200.0, 300.0, 400.0, 600.0, 700.0, 1e3, 1e5, 1e7, 1e10),
    *(1e15, 1e20, 1e30, 1e37, 1e70, 1e100, 1e150, 1e160, 1e200, 1e300),
)
FEWER = (1e-300, 1e-200, 1e-100, 1e-30, 1e-18, 1e-9, 0.1, 1.0, 3.0, 50.0, 1e9, 1e18, 1e30, 1e100)
FEWER = (*FEWER, 1e200, 1e300)

# In bits: of differences at 1e-300, whose squared step is 2**-240 of its square; of formulas.
_DIGITS, _FEWER_DIGITS = 4200, 1200
_STEP = 2.0**-120

Point = tuple[float, ...]
# Which derivative: the inputs by number, one for each time that it is taken: (0,), (0, 1).
Key = tuple[int, ...]


class Program(NamedTuple):
    """A program of element-wise functions, and what it is exactly.

    Attributes
    ----------
    name : str
    function : callable
        ``function(xp, *arrays)``.
    exact : callable, optional
        The value by mpmath: ``exact(*numbers)`` of mpf. What is complex or raises is not compared.
    domain : sequence of pairs
        For each input the numbers between which it lies; at both ends it may have no derivative.
    ends : mapping
        The derivatives at points that differences do not reach, by point and key.
    points : sequence of tuple
        Points to add to the grid.
    partials : mapping, optional
        By key, the exact derivative as a function of mpf, instead of ``exact``: differences of what
        mpmath computes slowly take too long, and there are none at a kink. Only these are compared.
    digits : int, optional
        In how many bits mpmath computes; by default as many as differences of ``exact`` need, and
        fewer for ``partials``, which should not cancel.
    magnitudes : sequence of float, optional
        What the grid is made of, instead of ``MAGNITUDES`` (``FEWER`` for several inputs).
    """

    name: str
    function: Callable[..., Any]
    exact: Callable[..., Any] | None = None
    domain: Sequence[tuple[float, float]] = ((-math.inf, math.inf),)
    ends: Mapping[Point, Mapping[Key, float]] = {}
    points: Sequence[Point] = ()
    partials: Mapping[Key, Callable[..., Any]] | None = None
    digits: int = 0
    magnitudes: Sequence[float] | None = None

    def derivatives(self) -> list[Key]:
        """Return the derivatives of first and second order."""
        if self.partials is not None:
            return list(self.partials)
        inputs = range(len(self.domain))
        return [*((i,) for i in inputs), *itertools.product(inputs, inputs)]


class Mismatch(NamedTuple):
    """A derivative that is not what it should be."""

    program: str
    key: Key
    dtype: str
    mode: str
    point: Point
    found: float
    expected: float


class Accepted(NamedTuple):
    """Mismatches that are accepted, and why.

    ``where`` is a function of the point; without it all points are meant.
    """

    program: str
    keys: Sequence[Key]
    reason: str
    where: Callable[..., bool] = lambda *point: True
    dtypes: Sequence[str] = ("float32", "float64")

    def covers(self, mismatch: Mismatch) -> bool:
        """Return whether a mismatch is one of these."""
        same = mismatch.program == self.program and mismatch.key in self.keys
        return same and mismatch.dtype in self.dtypes and bool(self.where(*mismatch.point))


def mismatches(program: Program, dtype: str, xp: Any, forward: bool = False) -> list[Mismatch]:
    """Return where derivatives of first and second order lose their digits.

    Parameters
    ----------
    program : Program
    dtype : {"float64", "float32"}
    xp : namespace
        The differentiable namespace of a backend.
    forward : bool
        Whether to take them in forward mode: the second ones by forward over reverse.
    """
    points, expected = _expected(program, dtype)
    arrays = [
        xp.asarray([p[i] for p in points], dtype=getattr(xp, dtype)).data
        for i in range(len(program.domain))
    ]
    wrong = []
    for key in program.derivatives():
        with xp.empty(0)._domain.backend.quiet():
            found = (_pushed if forward else _pulled)(program, key, arrays, xp)
        assert found.dtype == getattr(xp, dtype), (program.name, key, found.dtype)
        for point, one, other in zip(
            points, np.asarray(found).tolist(), expected[key], strict=True
        ):
            if other is not None and not agree(one, other, dtype):
                mode = "forward" if forward else "reverse"
                wrong.append(Mismatch(program.name, key, dtype, mode, point, one, other))
    return wrong


def assert_digits_are_kept(
    program: Program, dtype: str, xp: Any, forward: bool, accepted: Sequence[Accepted]
) -> None:
    """Check that derivatives lose their digits only where that is accepted."""
    found = mismatches(program, dtype, xp, forward)
    wrong = [each for each in found if not any(some.covers(each) for some in accepted)]
    assert not wrong, "\n".join(map(str, wrong[:20]))


def assert_happens(accepted: Accepted, programs: Sequence[Program]) -> None:
    """Check that what is accepted is still so, for each of the derivatives that it names."""
    (program,) = (each for each in programs if each.name == accepted.program)
    xp = ag.namespace("numpy")
    found = [each for dtype in accepted.dtypes for each in mismatches(program, dtype, xp)]
    assert set(accepted.keys) == {each.key for each in found if accepted.covers(each)}


def agree(found: float, expected: float, dtype: str, digits: float = 4096.0) -> bool:
    """Return whether all but 12 bits are right; the tiniest may be 0, the largest infinite."""
    info = np.finfo(dtype)
    if math.isnan(expected) or math.isnan(found):
        return math.isnan(expected) and math.isnan(found)
    if abs(expected) > float(info.max) / 4:
        large = abs(found) > float(info.max) / 8
        return large and (found > 0) == (expected > 0)
    return abs(found - expected) <= digits * float(info.eps) * abs(expected) + 16 * float(info.tiny)


def _pulled(program: Program, key: Key, arrays: Sequence[Any], xp: Any) -> Any:
    def total(*xs: Any) -> Any:
        return xp.sum(program.function(xp, *xs))

    f = total
    for i in key[:-1]:
        f = functools.partial(_slope, f, i, xp)
    return ag.grad(f, argnums=key[-1])(*arrays)


def _slope(f: Callable[..., Any], i: int, xp: Any, *xs: Any) -> Any:
    return xp.sum(ag.grad(f, argnums=i)(*xs))


def _pushed(program: Program, key: Key, arrays: Sequence[Any], xp: Any) -> Any:
    place = key[-1]

    def of_one(x: Any) -> Any:  # the tangents of the others would be 0: times infinity that is NaN
        xs = (*arrays[:place], x, *arrays[place + 1 :])
        if len(key) == 1:
            return program.function(xp, *xs)
        return ag.grad(lambda *xs: xp.sum(program.function(xp, *xs)), argnums=key[0])(*xs)

    return ag.jvp(of_one, (arrays[place],), (xp.ones_like(arrays[place]).data,))[1]


# -- what is exact ---------------------------------------------------------------------------------


@functools.cache
def _computed(program_id: str, dtype: str) -> tuple[list[Point], dict[Key, list[float | None]]]:
    program = _PROGRAMS[program_id]
    points = list(_points(program, dtype))
    exact: dict[Key, list[float | None]] = {}
    for key in program.derivatives():
        exact[key] = [_exact(program, key, point) for point in points]
    return points, exact


_PROGRAMS: dict[str, Program] = {}


def _expected(program: Program, dtype: str) -> tuple[list[Point], dict[Key, list[float | None]]]:
    """Return the points and, for each derivative, the exact values: once for all backends."""
    _PROGRAMS[program.name] = program
    return _computed(program.name, dtype)


def _points(program: Program, dtype: str) -> list[Point]:
    count = len(program.domain)
    sizes = program.magnitudes or (MAGNITUDES if count == 1 else FEWER)
    axes = [
        [x for size in sizes for x in (size, -size) if low < x < high]
        for low, high in program.domain
    ]
    grid = [*itertools.product(*axes), *program.points, *program.ends]
    info = np.finfo(dtype)
    rounded = [tuple(float(np.dtype(dtype).type(x)) for x in p) for p in grid if _fits(p, info)]
    inside = [
        p
        for p in rounded
        if p in program.ends
        or all(low < x < high for x, (low, high) in zip(p, program.domain, strict=True))
    ]
    return list(dict.fromkeys(inside))


def _fits(point: Point, info: Any) -> bool:
    least, most = float(info.tiny), float(info.max)
    return all(x == 0 or least <= abs(x) <= most or math.isinf(x) for x in point)


def _exact(program: Program, key: Key, point: Point) -> float | None:
    """Return a derivative, rounded to a float; None where it is not known."""
    if point in program.ends:
        return program.ends[point].get(key)
    digits = program.digits or (_DIGITS if program.partials is None else _FEWER_DIGITS)
    with mpmath.workprec(digits):
        xs = [mpmath.mpf(x) for x in point]
        try:
            if program.partials is not None:
                found = program.partials[key](*xs)
            else:
                found = _difference(program.exact, key, xs)
        except (ValueError, ZeroDivisionError, ArithmeticError):
            return None
        if isinstance(found, mpmath.mpc):
            return None
        return _rounded(found)


def _rounded(x: Any) -> float:
    if not mpmath.isfinite(x):
        return float(x)
    try:
        return float(x)
    except OverflowError:
        return math.copysign(math.inf, x)


def _difference(f: Callable[..., Any], key: Key, xs: Sequence[Any]) -> Any:
    """Return a central difference, the step of which is a tiny part of each number."""
    sizes = [abs(x) for x in xs if x != 0] or [mpmath.mpf(1)]
    steps = [_STEP * min(abs(x) if x != 0 else min(sizes), 1) for x in xs]

    def moved(*by: int) -> Any:
        at = list(xs)
        for i, sign in zip(key, by, strict=True):
            at[i] = at[i] + sign * steps[i]
        return f(*at)

    if len(key) == 1:
        return (moved(1) - moved(-1)) / (2 * steps[key[0]])
    i, j = key
    if i == j:
        return (moved(1, 0) - 2 * f(*xs) + moved(-1, 0)) / steps[i] ** 2
    ends = moved(1, 1) - moved(1, -1) - moved(-1, 1) + moved(-1, -1)
    return ends / (4 * steps[i] * steps[j])
