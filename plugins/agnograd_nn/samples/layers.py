"""Samples of layers: linear, normalisation, embedding, dropout and attention."""

from agnograd.extend import Sample, array

_values = array(3, low=0.5, high=1.5)

samples = [
    Sample("nn.linear", array(4, 3), array(2, 3), array(2)),
    Sample("nn.linear", array(2, 4, 3, layout="strided"), array(2, 3, layout="transposed")),
    Sample("nn.linear", array(3), array(2, 3), bias=array(2)),
    Sample("nn.linear", array(0, 3), array(2, 3), array(2)),
    Sample("nn.linear", array(2, 3, dtype="complex128"), array(2, 3, dtype="complex128")),
    Sample("nn.layer_norm", array(2, 3), 3),
    Sample("nn.layer_norm", array(2, 3), (3,), array(3), array(3)),
    Sample("nn.layer_norm", array(2, 2, 3, layout="strided"), (2, 3), weight=array(2, 3), eps=0.1),
    Sample("nn.layer_norm", array(2, 3, dtype="float32"), 3, bias=array(3, dtype="float32")),
    Sample("nn.batch_norm", array(4, 3), training=True),
    Sample("nn.batch_norm", array(2, 3, 2), None, None, array(3), array(3), training=True),
    Sample("nn.batch_norm", array(2, 3, 2), array(3), _values, weight=array(3), training=True),
    Sample(
        "nn.batch_norm",
        array(2, 3, 1, 2, layout="transposed"),
        array(3),
        _values,
        array(3),
        array(3),
        training=True,
        momentum=0.3,
        eps=0.1,
    ),
    Sample("nn.batch_norm", array(2, 3, 2), array(3), _values),
    Sample("nn.batch_norm", array(2, 3), array(3), _values, array(3), array(3), eps=0.1),
    Sample("nn.embedding", array(values=[2, 0, 2], dtype="int64"), array(4, 3)),
    Sample("nn.embedding", array(2, 3, low=0, high=4, dtype="int64"), array(4, 2)),
    Sample(
        "nn.embedding",
        array(2, 3, low=0, high=4, dtype="int64"),
        array(4, 2),
        padding_idx=1,
        order=0,
    ),
    Sample("nn.embedding", array(values=2, dtype="int64"), array(4, 3), padding_idx=-2, order=0),
    Sample("nn.dropout", array(3, 5), 7),
    Sample("nn.dropout", array(3, 5, layout="strided"), (1, 2), 0.25),
    Sample("nn.dropout", array(7), array(values=[3, 4], dtype="int64"), p=0.9),
    Sample("nn.dropout", array(2, 3), 1, training=False),
    Sample("nn.dropout", array(2, 3), 1, p=1.0),
    Sample("nn.dropout", array(), 1),
    Sample("nn.dropout", array(0, 2), 1),
]

_q, _k, _v = array(2, 3, 2), array(2, 4, 2), array(2, 4, 3)
_mask = array(
    values=[
        [True, False, True, True],
        [False, True, False, False],
        [True, True, True, False],
    ],
    dtype="bool",
)

samples += [
    Sample("nn.scaled_dot_product_attention", _q, _k, _v),
    Sample("nn.scaled_dot_product_attention", _q, _k, _v, _mask),
    Sample("nn.scaled_dot_product_attention", _q, _k, _v, array(3, 4), scale=0.3),
    Sample("nn.scaled_dot_product_attention", _q, _k, _v, is_causal=True),
    Sample("nn.scaled_dot_product_attention", _q, _k, _v, _mask, is_causal=True),
    Sample(
        "nn.scaled_dot_product_attention",
        array(2, 2, 3, 2, layout="strided"),
        array(2, 2, 3, 2, layout="reversed"),
        array(2, 2, 3, 2),
        attn_mask=array(2, 1, 3, 3),
    ),
]
