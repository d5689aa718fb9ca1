"""PyTorch's functions of matrices, on any device, and SciPy's on tensors that lie on the CPU."""

from functools import partial
from typing import Any

import torch

from agnograd_scipy.kernels import matrices
from agnograd_scipy.kernels.torch import on_cpu

__all__ = ["expm", "logm", "lu_parts", "sqrtm", "sylvester"]

logm = partial(on_cpu, matrices.logm)
sqrtm = partial(on_cpu, matrices.sqrtm)
sylvester = partial(on_cpu, matrices.sylvester)


def expm(x: Any, /) -> Any:
    """Return the exponential."""
    return torch.matrix_exp(x)


def lu_parts(x: Any, /) -> Any:
    """Return indices of rows, and both factors."""
    p, lower, upper = torch.linalg.lu(x)
    if not x.numel():
        return torch.zeros(x.shape[:-1], dtype=torch.int64, device=x.device), lower, upper
    return torch.argmax(p.real, dim=-1), lower, upper
