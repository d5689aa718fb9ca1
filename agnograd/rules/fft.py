"""The Fourier transform extension: linear functions, by their adjoints.

With F the matrix of the discrete Fourier transform, F[k, j] = exp(-2 pi i j k / n), the adjoint of
F is n times its inverse (Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992,
section 1.1): the inverse transform with the other normalisation. Real transforms leave out, or fill
in, the half of the spectrum that is conjugate to the other.
"""

from collections.abc import Callable, Sequence
from typing import Any

from agnograd.extend import behind, device_of
from agnograd.rules._extensions import fft as ops

__all__ = ["ops"]

Shape = tuple[int, ...]

# The scale of the adjoint: a transform that divides by n, say, has one that divides by n, too.
_OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _resized(g: Any, length: int, axis: int, xp: Any) -> Any:
    """Cut an axis, or fill it up with zeros: each is the other's adjoint."""
    axis %= g.ndim
    found = g.shape[axis]
    if found > length:
        return g[(*(slice(None),) * axis, slice(0, length), ...)]
    if found == length:
        return g
    shape = (*g.shape[:axis], length - found, *g.shape[axis + 1 :])
    return xp.concat([g, xp.zeros(shape, dtype=g.dtype, device=device_of(g))], axis=axis)


def _fitted(g: Any, shape: Shape, axes: Sequence[int], xp: Any) -> Any:
    for axis in axes:
        g = _resized(g, shape[axis], axis, xp)
    return g


def _axes(axes: Sequence[int] | None, s: Sequence[int] | None, rank: int) -> list[int]:
    """Return the axes that a transform over several runs over."""
    if axes is not None:
        return [axis % rank for axis in ((axes,) if isinstance(axes, int) else axes)]
    return list(range(rank - len(s), rank)) if s is not None else list(range(rank))


def _weighted(half: Any, n: int, axis: int, weight: float, xp: Any) -> Any:
    """Multiply the frequencies that stand for their conjugates, too, with a weight."""
    count = n // 2 + 1
    index = xp.arange(count, device=device_of(half))
    alone = xp.logical_or(index == 0, 2 * index == n)
    weights = weight + (1.0 - weight) * xp.astype(alone, half.dtype)
    return half * xp.reshape(weights, (count, *(1,) * (half.ndim - axis % half.ndim - 1)))


def _to_half(g: Any, axis: int, norm: str, xp: Any) -> Any:
    """Return the adjoint of the real inverse transform."""
    half = xp.fft.rfft(g, axis=axis, norm=_OTHER[norm])
    return _weighted(half, g.shape[axis], axis, 2.0, xp)


def _from_half(g: Any, n: int, axis: int, norm: str, xp: Any) -> Any:
    """Return the adjoint of the real forward transform.

    It is the real part of the sum over the half that is stored, and the real inverse transform is
    that over all frequencies, the left out ones being the conjugates.
    """
    return xp.fft.irfft(_weighted(g, n, axis, 0.5, xp), n=n, axis=axis, norm=_OTHER[norm])


# The adjoint of each transform over one axis, which is cut or filled up to a length, n, before.
_ADJOINTS: dict[str, Callable[..., Any]] = {
    "fft": lambda g, n, axis, norm, xp: xp.fft.ifft(g, axis=axis, norm=_OTHER[norm]),
    "ifft": lambda g, n, axis, norm, xp: xp.fft.fft(g, axis=axis, norm=_OTHER[norm]),
    "rfft": _from_half,
    "irfft": lambda g, n, axis, norm, xp: _to_half(g, axis, norm, xp),
    # The real inverse transform of the conjugate, with the other normalisation, and its inverse.
    "hfft": lambda g, n, axis, norm, xp: xp.conj(_to_half(g, axis, _OTHER[norm], xp)),
    "ihfft": lambda g, n, axis, norm, xp: _from_half(xp.conj(g), n, axis, _OTHER[norm], xp),
}


