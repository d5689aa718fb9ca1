"""Where the elements of views lie among their bases', which says what can be a view of a view.

What is not a view is taken to be laid out in rows, on every backend: some libraries have no memory
that a program could see, and a program has one value on all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._arrays.views import View, chain_to, view_of
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import row_strides
from agnograd._plugins.op_sets import registered_in
from agnograd._util.signatures import parameters_of

Strides = tuple[int, ...]


def strides_of(variable: Variable) -> Strides:
    """Return how many elements apart the neighbours along each axis of a Variable are."""
    start, views = chain_to(variable, lambda view: view._strides is not None)
    strides = (isinstance(start, View) and start._strides) or row_strides(start.shape)
    for view in views:
        found = _taken(view._op, view._base, strides, view.shape, view._options)
        # A view that no strides describe (``every_element``) is as good as in rows.
        strides = view._strides = row_strides(view.shape) if found is None else found
    return strides


def _taken(
    op: Op, base: Variable, strides: Strides, out_shape: Strides, options: Mapping[str, Any]
) -> Strides | None:
    """Return the strides of an op's result, or None if there are none."""
    if op.strides is None:
        return row_strides(out_shape)
    known = {
        "x_shape": base.shape,
        "x_strides": strides,
        "x_dtype": base.dtype,
        "out_shape": out_shape,
        "xp": base._domain.raw,
        **options,
    }
    found: Strides | None = op.strides(**{name: known[name] for name in parameters_of(op.strides)})
    return found


def keeps_places(op: Op, result: Variable, base: Variable, options: Mapping[str, Any]) -> bool:
    """Return whether an op that copies where it has to gives a view of a view.

    It raises if it does not, and was told not to copy.
    """
    if _taken(op, base, strides_of(base), result.shape, options) is not None:
        return True
    if options["copy"] is False:
        raise ValueError(
            f"{op.name} of this view needs a copy, but copy is False: its elements do not lie in "
            f"rows of shape {result.shape}; leave copy out"
        )
    return False


def is_in_rows(variable: Variable) -> bool:
    """Return whether the elements of a Variable lie one after another, in row-major order."""
    shape = variable.shape
    rows = zip(shape, strides_of(variable), row_strides(shape), strict=True)
    return 0 in shape or all(length == 1 or one == other for length, one, other in rows)


def every_element(variable: Variable) -> Variable:
    """Return all elements along one axis, in row-major order: a view, wherever they lie."""
    found: Variable = variable._domain.namespace.reshape(variable, (-1,))
    if found._is_view:
        return found
    op, _ = registered_in("")["reshape"]
    return view_of(op, found, variable, {"shape": (-1,), "copy": None})
