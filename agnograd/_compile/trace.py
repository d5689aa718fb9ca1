"""Tracing: a function's run as a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agnograd._arrays.domain import Domain
from agnograd._arrays.variable import Variable
from agnograd._compile.recording import Recording, running
from agnograd._compile.traced import Tracing
from agnograd._hooks.entering import entered
from agnograd._hooks.state import current_mode, set_mode
from agnograd._program.program import TracedProgram
from agnograd._util.trees import flatten, unflatten


def trace(
    f: Callable[..., Any], below: Domain, leaves: Sequence[Any], tree: Any
) -> tuple[TracedProgram, list[Any], Any]:
    """Trace a function of arguments with these leaves; raw arrays among them are inputs.

    Return the program, what the leaves of the result are that are not arrays (None for those that
    are), and the structure of the result.
    """
    domain = Tracing.domain(below)
    backend: Any = domain.backend
    run = Recording(below)
    given = []
    for leaf in leaves:
        if isinstance(leaf, below.array_types):
            array = backend.array_class(leaf, run, run.input(leaf))
            given.append(domain.Variable._make(array, None))
        else:
            given.append(leaf)
    args, kwargs = unflatten(tree, given)
    found, structure = flatten(_called(f, run, domain, args, kwargs))
    outputs, others = [], []
    for leaf in found:
        array = leaf._raw if isinstance(leaf, Variable) else leaf
        lifted = array if type(array) is backend.array_class else NotImplemented
        if lifted is NotImplemented and (isinstance(leaf, Variable) or _is_array(below, array)):
            lifted = backend.lift(leaf)
        if lifted is NotImplemented:
            others.append(leaf)
            continue
        ref = run.constant(lifted.payload) if lifted.ref is None else lifted.ref
        outputs.append(ref)
        others.append(None)
    return run.program(outputs), others, structure


def _is_array(below: Domain, value: Any) -> bool:
    return isinstance(value, below.array_types)


def _called(
    f: Callable[..., Any], run: Recording, domain: Domain, args: Any, kwargs: Mapping[str, Any]
) -> Any:
    """Call a function where all that it computes is noted."""
    run.function = f
    outer, token = current_mode(), running.set(run)
    try:
        with entered(inside=True, level=domain):
            return f(*args, **kwargs)
    finally:
        run.ended = True
        running.reset(token)
        set_mode(outer)  # an interrupt may have kept the block from restoring it