def _along_one(name: str) -> Callable[..., Any]:
    """Return the rule of a transform over one axis."""

    def rule(g: Any, x_shape: Shape, n: int | None, axis: int, norm: str, xp: Any) -> Any:
        length = x_shape[axis] if n is None else n
        return _fitted(_ADJOINTS[name](g, length, axis, norm, xp), x_shape, [axis], xp)

    return rule


def _along_several(first: str, last: str) -> Callable[..., Any]:
    """Return the rule of a transform over several axes: of one kind, and for the last one."""

    def rule(g: Any, x_shape: Shape, s: Any, axes: Any, norm: str, xp: Any) -> Any:
        over = _axes(axes, s, len(x_shape))
        if len(set(over)) < len(over):
            names = [*[first] * (len(over) - 1), last]
            return _one_by_one(g, x_shape, s, over, names, norm, xp)
        if last == "irfft":
            g = _to_half(g, over[-1], norm, xp)
        if complex_ones := over if first == last else over[:-1]:
            inverse = xp.fft.ifftn if first == "fft" else xp.fft.fftn
            g = inverse(g, axes=tuple(complex_ones), norm=_OTHER[norm])
        if last == "rfft":
            g = _from_half(g, _lengths(x_shape, s, over)[-1], over[-1], norm, xp)
        return _fitted(g, x_shape, over, xp)

    return rule


def _lengths(x_shape: Shape, s: Any, axes: Sequence[int]) -> list[int]:
    """Return the length that each axis is cut or filled up to; -1 stands for the one it has."""
    known = [-1] * len(axes) if s is None else s
    return [x_shape[axis] if n == -1 else n for n, axis in zip(known, axes, strict=True)]


def _one_by_one(
    g: Any, x_shape: Shape, s: Any, axes: Sequence[int], names: Sequence[str], norm: str, xp: Any
) -> Any:
    """Return the adjoint of transforms over one axis after the other, of which some are the same.

    NumPy begins with the last one, but a real inverse transform ends with it.
    """
    lengths = _lengths(x_shape, s, axes)
    if s is None and names[-1] == "irfft":
        lengths[-1] = 2 * (lengths[-1] - 1)
    steps = list(zip(names, lengths, axes, strict=True))
    shape, before = list(x_shape), []
    for step in steps if names[-1] == "irfft" else reversed(steps):
        before.append((step, tuple(shape)))
        name, n, axis = step
        shape[axis] = n // 2 + 1 if name == "rfft" else n
    for (name, n, axis), shape_before in reversed(before):
        g = _along_one(name)(g, shape_before, n, axis, norm, xp)
    return g


def _batch(name: str) -> Callable[..., Any]:
    """Return what transforms several axes of each member: the last ones, if only ``s`` is given."""

    def compute(xp: Any, x: Any, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        rank = len(x.shape) - 1
        over = behind(_axes(axes, s, rank), rank)
        return getattr(xp.fft, name)(x, s=s, axes=over, norm=norm)

    return compute


for _name in _ADJOINTS:
    _signature = f'fft.{_name}(x, /, *, n=None, axis=-1, norm="backward")'
    ops.linear(_signature, x=_along_one(_name), batch="axis")
for _first, _last in (("fft", "fft"), ("ifft", "ifft"), ("fft", "rfft"), ("ifft", "irfft")):
    _name = f"{_last}n"
    ops.linear(
        f'fft.{_name}(x, /, *, s=None, axes=None, norm="backward")',
        x=_along_several(_first, _last),
        batch=_batch(_name),
        pattern="axis",
    )
ops.linear(
    "fft.fftshift(x, /, *, axes=None)",
    x=lambda g, axes, xp: xp.fft.ifftshift(g, axes=axes),
    batch="axis",
    pattern="moves",
)
ops.linear(
    "fft.ifftshift(x, /, *, axes=None)",
    x=lambda g, axes, xp: xp.fft.fftshift(g, axes=axes),
    batch="axis",
    pattern="moves",
)
ops.constant(
    "fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)",
    "fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)",
    options=("n",),
)
