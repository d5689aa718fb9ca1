"""Numbers of every draw, by which backends are compared.

``python tests/helpers/random_numbers.py`` writes the file of them.
"""

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np

import agnograd as ag

FILE = Path(__file__).with_name("random_numbers.json")
DTYPES = ("float32", "float64")
SHAPE = (3, 700)
INTEGERS = ("key", "split", "fold_in", "bits", "permutation", "categorical")


def powers(low, high, count):
    """Return numbers from one power of 2 to another, whose bits no library and processor decides.

    ``np.geomspace`` rounds differently where NumPy has loops for AVX-512.
    """
    exponents = [low + Fraction(each * (high - low), count - 1) for each in range(count)]
    return [float((1 + each % 1) * Fraction(2) ** math.floor(each)) for each in exponents]


def draws(xp, dtype):
    """Return what each function draws by one key, by its name."""
    random, options = xp.random, {"dtype": getattr(xp, dtype)}
    key = random.key(20240229)

    def between(low, high):
        return xp.asarray(np.asarray(powers(low, high, SHAPE[1])).astype(dtype), **options)

    wide = between(-10, 13)
    low = between(-7, 5) - 10.0
    logits = xp.reshape(between(-3, 3), (7, 100))
    cov = xp.asarray([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]], **options)
    mean = xp.asarray([1.0, -2.0, 0.3], **options)
    return {
        "key": random.key(-(2**100)),
        "split": random.split(key, 9),
        "fold_in": random.fold_in(key, 2**32 - 1),
        "bits": random.bits(key, SHAPE),
        "uniform": random.uniform(key, SHAPE, -1.0, wide),
        "normal": random.normal(key, SHAPE, wide, 0.1, **options),
        "standard_normal": random.normal(key, SHAPE, **options),
        "gumbel": random.gumbel(key, SHAPE, 0.5, wide),
        "exponential": random.exponential(key, SHAPE, wide),
        "gamma": random.gamma(key, SHAPE, wide, 3.0),
        "loggamma": random.loggamma(key, wide),
        "beta": random.beta(key, SHAPE, wide, xp.flip(wide)),
        "dirichlet": random.dirichlet(key, xp.reshape(wide, (140, 5)), (3, 140)),
        "categorical": random.categorical(key, logits, (5, 7)),
        "permutation": random.permutation(key, 1000),
        "truncated_normal": random.truncated_normal(key, SHAPE, low, low + wide, 0.3, 0.7),
        "multivariate_normal": random.multivariate_normal(key, mean, cov, SHAPE),
    }


def summary(array):
    """Return the first numbers, exactly, and a digest of all."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind != "f":
        flat = flat.astype(np.int64)  # indices have another dtype on some libraries
    first = [float(each).hex() if flat.dtype.kind == "f" else int(each) for each in flat[:3]]
    return [*first, hashlib.sha256(flat.astype(flat.dtype.newbyteorder("<")).tobytes()).hexdigest()]


def main():
    """Write what NumPy's backend draws."""
    xp = ag.namespace("numpy")
    found = {
        dtype: {name: summary(each.data) for name, each in draws(xp, dtype).items()}
        for dtype in DTYPES
    }
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
