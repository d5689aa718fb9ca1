"""Gradients that are reduced while the pass goes on: what leaves get, and what is reported."""

import json

import numpy as np
import pytest

import agnograd as ag
from agnograd_distributed import AllReduce, communicator
from agnograd_distributed._buckets import bytes_in, in_buckets
from ranks import ENGINES, run, started

NETWORK = """
    xp = ag.namespace("numpy")
    rng = np.random.default_rng(0)
    weights = [ag.Variable(rng.normal(size=(40, 40)) / 6) for _ in range(4)]
    single = ag.Variable(np.ones(3, dtype="f4"))
    unused = ag.Variable(np.ones(2))
    params = [weights, single, unused]
    x = rng.normal(size=(12, 40))

    def loss(x):
        h = xp.asarray(x)
        for w in weights:
            h = xp.tanh(h @ w)
        return xp.mean(h * h)

    def taken():
        grads = [w.grad.data for w in weights]
        for w in (*weights, single):
            w.grad = None
        return grads

    def close(found, expected):
        return bool(max(abs(f - e).max() for f, e in zip(found, expected)) < 1e-12)

    loss(x).backward()
    alone = taken()
    mine = ad.shard(x, comm)
"""
STEPS = """
    with ag.hooks("timer", ad.AllReduce(comm, params, bucket="20 KiB", first=15000)) as (
        timer, reduce,
    ):
        z = loss(mine)
        if comm.rank == 1:
            z = z + xp.sum(single * single)
        z.backward()
        of_one = single.grad.data.tolist()
        same = comm.objects(b"".join(w.grad.data.tobytes() for w in weights))
        first = close(taken(), alone)
        with reduce.skip():
            loss(mine).backward()
            skipped = [w.grad for w in weights]
        loss(mine).backward()
        second = close(taken(), [2 * g for g in alone])
        loss(mine).backward()
        loss(mine).backward()
        third = close(taken(), [2 * g for g in alone])
        local = ag.Variable(np.ones(2))
        xp.sum(local * float(comm.rank + 1) + weights[0][0, :2]).backward()
        taken_elsewhere = local.grad.data.tolist()
        found = reduce.to_dict()
        path = f"{sys.argv[0]}-{comm.rank}.json"
        timer.trace(path, reduce)
    tell(
        of_one=of_one, unused=unused.grad is None, same=len({*same}), first=first,
        skipped=skipped, second=second, third=third, local=taken_elsewhere, found=found,
        summary=reduce.summary(), trace=path,
    )
"""


@pytest.mark.parametrize("kind", ["local", *ENGINES])
def test_means_are_those_of_one_process(tmp_path, kind):
    body = NETWORK + STEPS
    # On one rank the shard is all, and the mean is of one.
    for rank, (found,) in enumerate(run(tmp_path, 2, body, **started(kind))):
        assert found["of_one"] == [1.0, 1.0, 1.0]  # zeros on rank 0, 2 on rank 1
        assert found["unused"]
        assert found["same"] == 1  # bit for bit on both
        assert found["first"]
        assert found["skipped"] == [None] * 4
        assert found["second"]
        assert found["third"]
        assert found["local"] == [rank + 1.0] * 2  # no parameter: nobody else's business
        report = found["found"]
        assert (report["passes"], report["buckets"]) == (5, 5)
        assert report["bytes"] == 5 * (4 * 40 * 40 * 8 + 12 + 16)
        assert report["hidden"] + min(report["exposed"], report["seconds"]) == pytest.approx(
            report["seconds"]
        )
        assert "5 passes sent 0.2 MiB in 5 buckets each" in found["summary"]
        with open(found["trace"]) as file:
            events = json.load(file)["traceEvents"]
        own = [each for each in events if each.get("cat") == "AllReduce"]
        assert [each["name"] for each in own if each["name"].startswith("bucket")] == [
            f"bucket {number}" for number in range(5)
        ] * 5
        lines = {(each["pid"], each["tid"]) for each in own}
        assert len(lines) == 1
        assert not lines & {
            (each["pid"], each["tid"]) for each in events if each.get("cat") == "pass"
        }


