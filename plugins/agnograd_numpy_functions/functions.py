"""NumPy's functions on Variables of any backend: programs of the standard, by NumPy's names.

NumPy finds them by its protocol ``__array_function__``; the methods of Variables are the same
programs. Each module is one noun, with a table of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from agnograd_numpy_functions._program import Table

__all__ = ["FUNCTIONS", "TABLES", "name_of"]

TABLES = [
    import_module(f"agnograd_numpy_functions.{name}")
    for name in (
        "calculus",
        "creation",
        "elementwise",
        "fft",
        "indexing",
        "joining",
        "linalg",
        "polynomials",
        "products",
        "quantiles",
        "reductions",
        "searching",
        "shapes",
        "sorting",
        "statistics",
    )
]
FUNCTIONS = Table()
for _module in TABLES:
    FUNCTIONS.update(_module.table)


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a NumPy function without ``numpy``: ``linalg.norm``."""
    module = function.__module__.removeprefix("numpy").removeprefix(".")
    return f"{module}.{function.__name__}" if module else function.__name__
