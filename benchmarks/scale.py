"""What a step takes when several processes share it: a simulation of what ``AllReduce`` does.

Leaves get their gradients one after the other during the backward pass. Buckets of them leave in
order, each as soon as its last gradient is final and the one before has been sent, by a thread of
its own. The pass ends when all have arrived and all ranks have agreed. What a bucket takes is a
model with few numbers. For processes of this machine they are measured; for nodes of a network
they are its latency and its bandwidth.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from agnograd_distributed import AllReduce
from agnograd_distributed._buckets import bytes_in, in_buckets

__all__ = ["LINKS", "Link", "Local", "Nodes", "Profile", "Step", "buckets", "ring", "simulate"]

ROLL_CALL = 150e-6  # seconds: the communicator `mpi` waits for a message, and sleeps meanwhile
MESSAGE = 2e-6  # seconds of the processor for each message of a roll call, beside the network


class Profile(NamedTuple):
    """A step of one process that communicates with nobody, in seconds.

    ``backward`` is the time of the backward pass and ``other`` that of the rest, ``ready`` has for
    each gradient when it was final, from the start of the pass, and how many bytes it has.
    """

    other: float
    backward: float
    ready: Sequence[tuple[float, int]]

    def faster(self, times: float) -> Profile:
        """Return the profile of a process that computes so many times as fast."""
        ready = [(moment / times, nbytes) for moment, nbytes in self.ready]
        return Profile(self.other / times, self.backward / times, ready)


class Step(NamedTuple):
    """A simulated step, in seconds: how long it takes, and how long it communicates.

    ``exposed`` is the time that the pass waits for what is still on its way.
    """

    seconds: float
    sending: float
    exposed: float


class Link(NamedTuple):
    """What connects nodes: seconds of a message without content, and bytes a second."""

    latency: float
    bandwidth: float


# Typical of what a program sees, not of a data sheet. TCP between machines of one data centre takes
# some tens of microseconds, and MPI over InfiniBand or RoCE one to two. A tenth of the bandwidth
# goes into headers and gaps.
LINKS = {
    "10 Gbit/s Ethernet, TCP": Link(50e-6, 0.9 * 10e9 / 8),
    "100 Gbit/s InfiniBand": Link(2e-6, 0.9 * 100e9 / 8),
}


class Local(NamedTuple):
    """Processes of one machine, measured: seconds of a bucket of no bytes, and of each byte.

    ``agreement`` is what all ranks take to agree at the end of a pass.
    """

    fixed: float
    each_byte: float
    agreement: float

    def seconds(self, nbytes: int) -> float:
        """Return what a bucket takes."""
        return self.fixed + self.each_byte * nbytes


class Nodes(NamedTuple):
    """Nodes of a network with a process each, by the communicator ``mpi``.

    ``host`` is what a bucket takes in one process, where it is copied and goes nowhere.
    """

    size: int
    link: Link
    host: Local

    @property
    def roll_call(self) -> float:
        """What it takes until each rank has a short message of every other one."""
        others = self.size - 1
        return ROLL_CALL + self.link.latency + MESSAGE * others if others else 0.0

    @property
    def agreement(self) -> float:
        """What all ranks take to agree at the end of a pass."""
        return self.host.agreement + self.roll_call

    def seconds(self, nbytes: int) -> float:
        """Return what a bucket takes."""
        return self.host.seconds(nbytes) + self.roll_call + ring(self.link, self.size, nbytes)


def ring(link: Link, size: int, nbytes: int) -> float:
    """Return the seconds of a sum over nodes in a ring.

    Each node sends 2 (n - 1) messages of an n-th of the bytes, which is as few bytes as possible
    (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
    2009). MPIs have other algorithms for short messages, with less latency.
    """
    return 2 * (size - 1) * (link.latency + nbytes / size / link.bandwidth)


def buckets(
    ready: Sequence[tuple[float, int]], bucket: str | int = "", first: str | int = ""
) -> list[tuple[float, int]]:
    """Return when each bucket is full, and its bytes, as ``AllReduce`` makes them of one dtype.

    The sizes are those of ``AllReduce`` by default.
    """
    defaults = signature(AllReduce).parameters
    limit = bytes_in("bucket", bucket or defaults["bucket"].default)
    early = bytes_in("first", first or defaults["first"].default)
    leaves = [SimpleNamespace(shape=(n,), dtype=np.dtype("u1"), nbytes=n) for _, n in ready]
    made = in_buckets(range(len(ready)), leaves, limit, early)
    return [(max(ready[each][0] for each in numbers), nbytes) for numbers, nbytes in made]


def simulate(profile: Profile, cost: Local | Nodes, *, overlap: bool = True) -> Step:
    """Return what a step takes.

    Parameters
    ----------
    profile : Profile
        The step without communication.
    cost : Local or Nodes
        What buckets take.
    overlap : bool
        Whether there is a processor for the thread that sends while the pass goes on. If there is
        not, what it does takes time from the pass, and a step takes as long as if all were sent
        at its end.
    """
    free = 0.0 if overlap else profile.backward  # when the thread can send the next bucket
    sending = 0.0
    for full, nbytes in buckets(profile.ready):
        took = cost.seconds(nbytes)
        free = max(free, full) + took
        sending += took
    end = max(free, profile.backward) + cost.agreement
    return Step(profile.other + end, sending + cost.agreement, end - profile.backward)
