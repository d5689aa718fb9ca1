"""Compiled functions: ``ag.compile``, and what authors of lowerings import, in ``lowering``."""

from agnograd_compile._compiled import compile  # noqa: A004 - JAX's and PyTorch's name

__all__ = ["compile"]
