"""What the ops are checked on.

Differences of a gamma number are not its implicit derivative, so those are checked to order 0
here, and against differences of quantiles by tests.
"""

from typing import Any

from agnograd.extend import Sample, array

__all__ = ["samples"]

_KEY = array(values=[2**31 + 3, 7], dtype="uint32")
_KEYS = array(values=[[1, 2], [3, 4], [5, 6]], dtype="uint32")
_SINGLE: Any
_DOUBLE: Any
_SINGLE, _DOUBLE = {"dtype": "dtype:float32"}, {"dtype": "dtype:float64"}
_SHAPES = array(2, 3, low=0.3, high=3.0)


def _definite(x: Any, xp: Any) -> Any:
    """Return positive definite matrices."""
    return xp.matmul(x, xp.matrix_transpose(x)) + xp.eye(x.shape[-1], dtype=x.dtype)


def _lower(x: Any, xp: Any) -> Any:
    return xp.tril(x)


_STANDARD = ("uniform", "normal", "exponential", "gumbel")

samples = [
    Sample("random.key", 7),
    Sample("random.key", -(2**70)),
    Sample("random.split", _KEY),
    Sample("random.split", _KEYS, (2, 2)),
    Sample("random.split", 7, num=0),
    Sample("random.fold_in", _KEY, 5),
    Sample("random.fold_in", _KEY, array(values=[1, 2, 3], dtype="int64")),
    Sample("random.fold_in", _KEYS, 2**32 - 1),
    Sample("random.bits", _KEY, (2, 3)),
    Sample("random.bits", _KEYS, 2),
    *(
        sample
        for name in _STANDARD
        for sample in (
            Sample(f"random.standard_{name}", _KEY, **_DOUBLE),
            Sample(f"random.standard_{name}", _KEY, (2, 3), **_SINGLE),
            Sample(f"random.standard_{name}", _KEYS, (2,), **_DOUBLE),
            Sample(f"random.standard_{name}", (3, 4), (0, 2)),
        )
    ),
    Sample("random.order", _KEY, 5),
    Sample("random.order", _KEYS, 3),
    Sample("random.order", 7, 0),
    Sample("random.permutation", _KEY, 5),
    Sample("random.permutation", _KEY, array(4)),
    Sample("random.permutation", _KEY, array(3, 4, layout="strided"), axis=1),
    Sample("random.categorical", _KEY, array(3, 4)),
    Sample("random.categorical", _KEY, array(4, 3), (2, 3), axis=0),
    Sample("random.exp", array(3, low=-2.0, high=2.0)),
    Sample("random.exp", array(0, 2)),
    Sample("random.exp", array(2, 2, layout="transposed", dtype="float32")),
    Sample("random.exp", array()),
    Sample("random.expit", array(3, low=-3.0, high=3.0)),
    Sample("random.expit", array(2, 2, layout="strided")),
    Sample("random.expit", array(dtype="float32")),
    Sample("random.scaled", array(3), array(2, 1), array(2, 3)),
    Sample("random.scaled", array(3), 0.5, array(3)),
    Sample("random.scaled", array(0), array(), 2.0),
    Sample("random.quotient", array(3), array(2, 1, low=0.5, high=2.0)),
    Sample("random.quotient", array(2, dtype="float32"), 3.0),
    Sample("random.quotient", array(0), array(low=1.0)),
    Sample("random.uniform", _KEY, (2, 3), **_SINGLE),
    Sample("random.uniform", _KEY, None, array(3), array(2, 1, low=1.0, high=2.0)),
    Sample("random.uniform", _KEY, (2,), low=array(dtype="float32"), high=3),
    Sample("random.normal", _KEY, (2, 3), **_DOUBLE),
    Sample("random.normal", _KEY, None, array(3), array(2, 1)),
    Sample("random.normal", _KEY, (2, 3), scale=array(3, dtype="float32")),
    Sample("random.normal", _KEYS, None, array(3), 2.0),
    Sample("random.gumbel", _KEY, (2, 3), array(3), array(2, 1)),
    Sample("random.gumbel", _KEY, (0,), array()),
    Sample("random.exponential", _KEY, (2, 3), array(3, low=0.5)),
    Sample("random.exponential", _KEY, (4,), **_SINGLE),
    Sample("random.standard_gamma", _KEY, _SHAPES, order=0),
    Sample("random.standard_gamma", _KEY, array(3, low=0.3, dtype="float32"), order=0),
    Sample("random.standard_gamma", _KEYS, array(3, 2, low=0.3), order=0),
    Sample("random.standard_gamma", _KEY, array(0, 2), order=0),
    Sample("random.standard_gamma", 7, array(low=1.0), order=0),
    Sample("random.loggamma", _KEY, _SHAPES, order=0),
    Sample("random.loggamma", _KEY, array(3, low=0.3, dtype="float32"), order=0),
    Sample("random.loggamma", _KEY, array(3, low=1e-3, high=0.1), order=0),
    Sample("random.gamma", _KEY, (2, 3), array(3, low=0.5), array(2, 1), order=0),
    Sample("random.gamma", _KEY, (2, 3), 2.0, array(2, 1)),
    Sample("random.beta", _KEY, (2, 3), array(3, low=0.5), array(2, 1, low=0.5), order=0),
    Sample("random.beta", _KEY, (2,), 0.5, 0.5, **_DOUBLE),
    Sample("random.dirichlet", _KEY, array(2, 3, low=0.5), order=0),
    Sample("random.dirichlet", _KEY, array(4, low=0.5, dtype="float32"), (2,), order=0),
    Sample(
        "random.standard_truncated_normal",
        _KEY,
        array(2, 3, low=-2.0, high=-1.0),
        array(2, 3, low=0.5, high=2.0),
    ),
    Sample("random.standard_truncated_normal", _KEYS, array(3, low=1.0), array(3, low=2.0, high=3)),
    Sample(
        "random.standard_truncated_normal",
        7,
        array(2, low=0.5, dtype="float32"),
        array(values=[float("inf"), 3.0], dtype="float32"),
        order=1,
    ),
    Sample(
        "random.truncated_normal",
        *(_KEY, (2, 3), -0.5, array(3, low=0.5), array(), array(2, 1, low=0.5, high=2.0)),
    ),
    Sample("random.truncated_normal", _KEY, (3,), lower=array(3, low=-1.0, high=0.0)),
    Sample("random.truncated_normal", _KEY, (4,), 0.0, **_SINGLE),
    Sample("random.factor", array(2, 3, 3), before=_definite),
    Sample("random.factor", array(0, 0)),
    Sample("random.factor", array(2, 2, dtype="float32"), before=_definite, order=1),
    Sample("random.lower_times", array(3, 3), array(3), before=_lower),
    Sample("random.lower_times", array(2, 1, 3, 3), array(2, 3), before=_lower),
    Sample("random.lower_times", array(2, 2, layout="transposed"), array(4, 2), before=_lower),
    Sample(
        "random.multivariate_normal",
        _KEY,
        array(3),
        array(values=[[2.0, 0.5, 0.1], [0.5, 1.5, 0.2], [0.1, 0.2, 1.0]]),
        (2,),
    ),
    Sample("random.multivariate_normal", _KEY, array(2, 2), array(values=[[1.0, 0.5], [0.5, 1.0]])),
]
