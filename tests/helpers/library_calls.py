"""Calls of libraries of ops for other engines: the first samples of each op, with derivatives."""

import math
from collections import Counter
from typing import NamedTuple

from agnograd._arrays.namespace import within
from agnograd.testing._samples import all_samples

_PACKAGES = {"agnograd_scipy": "scipy", "agnograd_special": "special"}
# What takes functions has tests of its own.
_OF_FUNCTIONS = ("integrate.", "optimize.")
# Those of the same op with other arrays take as long again.
_LONG = 30
# What rules of others ask for has rules up to an order of its own: each is the next one's first.
_LAST = ("special.betainc_by_shapes", "special.gammainc_by_shape", "special.stdtr_by_df")


class Place(NamedTuple):
    """Stands for a differentiated array among arguments."""

    number: int


class Call:
    """A sample as a function of the arrays that it is differentiated by."""

    def __init__(self, library, sample):
        self.library, self.sample = library, sample

    def __repr__(self):
        return repr(self.sample)

    @property
    def op(self):
        return self.sample.op

    @property
    def order(self):
        """The order of derivatives to check: the second, but for what has only the first."""
        return 1 if self.op in _LAST else 2

    def on(self, functions, raw, as_engine):
        """Return a function of arrays, and the arrays.

        ``functions`` is a library, or a namespace; ``raw`` makes arrays of the sample, and
        ``as_engine(x)`` says whether one of them is differentiated.
        """
        name = self.op.removeprefix("special.") if self.library == "special" else self.op
        function, sample, arrays = within(functions, name), self.sample, []

        def start(x):
            if not as_engine(x):
                return x
            arrays.append(x)
            return Place(len(arrays) - 1)

        args, kwargs = (_mapped(each, start) for each in sample.make(raw))

        def run(*given):
            def fill(x):
                return given[x.number] if isinstance(x, Place) else x

            values, options = _mapped(args, fill), _mapped(kwargs, fill)
            if sample.before is not None:
                values = (sample.before(values[0], run.xp), *values[1:])
            out = function(*values, **options)
            out = out if sample.after is None else sample.after(out, run.xp)
            return tuple(out) if isinstance(out, list | tuple) else (out,)

        run.xp = raw
        return run, arrays


def _mapped(tree, change):
    if isinstance(tree, Place):
        return change(tree)
    if isinstance(tree, dict):
        return {name: _mapped(each, change) for name, each in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(_mapped(each, change) for each in tree)
    return change(tree)


def calls(count=1):
    """Return the first calls of each op of the two packages, in double precision."""
    seen, found = Counter(), []
    for module, _, sample in all_samples():
        library = _PACKAGES.get(module.partition(".")[0])
        if library is None or sample.order < 1 or sample.op.startswith(_OF_FUNCTIONS):
            continue
        specs = sample.specs()
        kinds = {each.dtype for each in specs}
        usual = kinds & {"float64", "complex128"} and not kinds & {"float32", "complex64"}
        size = sum(math.prod(each.shape) for each in specs)
        if not usual or any(0 in each.shape for each in specs) or seen[sample.op] == count:
            continue
        if size > _LONG:
            continue
        seen[sample.op] += 1
        found.append(Call(library, sample))
    return found
