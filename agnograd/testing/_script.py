"""A sample as a script that runs by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from agnograd._plugins.backend import Backend
from agnograd._plugins.backends import backend_named

__all__ = ["script"]


def script(sample: Any, backend: str, seed: int, every: Iterable[tuple[str, int, Any]]) -> str:
    """Return a script that makes a sample's call on a backend, and checks its derivatives.

    The arrays of a seed are written out as numbers. ``every`` has all samples, each with its module
    and its place in the list there.
    """
    writer = _Writer(sample, seed, every)
    args = [writer.written(arg) for arg in sample.args]
    options = [f"{name}={writer.written(arg)}" for name, arg in sample.kwargs.items()]
    function, after = "", sample.after
    if sample.before is not None:
        args[0] = f"{writer.imported(sample.before, 'before')}({args[0]}, xp)"
    call = f"xp.{sample.op}({', '.join([*args, *options])})"
    if sample.op.startswith("__"):
        call = _indexed(sample.op, args, options)
    if after is not None:
        call = f"{writer.imported(after, 'after')}({call}, xp)"
    names = ", ".join(writer.names)
    function = f"def f({names}):\n    return {call}\n"
    if sample.op == "__setitem__":
        function = f"def f({names}):\n    y = {args[0]} * 1\n    {call}\n    return y\n"
    checked = f"ag.check_grad(f, {names}, order={sample.order})\n" if sample.order else ""
    settings = type(backend_named(backend)).conformance
    note = ""
    if settings is not Backend.conformance:
        note = f"# To be run in the settings of {settings.__qualname__}().\n"
    return (
        f"{note}import agnograd as ag\n"
        + "".join(writer.imports)
        + f'\nxp = ag.namespace("{backend}")\n'
        + "".join(writer.lines)
        + f"\n\n{function}\n\nprint(f({names}))\n{checked}"
    )


def _indexed(op: str, args: list[str], options: list[str]) -> str:
    if op == "__getitem__":
        return f"{args[0]}[{args[1]}]"
    if op == "__setitem__":
        return f"y[{args[1]}] = {args[2]}"
    return f"{args[0]}.{op}({', '.join([*args[1:], *options])})"


def _literal(value: Any) -> str:
    """Return an ellipsis, a number, or nested lists of numbers as source."""
    text = "..." if value is ... else repr(value)
    return text if isinstance(value, str) else re.sub(r"\b(inf|nan)\b", r"xp.\1", text)


class _Writer:
    """Writes arguments; arrays become names, each with a line that makes it."""

    def __init__(self, sample: Any, seed: int, every: Iterable[tuple[str, int, Any]]) -> None:
        self.sample = sample
        self.every = every
        self.seed = 1000 * seed
        self.imports: list[str] = []
        self.lines: list[str] = []
        self.names: list[str] = []

    def written(self, value: Any) -> str:
        """Return an argument as source."""
        if hasattr(value, "in_memory"):  # it stands for an array
            return self._array(value)
        if isinstance(value, list):
            return f"[{', '.join(self.written(each) for each in value)}]"
        if isinstance(value, tuple):
            return f"({', '.join(self.written(each) for each in value)}{',' * (len(value) == 1)})"
        if isinstance(value, str) and value.startswith("dtype:"):
            return f"xp.{value.removeprefix('dtype:')}"
        if value == "device:":
            return "xp.empty(0).device"
        return _literal(value)

    def _array(self, spec: Any) -> str:
        self.seed += 1
        name = f"x{len(self.names) + 1}"
        numbers, shape = spec.in_memory(self.seed)
        dtype = f"dtype=xp.{spec.dtype}"
        made = f"xp.asarray({_literal(numbers)}, {dtype})"
        if numbers is None:
            made = f"xp.zeros({shape}, {dtype})"
        if shape and spec.layout == "strided":
            made += f"[{', '.join(['::2'] * len(shape))}]"
        elif shape and spec.layout == "reversed":
            made = f"xp.flip({made})"
        elif shape and spec.layout == "transposed":
            made = f"xp.permute_dims({made}, {tuple(range(len(shape)))[::-1]})"
        self.lines.append(f"{name} = {made}\n")
        self.names.append(name)
        return name

    def imported(self, function: Callable[..., Any], role: str) -> str:
        """Return the name of a function that stands beside the samples, and import it."""
        name, module = function.__name__, function.__module__
        if name.isidentifier() and "." not in function.__qualname__:
            self._add(f"from {module} import {name}\n")
            return name
        return self._of_the_sample(role)

    def _of_the_sample(self, role: str) -> str:
        """Return the way to a function without a name: through the list of samples."""
        function = getattr(self.sample, role)
        for module, index, sample in self.every:
            if getattr(sample, role) is function:
                self._add(f"from {module} import samples\n")
                return f"samples[{index}].{role}"
        return str(function.__name__)

    def _add(self, line: str) -> None:
        if line not in self.imports:
            self.imports.append(line)
