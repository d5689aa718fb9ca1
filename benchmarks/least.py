"""What recording nodes in Python costs: a bare tape, with one promise after the other.

The workload is a loop over the elements of an array (``index``), where nothing but Python counts.
The tape knows only the three ops of that loop. What it is given of agnograd's promise is the
question that has to be asked of every op, in as few words as it takes, and never the answer: where
that is not as here, the tape gives up.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from heapq import heappop, heappush, heappushpop
from itertools import count, repeat, starmap
from typing import Any

import numpy as np

import agnograd as ag
from benchmarks.workloads import workload_named

__all__ = ["PROMISES", "least", "tape"]

# What the lines of the tape are named after, in the order in which they join it.
PROMISES = {
    "constants": "what depends only on constants is not recorded",
    "operands": "operands may be arrays, scalars and views, and keys all that the library takes",
    "state": "each thread has hooks of its own, and its no_grad",
    "broadcasting": "gradients are summed over broadcast axes, and cast",
    "views": "what is read may be a view",
    "hooks": "hooks may see, and change, the gradient of any value",
    "complex": "derivatives by complex numbers are conjugated",
    "freeing": "what a pass has used is freed",
}

_READ = """
def read(x, key):
    if type(x) is not Variable: raise NotImplementedError  # operands
    if type(key) is not int: raise NotImplementedError  # operands
    node = x.node
    x = x.raw
    if mode() is not None: raise NotImplementedError  # state
    out = x[key]
    result = next(blank)
    result.raw = out
    if node is None: raise NotImplementedError  # constants
    if type(out) not in SCALARS: raise NotImplementedError  # views
    result.node = [next(ranks), READ, key, node]  # not hooks
    result.node = [next(ranks), READ, key, node, None]  # hooks
    return result
"""

_FORWARD = """
def {op}(x1, x2):
    if type(x1) is not Variable: raise NotImplementedError  # operands
    if type(x2) is not Variable: raise NotImplementedError  # operands
    node1 = x1.node
    x1 = x1.raw
    node2 = x2.node
    x2 = x2.raw
    if mode() is not None: raise NotImplementedError  # state
    result = next(blank)
    result.raw = x1 {sign} x2
    if node1 is None and node2 is None: raise NotImplementedError  # constants
    kind = type(x1)  # broadcasting
    if kind is not type(x2) or kind in ARRAYS: raise NotImplementedError  # broadcasting
    match = None  # broadcasting
    result.node = [next(ranks), {kind}, {saved} node1, node2]  # not broadcasting
    result.node = [next(ranks), {kind}, {saved} node1, node2, match]  # broadcasting not hooks
    result.node = [next(ranks), {kind}, {saved} node1, node2, match, None]  # hooks
    return result

def {op}_step(g, node, gradients, queue, keep):
    _, op, {saved} node1, node2 = node  # not broadcasting
    _, op, {saved} node1, node2, match = node  # broadcasting not hooks
    _, op, {saved} node1, node2, match, _ = node  # hooks
    conjugated = g.dtype is not FLOAT64 and g.dtype in COMPLEX  # complex
    first = None
"""

_ARRIVAL = """
    if {node} is not None:
        if conjugated: raise NotImplementedError  # complex
        part = {part}
        if match is not None: raise NotImplementedError  # broadcasting
        if {node}[1].reads:
            elements = gradients.get({node}[3][0])
            if elements is None:
                elements = gradients[{node}[3][0]] = [], []
                push(queue, {node}[3])
            elements[0].append({node}[2])
            elements[1].append(part)
        elif {node}[0] in gradients:
            gradients[{node}[0]] = gradients[{node}[0]] + part
        else:
            gradients[{node}[0]] = part
            {reached}
"""

_FREEING = """
    if not keep:  # freeing
        node[1] = FREED  # freeing
        {free}
    return first
"""

_BACKWARD = """
def backward(node, g, keep=False):
    gradients, queue = {node[0]: g}, []
    while True:
        step = node[1].step
        if step is None: raise NotImplementedError  # hooks
        reached = step(gradients.pop(node[0]), node, gradients, queue, keep)
        if reached is not None:
            node = pushpop(queue, reached)
        elif queue:
            node = pop(queue)
        else:
            return
