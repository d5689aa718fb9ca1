"""The text of the C function of a group of scalars."""

from __future__ import annotations

from agnograd.extend import Ref, Step
from agnograd_c._body import C_TYPES, Body
from agnograd_c._code import (
    BYTES,
    Element,
    Number,
    add_step,
    code_of,
    is_complex,
)
from agnograd_c._function import LONGEST, MOST, Function, GroupWriter
from agnograd_c._layout import rows
from agnograd_c._reads import is_in_rows, is_read, is_scatter, place_of


class ScalarWriter(GroupWriter):
    """Steps of scalars, once."""

    def build(self) -> None:
        self.buffers: dict[Ref, Element] = {}
        self.chained = self._chained()
        for _, step in self.steps:
            if is_read(self.facts, step):
                self._read(step)
            elif is_scatter(self.facts, step):
                self._scatter(step)
            else:
                add_step(self.code, step)

    def _chained(self) -> set[Ref]:
        """Return the arrays that only the next scatter uses, which adds to them where they are."""
        inside = {ref for _, step in self.steps for ref in step.outs}
        uses: dict[Ref, list[Step]] = {}
        for _, step in self.steps:
            for ref in step.uses():
                uses.setdefault(ref, []).append(step)
        return {
            ref
            for ref, found in uses.items()
            if len(found) == 1
            and ref in inside
            and ref not in self.needed
            and found[0].op == "@scatter_add"
            and found[0].args[0] == ref
        }

    def _read(self, step: Step) -> None:
        (out,) = step.outs
        x, key = step.args
        type = code_of(self.facts[x]) or ""
        place = place_of(self.facts[x], key) or 0
        array = self.buffers.get(x) or Element(self.code.input(x), 0, type)
        number = self.code.put(f"read_{type}", type, array, Number("at", place))
        self.code.values[out] = (number,)

    def _scatter(self, step: Step) -> None:
        (out,) = step.outs
        into, key, value = step.args
        fact = self.facts[out]
        type = code_of(fact) or ""
        if into in self.chained:
            buffer = self.buffers[into]
        else:
            buffer = Element(-1 - len(set(self.buffers.values())), 0, type)
            given = self.buffers.get(into) or Element(self.code.input(into), 0, type)
            stride = BYTES[type] if into in self.buffers or is_in_rows(self.facts[into]) else 0
            self.code.put(
                f"copy_{type}", type, buffer, given, Number("at", fact.size), Number("at", stride)
            )
        self.buffers[out] = buffer
        (number,) = self.code.as_type(value, type)
        self.code.put(
            f"scatter_{type}", type, buffer, Number("at", place_of(rows(fact), key) or 0), number
        )

    def function(self) -> Function | None:
        outputs = self.wanted()
        names = {
            self.buffers[ref]: f"r{place}"
            for place, ref in enumerate(outputs)
            if ref in self.buffers
        }
        if not outputs or len(names) < len(set(self.buffers.values())):
            return None  # there is something that nothing uses

        def element(each: Element) -> str:
            if each.input < 0:
                return names[each]
            used.add(each.input)
            return f"q{each.input}" if each.input in arrays else f"x{each.input}_{each.offset}"

        used: set[int] = set()

        arrays = {number for ref, number in self.code.inputs.items() if self.facts[ref].shape != ()}
        body = Body(self.code.instructions, element, self.scalars())
        lines = body.statements()
        stores = []
        for place, ref in enumerate(outputs):
            if ref in self.buffers:
                continue
            type = code_of(self.facts[ref]) or ""
            for part, operand in enumerate(self.code.values[ref]):
                text = body.operand(operand)
                stores.append(f"*({C_TYPES[type]} *)(r{place} + {part * BYTES[type]}) = {text};")
        lines = body.finished([*lines, *stores])
        inputs = tuple(self.code.inputs)
        if body.length() > LONGEST or len(inputs) + len(outputs) > MOST:
            return None
        made, freed = body.storage()
        loads = [f"char *const r{k} = p[{len(inputs) + k}];" for k in range(len(outputs))]
        for number, ref in enumerate(inputs):
            type = code_of(self.facts[ref]) or ""
            if number not in used:
                continue
            if number in arrays:
                loads.append(f"char *const q{number} = p[{number}];")
                continue
            for part in range(1 + is_complex(self.facts[ref])):
                at = part * BYTES[type]
                text = f"*(const {C_TYPES[type]} *)(p[{number}] + {at})"
                loads.append(f"const {type} x{number}_{at} = {text};")
        text = "\n".join(
            [
                "int @(char *const *p, long threads)",
                "{",
                "    int failed = 0;",
                *[f"    {line}" for line in (*body.tables, *loads, *made)],
                "    if (!failed) {",
                *[f"        {line}" for line in lines],
                "    }",
                *[f"    {line}" for line in freed],
                "    return failed;",
                "}",
            ]
        )
        results = tuple(rows(self.facts[ref]) for ref in outputs)
        return Function(
            text, 1, inputs, tuple(outputs), results, len(self.group.steps), self.functions()
        )
