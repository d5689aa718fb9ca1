"""Communicators: collectives of real processes, by every way to start them."""

import sys
from multiprocessing.connection import Pipe, wait

import numpy as np
import pytest

from agnograd_distributed import CommunicationError, Communicator, communicator
from agnograd_distributed._hub import Line
from ranks import ENGINES, LOCAL, run, started

COLLECTIVES = """
    x = np.arange(6.0) + 10 * comm.rank
    small, large = x.astype("f4"), np.full(100_000, comm.rank + 1.0)
    after = (comm.rank + 1) % comm.size
    if comm.size > 1:
        comm.send(large, after)
        comm.send(x, after)
        first, second = (comm.receive(like, comm.rank - 1 if comm.rank else comm.size - 1)
                         for like in (large, x))
    else:
        first, second = large, x
    channel = comm.channel()
    comm.barrier()
    tell(
        objects=comm.objects({"rank": comm.rank}),
        all_sum=comm.all_sum(x).tolist(),
        single=comm.all_sum(small).tolist(),
        large=[float(each[-1]) for each in (comm.all_sum(large) for _ in range(4))],
        scalar=float(comm.all_sum(np.asarray(2.0))),
        empty=comm.all_sum(np.zeros((0, 3))).shape,
        flags=comm.all_gather(np.asarray([comm.rank == 0])).tolist(),
        all_gather=comm.all_gather(x[:1]).tolist(),
        reduce_scatter=comm.reduce_scatter(x).tolist(),
        all_to_all=comm.all_to_all(x).tolist(),
        broadcast=comm.broadcast(x, comm.size - 1).tolist(),
        sent=[float(first[0]), second.tolist()],
        channel=channel.objects(comm.rank),
    )
"""


def check(told, size):
    xs = [np.arange(6.0) + 10 * rank for rank in range(size)]
    total, length = sum(xs), 6 // size
    for rank, (found,) in enumerate(told):
        part = slice(rank * length, (rank + 1) * length)
        before = (rank - 1) % size
        assert found == {
            "objects": [{"rank": each} for each in range(size)],
            "all_sum": total.tolist(),
            "single": total.tolist(),
            "large": [size * (size + 1) / 2] * 4,
            "scalar": 2.0 * size,
            "empty": [0, 3],
            "flags": [each == 0 for each in range(size)],
            "all_gather": [10.0 * each for each in range(size)],
            "reduce_scatter": total[part].tolist(),
            "all_to_all": np.concatenate([x[part] for x in xs]).tolist(),
            "broadcast": xs[-1].tolist(),
            "sent": [before + 1.0, xs[before].tolist()],
            "channel": list(range(size)),
        }


@pytest.mark.parametrize("size", [1, 3])
def test_collectives_of_local_processes(tmp_path, size):
    check(run(tmp_path, size, COLLECTIVES), size)


@pytest.mark.parametrize("kind", ENGINES)
def test_collectives_of_other_engines(tmp_path, kind):
    check(run(tmp_path, 2, COLLECTIVES, **started(kind)), 2)


TENSORS = """
    import torch
    from agnograd_distributed import _communicator

    device = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
    to_host = _communicator.to_host
    collectives = {
        "all_sum": lambda x: comm.all_sum(x),
        "all_sum of a number": lambda x: comm.all_sum(x[1, 0]),
        "all_sum of nothing": lambda x: comm.all_sum(x[:0]),
        "all_gather of columns": lambda x: comm.all_gather(x[:2].T),
        "reduce_scatter": lambda x: comm.reduce_scatter(x),
        "all_to_all": lambda x: comm.all_to_all(x),
        "broadcast": lambda x: comm.broadcast(x, comm.size - 1),
    }
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.complex64, torch.int16):
        x = (torch.arange(6.0) + 10 * comm.rank).to(dtype).reshape(6, 1).to(device)
        host = x.to("cpu", torch.complex128).numpy()
        for name, collective in collectives.items():
            expected = collective(host)
            _communicator.to_host = to_host if dtype is torch.int16 else None
            found = collective(x)
            _communicator.to_host = to_host
            same = found.to("cpu", torch.complex128).numpy() == expected
            tell(name=name, right=bool(same.all()), shape=found.shape == expected.shape,
                 dtype=str(found.dtype), device=found.device.type == device)
"""


