"""The convolutional networks of convnet-benchmarks, as functions of their parameters.

They are those that Chainer's users measured: AlexNet with one tower (Krizhevsky, "One weird trick
for parallelizing convolutional neural networks", 2014), OverFeat's fast model (Sermanet and others,
2013), VGG's model A (Simonyan and Zisserman, 2014) and GoogLeNet (Szegedy and others, 2014): all
without dropout and local response normalisation, and the last one without auxiliary classifiers.

A namespace ``xp`` gives what they are made of: ``reshape``, ``concat``, and in ``xp.nn`` the ops of
agnograd_nn that are used here, with their options by keyword.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["CLASSES", "NETWORKS", "SIZES", "loss", "scores", "shapes"]

CLASSES = 1000

# Layers: ("conv", outputs, kernel, stride, padding), ("pool", kernel, stride, padding) and
# ("mean", kernel); ("inception", outputs of 1x1, before 3x3, 3x3, before 5x5, 5x5, after a pool);
# ("linear", outputs). A relu follows each conv, and each linear but the last one.
ALEXNET = (
    ("conv", 64, 11, 4, 2),
    ("pool", 3, 2, 0),
    ("conv", 192, 5, 1, 2),
    ("pool", 3, 2, 0),
    ("conv", 384, 3, 1, 1),
    ("conv", 256, 3, 1, 1),
    ("conv", 256, 3, 1, 1),
    ("pool", 3, 2, 0),
    ("linear", 4096),
    ("linear", 4096),
    ("linear", CLASSES),
)
OVERFEAT = (
    ("conv", 96, 11, 4, 0),
    ("pool", 2, 2, 0),
    ("conv", 256, 5, 1, 0),
    ("pool", 2, 2, 0),
    ("conv", 512, 3, 1, 1),
    ("conv", 1024, 3, 1, 1),
    ("conv", 1024, 3, 1, 1),
    ("pool", 2, 2, 0),
    ("linear", 3072),
    ("linear", 4096),
    ("linear", CLASSES),
)
VGGA = (
    ("conv", 64, 3, 1, 1),
    ("pool", 2, 2, 0),
    ("conv", 128, 3, 1, 1),
    ("pool", 2, 2, 0),
    ("conv", 256, 3, 1, 1),
    ("conv", 256, 3, 1, 1),
    ("pool", 2, 2, 0),
    ("conv", 512, 3, 1, 1),
    ("conv", 512, 3, 1, 1),
    ("pool", 2, 2, 0),
    ("conv", 512, 3, 1, 1),
    ("conv", 512, 3, 1, 1),
    ("pool", 2, 2, 0),
    ("linear", 4096),
    ("linear", 4096),
    ("linear", CLASSES),
)
GOOGLENET = (
    ("conv", 64, 7, 2, 3),
    ("pool", 3, 2, 1),
    ("conv", 64, 1, 1, 0),
    ("conv", 192, 3, 1, 1),
    ("pool", 3, 2, 1),
    ("inception", 64, 96, 128, 16, 32, 32),
    ("inception", 128, 128, 192, 32, 96, 64),
    ("pool", 3, 2, 1),
    ("inception", 192, 96, 208, 16, 48, 64),
    ("inception", 160, 112, 224, 24, 64, 64),
    ("inception", 128, 128, 256, 24, 64, 64),
    ("inception", 112, 144, 288, 32, 64, 64),
    ("inception", 256, 160, 320, 32, 128, 128),
    ("pool", 3, 2, 1),
    ("inception", 256, 160, 320, 32, 128, 128),
    ("inception", 384, 192, 384, 48, 128, 128),
    ("mean", 7),
    ("linear", CLASSES),
)
NETWORKS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "alexnet": ALEXNET,
    "overfeat": OVERFEAT,
    "vgga": VGGA,
    "googlenet": GOOGLENET,
}
# The height and width of images.
SIZES = {"alexnet": 224, "overfeat": 231, "vgga": 224, "googlenet": 224}


def shapes(name: str, narrow: int = 1) -> Iterator[tuple[int, ...]]:
    """Yield the shapes of a network's weights, each of which has a bias for its first axis.

    The numbers of channels and hidden units are divided by ``narrow``, for a small network.
    """
    channels, length = 3, SIZES[name]
    for kind, *numbers in NETWORKS[name]:
        if kind == "pool":
            kernel, stride, padding = numbers
            length = -((length + 2 * padding - kernel) // -stride) + 1
        elif kind == "mean":
            length //= numbers[0]
        elif kind == "linear":
            outputs = numbers[0] if numbers[0] == CLASSES else numbers[0] // narrow
            yield outputs, channels * length * length
            channels, length = outputs, 1
        elif kind == "conv":
            outputs, kernel, stride, padding = numbers
            yield outputs // narrow, channels, kernel, kernel
            channels = outputs // narrow
            length = (length + 2 * padding - kernel) // stride + 1
        else:
            one, before_three, three, before_five, five, after = (n // narrow for n in numbers)
            yield one, channels, 1, 1
            yield before_three, channels, 1, 1
            yield three, before_three, 3, 3
            yield before_five, channels, 1, 1
            yield five, before_five, 5, 5
            yield after, channels, 1, 1
            channels = one + three + five + after


def scores(xp: Any, name: str, parameters: Sequence[Any], images: Any) -> Any:
    """Return the scores of the classes of images, from weights and biases in turn."""
    remaining = iter(parameters)

    def conv(x: Any, stride: int = 1, padding: int = 0) -> Any:
        weight, bias = next(remaining), next(remaining)
        return xp.nn.relu(xp.nn.conv2d(x, weight, bias, stride=stride, padding=padding))

    x = images
    for kind, *numbers in NETWORKS[name]:
        if kind == "conv":
            x = conv(x, *numbers[2:])
        elif kind == "pool":
            kernel, stride, padding = numbers
            x = xp.nn.max_pool2d(x, kernel, stride, padding, ceil_mode=True)
        elif kind == "mean":
            x = xp.nn.avg_pool2d(x, numbers[0])
        elif kind == "linear":
            x = xp.reshape(x, (x.shape[0], -1))
            x = xp.nn.linear(x, next(remaining), next(remaining))
            x = x if numbers[0] == CLASSES else xp.nn.relu(x)
        else:
            parts = [conv(x), conv(conv(x), padding=1), conv(conv(x), padding=2)]
            parts.append(conv(xp.nn.max_pool2d(x, 3, 1, 1, ceil_mode=True)))
            x = xp.concat(parts, axis=1)
    return x


def loss(xp: Any, name: str, parameters: Sequence[Any], images: Any, labels: Any) -> Any:
    """Return the mean cross-entropy between a network's scores and labels."""
    return xp.nn.cross_entropy(scores(xp, name, parameters, images), labels)
