"""All checks of a call on a backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import agnograd as ag
from agnograd.errors import ArgumentError
from agnograd.extend import Lock, backend_named
from agnograd_certify._calls import Call, Differentiable
from agnograd_certify._findings import BAD, CHECKS, Finding, of_error
from agnograd_certify._gradient import Gradient, listening, texts, unsupported
from agnograd_certify._more import Further
from agnograd_certify._probe import Probe

__all__ = ["Measured", "available", "certify", "chosen_checks"]

_one_at_a_time = Lock()  # warnings are collected, and dtypes set, for all threads


def certify(
    call: Differentiable, *, backend: str = "numpy", checks: Sequence[str] = tuple(CHECKS)
) -> dict[str, Finding]:
    """Return what becomes of a call's derivatives on a backend.

    Parameters
    ----------
    call : Differentiable
        What ``differentiable`` returns.
    backend : str
        The backend whose arrays the call gets.
    checks : sequence of str
        Which checks to make, of ``CHECKS``.

    Returns
    -------
    dict
        What each check came to, by its name.

    Raises
    ------
    ArgumentError
        If there is no check of this name.
    UnknownBackendError, PluginError
        If there is no such backend, or its library is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from agnograd_certify import certify, differentiable
    >>> x = np.asarray([0.5, 1.0])
    >>> certify(differentiable(np.tanh, x), checks=["gradient"])["gradient"].status
    'right'
    """
    ag.namespace(backend)
    with _one_at_a_time:
        return Measured(call).on(backend, chosen_checks(checks))


def chosen_checks(names: Iterable[str]) -> list[str]:
    """Return checks in their order; the gradient is always one of them."""
    wanted = {"gradient", *names}
    unknown = sorted(wanted - CHECKS.keys())
    if unknown:
        raise ArgumentError(f"no check is called {unknown[0]!r}: there are {', '.join(CHECKS)}")
    return [name for name in CHECKS if name in wanted]


def available() -> list[str]:
    """Return the backends whose libraries are installed and can be used, numpy first."""
    found = []
    for name in ag.backends():
        try:
            ag.namespace(name).empty(0)
        except Exception:  # the library is missing, or has no device; naming the backend tells why
            continue
        found.append(name)
    return sorted(found, key=lambda name: (name != "numpy", name))


class Measured:
    """A call whose differences are taken once, for all backends that it is measured on.

    Parameters
    ----------
    call : Call
        The call.
    by_numpy : bool
        Whether gradients on numpy's Variables are the reference of other backends, where they are
        there. It is quicker, for calls whose gradients on numpy are certified, too.
    """

    def __init__(self, call: Call, by_numpy: bool = False) -> None:
        self._theirs, self._by_numpy = call.theirs, by_numpy
        self._broken: Finding | None = None
        with listening() as self._usual:
            try:
                self._probe = Probe(call)
                _ = self._probe.values
            except Exception as error:
                self._broken = of_error("broken", error, call.theirs)

    def on(self, backend: str, checks: Sequence[str]) -> dict[str, Finding]:
        """Return what each check came to on a backend."""
        if self._broken is not None:
            return dict.fromkeys(checks, Finding("skipped")) | {"gradient": self._broken}
        with backend_named(backend).conformance():
            found = {"gradient": self._gradient(backend)}
            further = Further(self._probe, backend)
            for name in checks[1:]:
                found[name] = self._further(further, name, found["gradient"])
        return found

    def _gradient(self, backend: str) -> Finding:
        """Return what becomes of the gradient, with what it warns of and plain NumPy does not."""
        usual = texts(self._usual)
        if backend != "numpy":
            with listening() as more:
                reason = unsupported(self._probe, ag.namespace(backend))
            if reason is not None:
                return reason
            usual |= texts(more)
        gradient = Gradient(self._probe, backend)
        heard = texts(gradient.caught) - usual
        with listening() as more:
            on_numpy = self._by_numpy and backend != "numpy"
            found = gradient.judged(Gradient(self._probe, "numpy") if on_numpy else None)
        if backend == "numpy":
            heard -= texts(more)
        found.warnings = sorted(heard)
        return found

    def _further(self, further: Further, name: str, gradient: Finding) -> Finding:
        if gradient.status in ("unsupported", "no gradient", "not smooth"):
            return Finding(gradient.status)
        if gradient.status in BAD:
            return Finding("skipped")
        return further.check(name)
