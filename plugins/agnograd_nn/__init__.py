"""Operations of neural networks, as ops in the namespace ``xp.nn``, and ``xp.einsum``."""

from agnograd_nn._ops import ops

__all__ = ["ops"]
