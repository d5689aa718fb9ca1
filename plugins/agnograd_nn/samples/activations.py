"""Samples of activation functions and losses."""

from typing import Any

from agnograd.extend import Sample, array

_away: dict[str, Any] = {"low": 0.2, "high": 2.0}  # from 0, where relu has no derivative

samples = [
    Sample("nn.relu", array(2, 3, **_away)),
    Sample("nn.relu", array(2, 3, low=-2.0, high=-0.2, layout="strided")),
    Sample("nn.relu", array(values=[-1.5, 0.5, 2.0])),
    Sample("nn.relu", array(**_away)),
    Sample("nn.relu", array(0, 2)),
    Sample("nn.relu", array(3, dtype="float32", **_away)),
    *(
        sample
        for op in ("sigmoid", "silu", "gelu")
        for sample in (
            Sample(f"nn.{op}", array(2, 3, low=-3.0, high=3.0)),
            Sample(f"nn.{op}", array(2, 3, layout="strided")),
            Sample(f"nn.{op}", array()),
            Sample(f"nn.{op}", array(0, 2)),
            Sample(f"nn.{op}", array(values=[-30.0, 0.0, 30.0])),
            Sample(f"nn.{op}", array(3, dtype="float32")),
        )
    ),
    Sample("nn.gelu", array(2, 3, low=-3.0, high=3.0), approximate="tanh"),
    *(
        sample
        for op in ("softmax", "log_softmax")
        for sample in (
            Sample(f"nn.{op}", array(2, 3)),
            Sample(f"nn.{op}", array(2, 3, 2, layout="reversed"), axis=1),
            Sample(f"nn.{op}", array(2, 3, layout="transposed"), axis=-2),
            Sample(f"nn.{op}", array(0, 2), axis=1),
            Sample(f"nn.{op}", array(values=[[700.0, 701.0, 699.5], [-800.0, -799.0, -799.5]])),
            Sample(f"nn.{op}", array(2, 3, dtype="float32")),
        )
    ),
]

_classes = array(values=[2, 0, 1], dtype="int64")
_weights = array(4, low=0.5, high=1.5)
_shares = array(3, 4, low=0.1, high=0.9)

samples += [
    Sample("nn.cross_entropy", array(3, 4), _classes),
    Sample("nn.cross_entropy", array(3, 4, dtype="float32"), _classes),
    Sample("nn.cross_entropy", array(3, 4), array(values=[2, 0, 1], dtype="uint8")),
    Sample("nn.cross_entropy", array(3, 4), _classes, _weights, reduction="sum"),
    Sample("nn.cross_entropy", array(3, 4), _classes, _weights, label_smoothing=0.2),
    Sample("nn.cross_entropy", array(3, 4), _classes, _weights, ignore_index=0),
    Sample("nn.cross_entropy", array(3, 4), _classes, weight=_weights, reduction="none"),
    Sample(
        "nn.cross_entropy",
        array(2, 4, 3, layout="strided"),
        array(2, 3, low=0, high=4, dtype="int64"),
    ),
    Sample("nn.cross_entropy", array(4), array(values=2, dtype="int64")),
    Sample("nn.cross_entropy", array(3, 4), _shares),
    Sample("nn.cross_entropy", array(3, 4), _shares, _weights, label_smoothing=0.1),
    Sample("nn.cross_entropy", array(3, 4), _shares, reduction="none"),
    Sample("nn.cross_entropy", array(3, 4), _shares, _weights, reduction="sum"),
    Sample("nn.cross_entropy", array(2, 3, 2), array(2, 3, 2, low=0.1, high=0.9)),
]
