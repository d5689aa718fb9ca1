from agnograd.extend import OpSet

from .dispatch import ScipyFFT, register

__all__ = ["ScipyFFT", "ops", "register"]

ops: OpSet
