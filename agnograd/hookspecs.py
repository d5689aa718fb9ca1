"""The hook specifications: everything that a plugin may implement.

A plugin is any object (a module, an instance) with methods marked ``@hookimpl``. A method names
only the arguments that it needs. The arrays that hooks get are raw; hooks must not change them. The
order of events, for one op and for one backward pass over it::

    forward_preprocess ── the op runs ── forward_postprocess ── save_value (each saved array)

    backward_start
        for each node, newest first:
            restore_value (each packed value) ── backward_preprocess ── the rule runs
                ── backward_postprocess
        for each leaf: gradient_ready
    replace_gradients
    backward_finish

A postprocess hook also runs when the op failed: ``error`` is then the exception, and otherwise
None. An exception from a hook ends the op or the pass. It carries a note that names the plugin, the
hook and the op.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pluggy

__all__ = ["BackendSpecs", "HookSpecs", "hookimpl", "hookspec"]

hookspec = pluggy.HookspecMarker("agnograd")
hookimpl = pluggy.HookimplMarker("agnograd")


class BackendSpecs:
    """The hook that a backend plugin implements (entry points ``agnograd.backends``)."""

    @hookspec(firstresult=True)
    def backend(self) -> Any:
        """Return the backend, an instance of a subclass of ``agnograd.extend.Backend``."""


class HookSpecs:
    """The hooks that a plugin may implement (entry points ``agnograd.plugins``)."""

    @hookspec
    def forward_preprocess(self, op: Any, kind: Any, inputs: Sequence[Any]) -> None:
        """Run before an op computes.

        Parameters
        ----------
        op : Call
            The op: ``name``, ``chapter``, ``parameters``, ``backend`` and ``location``.
        kind : Call
            The op without the attributes of this particular call, ``parameters`` and ``location``.
            If no plugin asks for ``op``, agnograd creates no object for each call.
        inputs : sequence
            The op's array arguments: raw arrays, and Python scalars unchanged.
        """

    @hookspec
    def forward_postprocess(
        self,
        op: Any,
        kind: Any,
        inputs: Sequence[Any],
        outputs: Any,
        error: BaseException | None,
        start: Any,
        stop: Any,
    ) -> None:
        """Run after an op has computed, or failed.

        Parameters
        ----------
        op, kind, inputs
            As in ``forward_preprocess``.
        outputs : tuple of array
            The raw results; empty if the op failed.
        error : BaseException or None
            What the op raised.
        start, stop : mark or None
            Marks in time (``Backend.mark``) right before and after the op computed, so they do not
            include any hook; None if a hook before the op failed. They are taken only if a hook
            asks for them.
        """

    @hookspec
    def backward_preprocess(
        self, op: Any, kind: Any, inputs: Sequence[Any], grad_outputs: Sequence[Any]
    ) -> None:
        """Run before an op's rule.

        Parameters
        ----------
        op : Call
            The same object that the op's forward hooks got. It has no ``parameters`` and no
            ``location`` if no hook observed that call.
        kind : Call
            As in ``forward_preprocess``.
        inputs : sequence
            The op's differentiable inputs, raw; None for each input that the graph did not save.
        grad_outputs : sequence
            The cotangents of the outputs, raw.
        """

    @hookspec
    def backward_postprocess(
        self,
        op: Any,
        kind: Any,
        inputs: Sequence[Any],
        grad_outputs: Sequence[Any],
        grad_inputs: Sequence[Any],
        error: BaseException | None,
        start: Any,
        stop: Any,
    ) -> None:
        """Run after an op's rule has run, or failed.

        Parameters
        ----------
        op, kind, inputs, grad_outputs
            As in ``backward_preprocess``.
        grad_inputs : tuple
            The gradients of the inputs, raw; None for an input whose gradient was not needed.
            Empty if the rule failed.
        error : BaseException or None
            What the rule raised.
        start, stop
            As in ``forward_postprocess``, but for the rule.
        """

    @hookspec
    def backward_start(self, outputs: Sequence[Any], leaves: Sequence[Any]) -> None:
        """Run before a backward pass.

        Parameters
        ----------
        outputs : sequence of array
            The raw values that the pass starts from; empty if it is a part of another pass, and
            goes on with its gradients, as that of a checkpoint does.
        leaves : tuple of Variable
            The leaves that the pass reaches, in the order in which their gradients become final.
            They are looked for only if a plugin asks for them. A leaf gets no gradient after all
            if every rule on the way to it returns None.
        """

    @hookspec
    def backward_finish(self, outputs: Sequence[Any], error: BaseException | None) -> None:
        """Run after a backward pass has finished, or failed with ``error``.

        Each plugin's runs, also if that of another one raises.
        """

    @hookspec
    def gradient_ready(self, variable: Any, grad: Any) -> None:
        """Run when a leaf's gradient is final; the rest of the pass may still run.

        Parameters
        ----------
        variable : Variable
            The leaf.
        grad : array
            The raw gradient from this pass. It has not yet been added to ``variable.grad``.
        """

    @hookspec(firstresult=True)
    def replace_gradients(
        self, variables: Sequence[Any], grads: Sequence[Any]
    ) -> Iterable[tuple[Any, Any]] | None:
        """Return other gradients of leaves, or None to keep those of the pass.

        It runs after the last rule, and before any gradient is added to a leaf's ``grad`` or
        returned. If it fails, or returns what does not fit, no gradient of the pass is used. In a
        pass that is recorded (``create_graph=True``) or that runs inside ``vmap``, anything but
        None is an error.

        Parameters
        ----------
        variables : tuple of Variable
            The leaves.
        grads : tuple of array
            Their raw gradients from this pass.

        Returns
        -------
        iterable of tuple, or None
            Leaves, each with its gradient: a raw array of the leaf's shape and dtype that nothing
            else writes to, or None, which means no gradient from this pass. Other leaves than
            ``variables`` may be among them, and leaves that are left out keep their gradients.
        """

    @hookspec(firstresult=True)
    def save_value(self, op: Any, name: str, value: Any) -> Any:
        """Return something to keep in the graph instead of a value, or None to keep the value.

        Only the graph refers to what you return. It drops it when the node is freed.

        Parameters
        ----------
        op : Call
            The op whose rule will need the value.
        name : str
            The name of the value in the rule.
        value : array
            The raw array.
        """

    @hookspec(firstresult=True)
    def restore_value(self, packed: Any) -> Any:
        """Return the value that your ``save_value`` packed, or None if another plugin packed it."""
