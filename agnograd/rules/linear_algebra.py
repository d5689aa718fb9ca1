"""Products of vectors, matrices and tensors, which the main namespace and ``linalg`` share.

The adjoint of X -> X B is G -> G B^H, and of X -> A X it is G -> A^H G (Giles, "An extended
collection of matrix derivative results", 2008, section 2.2.2).
"""

import math
from collections.abc import Sequence, Set
from typing import Any

from agnograd.extend import (
    OpSet,
    adjoint,
    behind,
    conjugate_if_complex,
    in_stacks,
    inverse_permutation,
)

__all__ = ["ops"]

ops = OpSet("linear_algebra", samples="agnograd.rules.samples.linear_algebra")

Shape = tuple[int, ...]


def _matmul_x1(g: Any, x1_shape: Shape, x2: Any, xp: Any) -> Any:
    if x2.ndim == 1:  # each row of x1 meets the same vector
        return g[..., None] * conjugate_if_complex(x2, xp)
    if len(x1_shape) == 1:
        if g.ndim == 1:
            return xp.matmul(conjugate_if_complex(x2, xp), g)
        return xp.matmul(g[..., None, :], adjoint(x2, xp))[..., 0, :]
    return xp.matmul(g, adjoint(x2, xp))


def _matmul_x2(g: Any, x1: Any, x2_shape: Shape, xp: Any) -> Any:
    if x1.ndim == 1:
        outer = conjugate_if_complex(x1, xp)
        return outer * g[..., None] if len(x2_shape) == 1 else outer[:, None] * g[..., None, :]
    if len(x2_shape) == 1 and g.ndim > 1:
        return xp.matmul(adjoint(x1, xp), g[..., None])[..., 0]
    return xp.matmul(adjoint(x1, xp), g)


def _free(axes: Any, rank1: int, rank2: int) -> tuple[Any, Any, Any, Any]:
    """Return the contracted and the free axes of both arrays of a tensordot."""
    if isinstance(axes, int):
        both: Sequence[Any] = (range(rank1 - axes, rank1), range(axes))
    else:
        both = [(each,) if isinstance(each, int) else each for each in axes]
    used1 = [axis % rank1 for axis in both[0]]
    used2 = [axis % rank2 for axis in both[1]]
    free1 = [axis for axis in range(rank1) if axis not in used1]
    free2 = [axis for axis in range(rank2) if axis not in used2]
    return used1, used2, free1, free2


def _tensordot_x1(g: Any, x1_shape: Shape, x2: Any, axes: Any, xp: Any) -> Any:
    used1, used2, free1, free2 = _free(axes, len(x1_shape), x2.ndim)
    # The axes of g are x1's free ones, then x2's; contracting the latter leaves x1's free axes
    # and x2's contracted ones, which stand in x2's own order.
    over = tuple(range(len(free1), g.ndim))
    result = xp.tensordot(g, conjugate_if_complex(x2, xp), axes=(over, tuple(free2)))
    ordered = [used1[i] for i in sorted(range(len(used2)), key=lambda i: used2[i])]
    return xp.permute_dims(result, inverse_permutation(free1 + ordered))


def _tensordot_x2(g: Any, x1: Any, x2_shape: Shape, axes: Any, xp: Any) -> Any:
    used1, used2, free1, free2 = _free(axes, x1.ndim, len(x2_shape))
    over = tuple(range(len(free1)))
    result = xp.tensordot(conjugate_if_complex(x1, xp), g, axes=(tuple(free1), over))
    ordered = [used2[i] for i in sorted(range(len(used1)), key=lambda i: used1[i])]
    return xp.permute_dims(result, inverse_permutation(ordered + free2))


def _matmul_batch(xp: Any, mapped: Set[str], x1: Any, x2: Any) -> Any:
    rank1, rank2 = len(x1.shape) - ("x1" in mapped), len(x2.shape) - ("x2" in mapped)
    if not (rank1 and rank2):
        raise ValueError("matmul takes vectors and matrices, not arrays without axes")
    if "x2" not in mapped and rank2 <= 2:  # one matrix for all: one product with all rows
        rows = x1 if rank1 == 1 else xp.reshape(x1, (math.prod(x1.shape[:-1]), x1.shape[-1]))
        return xp.reshape(xp.matmul(rows, x2), (*x1.shape[:-1], *x2.shape[1:]))
    if "x1" not in mapped and rank1 <= 2 and x2.shape[2:] in ((), (1,)):  # a column each
        columns = xp.reshape(x2, x2.shape[:2])
        out = xp.matmul(columns, xp.matrix_transpose(x1) if rank1 == 2 else x1)
        return xp.reshape(out, (*out.shape, *x2.shape[2:]))
    x1 = x1[..., None, :] if rank1 == 1 else x1
    x2 = x2[..., None] if rank2 == 1 else x2
    out = xp.matmul(*in_stacks(xp, mapped, (2, 2), x1=x1, x2=x2))
    out = out[..., 0, :] if rank1 == 1 else out
    return out[..., 0] if rank2 == 1 else out


