"""Gradients over several processes: communicators, means, and all-reduce during the pass."""

from __future__ import annotations

from agnograd_distributed._all_reduce import AllReduce
from agnograd_distributed._communicator import (
    CommunicationError,
    Communicator,
    Single,
    communicator,
)
from agnograd_distributed._faults import Fault
from agnograd_distributed._functions import broadcast, mean, shard
from agnograd_distributed._launch import launch
from agnograd_distributed.local import Local

__all__ = [
    "AllReduce",
    "CommunicationError",
    "Communicator",
    "Fault",
    "Local",
    "Single",
    "broadcast",
    "communicator",
    "launch",
    "mean",
    "shard",
]
