"""The op set, and where the functions of it are computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from agnograd.extend import Backend, OpSet

__all__ = [
    "FORMULAS",
    "NEEDED",
    "by_formula",
    "elementwise",
    "needed",
    "ops",
    "several",
    "through_host",
]

BACKENDS = ("cupy", "dask", "jax", "numpy", "torch")

MODULES = (
    *("bessel", "bessel01", "densities", "differences", "elliptic", "error", "exponential"),
    *("factorials", "fisher", "gamma", "hypergeometric", "information", "legendre"),
    *("polynomials", "power", "reductions", "shapes", "statistical", "student", "zeta"),
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
# The ops that rules need, of which SciPy has no function.
NEEDED: set[str] = set()


def elementwise(signature: str, formula: Callable[..., Any] | None = None, **rules: Any) -> None:
    """Register an element-wise function; without a formula SciPy computes it on the host."""
    name = signature.partition("(")[0]
    forward = through_host(name) if formula is None else by_formula(name, formula)
    ops.elementwise(f"special.{signature}", forward=forward, **rules)


def needed(signature: str, formula: Callable[..., Any], **rules: Any) -> None:
    """Register an element-wise op that rules need, and SciPy has no function for.

    The formula's docstring is the op's.
    """
    name = signature.partition("(")[0]
    NEEDED.add(name)
    forward = by_formula(name, formula)
    forward.__doc__ = formula.__doc__
    ops.elementwise(f"special.{signature}", forward=forward, **rules)


def several(signature: str, **rules: Any) -> None:
    """Register an element-wise function with several results."""
    name = signature.partition("(")[0]
    options = {"outputs": "several", "batch": "elementwise"}
    ops.vjp(f"special.{signature}", forward=through_host(name), **options, **rules)


def by_formula(name: str, formula: Callable[..., Any]) -> Callable[..., Any]:
    """Return what computes a function by the standard's: ``formula(xp, ...)``, without warnings."""
    FORMULAS.add(name)

    def forward(xp: Any, backend: Backend, *args: Any, **options: Any) -> Any:
        with backend.quiet():
            half = [arg.dtype for arg in args if is_half(arg, xp)]
            if not half:
                return formula(xp, *args, **options)
            wide = [xp.astype(arg, xp.float32) if is_half(arg, xp) else arg for arg in args]
            numbers = [arg for arg in wide if arg is not None and not isinstance(arg, tuple)]
            dtype = xp.result_type(*numbers)  # a tuple is one of axes
            dtype = half[0] if dtype == xp.float32 else dtype
            return _cast(formula(xp, *wide, **options), dtype, xp)

    forward.__doc__ = f"Compute ``scipy.special.{name}``, recorded for differentiation."
    return forward


def is_half(x: Any, xp: Any) -> bool:
    """Return whether x is an array of half precision, whose sums and powers formulas need wider."""
    dtype = getattr(x, "dtype", None)
    return dtype is not None and _is_half(xp, dtype)


@cache
def _is_half(xp: Any, dtype: Any) -> bool:
    return bool(xp.isdtype(dtype, "real floating")) and xp.finfo(dtype).bits == 16


def _cast(out: Any, dtype: Any, xp: Any) -> Any:
    if isinstance(out, tuple):
        return tuple(xp.astype(each, dtype) for each in out)
    return xp.astype(out, dtype)


def through_host(name: str) -> Callable[..., Any]:
    """Return what computes a function by SciPy, on a backend whose arrays are on the host."""

    def forward(xp: Any, backend: Backend, *args: Any, **options: Any) -> Any:
        host = import_module("agnograd_special.kernels.host")
        return host.call(name, xp, backend, *args, **options)

    forward.__doc__ = f"Compute ``scipy.special.{name}``, recorded for differentiation."
    return forward
