"""The op set, and where the functions of it are computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any

from agnograd.extend import Backend, OpSet

__all__ = [
    "FORMULAS",
    "NEEDED",
    "by_formula",
    "by_vjp",
    "elementwise",
    "inverse",
    "minus",
    "needed",
    "ops",
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


def minus(density: Callable[..., Any]) -> Callable[..., Any]:
    """Return the negative of a rule, which asks for the same."""

    @wraps(density)
    def rule(*args: Any, **kwargs: Any) -> Any:
        return -density(*args, **kwargs)

    return rule


def inverse(
    signature: str, density: Callable[..., Any], sign: float = 1.0, **by_shape: Any
) -> None:
    """Register the inverse of a distribution function, or of one minus it, whose sign is -1.

    Rules are those of the function, whose last argument is the inverse's result, by its argument
    and its shapes: where a shape moves, the function's value stays. Reasons stay, too.
    """
    *shapes, probability, _ = signature.partition("(")[2].split(", ")
    names = (*shapes, "out", "xp")
    kind = Parameter.POSITIONAL_OR_KEYWORD

    def at_result(rule: Callable[..., Any]) -> Callable[..., Any]:
        rule.__signature__ = Signature(  # type: ignore[attr-defined]
            [Parameter(name, kind) for name in names]
        )
        return rule

    def moves(rule: Callable[..., Any]) -> Callable[..., Any]:
        return at_result(lambda *args: -rule(*args) / density(*args))

    rules = {each: by if isinstance(by, str) else moves(by) for each, by in by_shape.items()}
    rules[probability] = at_result(lambda *args: sign / density(*args))
    elementwise(signature, None, **rules)


def by_vjp(signature: str, **declared: Any) -> None:
    """Register an element-wise function of several results, or of complex ones of real arrays."""
    name = signature.partition("(")[0]
    ops.vjp(f"special.{signature}", forward=through_host(name), batch="elementwise", **declared)


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
