"""Lowerings: how a traced program runs, found through entry points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import ClassVar, TypedDict

from agnograd.errors import PluginError, UnknownPluginError
from agnograd.extend.entry_points import EntryPoint, installed, load, origin, warn
from agnograd_compile._programs.program import Runnable, TracedProgram
from agnograd_compile._programs.straight import Writer, straight

GROUP = "agnograd.lowerings"


class Description(TypedDict, total=False):
    """What a lowering says of how it runs a program; each entry may be left out.

    Attributes
    ----------
    program : TracedProgram
        The program after the lowering's own passes, if it has any: groups are of its steps.
    groups : sequence of sequence of int
        The steps that run together, as one call or one loop: their places in ``program.steps``.
    buffers : sequence of int
        The size of each buffer that one run takes, in bytes. Results that are handed out are not
        among them.
    source : str
        The code that runs.
    """

    program: TracedProgram
    groups: Sequence[Sequence[int]]
    buffers: Sequence[int]
    source: str


# What was asked for of the function that this thread and task traces: see ``lowering_around``.
traced_for: ContextVar[str] = ContextVar("agnograd_traced_for", default="auto")


def lowering_around() -> str:
    """Return the name of the lowering that the function which is traced now asked for.

    Ops that are steps of its program, and compile functions of their own, ask for the same one.
    """
    return traced_for.get()


class Lowering:
    """How a program runs: what ``ag.compile`` makes a function of.

    Its entry point in the group ``agnograd.lowerings`` has the name ``LIBRARY.NAME``: LIBRARY is
    the backend whose arrays it takes, or ``any``, and NAME is what users give as
    ``lowering=``.

    Attributes
    ----------
    preference : int
        Among the lowerings of a backend, ``lowering="auto"`` takes the one with the highest. One
        that is 0 has to be asked for by name.
    exact : bool
        Whether results are the same bit for bit as those of the ops one after the other.
    """

    preference: ClassVar[int] = 0
    exact: ClassVar[bool] = False

    def lower(self, program: TracedProgram) -> Runnable:
        """Return a function that runs a program.

        It takes the arrays of ``program.inputs``, and returns those of ``program.outputs``: new
        arrays, which share no memory with anything. It never writes to what it is given, and may be
        called by several threads at once. It raises ``Missed`` where a guard finds a value that is
        not the one of the program. What it cannot lower it leaves to a different lowering, such as
        the one named ``plain``: it does not fail.
        """
        raise NotImplementedError(f"{type(self).__name__} must override lower()")

    def describe(self, program: TracedProgram) -> Description:
        """Return what ``explain`` shows of how a program runs, if there is anything to say."""
        return {}


class Plain(Lowering):
    """Runs the steps of a program one after the other, by the library's own functions."""

    preference = 1
    exact = True

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program."""
        return straight(program)

    def describe(self, program: TracedProgram) -> Description:
        """Return the text of the function that runs a program."""
        return {"source": Writer(program).source()}


plain = Plain()


def lowerings(library: str) -> dict[str, EntryPoint]:
    """Return the entry points of the lowerings of a backend, by name."""
    found = {}
    for full, entry in installed(GROUP).items():
        of, _, name = full.rpartition(".")
        if of == library or (of == "any" and name not in found):
            found[name] = entry
    return found


def lowering_for(library: str, name: str) -> Lowering:
    """Return the lowering of a name for arrays of a backend; ``auto`` is the preferred one.

    Raises
    ------
    UnknownPluginError
        If the backend has no lowering of this name.
    PluginError
        If it cannot be imported.
    """
    known = lowerings(library)
    if name == "auto":
        return max(_loaded(known.values()), key=lambda each: each.preference)
    if name not in known:
        raise UnknownPluginError(
            f"no lowering is named {name!r} for arrays of backend {library!r}; there are: "
            f"{', '.join(('auto', *sorted(known)))}"
        )
    return load(known[name], Lowering)


def lowered(lowering: Lowering, program: TracedProgram) -> Runnable:
    """Return what runs a program. A PluginError names a lowering that fails, as none may."""
    try:
        return lowering.lower(program)
    except Exception as error:
        kind, name = type(lowering), name_of(lowering, program.domain.backend.name)
        raise PluginError(
            f"the lowering {name} ({kind.__module__}.{kind.__qualname__}) fails: "
            f"{type(error).__name__}: {error}. Update or uninstall its distribution, or give "
            'another one, as by lowering="plain"'
        ) from error


def name_of(lowering: Lowering, library: str) -> str:
    """Return the name of a lowering of a backend that users give, after that of the backend."""
    for name, entry in lowerings(library).items():
        if load(entry, Lowering) is lowering:
            return f"{library}.{name}"
    return type(lowering).__qualname__


def _loaded(entries: Iterable[EntryPoint]) -> Iterator[Lowering]:
    """Yield the lowerings of entry points; one that fails to load is left out with a warning."""
    for entry in entries:
        try:
            found = load(entry, Lowering)
            if type(found.preference) is not int:
                what = f"{entry.name} of {origin(entry)} has preference {found.preference!r}"
                raise PluginError(f"{what}, which must be an integer")
        except PluginError as error:
            warn(f"a lowering is left out: {error}. Update or uninstall its distribution")
        else:
            yield found
