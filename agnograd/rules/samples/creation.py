"""Samples of the creation functions."""

from agnograd.extend import Sample, array
from agnograd.rules.samples.shared import LAYOUTS

# Arrays as bounds go beyond the standard, which has Python scalars there.
samples = [
    Sample("arange", array(values=2.5), backends=("numpy",)),
    Sample("arange", 0.0, array(values=2.5), backends=("numpy",)),
    Sample("arange", 0.0, 2.2, array(values=0.7), backends=("numpy",)),
    Sample("arange", array(values=5.3), 2.5, -1.0, backends=("numpy",)),
    Sample("arange", array(values=1.0), array(values=3.2), array(values=0.5), backends=("numpy",)),
    Sample("arange", array(values=3.5), 2.5, 1.0, backends=("numpy",)),
    Sample("full", (2, 3), array()),
    Sample("full", (), array()),
    Sample("full", 3, array()),
    Sample("full", (0,), array()),
    Sample("full", (2,), array(), dtype="dtype:complex128"),
    Sample("full", (2,), array(dtype="complex128")),
    Sample("full", (2,), array(dtype="float32"), dtype="dtype:float64", order=1),
    Sample("full_like", array(2, dtype="int64"), array(values=3, dtype="int64"), order=0),
    Sample("full_like", array(2, 3), array()),
    Sample("full_like", array(), array()),
    Sample("full_like", array(0, 2), array()),
    Sample("full_like", array(2, dtype="complex128"), array()),
    Sample("full_like", array(2), array(), dtype="dtype:complex128"),
    Sample("linspace", array(), array(), 4, backends=("numpy",)),
    Sample("linspace", array(), array(), 3, endpoint=False, backends=("numpy",)),
    Sample("linspace", array(), array(), 1, backends=("numpy",)),
    Sample("linspace", array(), array(), 0, backends=("numpy",)),
    Sample("linspace", 0.5, array(), 3, backends=("numpy",)),
    Sample("linspace", array(), 1.0, 3, endpoint=False, backends=("numpy",)),
    Sample(
        "linspace", array(dtype="complex128"), array(dtype="complex128"), 3, backends=("numpy",)
    ),
    Sample("linspace", array(), array(), 3, dtype="dtype:complex128", backends=("numpy",)),
    Sample("meshgrid", array(2), array(3)),
    Sample("meshgrid", array(2), array(3), array(1), indexing="ij"),
    Sample("meshgrid", array(2), array(3), array(1), array(2)),
    Sample("meshgrid", array(3)),
    Sample("meshgrid", array(3), indexing="ij"),
    Sample("meshgrid", array(), array(2)),
    Sample("meshgrid", array(0), array(2)),
    Sample("meshgrid", array(2, layout="strided"), array(3, layout="reversed"), indexing="ij"),
    Sample("meshgrid", array(2, dtype="complex128"), array(2, dtype="complex128")),
    Sample("meshgrid", array(2, dtype="float32"), array(2), order=1, backends=("numpy",)),
]
samples += [
    sample
    for name in ("tril", "triu")
    for sample in (
        Sample(name, array(2, 3)),
        Sample(name, array(2, 3, 3), k=1),
        Sample(name, array(3, 3), k=-1),
        Sample(name, array(2, 3), k=-5),
        Sample(name, array(2, 3), k=5),
        Sample(name, array(0, 2)),
        Sample(name, array(2, 2, dtype="complex128")),
        *(Sample(name, array(3, 2, layout=layout)) for layout in LAYOUTS),
    )
]
