"""Derivatives by agnograd, eagerly, over PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import agnograd as ag
from benchmarks.implementations import by_agnograd
from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]

LACKS: frozenset[str] = frozenset()


def version() -> str:
    """Return agnograd's version, and PyTorch's."""
    return f"{ag.__version__} on {torch.__version__}"


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once."""
    torch.set_num_threads(1)
    return by_agnograd.prepare(case.on(torch.asarray), backend="torch")
