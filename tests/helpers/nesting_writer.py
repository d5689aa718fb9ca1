"""How a random nesting is written: statement by statement, each from a template of the grammar."""

import random
import re
from typing import NamedTuple

import numpy as np

from nesting_grammar import AROUND, LOWERINGS, NESTS, REDUCED, ROWS, SCALARS, VECTORS, WRITES

MODES = ["raw", "variable", "backward", "beside a tracked one"]
SIZES = [3, 2, 1, 17, 20, 3, 2, 17]  # from 17 passes on, Jacobians take them at once, under vmap


class Written(NamedTuple):
    """A program, and what it is called with."""

    source: str
    inputs: list
    mode: str
    depth: int


class Writer:
    """Writes a program; ``pick`` chooses one of several options, of which the first is simplest."""

    def __init__(self, pick):
        self.pick = pick
        self.lines, self.count = [], 0
        depth = pick([1, 2, 3, 2, 3, 4])
        self.n = pick(SIZES)
        self.mode = pick(MODES)
        names = ["x", "y"] if self.mode == MODES[-1] else ["x"]
        self.lines.append(f"def program({', '.join(names)}):")
        self.body(pick("VS"), depth, names, [], 1)
        rng = random.Random(sum(pick([0, 1]) << bit for bit in range(8)))
        numbers = rng.sample(range(1, 1400, 2), 2 * self.n)
        drawn = np.asarray([rng.choice((-1, 1)) * each / 1000 for each in numbers])
        inputs = [drawn[: self.n], drawn[self.n :]][: len(names)]
        self.written = Written("\n".join(self.lines), inputs, self.mode, depth)

    def named(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def write(self, indent, text):
        self.lines.append("    " * indent + text)

    def body(self, kind, depth, vectors, scalars, indent):
        """Write the statements of a function, and its return."""
        scope = Scope(self, [*vectors], [*scalars], depth, indent)
        count = self.pick([0, 1, 2] if depth else [1, 0, 2, 3])
        nest = self.pick(range(count + 1)) if depth else None
        for place in range(count + (depth > 0)):
            if place == nest:
                scope.nest()
            else:
                scope.statement()
        unread = [each for each in scope.vectors[::-1] if each in scope.unread]
        numbers = [each for each in scope.scalars if each in scope.unread]
        out = " + ".join(unread) or scope.vectors[-1]
        if numbers:
            out = f"({out}) * {' * '.join(numbers)}"
        if kind == "S":
            out = self.pick([f"xp.sum({out})", f"xp.sum(xp.sin({out}))", f"xp.mean(({out}) ** 2)"])
        self.write(indent, f"return {out}")


class Scope:
    """The names that statements of one function may use, and what writes such statements."""

    def __init__(self, writer, vectors, scalars, depth, indent):
        self.writer, self.pick = writer, writer.pick
        self.vectors, self.scalars = vectors, scalars
        self.depth, self.indent = depth, indent
        self.unread = {vectors[-1]}

    def statement(self):
        kind = self.pick(["vector", "vector", "vector", "scalar", "write"])
        if kind == "vector":
            self.assign("V", self.filled(self.pick(VECTORS)))
        elif kind == "scalar":
            self.assign("S", self.filled(self.pick(SCALARS)))
        else:
            text = self.filled(self.pick(["xp.sin({v})", "1.0 * xp.asarray({v})", "xp.cos({v})"]))
            write = self.pick(WRITES)
            name = self.writer.named("v")
            self.writer.write(self.indent, f"{name} = {text}")
            self.writer.write(self.indent, self.filled(write, {"A": name}))
            self.vectors.append(name)
            self.unread.add(name)

    def nest(self):
        """Write a transformation of a new function, and what makes a vector or a number of it."""
        kind, text = self.pick(NESTS)
        *before, last = text.split("; ")
        names = {}
        for line in before:
            self.writer.write(self.indent, self.filled(line, names))
        last = self.filled(last, names)
        wanted = self.pick("VS") if kind in "MR" else kind
        reduced = self.pick(REDUCED[kind + wanted]).replace("{e}", last)
        self.assign(wanted, self.filled(reduced))

    def assign(self, kind, text):
        name = self.writer.named("v" if kind == "V" else "s")
        self.writer.write(self.indent, f"{name} = {text}")
        (self.vectors if kind == "V" else self.scalars).append(name)
        self.unread.add(name)

    def filled(self, text, names=None):
        names = {} if names is None else names
        if "{r}" in text and text.count("{r}") > 1:  # of as many rows
            rows = self.pick(ROWS)
            text = text.replace("{r}", rows)
        while "{r}" in text:
            text = text.replace("{r}", self.pick(ROWS), 1)
        return re.sub(r"\{(\w+)\}", lambda found: self.slot(found[1], names), text)

    def slot(self, slot, names):
        n = self.writer.n
        if slot in "AB":
            return names.setdefault(slot, self.writer.named("t"))
        if slot in "fg":
            return self.function("S" if slot == "f" else "V")
        if slot == "v" or (slot == "s" and not self.scalars):
            name = self.pick(self.vectors[::-1])
            self.unread.discard(name)
            return name if slot == "v" else f"{name}[{self.pick(range(n))}]"
        if slot == "s":
            name = self.pick(self.scalars[::-1])
            self.unread.discard(name)
            return name
        return str(
            {
                "n": lambda: n,
                "h": lambda: round(1 / n, 3),
                "k": lambda: self.pick(range(n)),
                "q": lambda: self.pick([0.5, -0.7, 1.1]),
                "threshold": lambda: self.pick([0.1137, -0.2091, 0.4519]),
                "lowering": lambda: self.pick(LOWERINGS),
                "indices": lambda: [(5 * k + 1) % n for k in range(n)],
            }[slot]()
        )

    def function(self, kind):
        """Write a new function; return its name."""
        writer, depth = self.writer, self.depth - 1
        name, parameter = writer.named("f" if kind == "S" else "g"), writer.named("u")
        writer.write(self.indent, f"def {name}({parameter}):")
        writer.body(kind, depth, [*self.vectors, parameter], self.scalars, self.indent + 1)
        around = self.pick(AROUND).replace("{f}", name)
        if around:
            writer.write(self.indent, f"{name} = ag.{self.filled(around)}")
        return name
