from ._set import ops
from .dispatch import ScipyFFT, register

__all__ = ["ScipyFFT", "ops", "register"]
