"""Sparse Jacobians and Hessians, by a few passes each of which computes many columns or rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from agnograd import grad
from agnograd.errors import ArgumentError
from agnograd.extend.arguments import (
    ArgNums,
    argnums_in,
    callable_in,
    made_by,
    packed,
    positive_in,
    unpacked,
)
from agnograd_sparse._colouring import coloured
from agnograd_sparse._orders import ORDERS, Order
from agnograd_sparse._pattern import Mode, Sparsity, of_hessian, option_in, searched
from agnograd_sparse._prepared import Find, PreparedDerivative
from agnograd_sparse._recovery import by_substitution, directly
from agnograd_sparse._stars import coloured_symmetrically

Direction = Literal["auto", "forward", "reverse", "both"]
Method = Literal["star", "acyclic"]


class SparseDerivative:
    """A function that returns a sparse derivative; ``ag.prepare`` does once what all calls need.

    If its pattern is not known, ``find`` finds it for arguments, and a digest of the values that it
    was decided by; a ``local`` one is for these values only. ``compressed`` returns the derivative
    by a pattern.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        pattern: Sparsity | None,
        find: Find,
        local: bool,
        compressed: Callable[[Sparsity], PreparedDerivative],
    ) -> None:
        functools.update_wrapper(self, f)
        self._pattern, self._find, self._local = pattern, find, local
        self._compressed = compressed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Find the pattern, colour it, and return the derivative."""
        return self.prepare(*args, **kwargs)(*args, **kwargs)

    def __reduce__(self) -> Any:
        """Return what a pickle has: the call that made this."""
        return unpacked, (packed(self),)

    def prepare(self, *args: Any, **kwargs: Any) -> PreparedDerivative:
        """Return the same function with its pattern and colours, for arguments like these."""
        if self._pattern is not None:
            return self._compressed(self._pattern)
        found, choices = self._find(args, kwargs, True)
        prepared = self._compressed(found)
        prepared.holds_for(self._find, args, kwargs, choices if self._local else None)
        return prepared


def prepare(derivative: SparseDerivative, /, *args: Any, **kwargs: Any) -> PreparedDerivative:
    """Return a sparse derivative with all that does not depend on values: pattern, colours, seeds.

    Parameters
    ----------
    derivative : callable
        What ``sparse_jacobian`` or ``sparse_hessian`` returned.
    *args, **kwargs
        Arguments of the shapes and dtypes of those that it will be called with. Integers and
        booleans among them must also have the same values: the pattern may depend on these.

    Returns
    -------
    callable
        Takes such arguments, and returns the derivative. Its ``pattern`` and ``colouring`` say what
        it computes, and in how many ``passes``. A local pattern is
        compared in each call: if branches, conditions and indices are no longer as they were, and
        the pattern is another one, it raises an error.

    Raises
    ------
    ArgumentError
        If it is another function.
    SparsityError, NoGradientError
        As for ``sparsity``; also by what is returned, if it is called with other arguments.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> prepared = ag.prepare(ag.sparse_jacobian(lambda x: x[1:] * x[:-1]), xp.ones(5).data)
    >>> prepared.colouring
    <colouring of 0 passes forward and 2 in reverse>
    """
    if not isinstance(derivative, SparseDerivative):
        raise ArgumentError(
            f"ag.prepare takes what ag.sparse_jacobian or ag.sparse_hessian returns, not "
            f"{derivative!r}: ag.prepare(ag.sparse_jacobian(f), x)"
        )
    return derivative.prepare(*args, **kwargs)


def sparse_jacobian(
    f: Callable[..., Any],
    argnums: ArgNums = 0,
    *,
    pattern: Any = None,
    mode: Mode = "global",
    direction: Direction = "auto",
    order: Order | Literal["auto"] = "auto",
    chunk_size: int | None = None,
) -> SparseDerivative:
    """Return a function that computes the Jacobian of ``f`` as a sparse matrix.

    Columns that share no row are computed in one pass, and so are rows that share no column. How
    many passes it takes depends on the pattern, not on the number of elements.

    Parameters
    ----------
    f : callable
        A function of real arrays, or pytrees of them, that returns real arrays.
    argnums : int or sequence of int
        As for ``jacobian``.
    pattern : object, optional
        Which entries may be other than zero, if you know it: what ``sparsity`` returns, a sparse
        matrix of SciPy, or an array of booleans. By default ``sparsity`` finds it.
    mode : {"global", "local"}
        As for ``sparsity``, if that finds the pattern.
    direction : {"auto", "forward", "reverse", "both"}
        "forward" computes groups of columns, "reverse" groups of rows, "both" some of each. The
        default is what takes fewest passes.
    order : {"auto", "natural", "largest_first", "smallest_last", "incidence_degree", "saturation"}
        The order in which columns or rows are put into groups. By default several are tried.
    chunk_size : int, optional
        How many passes are computed at once, by ``vmap``. By default it is so many that an argument
        or result of all of them has at most 2**17 elements.

    Returns
    -------
    callable
        Takes what ``f`` takes. The matrix has a row for each element of the results, and a column
        for each element that ``f`` is differentiated by, those of pytrees one after the other. It
        is of the kind that users of the library take: a ``scipy.sparse.csr_array`` for NumPy, if
        SciPy is installed, a sparse CSR tensor of PyTorch, a ``BCOO`` of JAX, a ``csr_matrix`` of
        ``cupyx.scipy.sparse``. For other libraries, or if arguments are Variables, it is a triple
        of values, rows and columns. Each call finds the pattern again, unless you ``prepare`` it.

    Raises
    ------
    SparsityError
        If the pattern depends on values, or is not one of these arguments.
    NoGradientError
        If an argument or a result is complex, or no result has a floating-point dtype.
    ArgumentError
        If ``f`` is not a function, or an option is not one of those above.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> jacobian = ag.sparse_jacobian(lambda x: x[1:] * x[:-1])(xp.asarray([1.0, 2.0, 3.0]).data)
    >>> jacobian.toarray().tolist()
    [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
    """
    positions, known = _checked("sparse_jacobian", f, argnums, pattern, mode, order, chunk_size)
    option_in("direction", direction, "auto", "forward", "reverse", "both")

    def compressed(found: Sparsity) -> PreparedDerivative:
        colouring = coloured(found, direction, order)
        recovery = directly(found, colouring)
        return PreparedDerivative(f, positions, found, colouring, recovery, chunk_size)

    local = mode == "local"
    find = partial(searched, f, positions, local)
    made = SparseDerivative(f, known, find, local, compressed)
    options = {"pattern": pattern, "mode": mode, "direction": direction, "order": order}
    return made_by(made, sparse_jacobian, f, argnums, chunk_size=chunk_size, **options)


def sparse_hessian(
    f: Callable[..., Any],
    argnums: ArgNums = 0,
    *,
    pattern: Any = None,
    mode: Mode = "global",
    method: Method = "star",
    order: Order | Literal["auto"] = "auto",
    chunk_size: int | None = None,
) -> SparseDerivative:
    """Return a function that computes the Hessian of ``f`` as a sparse matrix.

    Parameters are those of ``sparse_jacobian``, except for these.

    Parameters
    ----------
    f : callable
        A function of real arrays, or pytrees of them, that returns a real 0-d array.
    method : {"star", "acyclic"}
        "star" reads each entry from one product. "acyclic" takes fewer products, and computes
        entries from others: rounding errors add up along the way, and it takes longer.

    Returns
    -------
    callable
        As for ``sparse_jacobian``. The matrix has a row and a column for each element that ``f`` is
        differentiated by.

    Raises
    ------
    SparsityError, ArgumentError
        As for ``sparse_jacobian``.
    NoGradientError
        If ``f`` does not return a real 0-d array, or an argument is complex.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> hessian = ag.sparse_hessian(lambda x: xp.sum(x[1:] * x[:-1] ** 2))
    >>> hessian(xp.asarray([1.0, 2.0, 3.0]).data).toarray().tolist()
    [[4.0, 2.0, 0.0], [2.0, 6.0, 4.0], [0.0, 4.0, 0.0]]
    """
    positions, known = _checked("sparse_hessian", f, argnums, pattern, mode, order, chunk_size)
    option_in("method", method, "star", "acyclic")

    def compressed(found: Sparsity) -> PreparedDerivative:
        symmetric = coloured_symmetrically(found, method, order)
        if method == "star":
            recovery = directly(found, symmetric, symmetric=True)
        else:
            recovery = by_substitution(found, symmetric)
        # The gradient's pullback gives the products, since the matrix is symmetric.
        gradient, colouring = grad(f, positions), symmetric.turned
        return PreparedDerivative(gradient, positions, found, colouring, recovery, chunk_size)

    local = mode == "local"
    find = partial(of_hessian, f, positions, local)
    made = SparseDerivative(f, known, find, local, compressed)
    options = {"pattern": pattern, "mode": mode, "method": method, "order": order}
    return made_by(made, sparse_hessian, f, argnums, chunk_size=chunk_size, **options)


def _checked(
    what: str,
    f: Any,
    argnums: ArgNums,
    pattern: Any,
    mode: Any,
    order: Any,
    chunk_size: int | None,
) -> tuple[int | tuple[int, ...], Sparsity | None]:
    """Return the positions and the pattern that are given; raise if an option is wrong."""
    callable_in(f"ag.{what}", f, f"ag.{what}(f)(x)")
    option_in(f"ag.{what}: mode", mode, "global", "local")
    orders = ("auto", *ORDERS, "saturation")
    if not isinstance(order, str) or order not in orders:
        raise ArgumentError(f"ag.{what}: order is {order!r}; it must be one of {orders}")
    if chunk_size is not None:
        positive_in(f"ag.{what}: chunk_size", chunk_size)
    known = None if pattern is None else Sparsity.of(pattern)
    return argnums_in(f"ag.{what}", argnums), known
