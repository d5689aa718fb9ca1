"""The linear layer."""

from __future__ import annotations

from typing import Any

from agnograd.extend import conjugate_if_complex, itself
from agnograd_nn import ops

__all__ = ["linear"]


def linear(xp: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """Return ``x @ weight.T + bias``.

    Parameters
    ----------
    x : array, shape (..., inputs)
    weight : array, shape (outputs, inputs)
    bias : array, shape (outputs,), optional

    Returns
    -------
    array, shape (..., outputs)
    """
    out = xp.matmul(x, xp.matrix_transpose(weight))
    return out if bias is None else out + bias


def _weight(g: Any, x: Any, weight_shape: tuple[int, int], xp: Any) -> Any:
    """Multiply in the order that makes the gradient as it is, and not a view of its transpose."""
    outputs, inputs = weight_shape
    rows = xp.reshape(g, (-1, outputs))
    return xp.matmul(
        xp.matrix_transpose(rows), conjugate_if_complex(xp.reshape(x, (-1, inputs)), xp)
    )


ops.vjp(
    "nn.linear(x, weight, /, bias=None)",
    x=lambda g, weight, xp: xp.matmul(g, conjugate_if_complex(weight, xp)),
    weight=_weight,
    bias=itself("g"),
    forward=linear,
    contracts=True,
)
