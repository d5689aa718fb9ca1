"""SciPy's ``scipy.fft`` on Variables, by the protocol that it has for other libraries' arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnograd as ag
from agnograd.extend import conjugate_if_complex
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
    from agnograd_numpy_functions.functions import FUNCTIONS  # few programs need them

    if "hfft" not in name or name[-1] not in "n2":
        return FUNCTIONS[f"fft.{name}"](xp, (x,), options)
    # Of Hermitian arrays, the transforms over several axes are the real ones of the conjugate.
    options["norm"] = OTHER[options.get("norm")]
    if name.startswith("i"):
        return xp.conj(FUNCTIONS[f"fft.r{name[2:]}"](xp, (x,), options))
    return FUNCTIONS[f"fft.ir{name[1:]}"](xp, (conjugate_if_complex(x, xp),), options)


def register() -> None:
    """Make the functions of ``scipy.fft`` take Variables, from now on.

    SciPy's own backend stays the one for all else. Calling it again does nothing.
    """
    from agnograd_fft.kernels.registration import register_once

    register_once()
