"""What the ops are checked on, with one rank; tests of the package check them with several."""

from typing import Any

from agnograd.extend import Sample, array, backend_of, device_of
from agnograd_distributed._communicator import Communicator, Single

__all__ = ["samples"]


class _Silent(Communicator):
    """Two ranks, of which the other one takes all messages, and sends zeros.

    So its loss is a constant, and the gradient of this one's is what differences of it are.
    """

    size = 2

    def send(self, array: Any, to: int) -> None:
        self.check_rank("send", to)

    def receive(self, like: Any, source: int) -> Any:
        self.check_rank("receive", source)
        xp = backend_of(like).namespace()
        return xp.zeros(like.shape, dtype=like.dtype, device=device_of(like))


_one, _other = Single(), _Silent()

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
    Sample("dist.send", array(2, 3), _other, 1),
    Sample("dist.send", array(), _other, to=1),
    Sample("dist.send", array(2, layout="strided", dtype="complex128"), _other, 1),
    Sample("dist.send", array(0, 2, dtype="float32"), _other, 1),
    Sample("dist.recv", array(), _other, 1, shape=(2, 3)),
    Sample("dist.recv", array(2, 3, layout="transposed"), _other, source=1),
    Sample("dist.recv", array(2, dtype="float32"), _other, 1, dtype="dtype:complex64"),
    Sample("dist.shift", array(2, 3), _one),
    Sample("dist.shift", array(2, 3), _one, 1, periodic=True),
    Sample("dist.shift", array(2, 3), _one, offset=0),
    Sample("dist.halo", array(3, 2), _one),
    Sample("dist.halo", array(2, 3), _one, 2, axis=1, periodic=True),
    Sample("dist.halo", array(3), _one, width=3, axis=-1),
]
