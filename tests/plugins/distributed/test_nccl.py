"""Collectives of CuPy's arrays from device to device: where there is none, on a stand-in for it."""

import importlib
import textwrap
import warnings
from pathlib import Path

import pytest

from ranks import run

try:
    import cupy

    DEVICES = cupy.cuda.runtime.getDeviceCount() if hasattr(cupy, "RawKernel") else 0
except Exception:  # CuPy is not installed, or finds no driver
    DEVICES = 0

HELPERS = str(Path(__file__).parents[2] / "helpers")
STAND_IN = f"""
sys.path.insert(0, {HELPERS!r})
import nccl_over_local
"""
COLLECTIVES = """
    import cupy

    host, comm = comm, communicator("nccl", host=comm, timeout=20.0)
    xp = ag.namespace("cupy")

    def told_of(found):
        assert type(found) is cupy.ndarray, type(found)
        return found.get().tolist()

    x = cupy.arange(6.0).reshape(6, 1) + 10.0 * comm.rank
    z = (x * 1j).astype("complex64")
    wide = cupy.asarray(np.arange(12.0).reshape(2, 6))[:, ::2]  # not in C order
    tell(
        repr=repr(comm),
        all_sum=told_of(comm.all_sum(x)),
        single=told_of(comm.all_sum(x.astype("float32"))),
        integers=told_of(comm.all_sum(x.astype("int64"))),
        imaginary=told_of(comm.all_sum(z).imag),
        scalar=told_of(comm.all_sum(x[1, 0])),
        strided=told_of(comm.all_sum(wide)),
        empty=comm.all_sum(x[:0]).shape,
        flags=told_of(comm.all_gather(x[:1] == 0.0)),
        all_gather=told_of(comm.all_gather(x[:1])),
        reduce_scatter=told_of(comm.reduce_scatter(x)),
        all_to_all=told_of(comm.all_to_all(x)),
        broadcast=told_of(comm.broadcast(x, comm.size - 1)),
        on_host=comm.all_sum(np.ones(2)).tolist(),
        channel=told_of(comm.channel().all_sum(x[:1])),
    )
"""


def ranks_of(folder, size, body, stand_in=not DEVICES):
    """Run a program on some ranks, with the stand-in if there are no devices."""
    return run(folder, size, STAND_IN * stand_in + textwrap.dedent(body))


def started(size):
    """Return the number of ranks; skip if NCCL is missing, or there are fewer devices."""
    if DEVICES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it is missing
            nccl = importlib.import_module("cupy.cuda.nccl")
        if not nccl.available:
            pytest.skip("NCCL is not installed: pip install nvidia-nccl-cu13, or -cu12")
    if DEVICES and size > DEVICES:
        pytest.skip(f"NCCL takes a device for each of {size} ranks; there are {DEVICES}")
    return size


@pytest.mark.parametrize("size", [1, 2])
def test_collectives(tmp_path, size):
    told = ranks_of(tmp_path, started(size), COLLECTIVES)
    for rank, (found,) in enumerate(told):
        ranks = range(size)
        total = [[float(size * k + sum(10 * each for each in ranks))] for k in range(6)]
        part = 6 // size
        whole = [[k + 10.0 * each for k in range(6)] for each in ranks]
        assert found == {
            "repr": f"<NCCL, rank {rank} of {size}>",
            "all_sum": total,
            "single": total,
            "integers": total,
            "imaginary": total,
            "scalar": total[1][0],
            "strided": [[0.0, size * 2.0, size * 4.0], [size * 6.0, size * 8.0, size * 10.0]],
            "empty": [0, 1],
            "flags": [[each == 0] for each in ranks],
            "all_gather": [[10.0 * each] for each in ranks],
            "reduce_scatter": total[rank * part :][:part],
            "all_to_all": [
                [each] for row in whole for each in row[rank * part : (rank + 1) * part]
            ],
            "broadcast": [[each] for each in whole[-1]],
            "on_host": [float(size)] * 2,
            "channel": total[:1],
        }


def test_the_stand_in_takes_what_nccl_takes(tmp_path):
    body = """
        import cupy_names

        tell(same=cupy_names.of_nccl(sys.modules["cupy.cuda.nccl"]) == cupy_names.NCCL)
    """
    assert ranks_of(tmp_path, 1, body, stand_in=True) == [[{"same": True}]]


def test_nothing_goes_through_host_memory(tmp_path):
    body = """
        import cupy
        import cupy_over_numpy

        comm = communicator("nccl", host=comm)
        x = cupy.arange(4.0)
        comm.all_sum(x)
        before = cupy_over_numpy.waits
        nccl_over_local.calls.clear()
        for collective in (
            comm.all_sum, comm.all_gather, comm.reduce_scatter, comm.all_to_all, comm.broadcast,
        ):
            collective(x)
        tell(waits=cupy_over_numpy.waits - before, calls=nccl_over_local.calls)
    """
    names = ["allReduce", "allGather", "reduceScatter", "send", "send", "broadcast"]
    assert ranks_of(tmp_path, 2, body, stand_in=True) == [[{"waits": 0, "calls": names}]] * 2


def test_gradients_of_collectives(tmp_path):
    body = """
        comm = communicator("nccl", host=comm)
        xp = ag.namespace("cupy")
        x = xp.asarray([1.0, 2.0]) * (comm.rank + 1.0)

        def loss(x):
            return xp.sum(xp.dist.all_sum(x * x, comm) ** 2) / comm.size

        gradient = ag.grad(loss)(x.data)
        tell(kind=type(gradient).__module__, gradient=gradient.get().tolist())
    """
    for rank, (found,) in enumerate(ranks_of(tmp_path, started(2), body)):
        x = [1.0 * (rank + 1), 2.0 * (rank + 1)]
        assert found["kind"] == "cupy"
        # the loss is (sum of the ranks' squares) squared, whatever the number of ranks
        assert found["gradient"] == pytest.approx([4.0 * x[0] * 5.0, 4.0 * x[1] * 20.0])


def test_a_collective_that_does_not_end_is_stopped(tmp_path):
    body = """
        import cupy

        cupy.cuda.Event.done = False
        comm = communicator("nccl", host=comm, timeout=0.3)
        for _ in range(2):
            try:
                comm.all_sum(cupy.ones(2))
            except CommunicationError as error:
                tell(error=str(error), aborted=nccl_over_local.aborted)
    """
    told = ranks_of(tmp_path, 1, body, stand_in=True)
    message = "a rank did not end all_sum within 0.3 s"
    assert told == [[{"error": message, "aborted": True}] * 2]


def test_an_error_of_nccl_is_told(tmp_path):
    body = """
        import cupy

        def broken(self):
            raise nccl_over_local.NcclError("NCCL_ERROR_SYSTEM_ERROR")

        cupy.cuda.Event.done = False
        nccl_over_local.NcclCommunicator.check_async_error = broken
        comm = communicator("nccl", host=comm)
        try:
            comm.all_sum(cupy.ones(2))
        except CommunicationError as error:
            tell(error=str(error))
    """
    ((found,),) = ranks_of(tmp_path, 1, body, stand_in=True)
    assert found["error"].startswith("a rank ended in all_sum; which, NCCL hides: NCCL_ERROR_SYS")


def test_without_nccl_the_error_says_what_to_install(tmp_path):
    body = """
        from cupy.cuda import nccl

        nccl.available = False
        try:
            communicator("nccl")
        except ImportError as error:
            tell(error=str(error))
    """
    ((found,),) = ranks_of(tmp_path, 1, body, stand_in=True)
    assert "pip install nvidia-nccl-cu13" in found["error"]