def test_ranks_that_differ_are_named(tmp_path):
    body = """
        leaves = [ag.Variable(np.ones(2 + comm.rank))]
        try:
            with ag.hooks(ad.AllReduce(comm, leaves)):
                (leaves[0] * leaves[0])[0].backward()
        except CommunicationError as error:
            tell(error=str(error), grad=leaves[0].grad)
    """
    for (found,) in run(tmp_path, 2, body):
        assert "the leaves of the ranks differ: leaf 0 of rank 1 has shape (3,)" in found["error"]
        assert found["grad"] is None


def test_buckets_leave_while_the_pass_goes_on(xp):
    """A bucket is sent when its last gradient is final, not when the pass is done."""
    order = []

    class Watched(AllReduce):
        def _means(self, name, bucket, parts):
            order.append(name)
            return super()._means(name, bucket, parts)

    first, last = (ag.Variable(xp.asarray([1.0, 2.0]).data) for _ in range(2))
    y = xp.sin(first)
    y.register_hook(lambda g: order.append("rule") if _waited(reduce) else None)
    size = 2 * xp.finfo(last.dtype).bits // 8
    with ag.hooks(Watched(communicator("none"), first=size, bucket=size)) as (reduce,):
        xp.sum(y * last).backward()
    assert order == ["bucket 0", "rule", "bucket 1"]
    assert bool(xp.all(last.grad == xp.sin(first.detach())).data)


def _waited(reduce):
    reduce._running.futures[0].result()
    return True


def test_without_parameters_those_of_the_first_pass_count(xp):
    x, y = (ag.Variable(xp.asarray([1.0, 2.0]).data) for _ in range(2))
    with ag.hooks(AllReduce(communicator("none"))) as (reduce,):
        with reduce.skip():
            xp.sum(x * x).backward()
        assert x.grad is None
        xp.sum(x * x).backward()
        assert bool(xp.all(x.grad == 4.0 * x.detach()).data)
        with pytest.raises(ValueError, match="AllReduce: the pass reaches a leaf that the first"):
            xp.sum(x * y).backward()
        assert y.grad is None


def test_a_block_that_is_entered_again_is_reported_by_itself(xp):
    x = ag.Variable(xp.asarray([1.0, 2.0]).data)
    reduce = AllReduce(communicator("none"), [x])
    for passes in (2, 1):
        with ag.hooks(reduce):
            for _ in range(passes):
                xp.sum(x * x).backward()
            report = reduce.to_dict()
        assert report["passes"] == passes
        assert report["bytes"] == passes * 2 * xp.finfo(x.dtype).bits // 8


def test_a_checkpoint_inside_is_a_part_of_the_pass(xp):
    x = ag.Variable(xp.asarray([1.0, 2.0]).data)
    with ag.hooks(AllReduce(communicator("none"), [x])) as (reduce,):
        xp.sum(ag.checkpoint(lambda x: x * x * x)(x)).backward()
    assert bool(xp.all(x.grad == 3.0 * x.detach() ** 2).data)
    assert reduce.to_dict()["passes"] == 1


def test_buckets_by_size_and_dtype():
    leaves = [np.zeros(n, dtype) for n, dtype in ((4, "f8"), (4, "f8"), (9, "f8"), (1, "f4"))]
    found = [tuple(each) for each in in_buckets([3, 0, 1, 2], leaves, bucket=64, first=8)]
    assert found == [((3,), 4), ((0, 1), 64), ((2,), 72)]
    assert [tuple(each) for each in in_buckets([], leaves, 64, 8)] == []
    assert (bytes_in("it", "8 MiB"), bytes_in("it", 4096)) == (8 << 20, 4096)
    for wrong in ("8 MB", "many", 0, -1, None):
        with pytest.raises(ValueError, match="it must be a positive size such as '8 MiB' or 4096"):
            bytes_in("it", wrong)
