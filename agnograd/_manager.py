"""Gradient managers: record what depends on chosen arrays, and hear of each gradient at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

from agnograd._engine import Callback, run_pass
from agnograd._graph import RANK, ByNode, Edge, Leaf, next_rank
from agnograd._mode import current_mode, enable_grad, entered, no_grad
from agnograd._seeds import pairs_of, seeds_of
from agnograd._trees import leaves
from agnograd._variable import Variable
from agnograd._watching import replaced
from agnograd.autodiff import commit
from agnograd.errors import NoGradientError

__all__ = ["GradManager"]

OnReady = Callable[[Variable, Variable], Variable | None]


class Attachment(NamedTuple):
    """An attached Variable, and who is to hear of its gradient."""

    variable: Variable
    callbacks: list[OnReady]


class GradManager:
    """Records what depends on the arrays that it attached, and nothing else.

    Inside of the ``with`` block ops are recorded if they depend on an attached Variable, whether it
    requires a gradient otherwise or not; all others are constants. Managers nest: inside of two,
    what depends on the attached Variables of either is recorded. What was attached inside of the
    block is let go at its end, and with it the graph; what was attached before stays attached, so
    that one manager can serve every step of a training loop.

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
            ``callback(variable, grad)`` is called during ``backward`` as soon as the gradient of a
            Variable is final, while the rest of the pass may still run. If it returns a Variable
            of the same shape and dtype, that is the gradient.

        Raises
        ------
        NoGradientError
            If there is something else than Variables in the pytree.
        UnsupportedArrayError
            If a Variable has an integer or boolean dtype.
        """
        found = leaves(variables)
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
            variable.requires_grad = True
            variable.grad = grad
            assert isinstance(variable._node, Leaf)
            self._made.append((variable, variable._node))
        assert variable._node is not None
        attachment = self._attached.of(variable._node)
        if attachment is None:
            attachment = Attachment(variable, [])
            self._attached.put(variable._node, attachment)
        if callback is not None:
            attachment.callbacks.append(callback)

    def __enter__(self) -> Self:
        if self._state is not None:
            raise RuntimeError("this manager is active already; make another one to nest them")
        outer = current_mode()
        self._state = entered(
            recording=True,
            kept=partial(self._kept, next_rank(), None if outer is None else outer.kept),
        )
        self._state.__enter__()
        try:
            for variable, callback in self._lasting:
                self._attach(variable, callback)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._state is not None
        self._state.__exit__(None, None, None)
        self._state = None
        for variable, leaf in self._made:
            if variable._node is leaf:  # its gradient stays: the leaf does, but nothing is tracked
                variable._node = None
        self._made.clear()
        self._attached.clear()

    def _kept(self, start: int, outer: Any, *nodes: Edge | None) -> tuple[Edge | None, ...]:
        """Return the nodes with None for those that depend on nothing attached."""
        others = (None,) * len(nodes) if outer is None else outer(*nodes)
        return tuple(
            node if other is not None or self._depends(node, start) else None
            for node, other in zip(nodes, others, strict=True)
        )

    def _depends(self, node: Edge | None, start: int) -> bool:
        # Newer nodes rank lower. What was recorded since the start depends on what is attached.
        return self._attached.has(node) or (
            node is not None and node[RANK] < start and not isinstance(node, Leaf)
        )

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
            Their cotangents; None means one, for a real value of a single element.
        retain_graph, create_graph : bool
            As in ``Variable.backward``.

        Raises
        ------
        NoGradientError
            If the manager is not active, or an output depends on nothing that is attached.
        """
        if self._state is None:
            raise NoGradientError(
                "backward belongs into the manager's `with` block: at its end the manager lets go "
                "of what it recorded"
            )
        found = [outputs] if isinstance(outputs, Variable) else list(outputs)
        pairs = pairs_of(found, gradients)
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
