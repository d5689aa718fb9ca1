"""Derivatives as they are written by hand, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]

LACKS: frozenset[str] = frozenset()


def version() -> str:
    """Return NumPy's version."""
    return str(np.__version__)


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once."""
    by_hand = case.by_hand
    assert by_hand is not None
    return lambda: by_hand(*case.variables, *case.constants, *case.vectors)
