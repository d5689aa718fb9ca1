"""Measure the networks of convnet-benchmarks, forward and backward, on any backend.

Images and labels are random. The times are those that the plugin ``timer`` measures: of the device,
where the backend has a device's clock. ``networks.py`` has the networks.
"""

import argparse
import math
import sys
from typing import Any

import networks
import numpy as np
from command import namespace

import agnograd as ag


def drawn(name: str, batch: int, narrow: int) -> tuple[list[Any], Any, Any]:
    """Return a network's parameters, images and labels: random ones, the same on every backend.

    Weights are scaled as by He and others ("Delving deep into rectifiers", 2015); biases are 0.
    """
    rng = np.random.default_rng(0)
    parameters = []
    for shape in networks.shapes(name, narrow):
        weight = rng.standard_normal(shape, dtype=np.float32)
        parameters.append(weight * np.float32(math.sqrt(2.0 / math.prod(shape[1:]))))
        parameters.append(np.zeros(shape[:1], dtype=np.float32))
    size = networks.SIZES[name]
    images = rng.standard_normal((batch, 3, size, size), dtype=np.float32)
    return parameters, images, rng.integers(0, networks.CLASSES, batch)


def iteration(xp: Any, name: str, parameters: list[Any], images: Any, labels: Any) -> float:
    """Compute the loss, and its gradient by the parameters; return the loss."""
    for each in parameters:
        each.grad = None
    loss = networks.loss(xp, name, parameters, images, labels)
    loss.backward()
    value: float = loss.item()
    return value


def seconds(timer: Any) -> tuple[float, float]:
    """Return the time that a timer measured of ops, and of backward passes."""
    found = timer.to_dict()
    forward = sum(row["seconds"] for row in found["forward"].values())
    return forward, found["passes"]["seconds"]


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="alexnet", choices=list(networks.NETWORKS))
    parser.add_argument("--backend", default="numpy", help=f"one of {', '.join(ag.backends())}")
    parser.add_argument("--device", help="where arrays are, as the library names it: cuda, say")
    parser.add_argument("--batch", type=int, default=16, help="how many images (default: 16)")
    parser.add_argument("--iterations", type=int, default=5, help="timed ones (default: 5)")
    parser.add_argument("--warm-up", type=int, default=2, help="those before (default: 2)")
    parser.add_argument("--small", action="store_true", help="a sixteenth of all channels")
    parser.add_argument("--ops", action="store_true", help="print the time of each op, too")
    return parser.parse_args()


def main() -> None:
    """Run the iterations, and print their average times."""
    options = arguments()
    if min(options.batch, options.iterations) < 1 or options.warm_up < 0:
        sys.exit("--batch and --iterations must be positive, and --warm-up not negative")
    xp = namespace(options.backend, double=False)
    values, images, labels = drawn(options.arch, options.batch, 16 if options.small else 1)
    images, labels, *values = (
        xp.asarray(each, device=options.device).data for each in (images, labels, *values)
    )
    work = xp, options.arch, [ag.Variable(each) for each in values], images, labels
    for _ in range(options.warm_up):
        iteration(*work)
    with ag.hooks("timer") as (timer,):
        losses = [iteration(*work) for _ in range(options.iterations)]
    forward, backward = (1000 * each / options.iterations for each in seconds(timer))
    print(f"{options.arch}, batch {options.batch}, {options.backend}: loss {losses[-1]:.4f}")
    for what, took in (("forward", forward), ("backward", backward)):
        print(f"{what + ':':9} {took:9.2f} ms")
    print(f"{'total:':9} {forward + backward:9.2f} ms")
    if options.ops:
        print(timer.summary())


if __name__ == "__main__":
    main()
