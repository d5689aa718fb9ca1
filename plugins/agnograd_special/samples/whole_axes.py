"""Samples of functions of a whole axis."""

from agnograd.extend import Sample, array

samples = [
    Sample("special.log_sum_exp", array(2, 3)),
    Sample("special.log_sum_exp", array(2, 3), axis=1, keepdims=True),
    Sample("special.log_sum_exp", array(2, 3, layout="transposed"), axis=(0, 1)),
    Sample("special.log_sum_exp", array(values=[1000.0, 999.0, 0.0])),
    Sample("special.log_sum_exp", array(2, dtype="float32"), order=1),
    Sample("special.log_sum_exp", array()),
    Sample("special.log_abs_sum_exp", array(2, 3)),
    Sample("special.log_abs_sum_exp", array(2, 3), axis=1, keepdims=True),
    Sample("special.log_abs_sum_exp", array(2, 3), array(3, low=-1.0, high=1.0), axis=-1),
    Sample("special.log_abs_sum_exp", array(3), array(2, 1, low=0.3), axis=(0, 1)),
    Sample("special.log_abs_sum_exp", array(2, dtype="float32"), order=1),
    Sample("special.log_abs_sum_exp", array()),
    Sample("special.logsumexp", array(2, 3)),
    Sample("special.logsumexp", array(2, 3, layout="transposed"), axis=0),
    Sample("special.logsumexp", array(2, 3), axis=(0, 1), keepdims=True),
    Sample("special.logsumexp", array(values=[1000.0, 999.0, 0.0])),
    Sample("special.logsumexp", array(2, 3), axis=0, return_sign=True),
    Sample("special.logsumexp", array()),
    Sample("special.logsumexp", array(2, dtype="float32"), order=1),
    Sample("special.logsumexp", array(2, 3), 1, array(2, 1, low=0.3, high=1.0)),
    *(
        sample
        for name in ("softmax", "log_softmax")
        for sample in (
            Sample(f"special.{name}", array(2, 3)),
            Sample(f"special.{name}", array(2, 3, layout="transposed"), axis=0),
            Sample(f"special.{name}", array(2, 3), axis=(0, 1)),
            Sample(f"special.{name}", array(3, layout="strided"), axis=-1),
            Sample(f"special.{name}", array(values=[1000.0, 999.0, 990.0])),
            Sample(f"special.{name}", array()),
            Sample(f"special.{name}", array(0, 2), axis=1),
            Sample(f"special.{name}", array(3, dtype="float32"), order=1),
        )
    ),
]
