"""Special functions of the chunks of Dask's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnograd_nn.kernels import scipy

__all__ = ["ndtr"]


def ndtr(x: Any) -> Any:
    """Return SciPy's ``special.ndtr`` of each chunk."""
    return x.map_blocks(lambda chunk: scipy.ndtr(np, chunk), dtype=x.dtype)
