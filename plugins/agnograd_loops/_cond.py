"""Branches that depend on values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import agnograd as ag
from agnograd.errors import BatchingError
from agnograd.extend.arguments import callable_in, unflatten
from agnograd_loops._carry import Arrays, boolean, given_as, home_of
from agnograd_loops._closing import Closed, NotClosed, UsesOthersError
from agnograd_loops._programs import Body, Call, called, compiled, facts_of, inexact, program_around

Branch = Callable[..., Any]


def cond(predicate: Any, yes: Branch, no: Branch, *operands: Any) -> Any:
    """Return ``yes(*operands)`` or ``no(*operands)``.

    In a program that ``ag.compile`` makes, this is one step, which calls the branch that is right
    for the value in each call. In ``ag.vmap``, where members may take different branches, both are
    computed, and each member gets its own. Elsewhere only one function is called.

    Parameters
    ----------
    predicate : bool or array
        Whether to call ``yes``: a boolean, or a boolean array of shape ().
    yes, no : callable
        Functions of the operands. What they use from outside is differentiated, too. They return
        pytrees of arrays of the same structure, shapes and dtypes; this is checked where both run.
    *operands : array or pytree
        What the function is called with.

    Returns
    -------
    array or pytree
        What the function returned: raw arrays if the predicate and all operands are raw, and
        nothing that is tracked is used.

    Raises
    ------
    ArgumentError
        If an argument is none of these, or if the functions return different things.

    Examples
    --------
    >>> import agnograd as ag
    >>> def f(x):
    ...     return ag.cond(x > 0.0, lambda x: x**2, lambda x: -x, x)
    >>> float(ag.grad(f)(3.0)), float(ag.grad(f)(-3.0))
    (6.0, -1.0)
    """
    what = "ag.cond"
    for name, branch in (("yes", yes), ("no", no)):
        callable_in(f"{what}: {name}", branch, f"{what}(x > 0, lambda x: x, lambda x: -x, x)")
    if isinstance(predicate, bool):
        return given_as((yes if predicate else no)(*operands), operands)
    given = Arrays(f"{what}: the operands", operands, home_of(predicate, operands))
    going = boolean(f"{what}: predicate", predicate)
    found = None
    if program_around((going, *given.leaves)):
        found = _in_program(going, yes, no, given)
    if found is None:
        found = _in_python(going, yes, no, given)
    return given_as(found[0], predicate, operands)


def _in_python(going: Any, yes: Branch, no: Branch, given: Arrays) -> tuple[Any]:
    operands = given.value()
    try:
        chosen = yes if bool(going) else no
    except BatchingError:
        chosen = None  # members differ
    if chosen is not None:
        return (chosen(*operands),)
    one = Arrays("ag.cond: what yes returned", yes(*operands))
    other = one.again("ag.cond: what no returned", no(*operands))
    xp = ag.namespace(going)
    pairs = zip(one.leaves, other, strict=True)
    return (one.value([xp.where(going, a, b) for a, b in pairs]),)


def _in_program(going: Any, yes: Branch, no: Branch, given: Arrays) -> tuple[Any] | None:
    def closed(branch: Branch) -> Closed:
        return Closed(lambda _, *leaves: branch(*given.value(leaves)), [going, *given.leaves])

    try:
        one, other = closed(yes), closed(no)
    except NotClosed:
        return None
    known = Arrays("ag.cond: what yes returned", unflatten(one.tree, one.taken()))
    known.again("ag.cond: what no returned", unflatten(other.tree, other.taken()))
    count, middle = len(given.leaves), len(given.leaves) + len(one.outside)

    def f(going: Any, *arrays: Any) -> Sequence[Any]:
        operands = arrays[:count]
        if untraced:  # both now, as long as what they use outside is there
            untraced.clear()
            branches[0](going, *operands, *arrays[count:middle])
            branches[1](going, *operands, *arrays[middle:])
        branch, outside = (0, arrays[count:middle]) if going else (1, arrays[middle:])
        found: Sequence[Any] = branches[branch](going, *operands, *outside)
        return found

    untraced = {True}
    branches = [compiled(each) for each in (one, other)]
    arrays = [going, *given.leaves, *one.outside, *other.outside]
    body = Body(f, (0, 0, 0), inexact(arrays), facts_of(known.leaves))
    try:
        return (unflatten(one.tree, called(Call(body), arrays)),)
    except (NotClosed, UsesOthersError):
        return None
