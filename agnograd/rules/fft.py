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


def _fft(g: Any, x_shape: Shape, axis: int, norm: str, xp: Any) -> Any:
    return _fitted(xp.fft.ifft(g, axis=axis, norm=_OTHER[norm]), x_shape, [axis], xp)


def _ifft(g: Any, x_shape: Shape, axis: int, norm: str, xp: Any) -> Any:
    return _fitted(xp.fft.fft(g, axis=axis, norm=_OTHER[norm]), x_shape, [axis], xp)


def _rfft(g: Any, x_shape: Shape, n: int | None, axis: int, norm: str, xp: Any) -> Any:
    full = _from_half(g, x_shape[axis] if n is None else n, axis, norm, xp)
    return _fitted(full, x_shape, [axis], xp)


def _irfft(g: Any, x_shape: Shape, axis: int, norm: str, xp: Any) -> Any:
    return _fitted(_to_half(g, axis, norm, xp), x_shape, [axis], xp)


def _hfft(g: Any, x_shape: Shape, axis: int, norm: str, xp: Any) -> Any:
    # hfft is the real inverse transform of the conjugate, with the other normalisation.
    return _fitted(xp.conj(_to_half(g, axis, _OTHER[norm], xp)), x_shape, [axis], xp)


def _ihfft(g: Any, x_shape: Shape, n: int | None, axis: int, norm: str, xp: Any) -> Any:
    length = x_shape[axis] if n is None else n
    full = _from_half(xp.conj(g), length, axis, _OTHER[norm], xp)
    return _fitted(full, x_shape, [axis], xp)


def _fftn(g: Any, x_shape: Shape, s: Any, axes: Any, norm: str, xp: Any) -> Any:
    over = _axes(axes, s, len(x_shape))
    if _repeat(over):
        return _one_by_one(g, x_shape, s, over, ["fft"] * len(over), norm, xp)
    return _fitted(xp.fft.ifftn(g, axes=tuple(over), norm=_OTHER[norm]), x_shape, over, xp)


def _ifftn(g: Any, x_shape: Shape, s: Any, axes: Any, norm: str, xp: Any) -> Any:
    over = _axes(axes, s, len(x_shape))
    if _repeat(over):
        return _one_by_one(g, x_shape, s, over, ["ifft"] * len(over), norm, xp)
    return _fitted(xp.fft.fftn(g, axes=tuple(over), norm=_OTHER[norm]), x_shape, over, xp)


def _rfftn(g: Any, x_shape: Shape, s: Any, axes: Any, norm: str, xp: Any) -> Any:
    *others, last = over = _axes(axes, s, len(x_shape))
    if _repeat(over):
        return _one_by_one(g, x_shape, s, over, [*["fft"] * len(others), "rfft"], norm, xp)
    if others:
        g = xp.fft.ifftn(g, axes=tuple(others), norm=_OTHER[norm])
    g = _from_half(g, _lengths(x_shape, s, over)[-1], last, norm, xp)
    return _fitted(g, x_shape, over, xp)


def _irfftn(g: Any, x_shape: Shape, s: Any, axes: Any, norm: str, xp: Any) -> Any:
    *others, last = over = _axes(axes, s, len(x_shape))
    if _repeat(over):
        return _one_by_one(g, x_shape, s, over, [*["ifft"] * len(others), "irfft"], norm, xp)
    g = _to_half(g, last, norm, xp)
    if others:
        g = xp.fft.fftn(g, axes=tuple(others), norm=_OTHER[norm])
    return _fitted(g, x_shape, over, xp)


def _repeat(axes: Sequence[int]) -> bool:
    return len(set(axes)) < len(axes)


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
        options = {"n": n} if name == "rfft" else {}
        g = _ONE_AXIS[name](g=g, x_shape=shape_before, axis=axis, norm=norm, xp=xp, **options)
    return g


_ONE_AXIS: dict[str, Callable[..., Any]] = {
    "fft": _fft,
    "hfft": _hfft,
    "ifft": _ifft,
    "ihfft": _ihfft,
    "irfft": _irfft,
    "rfft": _rfft,
}
_SEVERAL_AXES = {"fftn": _fftn, "ifftn": _ifftn, "irfftn": _irfftn, "rfftn": _rfftn}


def _batch(name: str) -> Callable[..., Any]:
    """Return what transforms several axes of each member: the last ones, if only ``s`` is given."""

    def compute(xp: Any, x: Any, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        rank = len(x.shape) - 1
        over = behind(_axes(axes, s, rank), rank)
        return getattr(xp.fft, name)(x, s=s, axes=over, norm=norm)

    return compute


for _name, _rule in _ONE_AXIS.items():
    ops.linear(f'fft.{_name}(x, /, *, n=None, axis=-1, norm="backward")', x=_rule, batch="axis")
for _name, _rule in _SEVERAL_AXES.items():
    ops.linear(
        f'fft.{_name}(x, /, *, s=None, axes=None, norm="backward")',
        x=_rule,
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
