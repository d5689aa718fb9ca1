"""The text of the C function of a group of scalars."""

from __future__ import annotations

from collections import Counter

from agnograd_c._choose.layout import is_in_rows, rows
from agnograd_c._choose.places import ADDS, is_read, is_scatter, place_of
from agnograd_c._choose.types import BYTES, is_complex, type_in_c
from agnograd_c._write.body import C_TYPES, Body
from agnograd_c._write.code import Element, Number, add_step
from agnograd_c._write.function import Function, GroupWriter
from agnograd_compile.lowering import Ref, Step


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
        used = Counter(ref for _, step in self.steps for ref in step.uses())
        added = {step.args[0] for _, step in self.steps if step.op == ADDS}
        return {ref for ref in added & inside - self.needed if used[ref] == 1}

    def _read(self, step: Step) -> None:
        (out,), (x, key) = step.outs, step.args
        type = type_in_c(self.facts[x])
        place = Number("at", place_of(self.facts[x], key) or 0)
        self.code.values[out] = (self.code.op(type, "read", self._array(x, type), place),)

    def _array(self, ref: Ref, type: str) -> Element:
        """Return an array that was made, or an input."""
        return self.buffers.get(ref) or Element(self.code.input(ref), 0, type)

    def _scatter(self, step: Step) -> None:
        (out,), (into, key, value) = step.outs, step.args
        fact = self.facts[out]
        type = type_in_c(fact)
        if into in self.chained:
            buffer = self.buffers[into]
        else:
            buffer = Element(-1 - len(set(self.buffers.values())), 0, type)
            stride = BYTES[type] if into in self.buffers or is_in_rows(self.facts[into]) else 0
            sizes = Number("at", fact.size), Number("at", stride)
            self.code.op(type, "copy", buffer, self._array(into, type), *sizes)
        self.buffers[out] = buffer
        (number,) = self.code.as_type(value, type)
        place = Number("at", place_of(rows(fact), key) or 0)
        self.code.op(type, "scatter", buffer, place, number)

    def function(self) -> Function | None:
        self.outputs = self.wanted()
        self.used: set[int] = set()
        self.names = {
            self.buffers[ref]: f"r{place}"
            for place, ref in enumerate(self.outputs)
            if ref in self.buffers
        }
        if not self.outputs or len(self.names) < len(set(self.buffers.values())):
            return None  # there is something that nothing uses
        body = self.body(self._element)
        lines = body.statements()
        lines = body.finished([*lines, *self._stores(body)])
        if self.is_long(body, self.outputs):
            return None
        made, freed = body.storage()
        text = "\n".join(
            [
                "int @(char *const *p, long threads)",
                "{",
                "    int failed = 0;",
                *[f"    {line}" for line in (*body.tables, *self._loads(), *made)],
                "    if (!failed) {",
                *[f"        {line}" for line in lines],
                "    }",
                *[f"    {line}" for line in freed],
                "    return failed;",
                "}",
            ]
        )
        outputs, work = tuple(self.outputs), len(self.group.steps)
        results = tuple(rows(self.facts[ref]) for ref in outputs)
        return Function(text, 1, tuple(self.code.inputs), outputs, results, work, self.functions())

    def _element(self, each: Element) -> str:
        """Write an input, or an array that is made, by its pointer, if it has axes."""
        if each.input < 0:
            return self.names[each]
        self.used.add(each.input)
        return f"x{each.input}_{each.offset}" if each.input in self.scalars else f"q{each.input}"

    def _stores(self, body: Body) -> list[str]:
        """Write what stores the scalars that are results."""
        stores = []
        for place, ref in enumerate(self.outputs):
            if ref in self.buffers:
                continue
            type = type_in_c(self.facts[ref])
            for part, operand in enumerate(self.code.values[ref]):
                to = f"*({C_TYPES[type]} *)(r{place} + {part * BYTES[type]})"
                stores.append(f"{to} = {body.operand(operand)};")
        return stores

    def _loads(self) -> list[str]:
        """Write the pointers of arrays, and what reads scalars."""
        count = len(self.code.inputs)
        loads = [f"char *const r{k} = p[{count + k}];" for k in range(len(self.outputs))]
        for ref, number in self.code.inputs.items():
            if number not in self.used:
                continue
            if number not in self.scalars:
                loads.append(f"char *const q{number} = p[{number}];")
                continue
            type = type_in_c(self.facts[ref])
            for part in range(1 + is_complex(self.facts[ref])):
                at = part * BYTES[type]
                text = f"*(const {C_TYPES[type]} *)(p[{number}] + {at})"
                loads.append(f"const {type} x{number}_{at} = {text};")
        return loads
