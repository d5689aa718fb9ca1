"""Train a network on handwritten digits with differential privacy, on any backend.

``ag.vmap(ag.grad(f))`` computes a gradient for each image. Each is clipped to a norm, and noise
hides what any one of them adds to their sum (Abadi et al., "Deep learning with differential
privacy", 2016). So the trained network tells little of any single image; how little is computed.
"""

import argparse
import math
import random
import sys
from typing import Any

from command import namespace, parser
from digits import accuracy, initial_parameters, load, loss, settle

import agnograd as ag

LAYERS = (64, 32, 10)
RATE = 0.1  # the probability that a step takes an image
DELTA = 1e-4  # less than one in the number of images

Parameters = list[dict[str, Any]]


def clipped_gradients(xp: Any, limit: float) -> Any:
    """Return a function of parameters, images and targets: a gradient of each image, and its norm.

    No gradient is longer than ``limit``.
    """

    def gradient_of_one(parameters: Parameters, image: Any, target: Any) -> tuple[Parameters, Any]:
        gradient = ag.grad(lambda p: loss(xp, p, image, target))(parameters)
        squares = [xp.sum(part**2) for layer in gradient for part in layer.values()]
        norm = xp.sqrt(sum(squares))
        scale = limit / xp.maximum(norm, xp.asarray(limit, dtype=norm.dtype))
        return [{name: scale * layer[name] for name in layer} for layer in gradient], norm

    return ag.vmap(gradient_of_one, in_axes=(None, 0, 0))


def noise(xp: Any, like: Any, deviation: float, rng: random.Random) -> Any:
    """Return normal noise in the shape of an array.

    Where privacy matters, draw it from a generator that nobody can predict.
    """
    drawn = [rng.gauss(0.0, deviation) for _ in range(math.prod(like.shape))]
    return xp.reshape(xp.asarray(drawn, dtype=like.dtype), like.shape).data


def epsilon(noise_multiplier: float, steps: int, rate: float = RATE, delta: float = DELTA) -> float:
    """Return the privacy loss that all steps have together, with probability 1 - ``delta``.

    It is the least bound by Rényi divergences of integer orders (Mironov, Talwar and Zhang, "Rényi
    differential privacy of the sampled Gaussian mechanism", 2019).
    """
    if not noise_multiplier:
        return math.inf

    def divergence(order: int) -> float:
        logs = [
            math.log(math.comb(order, k))
            + (order - k) * math.log1p(-rate)
            + k * math.log(rate)
            + (k * k - k) / (2.0 * noise_multiplier**2)
            for k in range(order + 1)
        ]
        top = max(logs)
        return (top + math.log(sum(math.exp(each - top) for each in logs))) / (order - 1)

    return min(steps * divergence(n) - math.log(delta) / (n - 1) for n in range(2, 65))


def train(
    xp: Any, data: dict[str, Any], options: argparse.Namespace, rng: random.Random
) -> tuple[Parameters, int, float]:
    """Return trained parameters, the number of steps, and the share of clipped gradients."""
    parameters = initial_parameters(xp, rng, LAYERS)
    gradients = clipped_gradients(xp, options.clip)
    count = data["images"].shape[0]
    steps, clipped, seen = round(options.epochs / RATE), 0, 0
    for _ in range(steps):
        # Each image is taken or not, whatever happens to the others: that is what hides it.
        chosen = xp.asarray([k for k in range(count) if rng.random() < RATE])
        images, targets = (xp.take(data[n], chosen, axis=0).data for n in ("images", "targets"))
        parts, norms = gradients(parameters, images, targets)
        for layer, part in zip(parameters, parts, strict=True):
            for name in layer:
                total = xp.sum(part[name], axis=0).data
                total = total + noise(xp, total, options.noise * options.clip, rng)
                layer[name] = layer[name] - options.rate / (RATE * count) * total
        settle(parameters)
        clipped += int(xp.count_nonzero(norms > options.clip).item())
        seen += images.shape[0]
    return parameters, steps, clipped / seen


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    made = parser(__doc__, plot=False)
    made.add_argument("--clip", type=float, default=1.0, help="the longest gradient of an image")
    made.add_argument("--epochs", type=int, default=20)
    made.add_argument("--noise", type=float, default=1.5, help="in multiples of --clip")
    made.add_argument("--rate", type=float, default=2.0, help="the learning rate")
    return made.parse_args()


def main() -> None:
    """Train, test, and print the accuracy and the privacy loss."""
    options = arguments()
    rng = random.Random(options.seed)
    xp = namespace(options.backend, double=False)
    if options.clip <= 0 or options.noise < 0 or options.epochs < 1:
        sys.exit("--clip and --epochs must be positive, and --noise not negative")
    training, test = load(xp, rng)
    parameters, steps, clipped = train(xp, training, options, rng)
    print(f"{clipped:.0%} of the gradients were clipped")
    print(f"privacy loss: {epsilon(options.noise, steps):.2f} at delta {DELTA}")
    print(f"test accuracy: {accuracy(xp, parameters, test['images'], test['digits']):.2%}")


if __name__ == "__main__":
    main()
