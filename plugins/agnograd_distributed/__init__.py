"""Gradients over several processes: communicators, means, all-reduce, and collectives as ops."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agnograd.extend import OpSet

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

ops = OpSet(
    "dist",
    samples="agnograd_distributed.samples",
    extension="dist",
    modules=["agnograd_distributed.operations"],
)
# Every namespace finds the op set, and imports no more than that.
_MODULES = {
    "_all_reduce": ("AllReduce",),
    "_communicator": ("CommunicationError", "Communicator", "Single", "communicator"),
    "_faults": ("Fault",),
    "_functions": ("broadcast", "mean", "shard"),
    "_launch": ("launch",),
    "local": ("Local",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"agnograd_distributed.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
