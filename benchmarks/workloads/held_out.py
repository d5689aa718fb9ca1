"""Workloads that nothing in agnograd was tuned for: each is of another field."""

from __future__ import annotations

from benchmarks.workloads.case import Workload
from benchmarks.workloads.dynamics import (
    gated,
    heat,
    lorenz,
    moving_window,
    pairs,
    piecewise,
    valley,
)
from benchmarks.workloads.estimates import (
    layer_norm,
    log_determinant,
    logistic_regression,
    polynomial,
    rectified,
    softmax_regression,
)

__all__ = ["HELD_OUT"]

HELD_OUT = {
    "logistic-regression": Workload(
        logistic_regression,
        "{points} points, {parameters} parameters, float64",
        {"points": (500, 8), "parameters": (30, 3)},
    ),
    "softmax-regression": Workload(
        softmax_regression,
        "{points} points, {parameters} parameters, {classes} classes, float64",
        {"points": (128, 6), "parameters": (30, 4), "classes": (10, 3)},
    ),
    "rosenbrock": Workload(
        valley,
        "the gradient of Rosenbrock's function of {size:,}",
        {"size": (10_000, 7)},
    ),
    "pair-potential": Workload(
        pairs,
        "the forces between {particles} particles",
        {"particles": (60, 5)},
    ),
    "lorenz": Workload(
        lorenz,
        "{steps} steps of Lorenz's equations",
        {"steps": (200, 6)},
    ),
    "heat-equation": Workload(
        heat,
        "{steps} steps on a ring of {points:,} points",
        {"steps": (50, 4), "points": (2000, 9)},
    ),
    "layer-norm": Workload(
        layer_norm,
        "{rows} x {width}, with a gain, and tanh",
        {"rows": (64, 3), "width": (128, 5)},
    ),
    "piecewise": Workload(
        piecewise,
        "where and clip, {size:,} float64",
        {"size": (1_000_000, 11)},
    ),
    "rectified-float32": Workload(
        rectified,
        "{batch} x {layers}, maximum(x, 0), float32",
        {"batch": (64, 4), "layers": ((32, 64, 10), (5, 6, 3))},
    ),
    "gated-recurrent": Workload(
        gated,
        "{steps} steps of a gated unit, {batch} x {size} to {hidden}",
        {"steps": (30, 4), "batch": (8, 2), "size": (16, 3), "hidden": (32, 4)},
    ),
    "log-determinant": Workload(
        log_determinant,
        "of a covariance, {size} x {size}",
        {"size": (50, 4)},
        needs="linalg",
    ),
    "polynomial": Workload(
        polynomial,
        "Horner's scheme of degree {degree}, {points:,} points",
        {"degree": (12, 4), "points": (10_000, 9)},
    ),
    "moving-window": Workload(
        moving_window,
        "{width} weights along {length:,} samples, tanh",
        {"length": (5000, 12), "width": (8, 3)},
    ),
}