def check_tensors(told):
    for found in told:
        assert len(found) == 35
        for number, each in enumerate(found):
            dtype = ("float64", "float32", "bfloat16", "complex64", "int16")[number // 7]
            right = {"right": True, "shape": True, "device": True, "dtype": f"torch.{dtype}"}
            assert each == {"name": each["name"], **right}


@pytest.mark.slow
def test_tensors_stay_out_of_host_memory(tmp_path):
    check_tensors(run(tmp_path, 2, TENSORS, **started("torch")))


def test_tensors_stay_on_their_devices(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU")
    size = min(2, torch.cuda.device_count())
    comm = "communicator('torch', backend='nccl')"
    check_tensors(run(tmp_path, size, TENSORS, **started("torch"), comm=comm))


def test_arrays_of_every_backend_stay_what_they_are(xp):
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]]).data
    with communicator("none") as comm:
        for found in (
            comm.all_sum(x),
            comm.all_gather(x),
            comm.reduce_scatter(x),
            comm.all_to_all(x),
            comm.broadcast(x),
        ):
            assert type(found) is type(x)
            assert found.dtype == x.dtype
            assert bool(xp.all(xp.asarray(found) == xp.asarray(x)).data)


def test_a_process_that_was_started_alone_is_alone():
    comm = communicator()
    assert (comm.rank, comm.size, repr(comm)) == (0, 1, "<Single, rank 0 of 1>")
    comm.send(np.ones(1), 0)
    assert comm.receive(np.zeros(1), 0).tolist() == [1.0]
    with pytest.raises(CommunicationError, match="one rank, and it has sent nothing to itself"):
        comm.receive(np.ones(1), 0)
    with pytest.raises(CommunicationError, match="python -m agnograd_distributed -n 2"):
        communicator("local")
    with pytest.raises(ValueError, match="no communicator is named 'smoke'; there are local, mpi"):
        communicator("smoke")


def test_the_launcher_waits_for_no_rank_that_does_not_read():
    ours, theirs = Pipe()
    line = Line(ours)
    line.answer(("ok", [b"first"]))
    assert theirs.recv() == ("ok", [b"first"])
    large = "message", 0, bytes(1 << 22)  # more than a connection takes until somebody reads
    line.put(large)
    while wait([theirs], 0.0) == []:
        pass  # until the other thread sends it
    line.answer(("ok", [b"second"]))
    line.answer(("ok", [bytes(1 << 13)]))
    line.put(None)
    assert theirs.recv() == large
    assert theirs.recv() == ("ok", [b"second"])
    assert theirs.recv() == ("ok", [bytes(1 << 13)])
    with pytest.raises(EOFError):  # it is closed
        theirs.recv()
    line.answer(("ok", [b"late"]))  # who is gone reads nothing


class Recorded(Communicator):
    """A communicator of somebody else, of two ranks of which the other one sends the same."""

    size = 2

    def _gather(self, what, data):
        return [data, data]


def test_a_subclass_needs_few_methods():
    comm, x = Recorded(), np.arange(4.0)
    assert comm.all_sum(x).tolist() == [0.0, 2.0, 4.0, 6.0]
    assert comm.reduce_scatter(x).tolist() == [0.0, 2.0]
    assert comm.all_gather(x[:1]).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"first axis of an array of shape \(3,\) cannot be"):
        comm.reduce_scatter(x[:3])
    with pytest.raises(ValueError, match="there is no rank 2; ranks are 0 to 1"):
        comm.broadcast(x, 2)
    with pytest.raises(ValueError, match="must have an axis"):
        comm.all_gather(np.asarray(1.0))


def test_processes_have_the_launchers_filters_of_warnings(tmp_path):
    start = (sys.executable, "-W", "error::UserWarning", *LOCAL[1:])
    told = run(tmp_path, 2, "tell(options=sys.warnoptions)", start=start)
    assert [each["options"] for (each,) in told] == 2 * [["error::UserWarning"]]
