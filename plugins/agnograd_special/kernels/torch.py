"""PyTorch's functions, ``torch.special``, with the standard's promotion of dtypes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import array_api_compat.torch as xp
import torch

from agnograd_special._names import TORCH

__all__: list[str] = []


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in TORCH:
        raise AttributeError(name)
    return partial(_promoted, getattr(torch.special, TORCH[name]))


def _promoted(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with tensors of one floating-point dtype.

    SciPy computes those of complex numbers, of most of which PyTorch has none.
    """
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    dtype = xp.result_type(*args) if tensors else torch.get_default_dtype()
    if dtype.is_complex:
        return NotImplemented
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    device = tensors[0].device if tensors else None
    wide = torch.float32 if dtype.itemsize == 2 else dtype  # most have no loop of half precision
    return function(*(torch.as_tensor(arg, dtype=wide, device=device) for arg in args)).to(dtype)


def zeta(x: Any, q: Any = None, /) -> Any:
    """Compute Hurwitz's zeta function, and Riemann's, which PyTorch has no name for."""
    return _promoted(torch.special.zeta, x, 1.0 if q is None else q)


def polygamma(n: Any, x: Any, /) -> Any:
    """Compute the derivatives of digamma by Hurwitz's zeta function (A&S 6.4.10).

    PyTorch's own takes only an integer ``n``.
    """
    return _promoted(_polygamma, n, x)


def _polygamma(n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    sign = torch.where(n % 2 == 0, -1.0, 1.0).to(x.dtype)
    positive = torch.where(n == 0, 1.0, n).to(x.dtype)
    value = sign * torch.exp(torch.special.gammaln(n + 1)) * torch.special.zeta(positive + 1, x)
    return torch.where(n == 0, torch.special.digamma(x), value)
