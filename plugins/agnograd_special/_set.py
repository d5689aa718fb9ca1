"""The op set, and where the functions of it are computed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from agnograd.extend import Backend, OpSet

__all__ = ["FORMULAS", "by_formula", "elementwise", "ops", "several", "through_host"]

BACKENDS = ("cupy", "dask", "jax", "numpy", "torch")

MODULES = (
    *("bessel", "bessel01", "elliptic", "error", "exponential", "gamma", "hypergeometric"),
    *("information", "polynomials", "power", "reductions", "statistical"),
)

ops = OpSet(
    "special",
    samples="agnograd_special.samples",
    kernels={name: f"agnograd_special.kernels.{name}" for name in BACKENDS},
    extension="special",
    modules=[f"agnograd_special.{name}" for name in MODULES],
)

# The functions that are computed by the standard's, on backends that have no kernel for them.
FORMULAS: set[str] = set()


def elementwise(signature: str, formula: Callable[..., Any] | None = None, **rules: Any) -> None:
    """Register an element-wise function; without a formula SciPy computes it on the host."""
    name = signature.partition("(")[0]
    forward = through_host(name) if formula is None else by_formula(name, formula)
    ops.elementwise(f"special.{signature}", forward=forward, **rules)


def several(signature: str, **rules: Any) -> None:
    """Register a function with several results."""
    name = signature.partition("(")[0]
    ops.vjp(f"special.{signature}", forward=through_host(name), outputs="several", **rules)


def by_formula(name: str, formula: Callable[..., Any]) -> Callable[..., Any]:
    """Return what computes a function by the standard's: ``formula(xp, ...)``, without warnings."""
    FORMULAS.add(name)

    def forward(xp: Any, backend: Backend, *args: Any, **options: Any) -> Any:
        with backend.quiet():
            return formula(xp, *args, **options)

    forward.__doc__ = f"Compute ``scipy.special.{name}``, recorded for differentiation."
    return forward


def through_host(name: str) -> Callable[..., Any]:
    """Return what computes a function by SciPy, on a backend whose arrays are on the host."""

    def forward(xp: Any, backend: Backend, *args: Any, **options: Any) -> Any:
        host = import_module("agnograd_special.kernels.host")
        return host.call(name, xp, backend, *args, **options)

    forward.__doc__ = f"Compute ``scipy.special.{name}``, recorded for differentiation."
    return forward
