"""All registered ops: the op sets of every installed distribution, loaded on first use."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from agnograd._ops.batching import Batching, batching
from agnograd._ops.op import Op, Status
from agnograd._ops.op_set import OpSet
from agnograd._plugins.entry_points import OPS, EntryPoint, load_every, origin, warn
from agnograd._util.signatures import NO_OPS


@cache
def op_sets() -> tuple[tuple[EntryPoint, OpSet], ...]:
    """Return every op set that loads, after the entry point that names it."""
    return tuple(load_every(OPS, OpSet))


def extensions() -> tuple[str, ...]:
    """Return the extensions that op sets name as theirs, and "" for the sets that name none."""
    return tuple(dict.fromkeys(["", *(op_set.extension for _, op_set in op_sets())]))


@cache
def registered_in(extension: str) -> dict[str, tuple[Op, str]]:
    """Return the ops of an extension that op sets name as theirs, and who registered each.

    With "", those of no such extension. An op set may bring the rule that an earlier one lacks; it
    may not replace a rule.
    """
    known = extensions()
    found: dict[str, tuple[Op, str]] = {}
    before: dict[str, str] = {}  # the extensions of the sets so far
    for entry, op_set in op_sets():
        source = origin(entry)
        before.setdefault(op_set.extension, source)
        if not _contains(op_set.extension, extension):  # it need not be loaded
            continue
        for name, op in _ops_of(op_set, source).items():
            if _home(name, known) != extension:
                continue
            earlier = found.get(name)
            if name in before or name in NO_OPS:
                what = f"an extension of {before[name]}" if name in before else "the standard's own"
                warn(
                    f"{source} registers {name!r}, which is {what} and no op; it is left out. "
                    "Rename its op, or uninstall it"
                )
            elif earlier is not None and earlier[0].status != "missing":
                warn(
                    f"{source} registers {name!r}, which {earlier[1]} has registered already; the "
                    "first one stands. Uninstall one of the two, or rename its op"
                )
            else:
                found[name] = (op, source)
    return found


def _contains(outer: str, inner: str) -> bool:
    """Return whether an extension is another one, or has it in it, as ``stats`` ``stats.norm``."""
    return outer in ("", inner) or inner.startswith(f"{outer}.")


def _home(name: str, known: tuple[str, ...]) -> str:
    """Return the innermost extension that an op is in, of those that op sets name as theirs."""
    part = name.rpartition(".")[0]
    while part not in known:
        part = part.rpartition(".")[0]
    return part


@cache
def _ops_of(op_set: OpSet, source: str) -> dict[str, Op]:
    try:
        return op_set.ops
    except Exception as error:
        warn(
            f"an op set is left out: {op_set.chapter!r} of {source} failed to load: "
            f"{type(error).__name__}: {error}. Update or uninstall its distribution"
        )
        return {}


@cache
def registered() -> dict[str, tuple[Op, str]]:
    """Return every op by name, with the distribution that registered it."""
    found: dict[str, tuple[Op, str]] = {}
    for extension in extensions():
        found |= registered_in(extension)
    return found


def op_named(name: str) -> Op | None:
    """Return the op of a name, or None, without loading the sets of other extensions."""
    found = registered_in(_home(name, extensions())).get(name)
    return None if found is None else found[0]


class OpInfo(NamedTuple):
    """What is known of one op: see ``ops``."""

    name: str
    chapter: str
    status: Status
    batch: Batching
    distribution: str


def ops() -> dict[str, OpInfo]:
    """Return information about every op.

    Returns
    -------
    dict
        For each op, by name, a named tuple: its ``name``, such as ``linalg.det``; its ``chapter``
        of the standard, or its op set; its ``status``, which is "rule", "no gradient" (it has none
        by nature) or "missing"; how ``vmap`` computes it (``batch``): by a "rule", as a "program"
        of other ops, or by a "loop" over members, and "none" if it is the same for all; and the
        ``distribution`` and version that registered it.

    Examples
    --------
    >>> import agnograd as ag
    >>> ag.ops()["linalg.det"].status
    'rule'
    """
    return {
        name: OpInfo(name, op.chapter, op.status, batching(op), source)
        for name, (op, source) in sorted(registered().items())
    }
