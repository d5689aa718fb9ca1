"""Samples of the element-wise functions."""

from typing import Any

from agnograd.extend import Sample, array

# Each unary function with bounds within which it, and its derivatives, are smooth.
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
    "add": ((-1.0, 1.0), (-1.0, 1.0)),
    "atan2": ((-1.0, 1.0), (0.3, 1.0)),
    "copysign": ((0.3, 1.0), (0.3, 1.0)),
    "divide": ((-1.0, 1.0), (0.5, 2.0)),
    "floor_divide": ((2.1, 2.8), (0.95, 1.0)),
    "hypot": ((0.3, 1.0), (-1.0, -0.3)),
    "logaddexp": ((-1.0, 1.0), (-1.0, 1.0)),
    "maximum": ((-1.0, 1.0), (-1.0, 1.0)),
    "minimum": ((-1.0, 1.0), (-1.0, 1.0)),
    "multiply": ((-1.0, 1.0), (-1.0, 1.0)),
    "nextafter": ((-1.0, 1.0), (-1.0, 1.0)),
    "pow": ((0.5, 2.0), (-1.5, 1.5)),
    "remainder": ((2.1, 2.8), (0.95, 1.0)),
    "subtract": ((-1.0, 1.0), (-1.0, 1.0)),
}
COMPLEX_BINARY = ("add", "divide", "multiply", "pow", "subtract")
STEPS = ("floor_divide", "nextafter", "remainder")