def _tensordot_batch(xp: Any, mapped: Set[str], x1: Any, x2: Any, axes: Any = 2) -> Any:
    rank1, rank2 = len(x1.shape) - ("x1" in mapped), len(x2.shape) - ("x2" in mapped)
    used1, used2, free1, free2 = _free(axes, rank1, rank2)
    if "x2" not in mapped:
        return xp.tensordot(x1, x2, axes=(behind(used1, rank1), tuple(used2)))
    if "x1" not in mapped:
        out = xp.tensordot(x1, x2, axes=(tuple(used1), behind(used2, rank2)))
        return xp.moveaxis(out, len(free1), 0)
    size, *shape1 = x1.shape
    shape2 = x2.shape[1:]
    lengths, lengths2 = [shape1[i] for i in used1], [shape2[i] for i in used2]
    if lengths != lengths2:
        raise ValueError(f"tensordot: axes of lengths {lengths} do not fit those of {lengths2}")
    kept1, kept2 = [shape1[i] for i in free1], [shape2[i] for i in free2]
    count = math.prod(lengths)
    x1 = xp.permute_dims(x1, (0, *behind(free1 + used1, rank1)))
    x2 = xp.permute_dims(x2, (0, *behind(used2 + free2, rank2)))
    x1 = xp.reshape(x1, (size, math.prod(kept1), count))
    x2 = xp.reshape(x2, (size, count, math.prod(kept2)))
    return xp.reshape(xp.matmul(x1, x2), (size, *kept1, *kept2))


def _vecdot_batch(xp: Any, mapped: Set[str], x1: Any, x2: Any, axis: int = -1) -> Any:
    vectors = {}
    for name, x in (("x1", x1), ("x2", x2)):
        place = behind(axis, len(x.shape) - 1) if name in mapped else axis
        vectors[name] = x if axis == -1 else xp.moveaxis(x, place, -1)
    return xp.vecdot(*in_stacks(xp, mapped, (1, 1), **vectors))


# -- patterns --------------------------------------------------------------------------------------


def _matmul_pattern(xp: Any, x1: Any, x2: Any) -> Any:
    """Multiply sums of rows and of columns."""
    rows = xp.sum(x1, axis=-1, keepdims=len(x1.shape) > 1 < len(x2.shape))
    columns = xp.sum(
        x2, axis=-2 if len(x2.shape) > 1 else -1, keepdims=len(x1.shape) > 1 < len(x2.shape)
    )
    return rows * columns


def _tensordot_pattern(xp: Any, x1: Any, x2: Any, axes: Any = 2) -> Any:
    used1, used2, free1, free2 = _free(axes, len(x1.shape), len(x2.shape))
    rows = xp.sum(xp.permute_dims(x1, (*free1, *used1)), axis=(*range(len(free1), len(x1.shape)),))
    columns = xp.sum(xp.permute_dims(x2, (*used2, *free2)), axis=(*range(len(used2)),))
    return xp.reshape(rows, (*rows.shape, *(1 for _ in free2))) * columns


for _place in ("", "linalg."):
    ops.multilinear(
        f"{_place}matmul(x1, x2, /)",
        x1=_matmul_x1,
        x2=_matmul_x2,
        stacks={"x1": 1, "x2": 0},
        contracts=True,
        batch=_matmul_batch,
        pattern=_matmul_pattern,
    )
    ops.linear(
        f"{_place}matrix_transpose(x, /)",
        x=lambda g, xp: xp.matrix_transpose(g),
        view=lambda value, xp: xp.matrix_transpose(value),
        strides=lambda x_strides: (*x_strides[:-2], x_strides[-1], x_strides[-2]),
        batch="last",
        pattern="selects",
    )
    ops.multilinear(
        f"{_place}tensordot(x1, x2, /, *, axes=2)",
        x1=_tensordot_x1,
        x2=_tensordot_x2,
        contracts=True,
        batch=_tensordot_batch,
        pattern=_tensordot_pattern,
    )
    # vecdot conjugates x1, so that its gradient is conjugated, and that of x2 is not.
    ops.multilinear(
        f"{_place}vecdot(x1, x2, /, *, axis=-1)",
        x1=lambda g, x2, axis, xp: xp.expand_dims(conjugate_if_complex(g, xp), axis=axis) * x2,
        x2=lambda g, x1, axis, xp: xp.expand_dims(g, axis=axis) * x1,
        contracts=True,
        batch=_vecdot_batch,
        pattern=lambda xp, x1, x2, axis=-1: xp.sum(x1 * x2, axis=axis),
    )
