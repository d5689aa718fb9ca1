"""SciPy's ``scipy.fft`` on Variables, by the protocol that it has for other libraries' arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnograd as ag
from agnograd.extend import is_complex
from agnograd_fft.trigonometric import OTHER

__all__ = ["ScipyFFT", "register"]

# Of SciPy's arguments those that say how memory and threads are used.
_OF_THE_LIBRARY = ("overwrite_x", "workers", "plan")


def _parameters(name: str) -> tuple[str, ...]:
    """Return the parameters of a function of SciPy's after the array, in their order."""
    if name.endswith("fht"):
        return ("dln", "mu", "offset", "bias")
    where = ("s", "axes") if name[-1] in "n2" else ("n", "axis")
    common = (*where, "norm", "overwrite_x", "workers")
    return common if "fft" in name else ("type", *common, "orthogonalize")


class ScipyFFT:
    """A backend of ``scipy.fft`` that takes Variables, and leaves all else to SciPy.

    ``with scipy.fft.set_backend(ScipyFFT): ...`` uses it in one place, ``register()`` everywhere.
    """

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Compute a function of ``scipy.fft`` on the Variable that it was given, if it was."""
        name = method.__name__
        if args:
            x, *rest = args
        else:
            x, rest = next((kwargs.get(key) for key in ("x", "a", "A") if key in kwargs), None), []
        if not isinstance(x, ag.Variable):
            return NotImplemented
        options = dict(zip(_parameters(name), rest, strict=False))
        options |= {key: value for key, value in kwargs.items() if key not in ("x", "a", "A")}
        for each in _OF_THE_LIBRARY:
            options.pop(each, None)
        return _computed(ag.namespace(x), name, x, options)


def _computed(xp: Any, name: str, x: Any, options: dict[str, Any]) -> Any:
    if "fft" not in name:
        return getattr(xp.fft, name)(x, **options)
    if name.endswith("2"):
        name = f"{name[:-1]}n"
        options.setdefault("axes", (-2, -1))
    options["norm"] = options.get("norm") or "backward"
    if name.endswith("n"):
        options |= _lengths(x, options.get("s"), options.get("axes"))
    if not xp.isdtype(x.dtype, ("real floating", "complex floating")):
        x = xp.astype(x, xp.float64)
    # Of Hermitian arrays, the transforms over several axes are the real ones of the conjugate.
    if name in ("hfftn", "ihfftn"):
        options["norm"] = OTHER[options["norm"]]
        if name == "ihfftn":
            return xp.conj(xp.fft.rfftn(x, **options))
        return xp.fft.irfftn(xp.conj(_complex(x, xp)), **options)
    if name not in ("rfft", "rfftn", "ihfft"):
        x = _complex(x, xp)
    return getattr(xp.fft, name)(x, **options)


def _complex(x: Any, xp: Any) -> Any:
    return x if is_complex(x.dtype, xp) else xp.astype(x, xp.result_type(x.dtype, xp.complex64))


def _lengths(x: Any, s: Any, axes: Any) -> dict[str, Any]:
    """Return lengths and axes as the standard has them: tuples, no -1, lengths with their axes."""
    axes = (axes,) if isinstance(axes, int) else axes
    s = (s,) if isinstance(s, int) else s
    if s is None:
        return {"s": None, "axes": None if axes is None else tuple(axes)}
    axes = tuple(range(-len(s), 0)) if axes is None else tuple(axes)
    lengths = tuple(
        x.shape[axis] if n is None or n == -1 else n for n, axis in zip(s, axes, strict=True)
    )
    return {"s": lengths, "axes": axes}


def register() -> None:
    """Make the functions of ``scipy.fft`` take Variables, from now on.

    SciPy's own backend stays the one for all else. Calling it again does nothing.
    """
    from agnograd_fft.kernels.registration import register_once

    register_once()
