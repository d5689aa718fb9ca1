"""Gradient managers: record what depends on chosen arrays, and call back on each gradient."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple, Self

from agnograd._arrays.variable import Variable
from agnograd._engine.ends import commit, pairs_of, seeds_of
from agnograd._engine.run import Callback, replaced, run_pass
from agnograd._functions.runs import restoring
from agnograd._graph.nodes import RANK, ByNode, Edge, Leaf, next_rank
from agnograd._hooks.entering import enable_grad, entered, kept_now, no_grad
from agnograd._hooks.state import Mode, current_mode, set_mode
from agnograd._util.checks import callable_in, flags_in, variables_in
from agnograd._util.trees import leaves
from agnograd.errors import NoGradientError

OnReady = Callable[[Variable, Variable], Variable | None]


class Attachment(NamedTuple):
    """An attached Variable, and who is called with its gradient."""

    variable: Variable
    callbacks: list[OnReady]


class GradManager:
    """A context manager that records only what depends on the arrays attached to it.

    Inside the ``with`` block, ops are recorded if they depend on an attached Variable, whether or
    not that Variable requires a gradient elsewhere. All other Variables are constants. You can nest
    managers: ops are then recorded if they depend on the attached Variables of either. At the end
    of the block, the manager releases the Variables that you attached inside the block, and the
    graph. Those that you attached before stay attached, so one manager can serve every step of a
    training loop.

    Examples
    --------
    >>> import agnograd as ag
    >>> w = ag.Variable([1.0, 2.0], requires_grad=False)
    >>> with ag.GradManager() as manager:
    ...     manager.attach(w)
    ...     loss = (w * w)[0] + w[1]
    ...     manager.backward(loss)
    >>> w.grad.data.tolist()
    [2.0, 1.0]
    """

    def __init__(self) -> None:
        self._lasting: list[tuple[Variable, OnReady | None]] = []
        self._attached: ByNode[Attachment] = ByNode()
        self._made: list[tuple[Variable, Leaf]] = []
        self._state: entered | None = None
        # What the block is in: it may have ended without this, by an interrupt.
        self._level: weakref.ref[Mode] | None = None

    def __repr__(self) -> str:
        if self._state is None:
            return f"<GradManager, not active, of {len(self._lasting)} Variables>"
        return f"<GradManager, active, of {len(self._attached)} Variables>"

    def attach(self, variables: Any, callback: OnReady | None = None) -> None:
        """Attach Variables.

        Parameters
        ----------
        variables : Variable or pytree of Variable
            Leaves or intermediate values, of floating-point or complex dtype.
        callback : callable, optional
            ``backward`` calls ``callback(variable, grad)`` as soon as the gradient of a Variable is
            final; the rest of the pass may still run. If the callback returns a Variable of the
            same shape and dtype, this replaces the gradient.

        Raises
        ------
        NoGradientError
            If the pytree contains anything other than Variables.
        UnsupportedArrayError
            If a Variable has an integer or boolean dtype.
        """
        if callback is not None:
            callable_in("attach: callback", callback, "callback=lambda variable, grad: None")
        found: list[Any] = [None] if variables is None else leaves(variables)
        for each in found:
            if not isinstance(each, Variable):
                raise NoGradientError(
                    f"attach takes Variables, not {type(each).__name__}: make one of an array, "
                    "x = ag.Variable(array), and compute with x"
                )
        for each in found:
            if self._state is None:
                self._lasting.append((each, callback))
            else:
                self._attach(each, callback)

    def _attach(self, variable: Variable, callback: OnReady | None) -> None:
        if not variable.requires_grad:
            grad = variable.grad
            try:
                variable.requires_grad = True
                variable.grad = grad
                assert isinstance(variable._node, Leaf)
                self._made.append((variable, variable._node))
            except BaseException:
                variable._node = None
                raise
        assert variable._node is not None
        _, attachment = self._attached.setdefault(
            variable._node[RANK], (variable._node, Attachment(variable, []))
        )
        if callback is not None:
            attachment.callbacks.append(callback)

    def __enter__(self) -> Self:
        if self._level is not None and self._level() is not None:
            raise RuntimeError("this manager is active already; make another one to nest them")
        self._let_go()  # of what an interrupt may have left
        outer = current_mode()
        state = entered(recording=True, kept=partial(self._kept, next_rank(), kept_now()))
        try:
            state.__enter__()
            level = current_mode()
            assert level is not None
            self._state, self._level = state, weakref.ref(level)
            # By whatever ends the level: an interrupt may keep this from being left itself.
            level.closing = ExitStack()
            level.closing.callback(self._let_go)
            for variable, callback in self._lasting:
                self._attach(variable, callback)
            return self
        except BaseException:
            set_mode(outer)
            self._let_go()
            raise

    def __exit__(self, *error: Any) -> None:
        try:
            if self._state is not None:
                self._state.__exit__(None, None, None)
        except BaseException:
            self._let_go()  # all of it: an interrupt may have come in between
            raise

    def _let_go(self) -> None:
        """Forget what was attached in the block, and what was made a leaf for it."""
        for variable, leaf in self._made:
            if variable._node is leaf:  # its gradient stays: the leaf does, but nothing is tracked
                variable._node = None
        self._made.clear()
        self._attached.clear()
        self._state = self._level = None

    def _kept(self, start: int, outer: Any, *nodes: Edge | None) -> tuple[Edge | None, ...]:
        """Return the nodes with None for those that depend on nothing attached."""
        others = (None,) * len(nodes) if outer is None else outer(*nodes)

        def own(node: Edge) -> bool:
            # Newer nodes rank lower. What was recorded since the start depends on what is attached.
            return node[RANK] in self._attached or (
                node[RANK] < start and not isinstance(node, Leaf)
            )

        return tuple(
            node if other is not None or (node is not None and own(node)) else None
            for node, other in zip(nodes, others, strict=True)
        )

    @restoring
    def backward(
        self,
        outputs: Variable | Sequence[Variable],
        gradients: Any = None,
        *,
        retain_graph: bool | None = None,
        create_graph: bool = False,
    ) -> None:
        """Compute the gradients of the attached Variables and add them to their ``grad``.

        Parameters
        ----------
        outputs : Variable or sequence of Variable
            The values to differentiate.
        gradients : array, Variable, None, or sequence of array
            Their cotangents. None means a cotangent of 1, which is allowed for a real value with a
            single element.
        retain_graph, create_graph : bool
            As in ``Variable.backward``.

        Raises
        ------
        NoGradientError
            If the manager is not active, or an output depends on nothing that is attached.
        """
        if self._state is None:
            raise NoGradientError(
                "call backward inside the manager's `with` block: at the end of the block, the "
                "manager releases what it recorded"
            )
        flags_in("GradManager.backward", retain_graph=retain_graph, create_graph=create_graph)
        pairs = pairs_of(variables_in("outputs", outputs), gradients)
        seeds = seeds_of(pairs, create_graph)
        callbacks: ByNode[Callback] = ByNode()
        for node, each in self._attached.values():
            if each.callbacks:
                callbacks.put(node, partial(_call, each, create_graph))
        with enable_grad() if create_graph else no_grad():
            result = run_pass(
                seeds,
                starts=pairs,
                targets=[node for node, _ in self._attached.values()],
                create_graph=create_graph,
                retain_graph=create_graph if retain_graph is None else retain_graph,
                callbacks=callbacks,
            )
            commit({rank: g for rank, g in result.items() if rank in self._attached}, seeds)


def _call(attachment: Attachment, create_graph: bool, g: Any) -> Any:
    """Tell those who attached a Variable its gradient; return what they make of it."""
    variable = attachment.variable
    for callback in attachment.callbacks:
        g = replaced(partial(callback, variable), g, variable._domain, create_graph)
    return g
