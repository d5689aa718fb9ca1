"""Inverse transforms, and transforms over several axes: one axis after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnograd_fft import ops
from agnograd_fft.trigonometric import INVERSES, OTHER

__all__: list[str] = []


def _over(x: Any, s: Any, axes: Any) -> list[tuple[int, int | None]]:
    """Return the axes of a transform, each with the length that it is cut or filled up to."""
    lengths = (s,) if isinstance(s, int) else s
    if axes is None:
        axes = range(x.ndim) if lengths is None else range(x.ndim - len(lengths), x.ndim)
    places = [axes] if isinstance(axes, int) else list(axes)
    if lengths is not None and len(lengths) != len(places):
        raise ValueError("s and axes must have the same length")
    if len({place % x.ndim for place in places}) != len(places):
        raise ValueError("all axes must be unique")
    known: Sequence[int | None] = [None] * len(places) if lengths is None else lengths
    return [
        (place, None if n is None or n == -1 else n) for place, n in zip(places, known, strict=True)
    ]


def _inverse(kind: str) -> Callable[..., Any]:
    def inverse(xp: Any, x: Any, /, *, type: int = 2, norm: str | None = None, **rest: Any) -> Any:
        # The transform itself refuses any other type and norm.
        type, norm = INVERSES.get(type, type), OTHER.get(norm, norm)
        return getattr(xp.fft, kind)(x, type=type, norm=norm, **rest)

    inverse.__doc__ = f"Compute ``scipy.fft.i{kind}``, recorded for differentiation."
    return inverse


def _several(name: str) -> Callable[..., Any]:
    def several(xp: Any, x: Any, /, *, s: Any = None, axes: Any = None, **rest: Any) -> Any:
        for axis, n in _over(x, s, axes):
            x = getattr(xp.fft, name)(x, n=n, axis=axis, **rest)
        return x

    several.__doc__ = f"Compute ``scipy.fft.{name}n``, recorded for differentiation."
    return several


for _kind in ("dct", "dst"):
    ops.composed(
        f"fft.i{_kind}(x, /, *, type=2, n=None, axis=-1, norm=None, orthogonalize=None)",
        _inverse(_kind),
    )
    for _name in (_kind, f"i{_kind}"):
        ops.composed(
            f"fft.{_name}n(x, /, *, type=2, s=None, axes=None, norm=None, orthogonalize=None)",
            _several(_name),
        )
