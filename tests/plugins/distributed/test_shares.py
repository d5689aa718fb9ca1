"""Means through shared memory: what they are, and what messages and memory they take."""

import platform
import sys
from textwrap import dedent

import numpy as np
import pytest

from agnograd_distributed.kernels.shares import Shares
from ranks import run

SHAPES = ((5, 7), (), (70_001,), (0, 2), (3,))


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_each_rank_sums_its_share(size, dtype):
    rng = np.random.default_rng(size)
    ranks = [[np.asarray(rng.normal(size=s)).astype(dtype) for s in SHAPES] for _ in range(size)]
    before = [[each.copy() for each in hosts] for hosts in ranks]
    results = [[np.full(s, np.nan, dtype) for s in SHAPES] for _ in range(size)]
    shares = [Shares(ranks[rank], results[rank], rank, size) for rank in range(size)]
    assert {each.nbytes for each in shares} == {sum(each.nbytes for each in ranks[0])}
    parts, sums = ([bytearray(each.nbytes) for each in shares] for _ in range(2))
    for each, memory in zip(shares, parts, strict=True):
        each.write_parts(memory)
    for each, memory in zip(shares, sums, strict=True):
        each.write_sums(parts, memory)
    for each in shares:
        each.read_means(sums)
    for place in range(len(SHAPES)):
        total = sum((hosts[place] for hosts in before[1:]), before[0][place])
        for rank in range(size):
            assert results[rank][place].tobytes() == (total / size).astype(dtype).tobytes()
            assert ranks[rank][place].tobytes() == before[rank][place].tobytes()


PROGRAM = """
    import tracemalloc
    xp = ag.namespace("numpy")
    rng = np.random.default_rng(comm.rank)
    weights = [ag.Variable(rng.normal(size=(200, 200))) for _ in range(6)]
    small = ag.Variable(np.ones(200))
    params = [*weights, small]
    x = np.ones((2, 200))

    def step():
        for each in params:
            each.grad = None
        h = xp.asarray(x)
        for w in weights:
            h = xp.tanh(h @ w)
        xp.mean(h * small).backward()

    def peak():
        step()
        step()
        tracemalloc.start()
        step()
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return found
"""


def test_messages_and_memory_of_a_pass(tmp_path):
    """Two messages a bucket, and one if that is short; no memory that is as large as gradients."""
    body = """
        without = peak()
        with ag.hooks(ad.AllReduce(comm, params, bucket=640_000, first=1600)) as (reduce,):
            step()
            before = comm._faults._sent
            step()
            sent = comm._faults._sent - before
            tell(
                buckets=[each.nbytes for each in reduce._buckets],
                sent=sent, added=peak() - without, nbytes=sum(w.data.nbytes for w in weights),
            )
    """
    for (found,) in run(tmp_path, 2, dedent(PROGRAM) + dedent(body)):
        assert found["buckets"] == [1600, 640_000, 640_000, 320_000, 320_000]
        assert found["sent"] == 1 + 2 * 4 + 1  # the short one, the others, and the agreement
        assert found["added"] < 0.1 * found["nbytes"]


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep less memory")
def test_passes_use_their_memory_again(tmp_path):
    """Gradients of 40 MB, and the system clears hardly a page in a pass."""
    body = """
        import resource
        faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        xp = ag.namespace("numpy")
        weights = [ag.Variable(np.full((1000, 1000), 1e-3, "f4")) for _ in range(10)]
        biases = [ag.Variable(np.zeros(1000, "f4")) for _ in weights]
        params = [*weights, *biases]
        x = np.ones((64, 1000), "f4")

        def step():
            for each in params:
                each.grad = None
            h = xp.asarray(x)
            for w, b in zip(weights, biases):
                h = xp.tanh(h @ w + b)
            xp.mean((h - 1.0) ** 2).backward()
            for each in params:
                each.data[...] -= 0.01 * each.grad.data

        for _ in range(4):
            step()
        with ag.hooks(ad.AllReduce(comm, params)):
            for _ in range(4):
                step()
            before = faults()
            for _ in range(4):
                step()
            tell(faults=(faults() - before) / 4, page=resource.getpagesize())
    """
    for (found,) in run(tmp_path, 2, body):
        assert found["faults"] * found["page"] < 1 << 20


def test_what_users_keep_is_theirs(tmp_path):
    """Means are written to memory of earlier gradients only if nothing refers to it."""
    body = """
        local = []
        for w in weights[:2]:
            w.register_hook(lambda g: local.append(g.data))  # what this rank computed
        kept, copies = [], []
        with ag.hooks(ad.AllReduce(comm, params, bucket=640_000)) as (reduce,):
            for number in range(6):
                weights[0].data[...] *= 1.01
                step()
                found = [w.grad.data for w in params]
                kept += [found[0], found[1][1:, ::2], memoryview(found[2])]
                kept += local[-2:]
                copies += [np.array(each) for each in kept[len(copies):]]
                del found
        tell(
            same=[bool((np.asarray(k) == c).all()) for k, c in zip(kept, copies, strict=True)],
            differ=len({each.tobytes() for each in copies}),
        )
    """
    for (found,) in run(tmp_path, 2, dedent(PROGRAM) + dedent(body)):
        assert found["same"] == [True] * 30
        assert found["differ"] == 30


def test_arrays_of_every_backend(tmp_path, backend):
    stand_in = "import cupy_over_numpy" if "cupy_over_numpy" in sys.modules else ""
    body = f"""
        {stand_in}
        from agnograd.extend import backend_of
        xp = ag.namespace({backend!r})
        host = lambda x: np.array(backend_of(x).to_host(x))
        w = ag.Variable(xp.asarray(np.ones(9000)).data)
        kept, copies = [], []
        with ag.hooks(ad.AllReduce(comm, [w])):
            for number in range(5):
                w.grad = None
                xp.sum(w * w * float(number + comm.rank)).backward()
                kept.append(w.grad.data)
                copies.append(host(w.grad.data))
        tell(
            kinds=[type(each) is type(w.data) and each.dtype == w.data.dtype for each in kept],
            found=[[*map(float, {{*each}})] for each in copies],
            same=[bool((host(k) == c).all()) for k, c in zip(kept, copies, strict=True)],
        )
    """
    for (found,) in run(tmp_path, 2, body):
        assert found["kinds"] == found["same"] == [True] * 5
        assert found["found"] == [[2.0 * number + 1.0] for number in range(5)]