def _binary(name: str, bounds1: tuple[float, float], bounds2: tuple[float, float]) -> list[Sample]:
    def a(*shape: int, **options: Any) -> Any:
        return array(*shape, low=bounds1[0], high=bounds1[1], **options)

    def b(*shape: int, **options: Any) -> Any:
        return array(*shape, low=bounds2[0], high=bounds2[1], **options)

    single = 0 if name in STEPS else 1
    return [
        Sample(name, a(2, 3), b(2, 3)),
        Sample(name, a(2, 3), b(3)),
        Sample(name, a(3), b(2, 3)),
        Sample(name, a(2, 1), b(1, 3)),
        Sample(name, a(1, 3), b(2, 1)),
        Sample(name, a(), b(2)),
        Sample(name, a(2), b()),
        Sample(name, a(), b()),
        Sample(name, a(0, 3), b(1)),
        Sample(name, a(1), b(3, 0)),
        Sample(name, a(2, 2, layout="strided"), b(2, 2, layout="transposed")),
        Sample(name, a(3, layout="reversed"), b(3, layout="strided")),
        Sample(name, a(2), round(sum(bounds2) / 2, 3)),
        Sample(name, round(sum(bounds1) / 2, 3), b(2)),
        Sample(name, a(3, dtype="float32"), b(3), order=single),
        Sample(name, a(3), b(3, dtype="float32"), order=single),
        Sample(name, a(2, dtype="float32"), b(2, dtype="float32"), order=single),
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
        Sample(name, array(3, 2, low=low, high=high, layout="transposed")),
        Sample(name, array(2, low=low, high=high, dtype="float32"), order=1),
    )
]
samples += [
    sample
    for name in COMPLEX
    for sample in (
        Sample(name, array(2, low=0.2, high=0.7, dtype="complex128")),
        Sample(name, array(2, low=-0.7, high=-0.2, dtype="complex128", layout="reversed")),
        Sample(name, array(low=0.2, high=0.7, dtype="complex128")),
        Sample(name, array(0, low=0.2, high=0.7, dtype="complex128")),
        Sample(name, array(values=[1.5 + 0.3j, -0.4 + 1.6j], dtype="complex128")),
        Sample(name, array(1, low=0.3, high=0.6, dtype="complex64"), order=1),
    )
]
samples += [sample for name, bounds in BINARY.items() for sample in _binary(name, *bounds)]
samples += [
    sample
    for name in COMPLEX_BINARY
    for sample in (
        Sample(name, *(array(2, low=0.3, high=1.0, dtype="complex128"),) * 2),
        Sample(name, array(2, low=0.3), array(2, 2, low=0.3, dtype="complex128")),
        Sample(name, array(2, 1, low=0.3, dtype="complex128"), array(2, low=0.3)),
        Sample(name, array(2, low=0.3, dtype="complex128"), array(low=0.3)),
        Sample(name, array(2, low=0.3, dtype="complex128"), 1.5),
        Sample(name, 1.5, array(2, low=0.3, dtype="complex128")),
        Sample(name, array(2, low=0.3, dtype="complex128"), 1.5 + 0.5j),
        Sample(name, 1.5 + 0.5j, array(2, low=0.3, dtype="complex128")),
        Sample(name, array(2, low=0.3, high=1.0), 1.5 + 0.5j, backends=("numpy",)),
        Sample(name, 1.5 + 0.5j, array(2, low=0.3, high=1.0), backends=("numpy",)),
        Sample(name, array(1, low=0.3, dtype="complex64"), array(2, low=0.3), order=1),
        Sample(name, array(2, low=0.3), 2),
        Sample(name, 2, array(2, low=0.3)),
    )
]
samples += [
    Sample("abs", array(3, low=-2.0, high=-0.2)),
    Sample("sign", array(3, low=-2.0, high=-0.2)),
    Sample("round", array(3, low=-0.4, high=0.4)),
    *(Sample(name, array(3, low=-1.9, high=-1.1)) for name in ("ceil", "floor", "trunc")),
    *(Sample(name, array(2, dtype="complex128")) for name in ("conj", "imag", "real")),
    *(Sample(name, array(dtype="complex128")) for name in ("conj", "imag", "real")),
    *(Sample(name, array(0, 2, dtype="complex128")) for name in ("conj", "imag", "real")),
    Sample("conj", array(3, 2, dtype="complex128", layout="transposed")),
    Sample("imag", array(2, 2, dtype="complex128", layout="strided")),
    Sample("real", array(3, dtype="complex128", layout="reversed")),
    Sample("conj", array(2)),
    Sample("imag", array(2), backends=("numpy",)),
    Sample("real", array(2)),
    Sample("atan2", array(2, low=-1.0, high=-0.3), array(2, low=-1.0, high=-0.3)),
    Sample("copysign", array(2, low=-1.0, high=-0.3), array(2, low=0.3)),
    Sample("copysign", array(2, low=-1.0, high=-0.3), array(2, low=-1.0, high=-0.3)),
    Sample("copysign", array(2, low=0.3), -1.0),
    Sample("remainder", array(2, low=-2.9, high=-2.1), 1.0),
    Sample("remainder", array(2, low=2.1, high=2.9), -1.0),
    Sample("floor_divide", array(2, low=-2.9, high=-2.1), 1),
]
FIVE = array(values=[-2.0, -0.5, 0.0, 0.5, 2.0])
samples += [
    Sample("clip", FIVE, -1.0, 1.0),
    Sample("clip", FIVE, -1.0),
    Sample("clip", FIVE, max=1.0),
    Sample("clip", FIVE, min=-1, max=1),
    Sample("clip", FIVE),
    Sample("clip", array(values=[-2.0, 0.0, 2.0]), array(values=[-1.0]), array(values=1.0)),
    Sample("clip", array(2, 3, low=-3.0, high=3.0), array(values=[-1.0, -0.5, 0.0]), None),
    Sample("clip", array(2, 3, low=-3.0, high=3.0), None, array(2, 1, low=0.1)),
    Sample("clip", array(3, low=-3.0, high=3.0), array(2, 1, low=-0.5, high=-0.4), 0.5),
    Sample("clip", array(), array(2, low=0.4, high=0.5), array(2, low=0.6, high=0.7)),
    Sample("clip", array(2, low=0.1), max=array(2, low=-1.0, high=-0.4), min=-2.0),
    Sample("clip", array(2, 0), -1.0, 1.0),
    Sample("clip", array(2, 2, low=-3.0, high=3.0, layout="transposed"), -0.5, 0.5),
    Sample("clip", array(3, low=-3.0, high=3.0, layout="strided"), -0.5, 0.5),
    Sample("clip", array(3, low=-3.0, high=3.0, layout="reversed"), -0.5, 0.5),
    Sample("clip", array(values=[-2.0, 0.0, 2.0]), array(values=1.0), -1.0, backends=("numpy",)),
    Sample("clip", array(values=[-2.0, 0.0, 2.0]), 1.0, array(values=-1.0), backends=("numpy",)),
]
