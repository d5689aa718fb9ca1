"""Policies of checkpoints: which results are kept, so that the second run need not compute them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from agnograd._arrays.variable import Variable
from agnograd._arrays.views import InPlace
from agnograd._graph.calls import Call
from agnograd._graph.nodes import OP, RANK, Node
from agnograd._hooks.state import current_mode
from agnograd._plugins.op_sets import op_named
from agnograd._util.checks import name_in
from agnograd.errors import ArgumentError, RuleError

T = TypeVar("T")


class Policy(NamedTuple):
    """The ops whose results a checkpoint keeps, and the names of other results that it keeps."""

    keeps: Callable[[Call], bool]
    names: frozenset[str] = frozenset()


def policy_in(policy: Any) -> Policy | None:
    """Return what ``ag.checkpoint`` was given for a policy in one form."""
    if policy is None:
        return None
    if isinstance(policy, str) and policy == "products":
        return Policy(lambda op: _is_product(op.name, op.chapter))
    if callable(policy):
        return Policy(policy)
    if isinstance(policy, Iterable) and not isinstance(policy, str | bytes | Mapping):
        names = list(policy)
        if all(isinstance(name, str) for name in names):
            return Policy(lambda op: False, frozenset(names))
    raise ArgumentError(
        f"ag.checkpoint: policy is {policy!r}; it must be 'products', a list of names that "
        "ag.checkpoint_name gives, or a function of an op that returns True or False"
    )


@cache
def _is_product(name: str, chapter: str) -> bool:
    """Return whether an op is declared as one that sums products."""
    op = op_named(name)
    return op is not None and op.chapter == chapter and op.contracts


def checkpoint_name(x: T, name: str) -> T:
    """Name a value, so that a checkpoint with a policy of names may keep it.

    The graph of ``ag.checkpoint(f, policy=["scores"])`` keeps the values in ``f`` that are named
    "scores", and the second run of ``f`` does not compute the op again that returned such a value.
    It does compute again what that op was computed from, where rules need it. So name the result of
    the op that takes long, and not a view of it. Where no checkpoint asks for the name, nothing
    happens; nor does it for arguments of ``f``, which are kept anyway, for one of several results
    of an op, and for results of an ``ag.Function``, whose ``forward`` has to save values again.

    Parameters
    ----------
    x : Variable
        The value.
    name : str
        Its name. Several values may have the same one.

    Returns
    -------
    Variable
        ``x`` itself.

    Examples
    --------
    >>> import agnograd as ag
    >>> def layer(w, x):
    ...     return ag.checkpoint_name(w * x, "product") ** 3
    >>> float(ag.grad(ag.checkpoint(layer, policy=["product"]))(2.0, 3.0))
    324.0
    """
    name_in("ag.checkpoint_name: name", name, "'scores'")
    mode = current_mode()
    if mode is not None and isinstance(x, Variable):
        memo = mode.of(x._domain.level).memo
        if isinstance(memo, Results):
            memo.name(x, name)
    return x


class Results:
    """Results of the ops that a function computes, by their places in the order of these.

    What an op itself computes by others, as a function of the user's may, has no place. A
    checkpoint around this one has results of its own.
    """

    def __init__(self) -> None:
        mode = current_mode()
        memo = None if mode is None else mode.memo
        self.outer = memo if isinstance(memo, Results) else None
        self.count, self.inside = 0, False

    def __call__(self, op: Call, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return what is called in place of an op's kernel."""
        if self.outer is not None:
            kernel = self.outer(op, kernel)
        return kernel if self.inside else partial(self.compute, op, kernel)

    def compute(self, op: Call, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Compute an op, or return its result from before."""
        self.count += 1
        self.inside = True
        try:
            return kernel(*arguments)
        finally:
            self.inside = False

    def name(self, x: Variable, name: str) -> None:
        """Take note of the name of a value."""
        if self.outer is not None:
            self.outer.name(x, name)


class Keeping(Results):
    """The first run of a checkpointed function: what its policy asks for is kept."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = policy
        self.ops: list[str] = []
        self.kept: dict[int, Any] = {}
        self.made: dict[int, int] = {}  # the places of ops by the ranks of their nodes

    def compute(self, op: Call, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Compute an op, and keep its result if the policy says so."""
        place = self.count
        self.ops.append(op.name)
        out = super().compute(op, kernel, *arguments)
        # A function's forward also saves values. What is in place is about to be written to.
        if op.chapter != "function" and type(out) is not InPlace and self.policy.keeps(op):
            self.kept[place] = out
        return out

    def note(self, node: Node) -> None:
        """Take note of the node of the op that was computed last."""
        if not self.inside and node[OP].chapter != "function":
            self.made[node[RANK]] = self.count - 1
        if isinstance(self.outer, Keeping):
            self.outer.note(node)

    def name(self, x: Variable, name: str) -> None:
        """Keep a value, if the policy asks for its name."""
        super().name(x, name)
        place = None if x._node is None else self.made.get(x._node[RANK])
        if place is not None and name in self.policy.names:
            self.kept[place] = x._raw


class Restoring(Results):
    """The second run: what the first one kept is not computed again."""

    def __init__(self, title: str, ops: Sequence[str], kept: Mapping[int, Any]) -> None:
        super().__init__()
        self.title, self.ops, self.kept = title, ops, kept

    def compute(self, op: Call, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result that was kept, or else compute the op."""
        place = self.count
        before = self.ops[place] if place < len(self.ops) else "nothing more"
        if op.name != before:
            raise RuleError(
                f"{self.title} computed {before} as its op number {place} when it ran first, and "
                f"{op.name} now: a checkpointed function must compute the same thing both times"
            )
        if place not in self.kept:
            return super().compute(op, kernel, *arguments)
        self.count += 1
        return self.kept[place]
