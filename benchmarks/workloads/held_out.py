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
        full={"points": 500, "parameters": 30},
        small={"points": 8, "parameters": 3},
    ),
    "softmax-regression": Workload(
        softmax_regression,
        "{points} points, {parameters} parameters, {classes} classes, float64",
        full={"points": 128, "parameters": 30, "classes": 10},
        small={"points": 6, "parameters": 4, "classes": 3},
    ),
    "rosenbrock": Workload(
        valley,
        "the gradient of Rosenbrock's function of {size:,}",
        full={"size": 10_000},
        small={"size": 7},
    ),
    "pair-potential": Workload(
        pairs,
        "the forces between {particles} particles",
        full={"particles": 60},
        small={"particles": 5},
    ),
    "lorenz": Workload(
        lorenz,
        "{steps} steps of Lorenz's equations",
        full={"steps": 200},
        small={"steps": 6},
    ),
    "heat-equation": Workload(
        heat,
        "{steps} steps on a ring of {points:,} points",
        full={"steps": 50, "points": 2000},
        small={"steps": 4, "points": 9},
    ),
    "layer-norm": Workload(
        layer_norm,
        "{rows} x {width}, with a gain, and tanh",
        full={"rows": 64, "width": 128},
        small={"rows": 3, "width": 5},
    ),
    "piecewise": Workload(
        piecewise,
        "where and clip, {size:,} float64",
        full={"size": 1_000_000},
        small={"size": 11},
    ),
    "rectified-float32": Workload(
        rectified,
        "{batch} x {layers}, maximum(x, 0), float32",
        full={"batch": 64, "layers": (32, 64, 10)},
        small={"batch": 4, "layers": (5, 6, 3)},
    ),
    "gated-recurrent": Workload(
        gated,
        "{steps} steps of a gated unit, {batch} x {size} to {hidden}",
        full={"steps": 30, "batch": 8, "size": 16, "hidden": 32},
        small={"steps": 4, "batch": 2, "size": 3, "hidden": 4},
    ),
    "log-determinant": Workload(
        log_determinant,
        "of a covariance, {size} x {size}",
        full={"size": 50},
        small={"size": 4},
        needs="linalg",
    ),
    "polynomial": Workload(
        polynomial,
        "Horner's scheme of degree {degree}, {points:,} points",
        full={"degree": 12, "points": 10_000},
        small={"degree": 4, "points": 9},
    ),
    "moving-window": Workload(
        moving_window,
        "{width} weights along {length:,} samples, tanh",
        full={"length": 5000, "width": 8},
        small={"length": 12, "width": 3},
    ),
}
