"""What each op rounds: by how much, and which gradient says what that does to the result.

An op whose result is the exact one, rounded, has a relative error of at most u, half the distance
from 1 to the next number. Other ops are described by how their algorithms are known to behave
[1]_:

- Functions of elements, such as ``exp``, are taken to be as good, since those of today's libraries
  nearly are; special functions, and sums of positive terms, to have twice that error.
- A sum of n terms is computed by pairs, as NumPy and PyTorch do: on each of log2(n) levels, every
  partial sum is rounded. Of the partial sums only their squares matter, which are estimated by
  those of the terms and of the total. NumPy sums along other axes than the last one by one.
- Inner products are sums of products, each rounded.
- What solves equations or decomposes matrices gives the exact result for a matrix whose elements
  differ by about u times their mean size: its backward error. So its errors are those of its
  inputs, times their gradients.
- A Fourier transform has errors of the same size in all elements.
- For any other op, each of its inputs and its result is taken to be rounded once.

Errors are independent and add up like random ones [2]_.

References
----------
.. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002: section
   3.1 for inner products, 4.2 for sums by pairs, chapter 9 for equations, 24.1 for Fourier
   transforms.
.. [2] N. J. Higham and T. Mary, A new approach to probabilistic rounding error analysis, SIAM J.
   Sci. Comput. 41 (2019), A2815-A2835.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agnograd_digits._norms import (
    DOUBLE,
    fit,
    floating,
    magnitude,
    mean_size,
    namespace_of,
    partial_sums,
    products,
    sums,
    unit_of,
)

if TYPE_CHECKING:
    from agnograd.extend import Call

__all__ = ["Rounding", "in_gradients", "of_input", "rounding_of"]

# Of these all ops give exact results, or results without a derivative.
_EXACT_CHAPTERS = {"indexing", "manipulation", "creation", "searching", "sorting", "set", "dist"}
_EXACT = {
    *("negative", "positive", "real", "imag", "conj", "sign", "ceil", "floor", "trunc", "round"),
    *("maximum", "minimum", "clip", "copysign", "nextafter", "remainder", "max", "min"),
    *("pad", "lib.stride_tricks.sliding_window_view", "linalg.diagonal", "linalg.matrix_transpose"),
    *("matrix_transpose", "fft.fftshift", "fft.ifftshift", "nn.relu", "nn.embedding"),
    *(
        f"nn.max_{name}"
        for name in ("pool1d", "pool2d", "pool3d", "pooling", "unpooling", "picking")
    ),
}
_ROUNDING = {"scatter_add", "scatter_add_axis", "dist.all_sum", "dist.sum_to", "diff", "gradient"}
_CORRECTLY_ROUNDED = {"add", "subtract", "multiply", "divide", "sqrt", "square", "reciprocal"}
_POSITIVE_SUMS = {"var", "std", "linalg.vector_norm", "linalg.matrix_norm"}
_MATRICES = {"linalg", "scipy.linalg"}
# What these do by orthogonal transformations adds up errors from all of a matrix.
_ORTHOGONAL = ("linalg.eig", "linalg.svd", "linalg.with_", "linalg.qr", "linalg.pinv", "linalg.lst")
# These compute ``linalg`` in double precision, and round the results to the inputs' dtype; and they
# add up one by one along all axes but the last.
_NUMPY = {"numpy", "strict", "dask"}


class Rounding(NamedTuple):
    """What a call of an op rounds.

    ``outputs`` and ``inputs`` are the sizes of errors, in units of ``unit``, which the gradients of
    the outputs and of the inputs multiply; None for what has none. They are ``times`` as large, and
    each stands for several ``roundings``.
    """

    dtype: str
    unit: float
    outputs: Sequence[Any] = ()
    inputs: Sequence[Any] = ()
    times: float = 1.0
    roundings: int = 1


def rounding_of(op: Call, inputs: Sequence[Any], outputs: Sequence[Any]) -> Rounding | None:
    """Return what a call rounds, or None if its results are exact or not floating-point."""
    results = [out if floating(out) else None for out in outputs]
    first = next((out for out in results if out is not None), None)
    if first is None:
        return None
    name, chapter = op.name, op.chapter
    exact = name in _EXACT or (chapter in _EXACT_CHAPTERS and name not in _ROUNDING)
    if exact or (name == "abs" and floating(inputs[0], complex=False)):
        return None
    start = Rounding(str(first.dtype).rpartition(".")[2], unit_of(first), results)
    of = _SPECIAL.get(name)
    # Under vmap, arrays may have an axis that the parameters do not know.
    if of is not None and (op.batch_size is None or of is _cast):
        return of(start, op, inputs, first)
    if name in _CORRECTLY_ROUNDED:
        return _with_number(start, name, inputs)
    if chapter == "elementwise":
        return start
    if chapter == "special" or name in _POSITIVE_SUMS:
        return start._replace(times=2.0)
    if chapter == "linalg" and start.unit > DOUBLE and op.backend.name in _NUMPY:
        return start
    if chapter in _MATRICES:  # whose errors are those of inputs, and no others
        sizes = [mean_size(each, 2) if floating(each) else None for each in inputs]
        order = max(inputs[0].shape[-2:], default=1) if name.startswith(_ORTHOGONAL) else 1
        return start._replace(outputs=(), inputs=sizes, times=math.sqrt(order))
    if chapter == "fft":
        levels = math.log2(max(math.prod(first.shape), 2))
        return start._replace(outputs=[mean_size(first, first.ndim)], times=math.sqrt(levels))
    return _each(start, inputs)


def _cast(start: Rounding, op: Call, inputs: Sequence[Any], out: Any) -> Rounding | None:
    exact = not floating(inputs[0]) or unit_of(inputs[0]) >= start.unit
    return None if exact else start


def _sum(start: Rounding, op: Call, inputs: Sequence[Any], out: Any) -> Rounding | None:
    axes = _axes(op, inputs[0])
    terms, count, scale = sums(inputs[0], axes, op.parameters.get("keepdims", False))
    if count < 2:
        return None
    mean = op.name == "mean"
    in_order = op.backend.name in _NUMPY and inputs[0].ndim - 1 not in axes
    size, scale = partial_sums(
        out, terms, count, scale / count if mean else scale, in_order=in_order
    )
    return start._replace(outputs=[size], times=scale, roundings=count + mean)


def _axes(op: Call, value: Any) -> tuple[int, ...]:
    """Return the axes that a reduction goes over."""
    axis, own = op.parameters.get("axis"), range(value.ndim)
    chosen = own if axis is None else [axis] if isinstance(axis, int) else axis
    return tuple(own[each] for each in chosen)


def _inner(start: Rounding, op: Call, inputs: Sequence[Any], out: Any) -> Rounding | None:
    terms, count, scale = products(inputs[0], inputs[1], op.parameters)
    if count < 1:
        return None
    # The products are rounded, too: one more level.
    size, scale = partial_sums(out, terms, 2 * count, scale)
    return start._replace(outputs=[size], times=scale, roundings=2 * count)


def _prefix(start: Rounding, op: Call, inputs: Sequence[Any], out: Any) -> Rounding | None:
    # What is rounded in one partial sum is in all that follow, and the gradient of a term is the
    # sum of theirs. With an initial value there is one more sum than terms.
    if inputs[0].shape != out.shape:
        return start
    return start._replace(outputs=(), inputs=[out])


def _each(start: Rounding, inputs: Sequence[Any]) -> Rounding:
    return start._replace(inputs=[each if floating(each) else None for each in inputs])


_SPECIAL: dict[str, Callable[..., Rounding | None]] = {
    "astype": _cast,
    "sum": _sum,
    "mean": _sum,
    **dict.fromkeys(("matmul", "vecdot", "tensordot", "linalg.matmul", "linalg.vecdot"), _inner),
    "linalg.tensordot": _inner,
    "cumulative_sum": _prefix,
    "cumsum": _prefix,
}


def _with_number(start: Rounding, name: str, inputs: Sequence[Any]) -> Rounding:
    """Add the error of a number in the program, such as 0.1, that the dtype cannot hold."""
    numbers = [each for each in inputs if type(each) is float and math.isfinite(each)]
    code = {"float32": "f", "complex64": "f", "float16": "e"}.get(start.dtype)
    if not numbers or code is None:
        return start
    try:
        held = struct.unpack(code, struct.pack(code, numbers[0]))[0]
    except OverflowError:
        return start
    lost = abs(held - numbers[0])
    if lost == 0.0:
        return start
    if name in ("multiply", "divide"):
        return start._replace(times=1.0 + lost / abs(numbers[0]) / start.unit, roundings=2)
    if name in ("add", "subtract"):
        return start._replace(outputs=[abs(start.outputs[0]) + lost / start.unit], roundings=2)
    return start


def in_gradients(
    rounding: Rounding, grad_outputs: Sequence[Any], grad_inputs: Sequence[Any]
) -> tuple[float, float]:
    """Return what a rounding does to the result: at random, and at worst; absolute errors."""
    pairs = [*_pairs(grad_outputs, rounding.outputs), *_pairs(grad_inputs, rounding.inputs)]
    found = [magnitude(g, size) for g, size in pairs]
    unit = rounding.unit * rounding.times
    error = unit * math.hypot(*(random for random, _ in found))
    return error, unit * math.sqrt(rounding.roundings) * sum(worst for _, worst in found)


def _pairs(gradients: Sequence[Any], sizes: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return gradients with the sizes of errors.

    Ops of sequences have more gradients than sizes; and of what is computed member by member under
    vmap, shapes may not fit. Such errors are not counted.
    """
    if len(gradients) != len(sizes):
        return []
    pairs = zip(gradients, sizes, strict=True)
    return [(g, size) for g, size in pairs if g is not None and size is not None and fit(g, size)]


def of_input(value: Any, grad: Any) -> float:
    """Return what rounding an input to its dtype does to the result; an absolute error."""
    # Under vmap, the value stands for those of the members.
    if not floating(value) or namespace_of(value) is not namespace_of(grad):
        return 0.0
    return unit_of(value) * magnitude(grad, value)[0]
