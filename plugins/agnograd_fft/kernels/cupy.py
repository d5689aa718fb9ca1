"""CuPy's transforms, which have the types 2 and 3; the others are computed by the formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupyx.scipy.fft

__all__ = ["dct", "dst"]


def _of(name: str) -> Callable[..., Any]:
    transform = getattr(cupyx.scipy.fft, name)

    def kernel(
        x: Any,
        /,
        *,
        type: int = 2,
        norm: str | None = None,
        orthogonalize: bool | None = None,
        **options: Any,
    ) -> Any:
        ortho = norm == "ortho"
        # CuPy always orthogonalises at the scale that does, and at no other.
        if type not in (2, 3) or orthogonalize not in (None, ortho) or norm == "forward":
            return NotImplemented
        return transform(x, type=type, norm="ortho" if ortho else None, **options)

    return kernel


dct, dst = _of("dct"), _of("dst")
