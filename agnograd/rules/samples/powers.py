"""Samples of powers, beside those that all element-wise functions have."""

from agnograd.extend import Sample, array

samples = [
    Sample("pow", array(2, low=-2.0, high=2.0), 3),
    Sample("pow", array(2, low=-2.0, high=2.0), 1),
    Sample("pow", array(2, low=-2.0, high=2.0), 0),
    Sample("pow", array(2, low=0.3), -2),
    Sample("pow", array(2, low=0.3), 0.5),
    Sample("pow", array(values=[0.0, 1.0, -1.0]), 2),
    *(
        Sample(
            "pow_slope",
            array(2, 1, low=0.5, high=2.0),
            array(3, low=-1.5, high=1.5),
            by_x1=by_x1,
            by_x2=by_x2,
        )
        for by_x1, by_x2 in ((1, 0), (0, 1), (2, 1), (1, 2))
    ),
    Sample("pow_slope", array(2, low=0.5, high=2.0), 1.5, by_x2=1),
    Sample("pow_slope", 1.5, array(2, low=-1.5, high=1.5)),
    Sample("pow", -2.0, array(2, low=0.3, dtype="complex128")),
    Sample(
        "pow", array(values=[-1.0, 2.0]), array(values=[2, 3], dtype="int64"), backends=("numpy",)
    ),
]
