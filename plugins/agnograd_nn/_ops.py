"""The op set that the modules of this package register their ops in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd.extend import OpSet

__all__ = ["kernels", "ops"]

ops = OpSet("nn", samples="agnograd_nn.samples")


def kernels(standard: Callable[..., Any], *backends: str, **modules: str) -> dict[str, Any]:
    """Return what computes an op: a function of the standard, and libraries' own kernels.

    Parameters
    ----------
    standard : callable
        What computes it by functions of the standard; kernels are called as it is.
    *backends : str
        Backends with a module of their name in ``agnograd_nn.kernels``.
    **modules : str
        Modules there by the backends that they are for.
    """
    found = {each: each for each in backends} | modules
    name = standard.__name__
    own = {each: f"agnograd_nn.kernels.{module}:{name}" for each, module in found.items()}
    return {"": standard, **own}
