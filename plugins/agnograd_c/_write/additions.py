"""The text that adds a group's values to parts of arrays, block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from agnograd.extend import switch
from agnograd_c._choose.places import Region, region_of
from agnograd_c._choose.types import BYTES, type_in_c
from agnograd_c._write.body import Body, address
from agnograd_c._write.code import Code, Operand
from agnograd_compile.lowering import Fact, Ref, Step

# Elements that are computed before they are added to parts of arrays, and how many parts there may
# be for that: at most 64 KiB wait on the stack, in a cache that is as near as can be.
_BLOCKS = ((256, 32), (64, 128))
ADDED_PARTS = switch("ADDED_PARTS", 128, least=0, most=_BLOCKS[-1][1], module=__name__)


class _Addition(NamedTuple):
    """A group's values, added to a part of an array of zeros."""

    operand: Operand
    type: str
    region: Region
    array: int  # the number of the array


class Adding:
    """What a group adds to parts of arrays.

    To add each vector at once would take longer: the next one is added to a part that overlaps with
    it, and would have to wait until it is in memory.
    """

    def __init__(self, facts: Mapping[Ref, Fact], code: Code) -> None:
        self.facts, self.code = facts, code
        self.additions: list[_Addition] = []
        self.arrays: list[Ref] = []  # with all that is added to them
        self._waiting: dict[Operand, int] = {}

    def __bool__(self) -> bool:
        return bool(self.additions)

    def add(self, step: Step) -> None:
        """Add a value to a part of an array, which is a new one or that of the step before."""
        into, key, value = step.args
        (out,) = step.outs
        type, region = type_in_c(self.facts[out]), region_of(self.facts[out], key)
        assert region is not None
        (operand,) = self.code.as_type(value, type)
        if into in self.arrays:
            number = self.arrays.index(into)
            self.arrays[number] = out
        else:
            number = len(self.arrays)
            self.arrays.append(out)
        self.additions.append(_Addition(operand, type, region, number))

    def parts(self, shape: tuple[int, ...]) -> list[Fact]:
        """Return the facts of the parts, as arrays of the group's shape."""
        return [
            self.facts[self.arrays[each.array]]._replace(shape=shape, strides=each.region.strides)
            for each in self.additions
        ]

    def cleared(self, first: int) -> list[str]:
        """Write what fills the arrays with zeros; ``first`` is the place of the first of them."""
        return [
            f"memset(p[{number}], 0, {self.facts[ref].size * self.facts[ref].dtype.itemsize});"
            for number, ref in enumerate(self.arrays, first)
        ]

    def waiting(self, body: Body) -> list[str]:
        """Write what keeps values until they are added: each of them once."""
        texts = {each.operand: body.operand(each.operand) for each in self.additions}
        self._waiting = {operand: number for number, operand in enumerate(texts)}
        return [f"s{n}[(i - o) / LANES] = {text};" for n, text in enumerate(texts.values())]

    def loop(
        self, before: Sequence[str], inside: Sequence[str], strides: Sequence[list[int]], first: int
    ) -> list[str]:
        """Write the loop over a chunk, after each block of which values are added.

        ``before`` is what is before all of it, ``inside`` what is done at each place, ``strides``
        has those of the parts in all loops, and ``first`` is the place of the first array.
        """
        block = next(size for size, most in _BLOCKS if len(self.additions) <= most)
        types = {self._waiting[each.operand]: each.type for each in self.additions}
        places, added = self._added(strides, first)
        return [
            *before,
            *[f"{type} s{number}[{block} / LANES];" for number, type in sorted(types.items())],
            *places,
            f"for (ptrdiff_t o = 0; o < n; o += {block}) {{",
            f"    const ptrdiff_t e = n - o < {block} ? n : o + {block};",
            "    for (ptrdiff_t i = o; i < e; i += LANES) {",
            "        const ptrdiff_t m = n - i;",
            *[f"        {line}" for line in inside],
            "    }",
            *[f"    {line}" for line in added],
            "}",
        ]

    def _added(self, strides: Sequence[list[int]], first: int) -> tuple[list[str], list[str]]:
        """Write where the parts of arrays are, and what adds values to them."""
        pointers, lines = [], []
        pairs = zip(self.additions, strides, strict=True)
        alike = groupby(pairs, key=lambda pair: (pair[0].type, pair[1][-1]))
        # One loop for all that it is the same for: a C compiler takes long for many loops.
        for number, ((type, stride), found) in enumerate(alike):
            starts, values = [], []
            for each, own in found:
                starts.append(f"{address(first + each.array, own)} + {each.region.offset}")
                values.append(f"s{self._waiting[each.operand]}")
            pointers.append(f"char *const r{number}[] = {{{', '.join(starts)}}};")
            pointers.append(f"{type} *const w{number}[] = {{{', '.join(values)}}};")
            kind, given = ("row", "m") if stride == BYTES[type] else ("apart", f"{stride}, m")
            lines += [
                f"for (int k = 0; k < {len(starts)}; k++)",
                "    for (ptrdiff_t i = o; i < e; i += LANES) {",
                "        const ptrdiff_t m = n - i;",
                f"        char *const at = r{number}[k] + i * {stride};",
                f"        const {type} there = {kind}_{type}(at, {given});",
                f"        const {type} sum = add_{type}(there, w{number}[k][(i - o) / LANES]);",
                f"        put_{kind}_{type}(at, {given}, sum);",
                "    }",
            ]
        return pointers, lines
