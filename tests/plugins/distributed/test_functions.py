"""Means, broadcasts and shards: what is done around a step by hand."""

import numpy as np
import pytest

import agnograd as ag
from agnograd_distributed import communicator, mean, shard
from ranks import ENGINES, run, started

FUNCTIONS = """
    def caught(function, *args):
        try:
            function(*args)
        except (CommunicationError, ValueError) as error:
            return str(error)

    x = np.asarray([1.0, 2.0]) * (comm.rank + 1)
    grads = {"w": x, "b": [x.astype("f4"), x * 1j], "v": ag.Variable(x)}
    found = ad.mean(grads, comm)
    weighted = ad.mean(grads, comm, weight=1.0 + 2.0 * comm.rank)
    tell(
        mean=[found["w"].tolist(), found["b"][0].tolist(), found["b"][1].imag.tolist(),
              found["v"].tolist(), str(found["b"][0].dtype)],
        weighted=weighted["w"].tolist(),
        weightless=caught(lambda: ad.mean(grads, comm, weight=0.0)),
        broadcast=ad.broadcast(grads["b"], comm, root=1)[0].tolist(),
        shard=[each.tolist() for each in ad.shard((np.arange(5), np.arange(5.0)), comm)],
        shapes=caught(ad.broadcast, {"w": x[: comm.rank + 1]}, comm),
        dtypes=caught(ad.mean, {"w": [x, x.astype("f4") if comm.rank else x]}, comm),
        structures=caught(ad.broadcast, {"w": x} if comm.rank else {"v": x}, comm),
    )
"""


@pytest.mark.parametrize("kind", ["local", *ENGINES])
def test_functions_on_two_ranks(tmp_path, kind):
    for rank, (found,) in enumerate(run(tmp_path, 2, FUNCTIONS, **started(kind))):
        assert found["mean"] == [[1.5, 3.0]] * 4 + ["float32"]
        assert found["weighted"] == [1.75, 3.5]
        assert "weights must have a positive sum, not [0.0, 0.0]" in found["weightless"]
        assert found["broadcast"] == [2.0, 4.0]
        assert found["shard"] == [[[0, 1], [0, 1]], [[2, 3, 4], [2, 3, 4]]][rank]
        assert found["shapes"] == (
            "the parameters of the ranks differ: leaf w of rank 1 has shape (2,) and dtype "
            "float64, that of rank 0 has shape (1,) and dtype float64"
        )
        assert "leaf w.1 of rank 1 has shape (2,) and dtype float32" in found["dtypes"]
        assert "rank 1 has" in found["structures"]


def test_alone_a_mean_is_what_it_is_of(xp):
    x = xp.asarray([1.0, 2.0])
    grads = ag.grad(lambda x: xp.sum(x * x))(x.data)
    comm = communicator("none")
    assert bool(xp.all(xp.asarray(mean(grads, comm)) == 2.0 * x).data)
    assert shard(x.data, comm).shape == (2,)
    assert shard(xp.stack([x, x, x]).data, comm).shape == (3, 2)


def test_data_of_several_lengths_cannot_be_divided():
    comm = communicator("none")
    for data in ([np.zeros(2), np.zeros(3)], np.asarray(1.0), []):
        with pytest.raises(ValueError, match="shard: all arrays must have a first axis"):
            shard(data, comm)
