"""SciPy's special functions, on NumPy's arrays and on the chunks of Dask's."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnograd_nn.activations import ndtr as by_series

__all__ = ["ndtr", "ndtr_of_chunks"]


def ndtr(xp: Any, x: Any) -> Any:
    """Return SciPy's ``special.ndtr``; without SciPy the series that is slower."""
    try:
        from scipy import special
    except ImportError:
        return by_series(xp, x)
    return special.ndtr(x)


def ndtr_of_chunks(x: Any) -> Any:
    """Return SciPy's ``special.ndtr`` of each chunk."""
    return x.map_blocks(lambda chunk: ndtr(np, chunk), dtype=x.dtype)