"""


def _source(kept: Sequence[str]) -> str:
    text = _READ + _BACKWARD
    for op, sign, parts in (("multiply", "*", ("g * x2", "g * x1")), ("add", "+", ("g", "g"))):
        saves = op == "multiply"
        saved = "x2, x1," if saves else ""
        text += _FORWARD.format(op=op, sign=sign, kind=op.upper(), saved=saved)
        text += _ARRIVAL.format(node="node1", part=parts[0], reached="first = node1")
        later = "if first is None: first = node2\n            else: push(queue, node2)"
        text += _ARRIVAL.format(node="node2", part=parts[1], reached=later)
        free = "node[2] = node[3] = None  # freeing" if saves else ""
        text += _FREEING.format(free=free)
    return "\n".join(line for line in text.splitlines() if _is_there(line, kept))


def _is_there(line: str, kept: Sequence[str]) -> bool:
    """Return whether a line belongs to a tape: those whose comment names no other promises."""
    wanted, _, unwanted = line.partition("#")[2].partition("not")
    there = all(name in kept for name in wanted.split())
    return there and not any(name in kept for name in unwanted.split())


class _Op:
    """What nodes know of an op: its step, and whether it reads an element."""

    __slots__ = ("reads", "step")

    def __init__(self, step: Callable[..., Any] | None = None, reads: bool = False) -> None:
        self.step = step
        self.reads = reads


class _Leaf(_Op):
    """The array that is read; its step puts the gradient of its elements together."""

    __slots__ = ("gradient",)

    def __init__(self, size: int) -> None:
        def step(g: Any, *_: Any) -> None:
            places, cotangents = g
            self.gradient = np.zeros(size)
            np.add.at(self.gradient, np.asarray(places), np.asarray(cotangents, dtype=np.float64))

        super().__init__(step)


def tape(kept: Sequence[str]) -> Callable[[Callable[[Any], Any], Any], Any]:
    """Return ``(function, x) -> gradient`` by a tape that keeps some of the promises.

    ``function`` adds products of elements of ``x``, a real array of one axis.
    """
    slots = {"__slots__": ("__weakref__", "node", "raw")}
    Variable: Any = type("Variable", (), slots)  # noqa: N806 - a class
    ranks, blank = count(0, -1), starmap(object.__new__, repeat((Variable,)))
    scope: dict[str, Any] = {
        "ARRAYS": frozenset({np.ndarray}),
        "COMPLEX": frozenset({np.dtype(np.complex128)}),
        "FLOAT64": np.dtype(np.float64),
        "FREED": _Op(),
        "READ": _Op(reads=True),
        "SCALARS": frozenset({np.float64}),
        "Variable": Variable,
        "blank": blank,
        "mode": ContextVar[Any]("mode", default=None).get,
        "pop": heappop,
        "push": heappush,
        "pushpop": heappushpop,
        "ranks": ranks,
    }
    exec(compile(_source(kept), "<tape>", "exec"), scope)
    scope |= {"MULTIPLY": _Op(scope["multiply_step"]), "ADD": _Op(scope["add_step"])}
    Variable.__getitem__, Variable.__mul__ = scope["read"], scope["multiply"]
    Variable.__add__ = scope["add"]

    def variable(raw: Any, op: _Op) -> Any:
        made = next(blank)
        made.raw, made.node = raw, [next(ranks), op, None, None, None]
        return made

    # Only the first sum has a scalar that is not NumPy's.
    Variable.__radd__ = lambda self, other: self if other == 0 else NotImplemented

    def gradient(function: Callable[[Any], Any], x: Any) -> Any:
        leaf = _Leaf(x.size)
        scope["backward"](function(variable(x, leaf)).node, np.float64(1))
        return leaf.gradient

    return gradient


def least(rounds: int, size: str = "full") -> dict[str, float]:
    """Return how many times as long as by hand the tape takes, the medians of rounds.

    Parameters
    ----------
    rounds : int
        How often each is timed, in turn.
    size : {"full", "small"}
        Which size of the workload.

    Returns
    -------
    dict
        By the promise that the tape keeps more than the one before; ``"none"``, and
        ``"agnograd"`` itself.
    """
    case = workload_named("index").case(size)
    (x,), by_hand = case.variables, case.by_hand
    assert by_hand is not None
    wanted = by_hand(x)[0]

    def function(x: Any) -> Any:
        return case.value(None, x)

    names = list(PROMISES)
    runs: dict[str, Callable[[], Any]] = {}
    for kept, name in enumerate(["none", *names]):
        runs[name] = _bound(tape(names[:kept]), function, x)
    runs["agnograd"] = _bound(_by_agnograd, function, x)
    for name, run in runs.items():
        np.testing.assert_allclose(run(), wanted, err_msg=name)
    ratios: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        reference = _seconds(lambda: by_hand(x))
        for name, run in runs.items():
            ratios[name].append(_seconds(run) / reference)
    return {name: statistics.median(each) for name, each in ratios.items()}


def _by_agnograd(function: Callable[[Any], Any], x: Any) -> Any:
    leaf = ag.Variable(x)
    function(leaf).backward()
    assert leaf.grad is not None
    return leaf.grad.data


def _bound(gradient: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: gradient(*arguments)


def _seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start
