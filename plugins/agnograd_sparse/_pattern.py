"""Patterns: which elements of a derivative may be other than zero, found or given."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from agnograd import Variable, grad
from agnograd.errors import ArgumentError, ArgumentIndexError, NoGradientError
from agnograd.extend import is_python_scalar
from agnograd.extend.arguments import ArgNums, argnums_in, callable_in, flatten, unflatten
from agnograd.extend.transforms import Border, Trace, domain_of, payload_of
from agnograd_sparse._picture import drawn
from agnograd_sparse._sets import Sets, host, joined
from agnograd_sparse._tracing import Dependences, Search

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Mode = Literal["global", "local"]


class Sparsity:
    """Which elements of a matrix may be other than zero.

    Its arrays are NumPy's, and list the entries row by row, in ascending order of the columns.

    Parameters
    ----------
    starts : array, shape (rows + 1,)
        Where the entries of each row begin, and where those of the last one end.
    columns : array
        The column of each entry.
    shape : tuple of int
        The numbers of rows and columns.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> found = ag.sparsity(lambda x: x[1:] * x[:-1], xp.ones(4))
    >>> found
    <sparsity pattern of 3 x 4 elements with 6 entries>
    >>> found.rows.tolist(), found.columns.tolist()
    ([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 3])
    """

    __slots__ = ("columns", "shape", "starts")

    def __init__(self, starts: Any, columns: Any, shape: tuple[int, int]) -> None:
        self.starts, self.columns, self.shape = starts, columns, shape

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<sparsity pattern of {rows} x {columns} elements with {self.count} entries>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sparsity):
            return NotImplemented
        xp = host()
        if (self.shape, self.count) != (other.shape, other.count):
            return False
        pairs = ((self.starts, other.starts), (self.columns, other.columns))
        return all(bool(xp.all(one == two)) for one, two in pairs)

    __hash__ = None  # type: ignore[assignment]

    @property
    def count(self) -> int:
        """The number of entries."""
        return int(self.columns.shape[0])

    @property
    def rows(self) -> Any:
        """The row of each entry."""
        return Sets(self.starts, self.columns).elements

    @property
    def T(self) -> Sparsity:  # noqa: N802 - the standard's name
        """The pattern of the transposed matrix."""
        return Sparsity.of_pairs(self.columns, self.rows, (self.shape[1], self.shape[0]))

    def toarray(self) -> Any:
        """Return the pattern as a NumPy array of booleans."""
        xp = host()
        dense = xp.zeros(self.shape, dtype=xp.bool)
        dense[self.rows, self.columns] = True
        return dense

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Return a picture of the entries, a figure of matplotlib; save it if a path is given.

        Of a matrix with more than 400 rows or columns, it shows how many entries lie where.
        """
        return drawn(path, self)

    @classmethod
    def of(cls, pattern: Any) -> Sparsity:
        """Return what a user gives as a pattern: one, a sparse matrix of SciPy, or an array."""
        if isinstance(pattern, Sparsity):
            return pattern
        xp = host()
        if hasattr(pattern, "tocoo"):
            found = pattern.tocoo()
            rows, columns, shape = found.row, found.col, found.shape
        else:
            domain = domain_of(pattern)
            raw = pattern.data if isinstance(pattern, Variable) else pattern
            dense = domain.backend.to_host(raw)
            if len(dense.shape) != 2:
                raise ArgumentError(
                    f"a pattern is a matrix, not an array of shape {tuple(dense.shape)}: it has a "
                    "row for each element of the results, and a column for each of the arguments"
                )
            rows, columns = xp.nonzero(dense)
            shape = dense.shape
        rows, columns = (xp.astype(xp.asarray(each), xp.int64) for each in (rows, columns))
        return cls.of_pairs(rows, columns, (int(shape[0]), int(shape[1])))

    @classmethod
    def of_pairs(cls, rows: Any, columns: Any, shape: tuple[int, int]) -> Sparsity:
        """Return the pattern of entries in any order, of which some may be there twice."""
        found = Sets.of_pairs(rows, columns, shape[0])
        return cls(found.starts, found.members, shape)


