"""Products of vectors, matrices and tensors, which the main namespace and ``linalg`` share.

The adjoint of X -> X B is G -> G B^H, and of X -> A X it is G -> A^H G (Giles, "An extended
collection of matrix derivative results", 2008, section 2.2.2).
"""

from collections.abc import Sequence
from typing import Any

from agnograd.extend import OpSet, adjoint, conjugate_if_complex, inverse_permutation

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


for _place in ("", "linalg."):
    ops.multilinear(
        f"{_place}matmul(x1, x2, /)",
        x1=_matmul_x1,
        x2=_matmul_x2,
        stacks={"x1": 1, "x2": 0},
    )
    ops.linear(
        f"{_place}matrix_transpose(x, /)",
        x=lambda g, xp: xp.matrix_transpose(g),
        view=lambda value, xp: xp.matrix_transpose(value),
        strides=lambda x_strides: (*x_strides[:-2], x_strides[-1], x_strides[-2]),
    )
    ops.multilinear(f"{_place}tensordot(x1, x2, /, *, axes=2)", x1=_tensordot_x1, x2=_tensordot_x2)
    # vecdot conjugates x1, so that its gradient is conjugated, and that of x2 is not.
    ops.multilinear(
        f"{_place}vecdot(x1, x2, /, *, axis=-1)",
        x1=lambda g, x2, axis, xp: xp.expand_dims(conjugate_if_complex(g, xp), axis=axis) * x2,
        x2=lambda g, x1, axis, xp: xp.expand_dims(g, axis=axis) * x1,
    )
