"""Samples of convolutions."""

from typing import Any

from agnograd.extend import Sample, array
from agnograd_nn.windows import Window

_every: dict[str, Any] = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}

samples = [
    Sample("nn.conv1d", array(2, 2, 5), array(3, 2, 3)),
    Sample("nn.conv1d", array(2, 2, 5), array(3, 2, 3), array(3)),
    Sample("nn.conv1d", array(1, 2, 6, layout="strided"), array(2, 1, 2), stride=2, groups=2),
    Sample("nn.conv1d", array(1, 1, 4), array(1, 1, 2), padding="same"),
    Sample("nn.conv1d", array(0, 2, 5), array(3, 2, 3), array(3)),
    Sample("nn.conv1d", array(1, 2, 4, dtype="complex128"), array(1, 2, 2, dtype="complex128")),
    Sample("nn.conv2d", array(1, 2, 4, 4), array(2, 2, 3, 2), array(2)),
    Sample("nn.conv2d", array(1, 2, 5, 4), array(2, 1, 2, 2), array(2), **_every),
    Sample("nn.conv2d", array(2, 2, 3, 2), array(2, 2, 1, 1), bias=array(2)),
    Sample("nn.conv2d", array(1, 1, 3, 4, layout="transposed"), array(1, 1, 2, 2), padding="valid"),
    Sample("nn.conv2d", array(1, 1, 3, 4), array(1, 1, 3, 2, layout="reversed"), padding="same"),
    Sample("nn.conv2d", array(1, 1, 3, 3, dtype="float32"), array(1, 1, 2, 2, dtype="float32")),
    Sample("nn.conv2d", array(1, 1, 3, 3, dtype="float32"), array(1, 1, 2, 2)),
    Sample("nn.conv3d", array(1, 1, 3, 2, 3), array(1, 1, 2, 2, 2), array(1)),
    Sample("nn.conv3d", array(1, 1, 3, 3, 2), array(1, 1, 2, 1, 2), stride=(2, 1, 1), padding=1),
    Sample("nn.conv_transpose1d", array(2, 2, 3), array(2, 3, 3), array(3)),
    Sample("nn.conv_transpose1d", array(1, 1, 3), array(1, 1, 2), stride=3, output_padding=2),
    Sample(
        "nn.conv_transpose1d",
        array(1, 2, 3),
        array(2, 1, 2),
        stride=2,
        padding=1,
        output_padding=3,
        dilation=4,
    ),
    Sample(
        "nn.conv_transpose1d",
        array(1, 1, 3, dtype="complex128"),
        array(1, 1, 2, dtype="complex128"),
    ),
    Sample("nn.conv_transpose2d", array(1, 2, 2, 3), array(2, 2, 2, 2), array(2)),
    Sample(
        "nn.conv_transpose2d",
        array(1, 2, 3, 2, layout="strided"),
        array(2, 1, 2, 3),
        array(2),
        stride=(2, 1),
        padding=(1, 0),
        output_padding=(1, 0),
        groups=2,
        dilation=(1, 2),
    ),
    Sample("nn.conv_transpose2d", array(0, 2, 2, 3), array(2, 2, 2, 2), array(2)),
    Sample("nn.conv_transpose3d", array(1, 1, 2, 1, 2), array(1, 1, 2, 2, 1), array(1)),
    Sample("nn.conv_transpose3d", array(1, 1, 2, 2, 1), array(1, 2, 1, 2, 2), stride=(1, 2, 1)),
]

_window = Window((3, 2), (2, 1), ((1, 0), (0, 1)), (1, 2))
_shape: dict[str, Any] = {"window": _window, "groups": 2}

samples += [
    Sample("nn.convolution", array(1, 2, 4, 3), array(2, 1, 3, 2), **_shape),
    Sample("nn.convolution", array(1, 2, 4, 3), array(2, 1, 3, 2), array(2), **_shape),
    Sample(
        "nn.convolution_input", array(1, 2, 2, 2), array(2, 1, 3, 2), shape=(1, 2, 4, 3), **_shape
    ),
    Sample(
        "nn.convolution_weight", array(1, 2, 4, 3), array(1, 2, 2, 2), shape=(2, 1, 3, 2), **_shape
    ),
]
