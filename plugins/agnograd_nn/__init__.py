"""Operations of neural networks, as ops in the namespace ``xp.nn``, and ``xp.einsum``."""

from agnograd_nn import (  # noqa: F401 (they register their ops)
    activations,
    attention,
    averages,
    batch,
    conv,
    convolution,
    dropout,
    einsum,
    embedding,
    linear,
    losses,
    maxima,
    normalisation,
    pooling,
)
from agnograd_nn._ops import ops

__all__ = ["ops"]
