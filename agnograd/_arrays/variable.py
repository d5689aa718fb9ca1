"""The differentiable array: a raw array and the node that made it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self
from weakref import ref

from agnograd._arrays.levels import derived, entered_over, untracked
from agnograd._arrays.methods import Methods
from agnograd._graph.nodes import UNWATCHED, WATCH, Edge, Leaf, ranks, watch
from agnograd._hooks.state import HookHandle, current_mode
from agnograd._util.deferred import later
from agnograd.errors import (
    GradientError,
    LostGradientError,
    NoGradientError,
    UnsupportedArrayError,
)

if TYPE_CHECKING:
    from agnograd._graph.inspection import GraphNode

# Which domain an array of some type belongs to, as far as such arrays have been met.
owners: dict[type, Any] = {}
# The domains of this process, by the names of their backends.
built: dict[str, Any] = {}
_hook_keys = itertools.count()


class Variable(Methods):
    """A differentiable array over one backend.

    It is a compliant array of the array API standard, with the standard's operators and indexing.
    Each backend has one subclass, whose operators are that backend's ops.

    Parameters
    ----------
    raw : array, Variable, scalar or nested list
        An array of any installed backend, which is not copied. A scalar or a (nested) list
        becomes an array of the default backend.
    requires_grad : bool, optional
        Whether to track what is computed from this array. By default, floating-point and complex
        arrays are tracked. Integer and boolean arrays, and arrays whose byte order is not the
        machine's, have no gradient and are not tracked.

    Raises
    ------
    UnsupportedArrayError
        If ``raw`` is not an array of an installed backend, or if ``requires_grad`` is True and its
        dtype cannot have a gradient.
    LostGradientError
        If ``raw`` is a tracked Variable.

    Examples
    --------
    >>> import agnograd as ag
    >>> x = ag.Variable([1.0, 2.0, 3.0])
    >>> (x * x).__array_namespace__().sum(x * x).backward()
    >>> x.grad.data.tolist()
    [2.0, 4.0, 6.0]
    """

    __slots__ = ("__weakref__", "_leaf", "_node", "_raw", "_storage")
    __hash__ = None  # type: ignore[assignment]

    _domain: ClassVar[Any] = None  # of the class that users call
    # Finds the domain of an array; ``agnograd._arrays.domains`` sets it.
    _domain_of: ClassVar[Callable[[Any], Any]]
    _is_view: ClassVar[bool] = False
    _storage: Any
    _leaf: Leaf

    def __new__(cls, raw: Any, requires_grad: bool | None = None) -> Variable:
        kind = type(raw)
        if requires_grad is not None and requires_grad is not True and requires_grad is not False:
            requires_grad = _flag(requires_grad)
        domain = cls._domain
        if domain is None:
            domain = owners.get(kind) or cls._domain_of(raw)
            if derived and (mode := current_mode()) is not None and mode.level is not None:
                domain = entered_over(domain)
        variable: Variable = next(domain.blank)
        if kind in domain.ready_types:  # most often
            variable._raw = data = raw
        elif isinstance(raw, Variable) and raw.requires_grad:
            raise LostGradientError(
                "a Variable made from a tracked one would lose its gradient silently; use the "
                "tracked one, or x.detach() for a new leaf with the same value"
            )
        else:
            variable._raw = data = domain.to_raw(raw)
        if data.dtype in domain.inexact_dtypes and requires_grad is not False:
            # As Leaf.of, without a call.
            variable._leaf = variable._node = leaf = Leaf((next(ranks), None, UNWATCHED))
            leaf.grad = leaf.accumulated = leaf.facts = None
            leaf.domain, leaf.alive = domain, Leaf.EACH
            leaf.variable = ref(variable)
            return variable
        variable._node = None
        if requires_grad:
            variable.requires_grad = True  # which says why it cannot be
        return variable

    @classmethod
    def _make(cls, data: Any, node: Edge | None) -> Self:
        variable = object.__new__(cls)
        variable._raw = data
        variable._node = node
        return variable

    # -- the array ------------------------------------------------------------------------------

    @property
    def data(self) -> Any:
        """The raw array, without a copy. Do not change it while a graph may need it."""
        raw = self._raw
        if type(raw) in self._domain.ready_types:
            return raw
        return self._domain.backend.array(raw)

    @data.setter
    def data(self, raw: Any) -> None:
        self._domain.replace(self, self._fitting(raw, "data"), recorded=False)

    def _fitting(self, value: Any, what: str) -> Variable:
        """Return an array as a Variable that has the shape and dtype of this one."""
        if type(value) is not self._domain.Variable:
            value = self._domain.Variable._make(self._domain.to_raw(value), None)
        if value.shape != self.shape or value.dtype != self.dtype:
            raise GradientError(
                f"{what} of shape {value.shape} and dtype {value.dtype} cannot belong to an array "
                f"of shape {self.shape} and dtype {self.dtype}: use one like the array, or make a "
                "new Variable"
            )
        fitting: Variable = value
        return fitting

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        shape: tuple[int, ...] = self._raw.shape
        return shape

    @property
    def dtype(self) -> Any:
        """The backend's own dtype object."""
        return self._raw.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._raw.shape)

    @property
    def size(self) -> int | None:
        """The number of elements, or None where a lazy backend does not know it."""
        return self._domain.size(self._raw)  # type: ignore[no-any-return]

    @property
    def device(self) -> Any:
        """The backend's own device object."""
        return self._domain.device(self._raw)

    @property
    def T(self) -> Variable:  # noqa: N802 - the standard's name
        """The transpose of a two-dimensional array."""
        if self.ndim != 2:
            raise ValueError(f"x.T needs two axes, not {self.ndim}; use xp.permute_dims or x.mT")
        return self.mT

    @property
    def mT(self) -> Variable:  # noqa: N802 - the standard's name
        """The array with its last two axes exchanged."""
        transposed: Variable = self._domain.namespace.matrix_transpose(self)
        return transposed

    def to_device(self, device: Any, /, *, stream: Any = None) -> Variable:
        """Return the array on another device of its backend, still connected."""
        if device == self.device:
            return self
        moved: Variable = self._domain.namespace.to_device(self, device, stream=stream)
        return moved

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the differentiable namespace of this array's backend."""
        newest = self._domain.library.__array_api_version__
        if api_version is not None and not ("2021.12" <= api_version <= newest):
            raise ValueError(
                f"array API version {api_version!r} is not supported by backend "
                f"{self._domain.backend.name!r}; the newest one is {newest}"
            )
        return self._domain.namespace

    # -- gradients ------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether what is computed from this array is tracked. You can set it on leaves."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        flag = _flag(flag)
        if flag == self.requires_grad:
            return
        if not self.is_leaf:
            raise NoGradientError(
                "requires_grad can be changed only on leaves; use x.detach() for a value that is "
                "cut from the graph"
            )
        if not flag:
            self._node = None
            if hasattr(self, "_leaf"):
                del self._leaf
            return
        if not self._domain.is_inexact(self.dtype):
            raise UnsupportedArrayError(
                f"an array of dtype {self.dtype} has no gradient: only those of the backend's "
                "floating-point and complex dtypes, in native byte order, have; convert it with "
                "xp.astype, or pass requires_grad=False"
            )
        if self._is_view:
            raise NoGradientError(
                "a view cannot become a leaf: its elements are its base's. Set requires_grad on "
                "the base before the view is taken, or make a leaf with ag.Variable(x.data)"
            )
        self._leaf = self._node = Leaf.of(self)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made this array."""
        return self._node is None or type(self._node) is Leaf

    @property
    def grad(self) -> Variable | None:
        """The gradient that backward passes have accumulated, or None.

        On a leaf that was written to, this is the gradient of the value before the first write.
        """
        node: Any = self._node
        if type(node) is Leaf:  # most often; and no view is a leaf
            return node.grad  # type: ignore[return-value]
        held: Any = self._own_leaf() or (None if node is None else node[WATCH])
        return None if held is None else held.grad

    @grad.setter
    def grad(self, value: Variable | None) -> None:
        if value is not None:
            value = self._fitting(value, "a gradient")
        node = self._node
        held = self._own_leaf() or (None if node is None else watch(node))
        if held is not None:
            held.grad = value
        elif value is not None:
            raise NoGradientError(
                "an array that requires no gradient holds none; set requires_grad first"
            )

    def _own_leaf(self) -> Leaf | None:
        return self._node if type(self._node) is Leaf else getattr(self, "_leaf", None)

    def backward(
        self,
        gradient: Any = None,
        *,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
        retain_grads: bool = False,
        loss_scale: float | None = None,
    ) -> None:
        """Compute gradients and accumulate them into the ``grad`` of the leaves.

        Parameters
        ----------
        gradient : array or Variable, optional
            The cotangent of this array, with its shape and dtype. The default is 1 for a real
            array with a single element; any other array needs a cotangent.
        retain_graph : bool, optional
            Keep the saved values for another pass. The default is the value of ``create_graph``.
        create_graph : bool
            Record the pass itself, so that you can differentiate the gradients.
        inputs : Variable or sequence of Variable, optional
            Accumulate gradients only into these Variables. They need not be leaves.
        retain_grads : bool
            Also keep the gradients of intermediate values that Variables hold.
        loss_scale : float, optional
            A factor for the cotangent (loss scaling for narrow dtypes).

        Raises
        ------
        NoGradientError
            If this array carries no gradient, or needs an explicit cotangent.
        GradientError
            If ``gradient`` does not fit.
        FreedGraphError
            If an earlier pass freed the graph.
        """
        later("agnograd._engine.ends", "run_backward")(
            [(self, gradient)],
            retain_graph=retain_graph,
            create_graph=create_graph,
            inputs=inputs,
            retain_grads=retain_grads,
            loss_scale=loss_scale,
        )

    def detach(self) -> Variable:
        """Return the same value, cut off from the graph, without a copy.

        Inside ``vmap`` and the like, it is cut off from what is recorded outside, too.
        """
        return self._domain.Variable._make(untracked(self._raw), None)  # type: ignore[no-any-return]

    def _here(self) -> Variable:
        """Return the same value without a node of its level; what is below stays connected."""
        return self._domain.Variable._make(self._raw, None)  # type: ignore[no-any-return]

    def retain_grad(self) -> None:
        """Keep this value's gradient in ``grad`` although it is not a leaf.

        After a write, ``grad`` is the gradient of the new value.
        """
        watch(self._tracked("retain_grad")).retained = True

    def register_hook(self, fn: Callable[[Variable], Variable | None]) -> HookHandle:
        """Call ``fn(grad)`` when this value's gradient is final; its result replaces the gradient.

        Parameters
        ----------
        fn : callable
            A function that gets the gradient as a Variable of this array's shape and dtype. It
            returns a new one with the same shape and dtype, or None to keep the gradient.

        Returns
        -------
        handle
            Its ``remove()`` removes the hook.
        """
        return _registered(watch(self._tracked("register_hook", fn)).hooks, fn)

    def register_post_accumulate_grad_hook(self, fn: Callable[[Variable], Any]) -> HookHandle:
        """Call ``fn(variable)`` after every pass that has added to this leaf's ``grad``.

        It may, for example, update the leaf and set ``grad`` to None. It runs under ``no_grad``,
        once the whole pass has succeeded. Its result is ignored.

        Raises
        ------
        NoGradientError
            If this is not a leaf that requires a gradient.
        """
        leaf = self._tracked("register_post_accumulate_grad_hook", fn)
        if type(leaf) is not Leaf:
            raise NoGradientError(
                "register_post_accumulate_grad_hook is for leaves; use register_hook for the "
                "gradient of a value in the middle of a graph"
            )
        leaf.accumulated = leaf.accumulated or {}
        return _registered(leaf.accumulated, fn)

    @property
    def node(self) -> GraphNode | None:
        """The op or leaf that made this value; None if it is untracked.

        It has ``op`` (None for a leaf), ``index`` (which of the op's results this is), ``inputs``
        (what made each differentiable input), ``saved`` (raw values by their names in the rules;
        None once a pass has freed them) and, for a leaf, ``variable``.
        """
        made: Callable[[Edge], GraphNode] = later("agnograd._graph.inspection", "GraphNode")
        return None if self._node is None else made(self._node)

    def _tracked(self, what: str, *functions: Any) -> Edge:
        callable_in = later("agnograd._util.checks", "callable_in")
        for f in functions:
            callable_in(what, f, f"x.{what}(lambda grad: None), say")
        if self._node is None:
            raise NoGradientError(
                f"{what} needs an array that requires a gradient: set requires_grad on the leaves, "
                "before this is computed from them"
            )
        return self._node


def _flag(flag: Any) -> bool:
    checked: bool = later("agnograd._util.checks", "flag_in")("requires_grad", flag)
    return checked


def _registered(hooks: dict[int, Callable[[Any], Any]], fn: Callable[[Any], Any]) -> HookHandle:
    key = next(_hook_keys)
    hooks[key] = fn
    return HookHandle(hooks, key)
