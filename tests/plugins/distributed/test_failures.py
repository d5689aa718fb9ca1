"""Ranks that raise, end, are late or lose messages: the others name them, and commit nothing."""

import random

import numpy as np
import pytest

from agnograd_distributed import CommunicationError, Fault, communicator
from ranks import ENGINES, run, started

STEP = """
    comm.barrier()  # only from here on are ranks late: they do not start at one time
    comm.timeout = 3.0
    xp = ag.namespace("numpy")
    weights = [ag.Variable(np.full((60, 60), 0.05)) for _ in range(3)]
    before = [np.full((60, 60), 7.0) for w in weights]
    for w, grad in zip(weights, before):
        w.grad = grad

    def loss():
        h = xp.asarray(np.ones((2, 60)))
        for w in weights:
            h = xp.tanh(h @ w)
        return xp.mean(h)

    def committed():
        changed = [bool((w.grad.data != 7.0).any()) for w in weights]
        assert len({*changed}) == 1
        return changed[0]

    try:
        with ag.hooks(ad.AllReduce(comm, weights, bucket="8 KiB", first="8 KiB")):
            loss().backward()
        tell(committed=committed())
        comm.barrier()
    except CommunicationError as error:
        tell(committed=committed(), error=str(error))
        raise
"""


def after(tmp_path, fault, size):
    options = ("--timeout", "20", "--faults", fault)
    told = run(tmp_path, size, STEP, options=options, fails=True)
    return told, [line["error"] for each in told for line in each[-1:] if "error" in line]


def check(tmp_path, kind, number, size=2, rank=1):
    """Check what the ranks say after a fault; return whether they had committed before it."""
    told, errors = after(tmp_path, f"{kind}:{rank}@{number}:8", size)
    said = [line["committed"] for lines in told for line in lines[:1]]
    others = [told[each][0]["committed"] for each in range(size) if each != rank]
    assert len({*others}) == 1  # all of those that are left, or none
    assert len({*said}) == 1
    assert errors
    assert all(f"rank {rank} " in each or f"rank {rank}'s" in each for each in errors), errors
    return others[0]


# A rank's messages: the barrier; the buckets, checked and ordered first, and for each of them that
# the parts are written, and then the sums; and then the agreement.
MOMENTS = {"check": 1, "first parts": 3, "first sums": 4, "last sums": 8, "agreement": 9}


@pytest.mark.parametrize(
    ("kind", "moment"),
    [
        ("kill", "first parts"),
        ("raise", "last sums"),
        pytest.param("kill", "first sums", marks=pytest.mark.slow),
        pytest.param("drop", "agreement", marks=pytest.mark.slow),
        pytest.param("delay", "check", marks=pytest.mark.slow),
    ],
)
def test_a_fault_names_its_rank_and_commits_nothing(tmp_path, kind, moment):
    assert check(tmp_path, kind, MOMENTS[moment]) is False


def test_a_fault_after_the_agreement_is_too_late_for_the_pass(tmp_path):
    assert check(tmp_path, "kill", MOMENTS["agreement"] + 1) is True


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kill", "raise", "drop", "delay"])
def test_faults_at_random_moments_on_three_ranks(tmp_path, kind):
    drawn = random.Random(kind)
    for case in range({"kill": 50, "raise": 6}.get(kind, 3)):
        number, rank = drawn.randint(MOMENTS["check"], MOMENTS["agreement"]), drawn.randrange(3)
        assert check(tmp_path / f"{case}", kind, number, 3, rank) is False


def test_a_pass_that_raises_on_one_rank_fails_on_all(tmp_path):
    body = STEP.replace(
        "loss().backward()",
        """loss().backward()
            for w in weights: w.grad = np.full((60, 60), 7.0)
            if comm.rank == 1:
                weights[0].register_hook(lambda g: 1 / 0)
            loss().backward()""",
    )
    first, second = run(tmp_path, 2, body, options=("--timeout", "10"), fails=True)
    assert first == [
        {
            "committed": False,
            "error": "rank 1 raised ZeroDivisionError: division by zero",
        }
    ]
    assert second == []  # its own error is no failure of communication


FAILURES = (
    STEP.partition("    try:")[0]
    + """
    import time

    comm.timeout = 1.0
    try:
        with ag.hooks(ad.AllReduce(comm, weights)):
            if comm.rank == 1 and RAISES:
                weights[0].register_hook(lambda g: 1 / 0)
            elif comm.rank == 1:
                time.sleep(2.5)
            loss().backward()
    except (CommunicationError, ZeroDivisionError) as error:
        tell(committed=committed(), error=str(error))
    if comm.rank == 0:
        time.sleep(2.5)  # the other one may need what it keeps
"""
)


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("failure", ["raises", "is late"])
def test_failures_by_other_engines(tmp_path, kind, failure):
    body = FAILURES.replace("RAISES", str(failure == "raises"))
    (first,), (second,) = run(tmp_path, 2, body, **started(kind))
    assert first["committed"] is False
    assert second["committed"] is False
    if failure == "raises":
        assert first["error"] == "rank 1 raised ZeroDivisionError: division by zero"
        assert second["error"] == "division by zero"
    else:
        assert "rank 1 did not come to" in first["error"]
        assert "within 1 s of rank 0" in first["error"]
        assert second["error"] == first["error"]


