"""The table of workloads: what each is, and its sizes."""

from __future__ import annotations

from collections import ChainMap

from benchmarks.workloads.attention import attention
from benchmarks.workloads.batches import jacobian, logistic_hessian, per_example
from benchmarks.workloads.case import Case, Workload
from benchmarks.workloads.convnets import convnet
from benchmarks.workloads.held_out import HELD_OUT
from benchmarks.workloads.laplacians import network_laplacian, network_loss
from benchmarks.workloads.loops import chain, fan_out, fan_out_of_numbers, index, oscillator
from benchmarks.workloads.networks import embedding, mlp, recurrent
from benchmarks.workloads.numerics import convolution, elementwise, gaussian_process, rosenbrock
from examples.networks import NETWORKS

__all__ = [
    "BATCHES",
    "CONVNETS",
    "HELD_OUT",
    "LAPLACIANS",
    "WORKLOADS",
    "Case",
    "Workload",
    "workload_named",
]

WORKLOADS = {
    "chain": Workload(
        chain,
        "{steps:,} x sin(y * 0.9 + 0.1), {size} float64",
        {"steps": (1000, 20), "size": (10, 10)},
    ),
    "small-mlp": Workload(
        mlp,
        "{batch} x {layers}, tanh, {dtype}",
        {
            "batch": (32, 4),
            "layers": ((64, 64, 64, 10), (6, 5, 4, 3)),
            "dtype": ("float64", "float64"),
        },
    ),
    "large-mlp": Workload(
        mlp,
        "{batch} x {layers}, tanh, {dtype}",
        {
            "batch": (256, 4),
            "layers": ((784, 1024, 1024, 10), (6, 5, 4, 3)),
            "dtype": ("float32", "float32"),
        },
    ),
    "element-wise": Workload(
        elementwise,
        "{steps} x exp(-y * y) * 0.5 + sin(y), {size:,} float64",
        {"steps": (10, 3), "size": (1_000_000, 7)},
    ),
    "index": Workload(
        index,
        "sum of x[i] * x[i], {size:,} float64",
        {"size": (2000, 9)},
    ),
    "fan-out": Workload(
        fan_out,
        "sum of x * c, {constants} constants of {size:,}",
        {"constants": (50, 4), "size": (1_000_000, 6)},
    ),
    "fan-out-numbers": Workload(
        fan_out_of_numbers,
        "sum of x * c, {constants} Python numbers c, x of {size:,}",
        {"constants": (50, 4), "size": (1_000_000, 6)},
    ),
    "recurrent": Workload(
        recurrent,
        "{steps} steps of tanh(x @ w + h @ u), {batch} x {size} to {hidden}",
        {"steps": (100, 5), "batch": (16, 3), "size": (32, 2), "hidden": (64, 4)},
    ),
    "attention": Workload(
        attention,
        "a block: {length} x {width}, {heads} heads, {hidden} hidden, float32",
        {"length": (128, 5), "width": (128, 8), "heads": (4, 2), "hidden": (512, 6)},
    ),
    "gaussian-process": Workload(
        gaussian_process,
        "likelihood by Cholesky, {points} points",
        {"points": (200, 8)},
        needs="linalg",
    ),
    "hessian-vector": Workload(
        rosenbrock,
        "Rosenbrock's function of {size:,}",
        {"size": (100_000, 6)},
        needs="second order",
    ),
    "convolution": Workload(
        convolution,
        "circular, by rfft and irfft, {size:,} float64",
        {"size": (65_536, 12)},
        needs="fft",
    ),
    "scalar-loop": Workload(
        oscillator,
        "{steps:,} steps of a damped spring",
        {"steps": (1000, 20)},
    ),
    "embedding": Workload(
        embedding,
        "{reads:,} rows of a {rows:,} x {columns} table",
        {"rows": (5000, 6), "columns": (64, 3), "reads": (10_000, 10)},
    ),
}

# They have no derivatives by hand: agnograd's are what peers are compared with.
CONVNETS = {
    arch: Workload(
        convnet,
        f"{arch}, batch {{batch}}, channels divided by {{narrow}}",
        {"arch": (arch, arch), "batch": (16, 2), "narrow": (1, 16)},
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
        {
            "batch": (256, 4),
            "layers": ((64, 64, 10), (5, 6, 3)),
            "loss": ("squared error", "squared error"),
        },
        needs="vmap",
    ),
    "per-example-entropy": Workload(
        per_example,
        "gradients of {loss}, {batch} x {layers}, tanh, float64",
        {
            "batch": (256, 4),
            "layers": ((64, 64, 10), (5, 6, 3)),
            "loss": ("cross-entropy", "cross-entropy"),
        },
        needs="vmap",
    ),
    "jacobian": Workload(
        jacobian,
        "of tanh(A @ sin(A @ x)), {size} elements, float64",
        {"size": (200, 20)},  # enough for passes to be computed at once
        needs="vmap",
    ),
    "hessian": Workload(
        logistic_hessian,
        "of a logistic regression, {parameters} parameters, {points} points, float64",
        {"points": (500, 30), "parameters": (300, 20)},
        needs="vmap",
    ),
}

LAPLACIANS = {
    "laplacian": Workload(
        network_laplacian,
        "of a network {layers} -> 1 by its inputs, {points} points, tanh, float32",
        {"points": (128, 3), "layers": ((50, 128, 128), (4, 6, 5))},
        needs="vmap",
    ),
    "laplacian-loss": Workload(
        network_loss,
        "gradient of the squared Laplacians of a network {layers} -> 1, {points} points, float32",
        {"points": (128, 3), "layers": ((50, 128, 128), (4, 6, 5))},
        needs="vmap",
    ),
}

_TABLES = ChainMap(LAPLACIANS, WORKLOADS, CONVNETS, BATCHES, HELD_OUT)


def workload_named(name: str) -> Workload:
    """Return a workload of any table."""
    return _TABLES[name]
