"""Train a network on handwritten digits by several processes, on any backend.

It runs as one process or as several, on one machine or many:

    python examples/data_parallel.py
    python -m agnograd_distributed -n 2 examples/data_parallel.py
    mpiexec -n 2 python examples/data_parallel.py

Each process computes the gradient of its part of each batch, and ``AllReduce`` takes the mean over
the processes while the backward pass goes on. The steps are those of `digits.py`, but for rounding,
however many processes share them.
"""

import argparse
import random
from typing import Any

from command import namespace, parser
from digits import accuracy, batches, initial_parameters, load, predict, settle, step

import agnograd as ag
from agnograd_distributed import AllReduce, Communicator, broadcast, communicator, shard

Layers = list[dict[str, Any]]


def loss_of_part(xp: Any, parameters: Layers, images: Any, targets: Any, count: int) -> Any:
    """Return what some of the ``count`` images of a batch add to its mean cross-entropy.

    It is a sum over these images, so parts of any lengths add up to the mean; one may be empty.
    """
    return -xp.sum(predict(xp, parameters, images) * targets) / count


def move(parameters: Layers, velocities: Layers, rate: float) -> None:
    """Take a step along the gradients, the same on all ranks bit for bit, and forget them."""
    arrays = [{name: each.data for name, each in layer.items()} for layer in parameters]
    gradients = [{name: each.grad.data for name, each in layer.items()} for layer in parameters]
    step(arrays, velocities, gradients, rate)
    settle(arrays, velocities)
    for layer, moved in zip(parameters, arrays, strict=True):
        for name, each in layer.items():
            each.data, each.grad = moved[name], None


def train(
    xp: Any, comm: Communicator, data: dict[str, Any], epochs: int, rng: random.Random
) -> tuple[Layers, str]:
    """Return the trained parameters, and what ``AllReduce`` reports; print each epoch's loss.

    ``rng`` is in the same state on all ranks: all of them draw the same batches.
    """
    start = broadcast(initial_parameters(xp, rng), comm)
    parameters = [{name: ag.Variable(each) for name, each in layer.items()} for layer in start]
    velocities = [{name: 0.0 * each for name, each in layer.items()} for layer in start]
    with ag.hooks(AllReduce(comm, parameters)) as (reduce,):
        for epoch in range(epochs):
            values = []
            for batch in batches(xp, data, rng):
                images, targets = (xp.asarray(each) for each in shard(batch, comm))
                value = loss_of_part(xp, parameters, images, targets, batch[0].shape[0])
                # The batch's gradient is the sum of the parts', and AllReduce takes their mean.
                (comm.size * value).backward()
                move(parameters, velocities, rate=0.1 * 0.5 ** (4 * epoch / epochs))
                values.append(value.item())
            loss = sum(comm.objects(sum(values) / len(values)))
            if comm.rank == 0:
                print(f"epoch {epoch + 1}: loss {loss:.6f}", flush=True)
    return parameters, reduce.summary()


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    made = parser(__doc__, plot=False)
    made.add_argument("--epochs", type=int, default=30)
    return made.parse_args()


def main() -> None:
    """Train, test, and print the accuracy."""
    options = arguments()
    rng = random.Random(options.seed)
    xp = namespace(options.backend, double=False)
    with communicator() as comm:
        training, test = load(xp, rng)
        parameters, report = train(xp, comm, training, options.epochs, rng)
        if comm.rank == 0:
            share = accuracy(xp, parameters, test["images"], test["digits"])
            print(f"test accuracy: {share:.2%}")
            print(f"ranks: {comm.size}; {report}")


if __name__ == "__main__":
    main()
