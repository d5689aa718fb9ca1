"""Derivatives by agnograd, compiled by ``ag.compile``, over PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import agnograd as ag
from benchmarks.implementations import by_agnograd
from benchmarks.implementations.by_agnograd_torch import LACKS, version
from benchmarks.workloads import Case

__all__ = ["COMPILES", "LACKS", "prepare", "version"]

COMPILES = True


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once; its first call compiles."""
    torch.set_num_threads(1)
    return by_agnograd.prepare(case.on(torch.asarray), backend="torch", compiles=ag.compile)
