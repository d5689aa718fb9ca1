"""The simulation of ``AllReduce`` against closed forms, and the command that measures for it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import agnograd as ag
from agnograd_distributed import AllReduce, communicator
from benchmarks.scale import LINKS, Link, Local, Nodes, Profile, buckets, ring, simulate

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
LINK = Link(latency=1e-4, bandwidth=1e9)
FREE = Local(0.0, 0.0, 0.0)


def steps_of(count, nbytes=8 * MIB, each=0.1):
    """Return a profile whose gradients are final one after the other, at equal distances."""
    ready = [((k + 1) * each, nbytes) for k in range(count)]
    return Profile(other=0.5, backward=count * each, ready=ready)


def test_without_communication_a_step_takes_what_it_takes():
    assert simulate(steps_of(5), FREE) == (pytest.approx(1.0), 0.0, 0.0)
    assert simulate(steps_of(5), Nodes(1, LINK, FREE)) == (pytest.approx(1.0), 0.0, 0.0)


def test_what_takes_less_than_the_pass_is_hidden_but_for_the_last_bucket():
    costs = Local(fixed=0.02, each_byte=0.01 / (8 * MIB), agreement=0.005)
    found = simulate(steps_of(5), costs)
    assert found.exposed == pytest.approx(0.03 + 0.005)
    assert found.sending == pytest.approx(5 * 0.03 + 0.005)
    assert found.seconds == pytest.approx(0.5 + 0.5 + found.exposed)


def test_what_takes_longer_than_the_pass_goes_on_from_the_first_bucket():
    found = simulate(steps_of(5), Local(0.3, 0.0, 0.0))
    assert found.seconds == pytest.approx(0.5 + 0.1 + 5 * 0.3)  # the first is full after 0.1
    assert found.exposed == pytest.approx(0.1 + 5 * 0.3 - 0.5)


def test_one_bucket_at_the_end_hides_nothing_and_one_at_the_beginning_all():
    costs = Local(0.2, 0.0, 0.0)
    late = Profile(0.5, 0.5, [(0.0, MIB // 8), (0.5, MIB // 8)])  # one bucket of both
    assert simulate(late, costs).exposed == pytest.approx(0.2)
    assert simulate(Profile(0.5, 0.5, [(0.0, MIB)]), costs).exposed == 0.0


@pytest.mark.parametrize("took", [0.03, 0.3])
def test_without_a_processor_for_the_thread_nothing_is_hidden(took):
    found = simulate(steps_of(5), Local(took, 0.0, 0.01), overlap=False)
    assert (found.exposed, found.sending) == pytest.approx((5 * took + 0.01,) * 2)
    assert found.seconds >= simulate(steps_of(5), Local(took, 0.0, 0.01)).seconds


def test_a_ring_sends_each_byte_twice_but_for_one_part():
    assert ring(LINK, 1, MIB) == 0.0
    assert ring(Link(0.0, 1e9), 4, 10**9) == pytest.approx(2 * 3 / 4)
    assert ring(Link(1e-4, 1e30), 64, MIB) == pytest.approx(126e-4)
    times = [ring(Link(0.0, 1e9), size, MIB) for size in (2, 4, 64, 10**6)]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(2 * MIB / 1e9, rel=1e-5)  # never more than all, twice


def test_nodes_take_what_a_process_takes_and_what_the_network_does():
    host, size, nbytes = Local(1e-3, 1e-9, 1e-4), 8, 10**6
    nodes = Nodes(size, LINK, host)
    assert nodes.roll_call > LINK.latency
    expected = host.seconds(nbytes) + nodes.roll_call + ring(LINK, size, nbytes)
    assert nodes.seconds(nbytes) == pytest.approx(expected)
    assert nodes.agreement == pytest.approx(host.agreement + nodes.roll_call)


def test_more_nodes_and_slower_links_never_take_less():
    for link in LINKS.values():
        times = [simulate(steps_of(9), Nodes(2**k, link, FREE)).seconds for k in range(7)]
        assert times == sorted(times)
    slow, fast = (simulate(steps_of(9), Nodes(64, each, FREE)).seconds for each in LINKS.values())
    assert slow > fast
    twice = steps_of(9).faster(2.0)
    assert (twice.other, twice.backward, twice.ready[0]) == (0.25, 0.45, (0.05, 8 * MIB))


def test_buckets_are_those_of_the_hook():
    """Those of a pass of many leaves, of some sizes, with the limits that the hook has."""
    xp = ag.namespace("numpy")
    leaves = [ag.Variable(np.ones(count)) for count in (3, 9, 4, 4, 20, 1, 1)]
    with ag.hooks(AllReduce(communicator("none"), leaves, first=40, bucket=64)) as (reduce,):
        sum(xp.sum(each * each) for each in leaves).backward()
        order = [leaves[number] for each in reduce._buckets for number in each.numbers]
        expected = [each.nbytes for each in reduce._buckets]
    ready = [(float(k), each.data.nbytes) for k, each in enumerate(order)]
    found = buckets(ready, bucket=64, first=40)
    assert [nbytes for _, nbytes in found] == expected
    moments = [moment for moment, _ in found]
    assert moments == sorted(moments)
    assert moments[-1] == len(leaves) - 1.0


def run(*arguments, status=0):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "benchmarks", "scale", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == status, done.stderr
    return done


def test_the_command_measures_simulates_and_extrapolates(tmp_path):
    data = tmp_path / "found.json"
    done = run("--quick", "--link", "25,40", "--json", str(data))
    assert "0.0 MiB of gradients in 1 buckets" in done.stdout
    assert done.stdout.count("25 µs and 40 Gbit/s") == 2
    found = json.loads(data.read_text())
    assert [row["processes"] for row in found["here"]] == [1, 2]
    for row in found["here"]:
        assert min(row.values()) > 0.0
        assert row["not overlapped"] >= row["overlapped"] > row["without"]
    for run_of_some in found["runs"].values():
        _, backward, ready = run_of_some["profile"]
        assert sum(nbytes for _, nbytes in ready) == 3 * (16 * 16 + 16) * 4
        moments = [moment for moment, _ in ready]
        assert moments == sorted(moments)
        assert moments[-1] <= backward
    assert [*found["extrapolated"]] == ["1", "10"]
    for columns in found["extrapolated"].values():
        (nodes,) = columns.values()
        assert [*nodes] == ["1", "2", "4", "8", "16", "32", "64"]
        efficiencies = [step["efficiency"] for step in nodes.values()]
        assert efficiencies == sorted(efficiencies, reverse=True)
        assert 0.0 < efficiencies[-1] < 1.0


def test_a_link_is_two_positive_numbers():
    for wrong in ("25", "25,fast", "25,0"):
        said = run("--link", wrong, status=2).stderr
        assert "is not two positive numbers such as 25,40" in " ".join(said.split())
