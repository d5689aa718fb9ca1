"""What the ops are checked on, with one rank; tests of the package check them with several."""

from agnograd.extend import Sample, array
from agnograd_distributed._communicator import Single

__all__ = ["samples"]

_one = Single()

samples = [
    Sample("dist.all_sum", array(2, 3), _one),
    Sample("dist.all_sum", array(), _one),
    Sample("dist.all_sum", array(0, 2), _one),
    Sample("dist.all_sum", array(3, layout="strided", dtype="complex128"), _one),
    Sample("dist.all_gather", array(2, 3), _one),
    Sample("dist.all_gather", array(2, 3, layout="transposed"), _one, axis=1),
    Sample("dist.reduce_scatter", array(2, 3), _one),
    Sample("dist.reduce_scatter", array(2, 3, dtype="float32"), _one, axis=-1),
    Sample("dist.all_to_all", array(2, 3), _one),
    Sample("dist.all_to_all", array(2, 3, layout="reversed"), _one, axis=1),
    Sample("dist.broadcast", array(2, 3), _one),
    Sample("dist.broadcast", array(2), _one, root=0),
    Sample("dist.sum_to", array(2, 3), _one),
    Sample("dist.sum_to", array(2), _one, root=0),
    Sample("dist.shift", array(2, 3), _one),
    Sample("dist.shift", array(2, 3), _one, 1, periodic=True),
    Sample("dist.shift", array(2, 3), _one, offset=0),
    Sample("dist.halo", array(3, 2), _one),
    Sample("dist.halo", array(2, 3), _one, 2, axis=1, periodic=True),
    Sample("dist.halo", array(3), _one, width=3, axis=-1),
]
