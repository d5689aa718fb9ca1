"""The op set that the modules of this package register their ops in."""

from agnograd.extend import OpSet

__all__ = ["ops"]

ops = OpSet("nn", samples="agnograd_nn.samples")