def test_ranks_that_call_different_collectives_are_told(tmp_path):
    body = """
        try:
            comm.barrier() if comm.rank else comm.all_sum(np.ones(3))
        except CommunicationError as error:
            tell(error=str(error))
        try:
            comm.barrier()
        except CommunicationError as error:
            tell(error=str(error))
    """
    message = (
        "rank 1 calls barrier, but rank 0 calls all_sum of float64 and shape (3,); all ranks must "
        "call the same"
    )
    assert run(tmp_path, 2, body) == [[{"error": message}] * 2] * 2


def test_a_rank_that_has_left_is_named(tmp_path):
    body = """
        comm.barrier()
        if comm.rank == 0:
            try:
                comm.receive(np.ones(1), 1)
            except CommunicationError as error:
                tell(error=str(error))
            try:
                comm.barrier()
            except CommunicationError as error:
                tell(error=str(error))
    """
    (told, _) = run(tmp_path, 2, body, options=("--timeout", "0.5"))
    assert told == [{"error": "rank 1 sent nothing to rank 0 within 0.5 s"}] * 2


# Rank 0 sends what rank 1 makes its loss of, and gets the gradient back.
PIPELINE = """
    import time

    xp = ag.namespace("numpy")
    w = ag.Variable(np.ones(3))
    comm.barrier()
    for _ in range(PASSES):
        w.grad = None
        if comm.rank == 0:
            token = xp.dist.send(w * w, comm, 1)
            loss = xp.sum(w) + TOKEN
        else:
            received = xp.dist.recv(CONNECTED, comm, 0)
            loss = xp.sum(USED ** 2) + xp.sum(w)
        loss.backward()
        time.sleep(0.2)
    tell(grad=w.grad.data.tolist())
"""


def piped(tmp_path, passes=1, token="token", connected="w", used="received", **options):
    """Run a program and return what its ranks told, and what was written of errors."""
    words = {"PASSES": str(passes), "TOKEN": token, "CONNECTED": connected, "USED": used}
    body = PIPELINE
    for word, by in words.items():
        body = body.replace(word, by)
    options = {"options": ("--timeout", "2")} | options
    return run(tmp_path, 2, body, with_errors=True, **options)


def test_a_gradient_comes_back_to_the_rank_that_sent(tmp_path):
    told, _ = piped(tmp_path, passes=3, options=("--timeout", "20"))
    assert told == [[{"grad": [5.0, 5.0, 5.0]}], [{"grad": [1.0, 1.0, 1.0]}]]


NOT_TAKEN = (
    "rank 0 has not taken a message from rank 1. If that is the gradient of what rank 0 sent, its "
    "pass must reach the send: add the token that xp.dist.send returns to the loss"
)


@pytest.mark.parametrize("passes", [1, pytest.param(40, marks=pytest.mark.slow)])
def test_a_token_that_is_forgotten_is_an_error(tmp_path, passes):
    told, errors = piped(tmp_path, passes=passes, token="0.0", fails=True)
    assert NOT_TAKEN in errors
    assert [len(each) for each in told] == ([1, 1] if passes == 1 else [0, 0])


def test_so_it_is_by_mpi(tmp_path):
    options = started("mpi") | {"comm": "communicator(timeout=1.0)"}
    _, errors = piped(tmp_path, passes=20, token="0.0", fails=True, **options)
    assert NOT_TAKEN in errors


@pytest.mark.parametrize(
    "change", [{"connected": "np.ones(3)"}, pytest.param({"used": "w"}, marks=pytest.mark.slow)]
)
def test_a_result_that_gets_no_gradient_is_an_error_where_it_is_waited_for(tmp_path, change):
    _, errors = piped(tmp_path, fails=True, **change)
    assert "rank 1 sent nothing to rank 0 within 2 s. If rank 0 waits in a backward pass" in errors
    assert "if its recv got a token that gradients are taken with respect to" in errors


def test_a_message_to_a_rank_that_has_left_is_an_error(tmp_path):
    body = """
        comm.barrier()
        if comm.rank == 0:
            comm.close()
            open(os.path.join(os.path.dirname(sys.argv[0]), "left"), "w").close()
        else:
            import time
            while not os.path.exists(os.path.join(os.path.dirname(sys.argv[0]), "left")):
                time.sleep(0.01)
            comm.send(np.ones(3), 0)
    """
    _, errors = run(tmp_path, 2, body, fails=True, with_errors=True)
    assert "rank 0 has not taken a message from rank 1" in errors


def test_a_block_that_ends_with_an_unread_message_raises():
    def leave(error):
        with communicator("none") as comm:
            comm.send(np.ones(2), 0)
            if error is not None:
                raise error

    with pytest.raises(CommunicationError, match="rank 0 has not taken a message from rank 0"):
        leave(None)
    with pytest.raises(ZeroDivisionError):
        leave(ZeroDivisionError())


def test_arrays_that_are_not_what_was_expected_are_named():
    comm = communicator("none")
    comm.send(np.ones((2, 3), "f4"), 0)
    with pytest.raises(CommunicationError, match=r"of shape \(2,\) and dtype float64 from rank 0"):
        comm.receive(np.ones(2), 0)


def test_faults_are_read():
    assert Fault.parsed("kill:1@5") == Fault("kill", 1, 5)
    assert Fault.parsed("delay:0@3:0.5") == Fault("delay", 0, 3, 0.5)
    for wrong in ("kill", "burn:1@5", "kill:one@5", "delay:1@2:x"):
        with pytest.raises(ValueError, match=f"a fault is KIND:RANK@NUMBER.*{wrong}"):
            Fault.parsed(wrong)
