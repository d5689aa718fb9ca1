"""The hook specifications: all that a plugin may do.

A plugin is any object (a module, an instance) with methods marked ``@hookimpl``. It names only
the arguments that it wants. Arrays that hooks get are raw and must not be changed. The order of
events, for one op and for one backward pass over it::

    forward_preprocess ── the op runs ── forward_postprocess ── save_value (each saved array)

    backward_start
        for each node, newest first:
            restore_value (each packed value) ── backward_preprocess ── the rule runs
                ── backward_postprocess
        for each leaf: gradient_ready
    backward_finish

A postprocess hook runs also when the op failed: ``error`` is then the exception, and otherwise
None. An exception from a hook ends the op or the pass, and carries a note that names the plugin,
the hook and the op.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from agnograd._backend import Backend
    from agnograd._call import Call
    from agnograd._variable import Variable

__all__ = ["BackendSpecs", "HookSpecs", "hookimpl", "hookspec"]

hookspec = pluggy.HookspecMarker("agnograd")
hookimpl = pluggy.HookimplMarker("agnograd")


class BackendSpecs:
    """What a backend plugin implements (entry points ``agnograd.backends``)."""

    @hookspec(firstresult=True)
    def backend(self) -> "Backend":  # type: ignore[empty-body]
        """Return the backend, an instance of a subclass of ``agnograd.extend.Backend``."""


class HookSpecs:
    """What a function-hook plugin may implement (entry points ``agnograd.plugins``)."""

    @hookspec
    def forward_preprocess(self, op: "Call", kind: "Call", inputs: Sequence[Any]) -> None:
        """Run before an op computes.

        Parameters
        ----------
        op : Call
            The op: ``name``, ``chapter``, ``parameters``, ``backend`` and ``location``.
        kind : Call
            The op without what is special to this call, ``parameters`` and ``location``. Where no
            plugin asks for ``op``, no object is made for each call.
        inputs : sequence
            The op's array arguments, raw; Python scalars as they are.
        """

    @hookspec
    def forward_postprocess(
        self,
        op: "Call",
        kind: "Call",
        inputs: Sequence[Any],
        outputs: Any,
        error: BaseException | None,
        start: Any,
        stop: Any,
    ) -> None:
        """Run after an op computed, or failed.

        Parameters
        ----------
        op, kind, inputs
            As in ``forward_preprocess``.
        outputs : tuple of array
            The raw results; empty if the op failed.
        error : BaseException or None
            What the op raised.
        start, stop : mark or None
            Marks in time (``Backend.mark``) right before and after the op computed, without any
            hook; None if a hook before it failed. They are taken if a hook asks for them.
        """

    @hookspec
    def backward_preprocess(
        self, op: "Call", kind: "Call", inputs: Sequence[Any], grad_outputs: Sequence[Any]
    ) -> None:
        """Run before an op's rule.

        Parameters
        ----------
        op : Call
            The op as its forward hooks saw it, the same object; without ``parameters`` and
            ``location`` if no hook observed that call.
        kind : Call
            As in ``forward_preprocess``.
        inputs : sequence
            The op's differentiable inputs, raw; None for those that the graph did not save.
        grad_outputs : sequence
            The cotangents of the outputs, raw.
        """

    @hookspec
    def backward_postprocess(
        self,
        op: "Call",
        kind: "Call",
        inputs: Sequence[Any],
        grad_outputs: Sequence[Any],
        grad_inputs: Sequence[Any],
        error: BaseException | None,
        start: Any,
        stop: Any,
    ) -> None:
        """Run after an op's rule, or after it failed.

        Parameters
        ----------
        op, kind, inputs, grad_outputs
            As in ``backward_preprocess``.
        grad_inputs : tuple
            The gradients of the inputs, raw; None where none was asked for; empty after failure.
        error : BaseException or None
            What the rule raised.
        start, stop
            As in ``forward_postprocess``, of the rule.
        """

    @hookspec
    def backward_start(self, outputs: Sequence[Any]) -> None:
        """Run before a backward pass; ``outputs`` are the values that it starts from, raw."""

    @hookspec
    def backward_finish(self, outputs: Sequence[Any], error: BaseException | None) -> None:
        """Run after a backward pass, or after it failed with ``error``."""

    @hookspec
    def gradient_ready(self, variable: "Variable", grad: Any) -> None:
        """Run when a leaf's gradient is final; the rest of the pass may still run.

        Parameters
        ----------
        variable : Variable
            The leaf.
        grad : array
            This pass's gradient, raw; it has not yet been added to ``variable.grad``.
        """

    @hookspec(firstresult=True)
    def save_value(self, op: "Call", name: str, value: Any) -> Any:
        """Return something to keep in the graph instead of a value, or None to keep the value.

        The graph alone refers to what is returned, and lets it go when the node is freed.

        Parameters
        ----------
        op : Call
            The op whose rule will need the value.
        name : str
            The name that the rule knows it by.
        value : array
            The raw array.
        """

    @hookspec(firstresult=True)
    def restore_value(self, packed: Any) -> Any:
        """Return the value that this plugin's ``save_value`` packed; None if another packed it."""