def sparsity(
    f: Callable[..., Any],
    /,
    *args: Any,
    argnums: ArgNums = 0,
    order: Literal[1, 2] = 1,
    mode: Mode = "global",
) -> Sparsity:
    """Return which elements of the Jacobian, or Hessian, of ``f`` may be other than zero.

    The function runs once, on arrays that know which elements of the arguments they depend on. No
    element is left out that is not zero; the pattern may have more.

    Parameters
    ----------
    f : callable
        A function of arrays, or of pytrees of them, that returns arrays.
    *args
        What it is called with.
    argnums : int or sequence of int
        The positions of the arguments that it is differentiated by, as for ``jacobian``.
    order : {1, 2}
        1 for the Jacobian, 2 for the Hessian of a function that returns one real number.
    mode : {"global", "local"}
        "global" is for a pattern that holds for all values of floating-point arguments. It depends
        on integers and booleans that you pass, and on what the function closes over. "local" is
        for one that holds at these arguments: branches, conditions and indices are as they are
        here.

    Returns
    -------
    object
        The pattern. It has a row for each element of the results, and a column for each element
        that ``f`` is differentiated by, those of pytrees one after the other. ``rows`` and
        ``columns`` are those of its entries, as NumPy arrays, ``count`` is their number, ``shape``
        that of the matrix, ``T`` the pattern of the transposed one. ``toarray()`` gives booleans.

    Raises
    ------
    SparsityError
        In mode "global", if a Python branch, or the shape of an array, depends on values.
    NoGradientError
        For order 2, if ``f`` does not return a real 0-d array.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> ag.sparsity(lambda x: xp.cumulative_sum(x) + x, xp.ones(2)).toarray().tolist()
    [[True, False], [True, True]]
    >>> ag.sparsity(lambda x: xp.sum(x**3), xp.ones(2), order=2).toarray().tolist()
    [[True, False], [False, True]]
    """
    callable_in("ag.sparsity", f, "ag.sparsity(f, x), with the arguments of f after it")
    positions = argnums_in("ag.sparsity", argnums)
    option_in("ag.sparsity: mode", mode, "global", "local")
    if not isinstance(order, int) or order not in (1, 2):
        raise ArgumentError(f"ag.sparsity: order is {order!r}; it must be 1 or 2")
    if order == 1:
        return searched(f, positions, mode == "local", args, {})[0]
    return of_hessian(f, positions, mode == "local", args, {})[0]


def option_in(what: str, value: Any, *options: str) -> None:
    """Raise if a value is none of the options."""
    if not isinstance(value, str) or value not in options:
        *most, last = map(repr, options)
        raise ArgumentError(f"{what} is {value!r}; it must be {', '.join(most)} or {last}")


def of_hessian(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...],
    local: bool,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    sets: bool = True,
) -> tuple[Sparsity, bytes]:
    """Return the pattern of a Hessian: that of the gradient's Jacobian, which is symmetric."""
    found, choices = searched(grad(f, argnums), argnums, local, args, kwargs, sets)
    xp, rows, columns = host(), found.rows, found.columns
    both = xp.concat([rows, columns]), xp.concat([columns, rows])
    return Sparsity.of_pairs(*both, found.shape), choices


def searched(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...],
    local: bool,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    sets: bool = True,
) -> tuple[Sparsity, bytes]:
    """Return the pattern of a Jacobian, and a digest of all values that it was decided by.

    Without ``sets``, only the digest is looked for.
    """
    asked = (argnums,) if isinstance(argnums, int) else argnums
    if not all(-len(args) <= each < len(args) for each in asked):
        raise ArgumentIndexError(
            f"argnums names argument {max(asked, key=abs)}, but {len(args)} positional ones were "
            "given; pass what is differentiated by position"
        )
    asked = tuple(each % len(args) for each in asked)
    if len({*asked}) < len(asked):
        raise ArgumentError(f"argnums names an argument twice: {argnums}")
    leaves, tree = flatten((args, kwargs))
    counts = [len(flatten(arg)[0]) for arg in args]  # containers may refuse other leaves
    places = [sum(counts[:each]) + k for each in asked for k in range(counts[each])]
    leaves = [leaf.detach() if isinstance(leaf, Variable) else leaf for leaf in leaves]
    border, run = Border(Dependences, leaves), Search(local)
    given = [_entered(border, leaf, run, i in places) for i, leaf in enumerate(leaves)]
    width = 0
    for place in places:
        array = given[place]._raw
        if sets:
            array.sets = Sets.own(prod(array.shape), width)
        width += prod(array.shape)

    def recorded(*args: Any, **kwargs: Any) -> Any:
        run.function = f
        # Some programs do something else for arrays without a gradient.
        return Trace(f, args, kwargs, asked).result

    result = border.call(run, recorded, *unflatten(tree, given))
    rows = joined([_sets_of(border, leaf, run) for leaf in _results(result)])
    pattern = Sparsity(rows.starts, rows.members, (rows.count, width))
    return pattern, run.choices.digest()


def _entered(border: Border, leaf: Any, run: Search, differentiated: bool) -> Any:
    """Return an argument as the function gets it: what may vary becomes an array of the run."""
    if differentiated and is_python_scalar(leaf):
        leaf = border.below.to_raw(float(leaf))
    found = border.into(leaf, run)
    if isinstance(found, Variable) and not found._domain.backend.below.is_inexact(found.dtype):
        found._raw.run = None  # integers and booleans are as they are here
    return found


def _results(result: Any) -> list[Any]:
    found = flatten(result)[0]
    if not found:
        raise NoGradientError("the function returned no arrays: there is nothing to differentiate")
    return found


def _sets_of(border: Border, leaf: Any, run: Search) -> Sets:
    home = border.home(leaf)
    array = leaf._raw if isinstance(leaf, home.Variable) else leaf
    if not isinstance(array, home.backend.array_class):
        return Sets.empty(1 if is_python_scalar(leaf) else prod(array.shape))
    payload_of(array, run)
    sets: Sets | None = array.sets
    return Sets.empty(prod(array.shape)) if sets is None else sets
