"""Train a small neural network on handwritten digits, on any backend.

The model and its training are array-API code: they import no array library. scikit-learn ships
the data, 1,797 images of 8 x 8 pixels; a fifth of them is held out for the accuracy.

With ``--compile`` the loss and its gradients are one program, which runs without Python in between.
"""

import argparse
import contextlib
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from command import COLOURS, figure, namespace, parser, refusals
from sklearn.datasets import load_digits
from tqdm import tqdm

import agnograd as ag

LAYERS = (64, 96, 48, 10)
BATCH = 16


def initial_parameters(
    xp: Any, rng: random.Random, layers: Sequence[int] = LAYERS
) -> list[dict[str, Any]]:
    """Return weights, scaled to keep the variance of the values that pass through, and biases.

    They are the library's own arrays, as the batches are: then their gradients are such arrays,
    too, and nothing of what is computed with them is recorded.
    """
    parameters = []
    for rows, columns in itertools.pairwise(layers):
        weight = [[rng.gauss(0.0, rows**-0.5) for _ in range(columns)] for _ in range(rows)]
        layer = {"weight": xp.asarray(weight, dtype=xp.float32).data}
        parameters.append(layer | {"bias": xp.zeros((columns,), dtype=xp.float32).data})
    return parameters


def predict(xp: Any, parameters: list[dict[str, Any]], images: Any) -> Any:
    """Return the logarithm of each digit's probability."""
    values = images
    for layer in parameters[:-1]:
        values = xp.tanh(values @ layer["weight"] + layer["bias"])
    scores = values @ parameters[-1]["weight"] + parameters[-1]["bias"]
    scores = scores - xp.max(scores, axis=-1, keepdims=True)
    return scores - xp.log(xp.sum(xp.exp(scores), axis=-1, keepdims=True))


def loss(xp: Any, parameters: list[dict[str, Any]], images: Any, targets: Any) -> Any:
    """Return the mean cross-entropy; ``targets`` has a one in the right digit's column."""
    return -xp.mean(xp.sum(predict(xp, parameters, images) * targets, axis=-1))


def step(
    parameters: list[dict[str, Any]],
    velocities: list[dict[str, Any]],
    gradients: list[dict[str, Any]],
    rate: float,
    momentum: float = 0.9,
) -> None:
    """Move the parameters along their velocities, which the gradients change."""
    for layer, velocity, gradient in zip(parameters, velocities, gradients, strict=True):
        for name in layer:
            velocity[name] = momentum * velocity[name] - rate * gradient[name]
            layer[name] = layer[name] + velocity[name]


def settle(*trees: list[dict[str, Any]]) -> None:
    """Compute what a lazy library has put off: its graph must not grow from step to step."""
    places = [(layer, name) for layers in trees for layer in layers for name in layer]
    if hasattr(places[0][0][places[0][1]], "persist"):
        import dask

        values = dask.persist(*(layer[name] for layer, name in places))
        for (layer, name), value in zip(places, values, strict=True):
            layer[name] = value


def accuracy(xp: Any, parameters: list[dict[str, Any]], images: Any, digits: Any) -> float:
    """Return the share of images whose most probable digit is the right one."""
    with ag.no_grad():
        right = xp.argmax(predict(xp, parameters, images), axis=-1) == digits
        share: float = xp.mean(xp.astype(right, xp.float32)).item()
    return share


def batches(xp: Any, data: dict[str, Any], rng: random.Random) -> Iterator[tuple[Any, Any]]:
    """Yield the images and targets of each mini-batch, in a new order every time."""
    count = data["images"].shape[0]
    order = rng.sample(range(count), count)
    for start in range(0, count, BATCH):
        indices = xp.asarray(order[start : start + BATCH])
        images, targets = (xp.take(data[name], indices, axis=0) for name in ("images", "targets"))
        yield images.data, targets.data


def train(
    xp: Any, data: dict[str, Any], epochs: int, rng: random.Random, compiles: bool = False
) -> tuple[list[dict[str, Any]], list[float]]:
    """Return the trained parameters, and the mean loss of each epoch."""
    parameters = initial_parameters(xp, rng)
    velocities = [{name: 0.0 * p for name, p in layer.items()} for layer in parameters]
    value_and_grad = ag.value_and_grad(lambda p, images, targets: loss(xp, p, images, targets))
    if compiles:  # once for whole batches, and once for what is left at the end
        value_and_grad = ag.compile(value_and_grad)
    losses = []
    with tqdm(range(epochs), unit="epoch") as progress:
        for epoch in progress:
            values = []
            for images, targets in batches(xp, data, rng):
                value, gradients = value_and_grad(parameters, images, targets)
                step(parameters, velocities, gradients, rate=0.1 * 0.5 ** (4 * epoch / epochs))
                settle(parameters, velocities)
                values.append(float(value))
            losses.append(sum(values) / len(values))
            progress.set_postfix(loss=f"{losses[-1]:.4f}")
    return parameters, losses


def load(xp: Any, rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the images, digits and targets to train with, and those to test with."""
    digits = load_digits()
    order = rng.sample(range(len(digits.target)), len(digits.target))
    fifth = len(order) // 5
    parts = []
    for chosen in (order[fifth:], order[:fifth]):
        right = xp.asarray(digits.target[chosen].tolist())
        images = xp.asarray(digits.data[chosen].tolist(), dtype=xp.float32) / 16.0
        targets = xp.astype(right[:, None] == xp.arange(10), xp.float32)
        parts.append({"images": images, "digits": right, "targets": targets})
    return parts[0], parts[1]


def plot(losses: list[float], path: str) -> None:
    """Draw the loss of each epoch."""
    with figure(path) as axes:
        axes.semilogy(range(1, len(losses) + 1), losses, marker=".", color=COLOURS[0])
        axes.set(xlabel="epoch", ylabel="mean cross-entropy", title="Handwritten digits")


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    made = parser(__doc__)
    made.add_argument("--epochs", type=int, default=30)
    made.add_argument("--hooks", default="", help=f"some of {','.join(ag.plugins())}")
    made.add_argument("--compile", action="store_true", help="compile the loss and its gradients")
    return made.parse_args()


def main() -> None:
    """Train, test, and print the accuracy."""
    options = arguments()
    rng = random.Random(options.seed)
    names = [name for name in options.hooks.split(",") if name]
    xp = namespace(options.backend, double=False)
    with refusals():
        hooks = ag.hooks(*names) if names else contextlib.nullcontext(())
    training, test = load(xp, rng)
    with hooks as plugins:
        parameters, losses = train(xp, training, options.epochs, rng, options.compile)
    print(f"test accuracy: {accuracy(xp, parameters, test['images'], test['digits']):.2%}")
    for plugin in plugins:
        if hasattr(plugin, "summary"):
            print(plugin.summary())
    if options.plot:
        plot(losses, options.plot)


if __name__ == "__main__":
    main()
