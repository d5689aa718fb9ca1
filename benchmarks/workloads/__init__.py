"""The table of workloads: what each is, and its sizes."""

from __future__ import annotations

from collections import ChainMap

from benchmarks.workloads.attention import attention
from benchmarks.workloads.batches import jacobian, logistic_hessian, per_example
from benchmarks.workloads.case import Case, Workload
from benchmarks.workloads.convnets import convnet
from benchmarks.workloads.held_out import HELD_OUT
from benchmarks.workloads.loops import chain, fan_out, fan_out_of_numbers, index, oscillator
from benchmarks.workloads.networks import embedding, mlp, recurrent
from benchmarks.workloads.numerics import convolution, elementwise, gaussian_process, rosenbrock
from examples.networks import NETWORKS

__all__ = ["BATCHES", "CONVNETS", "HELD_OUT", "WORKLOADS", "Case", "Workload", "workload_named"]

WORKLOADS = {
    "chain": Workload(
        chain,
        "{steps:,} x sin(y * 0.9 + 0.1), {size} float64",
        full={"steps": 1000, "size": 10},
        small={"steps": 20, "size": 10},
    ),
    "small-mlp": Workload(
        mlp,
        "{batch} x {layers}, tanh, {dtype}",
        full={"batch": 32, "layers": (64, 64, 64, 10), "dtype": "float64"},
        small={"batch": 4, "layers": (6, 5, 4, 3), "dtype": "float64"},
    ),
    "large-mlp": Workload(
        mlp,
        "{batch} x {layers}, tanh, {dtype}",
        full={"batch": 256, "layers": (784, 1024, 1024, 10), "dtype": "float32"},
        small={"batch": 4, "layers": (6, 5, 4, 3), "dtype": "float32"},
    ),
    "element-wise": Workload(
        elementwise,
        "{steps} x exp(-y * y) * 0.5 + sin(y), {size:,} float64",
        full={"steps": 10, "size": 1_000_000},
        small={"steps": 3, "size": 7},
    ),
    "index": Workload(
        index,
        "sum of x[i] * x[i], {size:,} float64",
        full={"size": 2000},
        small={"size": 9},
    ),
    "fan-out": Workload(
        fan_out,
        "sum of x * c, {constants} constants of {size:,}",
        full={"constants": 50, "size": 1_000_000},
        small={"constants": 4, "size": 6},
    ),
    "fan-out-numbers": Workload(
        fan_out_of_numbers,
        "sum of x * c, {constants} Python numbers c, x of {size:,}",
        full={"constants": 50, "size": 1_000_000},
        small={"constants": 4, "size": 6},
    ),
    "recurrent": Workload(
        recurrent,
        "{steps} steps of tanh(x @ w + h @ u), {batch} x {size} to {hidden}",
        full={"steps": 100, "batch": 16, "size": 32, "hidden": 64},
        small={"steps": 5, "batch": 3, "size": 2, "hidden": 4},
    ),
    "attention": Workload(
        attention,
        "a block: {length} x {width}, {heads} heads, {hidden} hidden, float32",
        full={"length": 128, "width": 128, "heads": 4, "hidden": 512},
        small={"length": 5, "width": 8, "heads": 2, "hidden": 6},
    ),
    "gaussian-process": Workload(
        gaussian_process,
        "likelihood by Cholesky, {points} points",
        full={"points": 200},
        small={"points": 8},
        needs="linalg",
    ),
    "hessian-vector": Workload(
        rosenbrock,
        "Rosenbrock's function of {size:,}",
        full={"size": 100_000},
        small={"size": 6},
        needs="second order",
    ),
    "convolution": Workload(
        convolution,
        "circular, by rfft and irfft, {size:,} float64",
        full={"size": 65_536},
        small={"size": 12},
        needs="fft",
    ),
    "scalar-loop": Workload(
        oscillator,
        "{steps:,} steps of a damped spring",
        full={"steps": 1000},
        small={"steps": 20},
    ),
    "embedding": Workload(
        embedding,
        "{reads:,} rows of a {rows:,} x {columns} table",
        full={"rows": 5000, "columns": 64, "reads": 10_000},
        small={"rows": 6, "columns": 3, "reads": 10},
    ),
}

# They have no derivatives by hand: agnograd's are what peers are compared with.
CONVNETS = {
    arch: Workload(
        convnet,
        f"{arch}, batch {{batch}}, channels divided by {{narrow}}",
        full={"arch": arch, "batch": 16, "narrow": 1},
        small={"arch": arch, "batch": 2, "narrow": 16},
        # Rounding decides on which side of a kink of relu, or which of two maxima, a value is:
        # AlexNet's gradients in single precision differ so much from those in double precision.
        tolerance=2e-2,
    )
    for arch in NETWORKS
}

# Many derivatives at once.
BATCHES = {
    "per-example": Workload(
        per_example,
        "gradients of {loss}, {batch} x {layers}, tanh, float64",
        full={"batch": 256, "layers": (64, 64, 10), "loss": "squared error"},
        small={"batch": 4, "layers": (5, 6, 3), "loss": "squared error"},
        needs="vmap",
    ),
    "per-example-entropy": Workload(
        per_example,
        "gradients of {loss}, {batch} x {layers}, tanh, float64",
        full={"batch": 256, "layers": (64, 64, 10), "loss": "cross-entropy"},
        small={"batch": 4, "layers": (5, 6, 3), "loss": "cross-entropy"},
        needs="vmap",
    ),
    "jacobian": Workload(
        jacobian,
        "of tanh(A @ sin(A @ x)), {size} elements, float64",
        full={"size": 200},
        small={"size": 20},  # enough for passes to be computed at once
        needs="vmap",
    ),
    "hessian": Workload(
        logistic_hessian,
        "of a logistic regression, {parameters} parameters, {points} points, float64",
        full={"points": 500, "parameters": 300},
        small={"points": 30, "parameters": 20},
        needs="vmap",
    ),
}

_TABLES = ChainMap(WORKLOADS, CONVNETS, BATCHES, HELD_OUT)


def workload_named(name: str) -> Workload:
    """Return a workload of any table."""
    return _TABLES[name]
