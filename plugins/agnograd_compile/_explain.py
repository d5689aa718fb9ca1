"""What a compiled function does with arguments: its programs, how they run, and how long."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median_high
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from agnograd.errors import CompileError
from agnograd.extend.arguments import flatten_in_order
from agnograd.extend.transforms import current_mode, entered
from agnograd_compile._entry import constants_in
from agnograd_compile._listing import Listing, of_fact, seconds
from agnograd_compile._lowerings import Lowering, name_of
from agnograd_compile._picture import picture
from agnograd_compile._programs.program import Ref, Step, TracedProgram
from agnograd_compile._statics import WithStatics, without
from agnograd_compile._stepwise import Stepwise
from agnograd_compile._surroundings.differences import the
from agnograd_compile._surroundings.keys import name_of_leaf, raw_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from agnograd_compile._compiled import CompiledFunction

_RUNS = 7  # how often a program runs, at most
_ENOUGH = 0.5  # seconds after which it does not run again


class Explanation(NamedTuple):
    """What a compiled function does with certain arguments; ``print`` shows a report.

    Attributes
    ----------
    name : str
        What the function is called.
    lowering : str
        The name of the lowering, ``numpy.numpy``, say.
    exact : bool
        Whether it gives the same bits as the function itself.
    arrays : dict of str to str
        The shape and dtype of each array that is an input, by what it is called.
    first : float
        How long a first call takes, in seconds: to trace, lower and run.
    parts : tuple
        The program, what the lowering says of it, and its times. If arguments are tracked
        Variables there are two: the first computes values, and the second gradients.
    """

    name: str
    lowering: str
    exact: bool
    arrays: Mapping[str, str]
    first: float
    parts: tuple[Listing, ...]

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        steps = sum(len(part.program.steps) for part in self.parts)
        return f"<explanation of {self.name}: {steps} steps, lowering {self.lowering!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an explanation has the programs of this process, and is neither copied nor pickled: "
            "keep its text, explanation.text(None)"
        )

    def text(self, steps: int | None = 60) -> str:
        """Return the report, with at most so many steps of each program; None is for all."""
        return "\n".join(self._lines(steps))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Return a picture, a figure of matplotlib; save it if a path is given.

        It has the steps in their order, and bars for their times, in a colour for each group of
        steps that the lowering runs together. Of a long program it has those that take longest.
        """
        figure = picture(self.parts)
        if path is not None:
            figure.savefig(path)
        return figure

    def _lines(self, most: int | None) -> Iterator[str]:
        exact = "" if self.exact else "; results may differ from those of the function by rounding"
        yield f"compiled {self.name}"
        yield f"  lowering   {self.lowering}{exact}"
        run = sum(part.seconds for part in self.parts)
        yield f"  time       {seconds(run)}, in the first call {seconds(self.first)}"
        for number, (name, fact) in enumerate(self.arrays.items()):
            yield f"  {'' if number else 'arrays':<10} {name}: {fact}"
        for part in self.parts:
            yield ""
            yield from part.lines(most)


def explanation(
    compiled: CompiledFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Explanation:
    """Call a compiled function that was never called, and return what became of it.

    Raises
    ------
    CompileError
        If no program runs for these arguments.
    """
    mode = current_mode()
    if mode is not None and mode.level is not None:
        raise CompileError("explain: call it outside of functions that are traced or vectorised")
    started = perf_counter()
    compiled(*args, **kwargs)
    first = perf_counter() - started
    while compiled._variants:
        [((kind, *_), variant)] = compiled._variants.items()
        if kind is WithStatics:
            args, kwargs, _ = compiled._static.apart(args, kwargs)
        else:
            leaves, _ = compiled._apart(args, kwargs)
            args, kwargs = (*without(constants_in(leaves), leaves),), {}
        compiled = variant
    entries = [each for each in compiled._entries.items() if each[1]._unit.known]
    if not entries:
        raise CompileError(f"explain: {compiled.name} is called as it is for these arguments")
    [(key, entry)] = entries
    tree = key[0][0]
    leaves = args if tree is None else flatten_in_order((args, kwargs))[0]
    outside, facts = compiled._surroundings.read()
    arrays = list(map(raw_of, entry.arrays(leaves, outside)))
    names = [
        f"argument {place}" if tree is None else name_of_leaf(tree, place)
        for place in entry._places
    ]
    named = zip(facts.arrays, entry.foreign, strict=True)
    names += [the(each) for each, foreign in named if not foreign]
    lowering, [way] = compiled.lowering(entry._domain), entry._unit.known
    with entered(hooks=False):
        parts = [explained(way.run, lowering, arrays)]
        if way.back is not None:
            parts.append(explained(way.back, lowering, _cotangents(way, arrays)))
    program = parts[0].program
    return Explanation(
        compiled.name,
        name_of(lowering, entry._domain.backend.name),
        lowering.exact,
        {
            f"v{ref.number} = {name}": of_fact(program.facts[ref])
            for ref, name in zip(program.inputs, names, strict=True)
        },
        first,
        tuple(parts),
    )


def _cotangents(way: Any, arrays: Sequence[Any]) -> list[Any]:
    """Return what the backward program takes, with cotangents that are one."""
    back, kept = way.back, way.run(arrays)[way.back.outputs :]
    domain, facts = back.program.domain, back.program.facts
    given = [*[arrays[place] for place in back.inputs], *kept]
    cotangents = back.program.inputs[len(given) :]
    ones = [domain.raw.ones(facts[ref].shape, dtype=facts[ref].dtype) for ref in cotangents]
    return [*given, *ones]


def explained(runs: Any, lowering: Lowering, arrays: Sequence[Any]) -> Listing:
    """Return a program with its times."""
    program = runs.program
    synchronize = program.domain.backend.synchronize

    def run() -> None:
        found = runs(arrays)
        synchronize(found[0] if found else None)

    timed = Timed(program)
    return Listing(program, lowering.describe(program), _timed(run), timed.median(arrays))


class Timed(Stepwise):
    """Runs a program step by step, and takes the time of each step."""

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.taken: list[float] = []

    def median(self, arrays: Sequence[Any]) -> list[float]:
        """Return how long each step takes, the median of several runs."""
        runs: list[list[float]] = []

        def run() -> None:
            self.taken = []
            self(arrays)
            runs.append(self.taken)

        _timed(run)
        return [median_high(each) for each in zip(*runs, strict=True)]

    def _step(self, step: Step, values: dict[Ref, Any]) -> None:
        started = perf_counter()
        super()._step(step, values)
        self.program.domain.backend.synchronize(values[step.outs[0]] if step.outs else None)
        self.taken.append(perf_counter() - started)


def _timed(run: Callable[[], None]) -> float:
    """Return the median time of several runs."""
    run()
    taken: list[float] = []
    while len(taken) < _RUNS and sum(taken) < _ENOUGH:
        started = perf_counter()
        run()
        taken.append(perf_counter() - started)
    return median_high(taken)
