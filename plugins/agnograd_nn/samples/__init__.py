"""What the ops are checked on: every option, and what is at the edges of their domains."""

from agnograd_nn.samples import activations, arrays, convolution, layers, pooling

samples = [
    *activations.samples,
    *arrays.samples,
    *convolution.samples,
    *layers.samples,
    *pooling.samples,
]
