"""Samples of the element-wise functions."""

from typing import Any

from agnograd.extend import Sample, array

# Each unary function with bounds inside of which it, and its derivatives, are smooth.
UNARY = {
    "abs": (0.2, 2.0),
    "acos": (-0.8, 0.8),
    "acosh": (1.3, 3.0),
    "asin": (-0.8, 0.8),
    "asinh": (-2.0, 2.0),
    "atan": (-2.0, 2.0),
    "atanh": (-0.8, 0.8),
    "ceil": (0.1, 0.9),
    "cos": (-2.0, 2.0),
    "cosh": (-2.0, 2.0),
    "exp": (-2.0, 2.0),
    "expm1": (-2.0, 2.0),
    "floor": (0.1, 0.9),
    "log": (0.3, 3.0),
    "log10": (0.3, 3.0),
    "log1p": (-0.6, 2.0),
    "log2": (0.3, 3.0),
    "negative": (-2.0, 2.0),
    "positive": (-2.0, 2.0),
    "reciprocal": (0.5, 2.0),
    "round": (0.6, 0.9),
    "sign": (0.2, 2.0),
    "sin": (-2.0, 2.0),
    "sinh": (-2.0, 2.0),
    "sqrt": (0.3, 3.0),
    "square": (-2.0, 2.0),
    "tan": (-1.0, 1.0),
    "tanh": (-2.0, 2.0),
    "trunc": (0.1, 0.9),
}
# Complex values with positive real and imaginary parts, away from every branch cut.
COMPLEX = [name for name in UNARY if name not in ("ceil", "floor", "round", "trunc")]

BINARY = {
    "add": (-1.0, 1.0),
    "atan2": (0.3, 1.0),
    "copysign": (0.3, 1.0),
    "divide": (0.5, 2.0),
    "floor_divide": (1.1, 1.9),
    "hypot": (0.3, 1.0),
    "logaddexp": (-1.0, 1.0),
    "multiply": (-1.0, 1.0),
    "pow": (0.5, 2.0),
    "subtract": (-1.0, 1.0),
}
COMPLEX_BINARY = ("add", "divide", "multiply", "pow", "subtract")


def _binary(name: str, low: float, high: float) -> list[Sample]:
    def a(*shape: int, dtype: str = "float64", layout: Any = "contiguous") -> Any:
        return array(*shape, low=low, high=high, dtype=dtype, layout=layout)

    return [
        Sample(name, a(2, 3), a(2, 3)),
        Sample(name, a(2, 3), a(3)),
        Sample(name, a(2, 1), a(1, 3)),
        Sample(name, a(), a(2)),
        Sample(name, a(), a()),
        Sample(name, a(0, 3), a(1)),
        Sample(name, a(2, 2, layout="strided"), a(2, 2, layout="transposed")),
        Sample(name, a(2), 1.5),
        Sample(name, 1.5, a(2)),
        Sample(name, a(3, dtype="float32"), a(3), order=1),
    ]


samples = [
    sample
    for name, (low, high) in UNARY.items()
    for sample in (
        Sample(name, array(2, 3, low=low, high=high)),
        Sample(name, array(low=low, high=high)),
        Sample(name, array(0, 2, low=low, high=high)),
        Sample(name, array(2, low=low, high=high, layout="strided")),
        Sample(name, array(3, low=low, high=high, layout="reversed")),
    )
]
samples += [Sample(name, array(2, low=0.2, high=0.7, dtype="complex128")) for name in COMPLEX]
samples += [sample for name, (low, high) in BINARY.items() for sample in _binary(name, low, high)]
samples += [
    sample
    for name in COMPLEX_BINARY
    for sample in (
        Sample(name, *(array(2, low=0.3, high=1.0, dtype="complex128"),) * 2),
        Sample(name, array(2, low=0.3), array(2, 2, low=0.3, dtype="complex128")),
        Sample(name, array(2, low=0.3, dtype="complex128"), array(low=0.3)),
        Sample(name, array(2, low=0.3, dtype="complex128"), 1.5),
        Sample(name, array(2, low=0.3, high=1.0), 1.5 + 0.5j, backends=("numpy",)),
    )
]
samples += [
    Sample("abs", array(3, low=-2.0, high=-0.2)),
    Sample("conj", array(2, dtype="complex128")),
    Sample("conj", array(2)),
    Sample("imag", array(2, dtype="complex128")),
    Sample("real", array(2, dtype="complex128")),
    Sample("real", array(2)),
    Sample("nextafter", array(2), array(2), order=0),
    Sample("pow", array(2, low=-2.0, high=2.0), 3),
    Sample("pow", array(2, low=-2.0, high=2.0), 1),
    Sample("pow", array(2, low=-2.0, high=2.0), 0),
    Sample("pow", array(values=[0.0, 1.0, -1.0]), 2),
    Sample("remainder", array(2, low=2.1, high=2.9), array(2, low=0.95, high=1.0)),
    Sample("remainder", array(2, low=2.1, high=2.9), 1.0),
    Sample("maximum", array(3, values=[1.0, 2.0, 3.0]), array(3, values=[2.0, 1.0, 5.0])),
    Sample("maximum", array(2, 2), 0.5),
    Sample("minimum", array(3, values=[1.0, 2.0, 3.0]), array(1, values=[1.5])),
    Sample("minimum", array(2, 2), -0.5),
    Sample("copysign", array(2, low=0.3), -1.0),
    Sample("hypot", array(2, low=-1.0, high=-0.3), array(2, low=0.3)),
    Sample("clip", array(5, values=[-2.0, -0.5, 0.0, 0.5, 2.0]), -1.0, 1.0),
    Sample("clip", array(5, values=[-2.0, -0.5, 0.0, 0.5, 2.0]), -1.0),
    Sample("clip", array(5, values=[-2.0, -0.5, 0.0, 0.5, 2.0]), max=1.0),
    Sample("clip", array(3, values=[-2.0, 0.0, 2.0]), array(values=[-1.0]), array(values=1.0)),
    Sample("clip", array(2, 3, low=-3.0, high=3.0), array(values=[-1.0, -0.5, 0.0]), None),
]
