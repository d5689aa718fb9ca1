"""Collectives as ops: their rules in both orders and both modes, on real processes.

The loss is the sum of the ranks' losses: what is held against each gradient are differences of that
sum, when one rank's array changes.
"""

import pytest

from ranks import ENGINES, run, started

CHECKS = """
    xp = ag.namespace("numpy")
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

    def piped(x):  # each rank gets what the one before it made of its own, and goes on
        if comm.rank > 0:
            x = x * xp.dist.recv(x, comm, before)
        return x if after == 0 else xp.dist.send(xp.sin(x), comm, after)

    def around(x):
        token = xp.dist.send(x[:3], comm, after)
        return x[3:] + xp.dist.recv(token, comm, before, shape=(3, 2))

    def two_messages(x):  # of which the second one is connected by the first one's token
        first = xp.dist.send(x, comm, after)
        second = xp.dist.send(xp.mean(x), comm, after)
        sent = xp.dist.recv(first, comm, before, shape=(6, 2))
        return sent + xp.dist.recv(second, comm, before) * x

    OPS = {
        "all_sum": lambda x: xp.dist.all_sum(x, comm),
        "all_gather": lambda x: xp.dist.all_gather(x, comm),
        "all_gather by columns": lambda x: xp.dist.all_gather(x, comm, axis=1),
        "reduce_scatter": lambda x: xp.dist.reduce_scatter(x, comm),
        "all_to_all": lambda x: xp.dist.all_to_all(x, comm),
        "broadcast": lambda x: xp.dist.broadcast(x, comm, root=comm.size - 1),
        "sum_to": lambda x: xp.dist.sum_to(x, comm),
        "send and recv, one way": piped,
        "send and recv, around": around,
        "send and recv, two messages": two_messages,
        "shift": lambda x: xp.dist.shift(x, comm),
        "shift back, around": lambda x: xp.dist.shift(x, comm, -1, periodic=True),
        "halo": lambda x: xp.dist.halo(x, comm, 2),
        "halo by columns, around": lambda x: xp.dist.halo(x, comm, axis=1, periodic=True),
    }
    rng = np.random.default_rng(comm.rank)
    x, v = rng.normal(size=(2, 6, 2))
    u, step = rng.normal(size=x.shape), 1e-5

    def error(found, expected):
        return float(abs(np.asarray(found) - expected).max())

    for name, op in OPS.items():
        def loss(x):
            y = op(xp.asarray(x) * x)
            return xp.sum(xp.sin(y + comm.rank))

        def along(x):  # the gradient's part along v, summed over ranks by the convention
            return xp.sum(ag.grad(loss)(x) * v)

        first, second, errors = ag.grad(loss)(x), ag.grad(along)(x), []
        for rank in range(comm.size):  # this one moves, in a direction of all its elements
            moved = u * step * (rank == comm.rank)
            for f, gradient in ((loss, first), (along, second)):
                difference = np.asarray(f(x + moved) - f(x - moved))
                slope = float(comm.all_sum(difference)) / (2 * step)
                if rank == comm.rank:
                    errors.append(abs(slope - float((gradient * u).sum())))
        _, pushed = ag.jvp(loss, (x,), (v,))
        members = np.stack([x, v])
        batched = ag.vmap(ag.grad(loss))(members)
        compiled = ag.compile(ag.grad(loss))
        tell(
            name=name,
            first=errors[0],
            second=errors[1],
            forward=error(comm.all_sum(np.asarray(pushed)),
                          comm.all_sum(np.asarray((first * v).sum()))),
            members=error(batched, np.stack([first, ag.grad(loss)(v)])),
            compiled=max(error(compiled(x), first), error(compiled(v), batched[1])),
        )
"""


@pytest.mark.parametrize("size", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_rules_in_both_orders_and_modes(tmp_path, size):
    check(run(tmp_path, size, CHECKS))


@pytest.mark.parametrize("kind", ENGINES)
def test_rules_by_other_engines(tmp_path, kind):
    check(run(tmp_path, 2, CHECKS, **started(kind)))


def check(everyone):
    for told in everyone:
        assert len(told) == 14
        for found in told:
            assert found["first"] < 1e-7, found
            assert found["second"] < 1e-6, found
            assert found["forward"] < 1e-12, found
            assert found["members"] < 1e-12, found
            assert found["compiled"] < 1e-12, found


def test_a_halo_makes_parts_agree_with_the_whole(tmp_path):
    body = """
        xp = ag.namespace("numpy")
        whole = np.arange(12.0) ** 2
        part = whole[6 * comm.rank :][:6]

        def smoothed(x, padded):
            return padded[:-2] + padded[2:] - 2 * x

        def loss(x):
            return xp.sum(smoothed(x, xp.dist.halo(x, comm)) ** 2)

        tell(
            padded=xp.dist.halo(part, comm).tolist(),
            around=xp.dist.halo(part, comm, 2, periodic=True).tolist(),
            gradient=ag.grad(loss)(part).tolist(),
        )
    """
    (first,), (second,) = run(tmp_path, 2, body)
    whole = [float(each**2) for each in range(12)]
    assert first["padded"] == [0.0, *whole[:7]]
    assert second["padded"] == [*whole[5:], 0.0]
    assert first["around"] == [*whole[-2:], *whole[:8]]
    residuals = [0.0, *([1.0 - 2 * 0.0] + [2.0] * 10 + [100.0 - 2 * 121.0]), 0.0]
    expected = [2 * (residuals[k] - 2 * residuals[k + 1] + residuals[k + 2]) for k in range(12)]
    assert first["gradient"] + second["gradient"] == pytest.approx(expected)
