"""Estimate how many digits of a result are right, and which lines lose the others."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agnograd.errors import ArgumentError
from agnograd.extend import Uncopied, hookimpl
from agnograd_digits._report import Line, Report, as_text
from agnograd_digits._rounding import Rounding, in_gradients, of_input, rounding_of

if TYPE_CHECKING:
    from agnograd.extend import Call

__all__ = ["Digits", "Line"]


class _Running(threading.local):
    """The passes of one thread that have begun, outermost first: None where errors do not count."""

    def __init__(self) -> None:
        self.passes: list[tuple[Report | None, Any]] = []


class Digits(Uncopied):
    """Estimate the rounding error of a value, by one backward pass over what computed it.

    Every op rounds what it computes. To first order, the error of the value is the sum of these
    roundings, each times the derivative of the value with respect to the op's result, which is what
    a backward pass computes. The attributes below are those of the latest pass, of whatever thread.
    They are about the value that the pass starts from, not about its gradient, and None before the
    first pass.

    Examples
    --------
    >>> import numpy as np
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> with ag.hooks("digits") as (digits,):
    ...     gradient = ag.grad(lambda x: (1 - xp.cos(x)) / x**2)(np.asarray(1e-6))
    >>> round(digits.digits)  # of 16
    4
    >>> digits.lines[0].op
    'cos'
    """

    def __init__(self) -> None:
        # What each call rounds, as long as the graph has the call; None for what rounds nothing.
        self._roundings: WeakKeyDictionary[Call, Rounding | None] = WeakKeyDictionary()
        self._running = _Running()
        self._report: Report | None = None

    def __repr__(self) -> str:
        return "<Digits: no pass yet>" if self._report is None else f"<Digits: {self._report}>"

    def reset(self) -> None:
        """Forget the latest pass, and a pass of this thread that Ctrl-C ended in a hook."""
        self._report = None
        self._running.passes.clear()

    # Before a pass these are None, and raise nothing: pluggy may read each attribute of a plugin.

    @property
    def value(self) -> float | None:
        """The value that the pass started from, or None if it started from several arrays.

        Of an array it is the sum of the elements, each times what was given for its gradient.
        """
        return None if self._report is None else self._report.value

    @property
    def error(self) -> float | None:
        """The estimated absolute error of the value.

        It is the root of the sum of squares of the errors of all ops, which is how independent
        errors add up. The true error is seldom larger.
        """
        return None if self._report is None else self._report.error

    @property
    def worst(self) -> float | None:
        """The sum of the same errors, as if each had the sign that hurts most."""
        return None if self._report is None else self._report.worst

    @property
    def digits(self) -> float | None:
        """How many decimal digits of the value are right, or None if the value is.

        It is ``-log10(error / abs(value))``, but not less than 0.
        """
        return None if self._report is None else self._report.digits

    @property
    def inputs(self) -> float | None:
        """How far the value would be off if its inputs had been rounded to their dtypes before.

        Data often are. It is not part of ``error``: that is the error for the inputs as they are.
        """
        return None if self._report is None else self._report.inputs

    @property
    def lines(self) -> tuple[Line, ...]:
        """What each op on each line of the program adds, the largest error first."""
        return () if self._report is None else self._report.lines

    def need_double(self, digits: float = 6) -> list[str]:
        """Return the lines that must compute in double precision for so many right digits.

        It takes the lines that lose most until the errors of the others are small enough. Their
        results must stay in double precision until a line that is not among them has used them:
        rounding them to a narrower dtype is as large an error as computing them in it.

        Parameters
        ----------
        digits : float
            The number of decimal digits that are to be right.

        Returns
        -------
        list of str
            The places, each as ``file:line in function``, the one that loses most first. It is
            empty if the digits are right already.

        Raises
        ------
        ArgumentError
            If the number is not a number of digits, if no pass has finished, or if the value is
            None or 0, so that it has no digits.
        ArithmeticError
            If double precision is not enough: the message says how many digits it gives.
        """
        if isinstance(digits, bool) or not isinstance(digits, Real) or not 0 < digits < 400:
            raise ArgumentError(f"digits: need_double takes a number of digits, not {digits!r}")
        return self._latest().need_double(float(digits))

    def summary(self) -> str:
        """Return what was estimated as text: the value, and the errors by line and op."""
        return as_text(self._latest())

    def _latest(self) -> Report:
        if self._report is None:
            raise ArgumentError(
                "digits: no backward pass has finished yet while the plugin was active; call "
                "ag.grad or backward inside the with block"
            )
        return self._report

    # -- hooks ---------------------------------------------------------------------------------

    @hookimpl
    def forward_postprocess(self, op: Call, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Note what an op rounds."""
        _ = op.location  # reading it keeps it for the backward pass
        with op.backend.quiet():  # what overflows here need not overflow in the program
            self._roundings[op] = rounding_of(op, inputs, outputs)

    @hookimpl
    def backward_start(self, outputs: Sequence[Any]) -> None:
        """Begin a report, unless the pass is a part of another one."""
        passes = self._running.passes
        if not passes:
            passes.append((Report(), outputs))
        else:  # a checkpoint's starts from no output, and goes on with the cotangents of the other
            passes.append((None if len(outputs) else passes[-1][0], None))

    @hookimpl
    def backward_preprocess(self, op: Call, grad_outputs: Sequence[Any]) -> None:
        """Find the value that the pass starts from: the first rule gets what multiplies it."""
        passes = self._running.passes
        if len(passes) == 1 and passes[0][1] is not None:
            report, outputs = passes[0]
            passes[0] = report, None
            assert report is not None
            with op.backend.quiet():
                report.starts(outputs, grad_outputs)

    @hookimpl
    def backward_postprocess(
        self,
        op: Call,
        grad_outputs: Sequence[Any],
        grad_inputs: Sequence[Any],
        error: BaseException | None,
    ) -> None:
        """Add what an op's rounding does to the value."""
        passes = self._running.passes
        report = passes[-1][0] if passes else None
        if report is None or error is not None:
            return
        if op not in self._roundings:
            # What a function of the user computes is in a pass of its own.
            report.unseen += op.chapter != "function"
        elif (rounding := self._roundings[op]) is not None:
            with op.backend.quiet():
                found = in_gradients(rounding, grad_outputs, grad_inputs)
            report.add((op.location, op.name, rounding.dtype), rounding.unit, *found)

    @hookimpl
    def gradient_ready(self, variable: Any, grad: Any) -> None:
        """Add what the rounding of an input would do to the value."""
        passes = self._running.passes
        if len(passes) == 1 and passes[0][0] is not None:
            passes[0][0].add_input(of_input(variable.data, grad))

    @hookimpl
    def backward_finish(self, error: BaseException | None) -> None:
        """Hand out the report of a pass that has not failed."""
        passes = self._running.passes
        if passes:  # not if the plugin became active in the middle of a pass
            report, _ = passes.pop()
            if not passes and error is None:
                self._report = report
