"""Samples of poolings: values lie apart, so that no step of a difference makes another largest."""

import math
import random
from typing import Any

from agnograd.extend import Sample, array
from agnograd_nn.windows import Window


def _apart(*shape: int) -> Any:
    """Describe an array of this shape, whose values are apart from each other."""
    count = math.prod(shape)
    values: list[Any] = [0.1 * each for each in random.Random(0).sample(range(count), count)]
    for length in shape[:0:-1]:
        values = [values[i : i + length] for i in range(0, len(values), length)]
    return array(values=values)


samples = [
    Sample("nn.max_pool1d", _apart(2, 2, 5), 2),
    Sample("nn.max_pool1d", _apart(1, 2, 6), 3, stride=2, padding=1),
    Sample("nn.max_pool1d", _apart(1, 1, 6), 2, 3, ceil_mode=True),
    Sample("nn.max_pool2d", _apart(1, 2, 4, 5), 3, 2),
    Sample("nn.max_pool2d", _apart(1, 1, 5, 4), (2, 3), (2, 1), (1, 0), (1, 1), ceil_mode=True),
    Sample("nn.max_pool2d", _apart(1, 1, 5, 5), 2, stride=1, dilation=2),
    Sample("nn.max_pool2d", array(0, 2, 4, 4), 2),
    Sample("nn.max_pool3d", _apart(1, 1, 3, 2, 4), 2, stride=1),
    Sample("nn.max_pool3d", _apart(1, 1, 2, 3, 3), (1, 2, 2), padding=(0, 1, 1)),
    Sample("nn.avg_pool1d", array(2, 2, 5), 2),
    Sample("nn.avg_pool1d", array(1, 1, 5, layout="strided"), 3, 2, 1, ceil_mode=True),
    Sample("nn.avg_pool2d", array(1, 2, 4, 5), 3, stride=2, padding=1),
    Sample("nn.avg_pool2d", array(1, 1, 5, 4), 2, 2, 1, ceil_mode=True, count_include_pad=False),
    Sample("nn.avg_pool2d", array(1, 1, 4, 4), (2, 1), divisor_override=3),
    Sample("nn.avg_pool2d", array(1, 1, 4, 4, dtype="float32"), 2),
    Sample("nn.avg_pool2d", array(0, 2, 4, 4), 2),
    Sample("nn.avg_pool3d", array(1, 1, 3, 2, 4), 2, stride=1),
]

_window = Window((2, 3), (2, 1), ((1, 0), (1, 1)), (2, 1))

# An array, and the largest elements of its windows.
_x = array(values=[[[[0.1, -0.7, 0.4], [0.9, -0.2, 0.3], [-0.5, 0.8, -0.9], [0.6, -0.4, 0.2]]]])
_top = array(values=[[[[0.9, 0.9, 0.3], [0.9, 0.9, 0.3]]]])

samples += [
    Sample("nn.max_pooling", _apart(1, 2, 4, 3), window=_window),
    Sample("nn.max_unpooling", array(1, 1, 2, 3), _x, _top, window=_window),
    Sample("nn.max_picking", array(1, 1, 4, 3), _x, _top, window=_window),
    Sample("nn.sum_pooling", array(1, 2, 4, 3), window=_window),
    Sample("nn.sum_unpooling", array(1, 2, 2, 3), shape=(1, 2, 4, 3), window=_window),
]
