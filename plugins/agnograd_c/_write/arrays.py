"""The text of the C function of a group of arrays of one shape."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from agnograd.extend import switch
from agnograd_c._choose.groups import axes_kept
from agnograd_c._choose.layout import Layout, is_in_rows, layout_of, rows
from agnograd_c._choose.places import ADDS
from agnograd_c._choose.steps import SUMS
from agnograd_c._choose.types import BYTES, FLOATS, is_complex, type_in_c
from agnograd_c._write.additions import ADDED_PARTS, Adding
from agnograd_c._write.body import C_TYPES, Body, address
from agnograd_c._write.code import add_step
from agnograd_c._write.function import Added, Function, GroupWriter
from agnograd_compile.lowering import Fact, Ref, Step, nbytes

_CHUNK = 1024  # as in lanes.h
# A loop that adds to parts of arrays may be as short, where it would be longer otherwise.
ADDING_LOOP = switch("ADDING_LOOP", 64, least=1, most=2**62, module=__name__)


class ArrayWriter(GroupWriter):
    """Steps of arrays of one shape."""

    def build(self) -> None:
        self.sums: list[Added] = []
        self.adding = Adding(self.facts, self.code)
        self.kept = self._kept()
        parts = len([step for _, step in self.steps if step.op == ADDS])
        may_add = self.is_serial and parts <= ADDED_PARTS
        for number, step in self.steps:
            if step.op in SUMS:
                if self._axes(step) != self.kept or not is_in_rows(self.facts[step.outs[0]]):
                    self.left.append(number)
                    continue
                self._sum(step)
            elif step.op == ADDS:
                if may_add:
                    self.adding.add(step)
                else:
                    self.left.append(number)
            else:
                add_step(self.code, step)
        self._lay_out()
        if self.kept and not all(is_in_rows(self.facts[ref]) for ref in self.full):
            self.sums, self.kept = [], ()
            self._leave(SUMS)
        if self.adding and not self._is_as_good():
            self.adding = Adding(self.facts, self.code)
            self._leave((ADDS,))

    def _kept(self) -> tuple[int, ...]:
        """Return the axes that sums leave: those of the first sum over the last axes, if any."""
        sums = [step for _, step in self.steps if step.op in SUMS]
        found = [self._axes(each) for each in sums if is_in_rows(self.facts[each.outs[0]])]
        found.sort(key=lambda kept: kept != tuple(range(len(kept))))
        return found[0] if found else ()

    def _axes(self, step: Step) -> tuple[int, ...]:
        return axes_kept(step, self.group.shape) or ()

    def _sum(self, step: Step) -> None:
        (x, *_), (out,) = step.args, step.outs
        type = type_in_c(self.facts[out])
        (operand,) = self.code.as_type(x, type)
        if out in self.needed:
            self.sums.append(Added(out, operand, type, step.op == "mean"))

    def _leave(self, ops: Collection[str]) -> None:
        """Leave the steps of some ops to NumPy."""
        self.left = sorted({*self.left, *(n for n, step in self.steps if step.op in ops)})
        self._lay_out()

    def _lay_out(self) -> None:
        """Find the values of the group's shape that are used outside, and the loop over all."""
        others = {*(each.out for each in self.sums), *self.adding.arrays}
        self.full = [ref for ref in self.wanted() if ref not in others]
        own = [self.facts[ref] for ref in self.full]
        self.results = [rows(fact) if nbytes(fact) is None else fact for fact in own]
        # Parts of arrays come last among what is read, so that the order of a loop is that of
        # another array; their strides are kept for themselves.
        parts = self.adding.parts(self.group.shape)
        self.layout = self._layout_with(parts)
        count = len(self.code.inputs)
        ours = slice(count, count + len(parts))
        self.parts = self.layout.strides[ours]
        del self.layout.strides[ours]

    def _layout_with(self, parts: Sequence[Fact]) -> Layout:
        arrays = [*(self.facts[ref] for ref in self.code.inputs), *parts]
        return layout_of(self.group.shape, arrays, self.results, self.kept)

    def _is_as_good(self) -> bool:
        """Return whether a loop that adds to parts of arrays reads and writes all else as before.

        Axes that lie in a row otherwise may not do so in a part.
        """
        plain, layout = self._layout_with(()), self.layout
        innermost = [[each[-1] for each in found.strides] for found in (layout, plain)]
        long = layout.dims[-1] >= min(ADDING_LOOP, plain.dims[-1])
        return long and innermost[0] == innermost[1] and not layout.is_across

    def function(self) -> Function | None:
        if self.layout.is_short or not (self.full or self.sums or self.adding):
            return None
        body = self.body(lambda each: f"x{each.input}_{each.offset}")
        lines = body.statements()
        stores, ends = self._stores(body)
        lines = body.finished([*lines, *stores, *self.adding.waiting(body)])
        added = (*(each.out for each in self.sums), *self.adding.arrays)
        outputs = (*self.full, *added)
        if self.is_long(body, outputs):
            return None
        return Function(
            "\n".join([*self._part(body, lines, ends), *self._whole()]),
            self.lanes,
            tuple(self.code.inputs),
            outputs,
            (*self.results, *(rows(self.facts[ref]) for ref in added)),
            prod(self.group.shape) * len(self.code.instructions),
            self.functions(),
            is_serial=bool(self.adding),
        )

    @property
    def lanes(self) -> int:
        types = {each.type for each in self.code.instructions}
        types |= {each.type for each in self.sums}
        types |= {type_in_c(self.facts[ref]) for ref in self.code.inputs}
        return 8 if types & {"f64", "i64"} else 16

    def _stores(self, body: Body) -> tuple[list[str], list[str]]:
        """Write what stores results at each place, and what stores sums at the end of a chunk."""
        stores, ends = [], []
        for number, ref in enumerate(self.full, len(self.code.inputs)):
            type, parts = type_in_c(self.facts[ref]), self.code.values[ref]
            stride = self.layout.strides[number][-1]
            for part, operand in enumerate(parts):
                at = f"q{number} + i * {stride} + {part * BYTES[type]}"
                text = body.operand(operand)
                if stride == BYTES[type] and len(parts) == 1:
                    stores.append(f"put_row_{type}({at}, m, {text});")
                else:
                    stores.append(f"put_apart_{type}({at}, {stride}, m, {text});")
        for number, each in enumerate(self.sums):
            text = body.operand(each.operand)
            if self.layout.is_across:
                stores.append(f"a{number} = add_{each.type}(a{number}, {text});")
                ends.append(self._end_across(number, each))
                continue
            stores.append(f"a{number} = add_{each.type}(a{number}, first_{each.type}({text}, m));")
            ends.append(
                f"(({each.kind} *)sums)[{number} * (ptrdiff_t)({self.units}) + u] = "
                f"total_{each.type}(a{number});"
            )
        return stores, ends

    def _end_across(self, number: int, added: Added) -> str:
        """Write what stores a sum of each lane."""
        place = len(self.code.inputs) + len(self.results) + number
        length, type = self.layout.dims[-1], added.type
        at = f"p[{place}] + (u / {self.chunks} * {length} + at + i) * {BYTES[type]}"
        divided = f" / splat_{type}({self.layout.dims[-2]})" if added.is_mean else ""
        return f"put_row_{type}({at}, m, a{number}{divided});"

    @property
    def chunks(self) -> int:
        return -(-self.layout.dims[-1] // _CHUNK)

    @property
    def units(self) -> int:
        return prod(self.layout.dims[: self._outer]) * self.chunks

    @property
    def _outer(self) -> int:
        """How many loops are around chunks."""
        return len(self.layout.dims) - 1 - self.layout.is_across

    def _part(self, body: Body, lines: Sequence[str], ends: Sequence[str]) -> list[str]:
        """Write the function of some of the units of work."""
        dims, count = self.layout.dims, len(self.code.inputs)
        fixed, pointers, loads = [], [], []
        arrays = zip((*self.code.inputs, *self.full), self.layout.strides, strict=True)
        for number, (ref, own) in enumerate(arrays):
            if number < count and not any(own):
                fixed += self._load(number, ref, None)
                continue
            pointers.append(f"char *const q{number} = {address(number, own)};")
            if number < count:
                loads += self._load(number, ref, own[-1])
        made, freed = body.storage()
        outer = [f"ptrdiff_t j = u / {self.chunks};"]
        for axis in reversed(range(self._outer)):
            outer.append(f"const ptrdiff_t j{axis} = j % {dims[axis]};")
            outer.append(f"j /= {dims[axis]};")
        zeros = [f"{each.type} a{k} = splat_{each.type}(0);" for k, each in enumerate(self.sums)]
        return [
            "static int part_@(char *const *p, ptrdiff_t lo, ptrdiff_t hi, char *sums)",
            "{",
            "    int failed = 0;",
            *[f"    {line}" for line in (*body.tables, *fixed, *made)],
            "    for (ptrdiff_t u = lo; u < hi && !failed; u++) {",
            *[f"        {line}" for line in outer],
            f"        const ptrdiff_t at = u % {self.chunks} * CHUNK;",
            f"        const ptrdiff_t n = {dims[-1]} - at < CHUNK ? {dims[-1]} - at : CHUNK;",
            *[f"        {line}" for line in self._loop(pointers, zeros, [*loads, *lines], ends)],
            "    }",
            *[f"    {line}" for line in freed],
            "    return failed;",
            "}",
            "",
        ]

    def _loop(
        self,
        pointers: Sequence[str],
        zeros: Sequence[str],
        lines: Sequence[str],
        ends: Sequence[str],
    ) -> list[str]:
        """Write the loop over a chunk of the innermost axis."""
        loop = ["for (ptrdiff_t i = 0; i < n; i += LANES) {", "    const ptrdiff_t m = n - i;"]
        if self.adding:  # which is never across
            before = [*pointers, *zeros]
            return [*self.adding.loop(before, lines, self.parts, self._first_array), *ends]
        if not self.layout.is_across:
            return [*pointers, *zeros, *loop, *[f"    {line}" for line in lines], "}", *ends]
        axis = self._outer
        return [
            *loop,
            *[f"    {line}" for line in zeros],
            f"    for (ptrdiff_t j{axis} = 0; j{axis} < {self.layout.dims[axis]}; j{axis}++) {{",
            *[f"        {line}" for line in (*pointers, *lines)],
            "    }",
            *[f"    {line}" for line in ends],
            "}",
        ]

    @property
    def _first_array(self) -> int:
        """The place of the first array that values are added to, among all that C is given."""
        return len(self.code.inputs) + len(self.results) + len(self.sums)

    def _load(self, number: int, ref: Ref, stride: int | None) -> list[str]:
        """Write what reads an input: once, if ``stride`` is None, or at each place."""
        lines, type = [], type_in_c(self.facts[ref])
        pair = is_complex(self.facts[ref])
        for part in range(1 + pair):
            at = part * BYTES[type]
            if not stride:
                base = f"p[{number}]" if stride is None else f"q{number}"
                text = f"splat_{type}(*(const {C_TYPES[type]} *)({base} + {at}))"
            elif stride == BYTES[type] and not pair:
                text = f"row_{type}(q{number} + i * {stride}, m)"
            else:
                text = f"apart_{type}(q{number} + i * {stride} + {at}, {stride}, m)"
            lines.append(f"const {type} x{number}_{at} = {text};")
        return lines

    def _whole(self) -> list[str]:
        """Write the function that is called: all units of work, and the sums of their sums."""
        lines = ["int @(char *const *p, long threads)", "{"]
        lines += [f"    {line}" for line in self.adding.cleared(self._first_array)]
        if not self.sums or self.layout.is_across:
            return [*lines, f"    return spread(part_@, p, {self.units}, NULL, threads);", "}"]
        lines.append(f"    char *sums = malloc({8 * self.units * len(self.sums)});")
        lines.append(f"    int failed = !sums || spread(part_@, p, {self.units}, sums, threads);")
        count = prod(self.layout.dims[: self.layout.kept])
        each = self.units // count
        first = len(self.code.inputs) + len(self.results)
        for number, added in enumerate(self.sums):
            total = "pairs_f64" if added.type in FLOATS else "pairs_i64"
            size = prod(self.group.shape) // max(1, self.facts[added.out].size)
            divided = f" / {size}" if added.is_mean else ""
            start = f"({added.kind} *)sums + {number} * (ptrdiff_t)({self.units}) + r * {each}"
            lines.append(f"    for (ptrdiff_t r = 0; r < {count} && !failed; r++)")
            lines.append(
                f"        (({C_TYPES[added.type]} *)p[{first + number}])[r] = "
                f"{total}({start}, {each}){divided};"
            )
        return [*lines, "    free(sums);", "    return failed;", "}"]
