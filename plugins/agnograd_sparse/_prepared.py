"""Sparse derivatives that are prepared: pattern, colours, and what their passes begin with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from agnograd import Variable, asarray, vmap
from agnograd.errors import NoGradientError, SparsityError
from agnograd.extend import is_python_scalar, switch
from agnograd.extend.arguments import flatten
from agnograd.extend.transforms import (
    Domain,
    Pushforward,
    Trace,
    derived,
    outputs_of,
    owner_of,
    root_of,
    tangent_of,
)
from agnograd_sparse._colouring import Colouring
from agnograd_sparse._pattern import Sparsity
from agnograd_sparse._picture import drawn
from agnograd_sparse._recovery import Recovery
from agnograd_sparse._sets import host

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The most elements of one array of all passes that are computed at once, by default.
SPARSE_ELEMENTS = switch("SPARSE_ELEMENTS", 2**17, least=2**6, most=2**62, module=__name__)
Find = Callable[[tuple[Any, ...], Mapping[str, Any], bool], tuple[Sparsity, bytes]]


class Coordinates(NamedTuple):
    """A sparse matrix as a plain triple of arrays, one entry after the other.

    Attributes
    ----------
    values : array or Variable
        The entries, row by row.
    rows, columns : array
        Where they stand.
    shape : tuple of int
        The numbers of rows and columns.
    """

    values: Any
    rows: Any
    columns: Any
    shape: tuple[int, int]


class _Buffers(NamedTuple):
    """What is made once for a library, a device and dtypes: seeds of passes, and where to read.

    Attributes
    ----------
    forward, reverse : sequence
        For each group of passes that are computed at once, the seeds of each input, or output.
    recovery : Recovery
        Where the entries are, by arrays of the library.
    pattern : sequence of array
        The rows, columns and starts of the pattern, as arrays of the library.
    """

    forward: Sequence[Sequence[Any]]
    reverse: Sequence[Sequence[Any]]
    recovery: Recovery
    pattern: Sequence[Any]


class PreparedDerivative:
    """A sparse derivative of a function whose pattern and colours are known: call it.

    ``ag.prepare`` makes it.

    Attributes
    ----------
    pattern : Sparsity
        Which entries the results have.
    colouring : Colouring
        Which columns and rows are computed in one pass.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        argnums: int | tuple[int, ...],
        pattern: Sparsity,
        colouring: Colouring,
        recovery: Recovery,
        chunk_size: int | None,
    ) -> None:
        self._f, self._argnums, self._recovery = f, argnums, recovery
        self.pattern, self.colouring = pattern, colouring
        self._chunk = chunk_size
        self._buffers: dict[Any, _Buffers] = {}
        self._find: Find | None = None

    def __repr__(self) -> str:
        rows, columns = self.pattern.shape
        name = getattr(self._f, "__name__", "a function")
        return (
            f"<sparse derivative of {name}: {rows} x {columns} elements, {self.pattern.count} "
            f"entries, {self.colouring.passes} passes>"
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Return a picture of the entries, a figure of matplotlib; save it if a path is given.

        Entries have a colour for each pass. Of a matrix with more than 400 rows or columns, it
        shows how many entries lie where.
        """
        return drawn(path, self.pattern, self._recovery.passes(self.colouring, self.pattern.shape))

    def holds_for(
        self, find: Find, args: tuple[Any, ...], kwargs: Mapping[str, Any], choices: bytes | None
    ) -> None:
        """Note what the pattern was found for, so that calls that need another one are refused.

        ``choices`` is a digest of all values that decided a local pattern, None for a global one.
        """
        self._find, self._choices = find, choices
        self._constants = [None if type(x) in derived else x for x in _constants(args, kwargs)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the derivative for these arguments, as ``sparse_jacobian`` has it."""
        if self._find is not None:
            self._check(self._find, args, kwargs)
        trace = Trace(self._f, args, kwargs, self._argnums, self.colouring.forward > 0)
        outputs, _ = outputs_of(trace, "ag.sparse_jacobian")
        trace.result = None
        order = flatten(trace.arranged(range(len(trace.inputs))))[0]  # as argnums names them
        inputs = [trace.inputs[place] for place in order]
        self._check_sizes(inputs, outputs)
        buffers = self._buffers_for(inputs, outputs)
        home = outputs[0]._domain
        xp = home.namespace if trace.as_variables else home.raw
        inexact = [each for each in outputs if each._domain.is_inexact(each.dtype)]
        ways = [(partial(_pulled, trace, order, inexact), buffers.reverse, inputs)]
        if buffers.forward:
            push = partial(_pushed, Pushforward(trace, outputs), order, inputs)
            ways.insert(0, (push, buffers.forward, outputs))
        parts = []
        for way, groups, like in ways:
            for seeds in groups:
                parts.append(_row(_computed(way, seeds), like, seeds, home, xp))
        if not parts:  # no entries, and no passes
            x = trace.inputs[0]
            parts = [xp.zeros(0, dtype=x.dtype, device=x.device)]
        products = xp.concat(parts) if len(parts) > 1 else parts[0]
        values = buffers.recovery(products, xp)
        rows, columns, starts = buffers.pattern
        matrix = NotImplemented
        if not trace.as_variables:
            matrix = home.backend.sparse(values, rows, columns, starts, self.pattern.shape)
        if matrix is NotImplemented:
            return Coordinates(values, rows, columns, self.pattern.shape)
        return matrix

    def _buffers_for(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> _Buffers:
        """Return what passes begin with, made on first use for arrays of this kind."""
        key = tuple((x._domain, x.dtype, str(x.device), x.shape) for x in (*inputs, *outputs))
        if key not in self._buffers:
            colouring, place = self.colouring, partial(_placed, outputs[0])
            largest = max(prod(x.shape) for x in (*inputs, *outputs))
            chunk = self._chunk or max(1, SPARSE_ELEMENTS // max(largest, 1))
            if any(root_of(x._domain).backend.capabilities.lazy for x in (*inputs, *outputs)):
                chunk = self._chunk or 1
            self._buffers[key] = _Buffers(
                [*_seeds(inputs, colouring.columns, colouring.forward, chunk)],
                [*_seeds(outputs, colouring.rows, colouring.reverse, chunk)],
                self._recovery.moved(place),
                [place(each) for each in _indices(self.pattern)],
            )
        return self._buffers[key]

    # -- checks ------------------------------------------------------------------------------------

    def _check_sizes(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        for each in (*inputs, *outputs):
            if each._domain.is_complex(each.dtype):
                raise NoGradientError(
                    "a sparse derivative is one of real arrays: differentiate the real and the "
                    "imaginary part of complex ones"
                )
        shape = sum(prod(x.shape) for x in outputs), sum(prod(x.shape) for x in inputs)
        if shape != self.pattern.shape:
            raise SparsityError(
                f"the pattern is one of {self.pattern.shape[0]} results and "
                f"{self.pattern.shape[1]} arguments, and there are {shape[0]} and {shape[1]} "
                "elements: prepare it for arrays of these shapes"
            )

    def _check(self, find: Find, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise if the pattern that was found may be another one for these arguments."""
        if not _same(self._constants, [*_constants(args, kwargs)]):
            raise SparsityError(
                "integers, booleans or other objects among the arguments are not those that the "
                "pattern was found for: prepare it again"
            )
        if self._choices is None or find(args, kwargs, False)[1] == self._choices:
            return
        pattern, self._choices = find(args, kwargs, True)
        if pattern != self.pattern:
            self._choices = b""
            raise SparsityError(
                "the pattern at these arguments is not the one that was prepared, since a branch, "
                'a condition or an index depends on values: prepare it again, or use mode="global"'
            )


def _pushed(
    push: Pushforward, order: Sequence[int], inputs: Sequence[Variable], *tangents: Any
) -> list[Any]:
    given: list[Any] = [None] * len(inputs)
    for place, x, each in zip(order, inputs, tangents, strict=True):
        given[place] = tangent_of(x, each)
    return list(push(given))


def _pulled(
    trace: Trace, order: Sequence[int], outputs: Sequence[Variable], *cotangents: Any
) -> list[Any]:
    found = trace.pull(outputs, cotangents, retain=True)
    return [found[place] for place in order]


def _computed(way: Callable[..., list[Any]], seeds: Sequence[Any]) -> list[Any]:
    """Return what a pass gives for seeds, of which several are along the first axis."""
    if seeds[0].shape[0] == 1:
        return way(*[each[0, ...] for each in seeds])
    return list(vmap(way)(*seeds))


def _row(
    found: Sequence[Any], like: Sequence[Variable], seeds: Sequence[Any], home: Domain, xp: Any
) -> Any:
    """Return arrays of some passes as one row: all elements of the first pass, then the next."""
    count, flat = seeds[0].shape[0], []
    for each, x in zip(found, like, strict=True):
        if root_of(x._domain) is not root_of(home):  # a function may move arrays elsewhere
            moved = asarray(each, backend=home.backend.name)
            each = moved if isinstance(each, Variable) else moved.data
        flat.append(xp.reshape(each, (count, prod(x.shape))))
    return xp.reshape(xp.concat(flat, axis=1) if len(flat) > 1 else flat[0], (-1,))


def _seeds(arrays: Sequence[Variable], colours: Any, count: int, chunk: int) -> Iterator[list[Any]]:
    """Yield, for each group of colours, arrays that are one at the elements of each colour."""
    xp = host()
    if len({root_of(x._domain) for x in arrays}) > 1:  # one vmap takes arrays of one library
        chunk = 1
    for start in range(0, count, chunk):
        own = xp.arange(start, min(start + chunk, count))
        found, first = [], 0
        for x in arrays:
            size = prod(x.shape)
            if x._domain.is_inexact(x.dtype):
                ones = xp.expand_dims(colours[first : first + size], axis=0) == own[:, None]
                raw = root_of(x._domain).raw
                seed = raw.astype(_placed(x, ones), x.dtype)
                found.append(raw.reshape(seed, (own.shape[0], *x.shape)))
            first += size
        yield found


def _indices(pattern: Sparsity) -> list[Any]:
    """Return the rows, columns and starts of a pattern, narrow where they fit: it saves memory."""
    xp = host()
    dtype = xp.int32 if max(*pattern.shape, pattern.count) < 2**31 else xp.int64
    return [xp.astype(each, dtype) for each in (pattern.rows, pattern.columns, pattern.starts)]


def _placed(like: Variable, array: Any) -> Any:
    """Return an array from the host as one of the library and on the device of another one."""
    domain: Domain = root_of(like._domain)
    return domain.library.asarray(array, device=like.device)


def _constants(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what a pattern may depend on: all but arrays of floating-point numbers."""
    for leaf in flatten((args, kwargs))[0]:
        raw = leaf._raw if isinstance(leaf, Variable) else leaf
        owner = None if is_python_scalar(raw) else owner_of(raw)
        if owner is None:
            yield None if type(raw) in (float, complex) else raw
        elif owner.is_inexact(raw.dtype):
            yield None
        else:
            yield raw if owner.level else host().asarray(owner.backend.to_host(raw), copy=True)


def _same(constants: Sequence[Any], others: Sequence[Any]) -> bool:
    for one, other in zip(constants, others, strict=False):
        if hasattr(one, "dtype") and hasattr(other, "dtype"):
            # A look at an array of a level: a program compares it in each of its calls.
            xp = derived[type(other)].raw if type(other) in derived else host()
            if one.shape != other.shape or not bool(xp.all(xp.equal(xp.asarray(one), other))):
                return False
        elif one is None and type(other) in derived:
            continue
        elif one is not other and (type(one) is not type(other) or one != other):
            return False
    return len(constants) == len(others)
