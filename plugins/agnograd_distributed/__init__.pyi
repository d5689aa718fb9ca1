from agnograd.extend import OpSet

from ._all_reduce import AllReduce
from ._communicator import CommunicationError, Communicator, Single, communicator
from ._faults import Fault
from ._functions import broadcast, mean, shard
from ._launch import launch
from .local import Local

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
    "ops",
    "shard",
]

ops: OpSet
