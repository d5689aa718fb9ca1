"""Minimise a function of hundreds of parameters by SciPy's solvers, on any backend.

The function is the penalised loss of a softmax regression that reads handwritten digits: it is
convex, so that all solvers have to find the same minimum. ``scipy.optimize.minimize`` takes
``ag.value_and_grad(f)`` as it is, and the product of the Hessian with a vector by ``ag.hvp``. With
neither it takes finite differences, which cost one more evaluation for each parameter. With
``--compile`` the loss is traced once, and runs as a program, with others for its derivatives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from command import COLOURS, figure, namespace, parser
from scipy.optimize import minimize
from sklearn.datasets import load_digits

import agnograd as ag

PIXELS = 64
PENALTY = 1e-3
TOLERANCE = 1e-7  # of the gradient's largest element, or of the last step

# The methods, and whether they get exact derivatives.
SOLVERS = (
    ("L-BFGS-B", False),
    ("L-BFGS-B", True),
    ("Newton-CG", True),
    ("trust-krylov", True),
)


@dataclasses.dataclass
class Run:
    """What a solver did: ``path`` has the calls so far and the value after each iteration."""

    name: str
    parameters: Any
    value: float
    slope: float
    path: list[tuple[int, float]]

    @property
    def calls(self) -> int:
        """How often the function, its gradient, or a product with its Hessian was computed."""
        return self.path[-1][0]


def load(xp: Any, classes: int, images: int, seed: int) -> tuple[Any, ...]:
    """Return the images and digits to fit, and those that are held out."""
    digits = load_digits(n_class=classes)
    order = np.random.default_rng(seed).permutation(len(digits.target))
    pixels, right = digits.data[order] / 16.0, digits.target[order]
    found = []
    for part in (slice(images), slice(images, None)):
        found.append(xp.asarray(pixels[part].tolist(), dtype=xp.float64))
        found.append(xp.asarray(right[part].tolist()))
    return tuple(found)


def scores(xp: Any, parameters: Any, images: Any) -> Any:
    """Return a score for each image and digit."""
    weights = xp.reshape(parameters, (PIXELS + 1, -1))
    return images @ weights[:-1, :] + weights[-1, :]


def objective(
    xp: Any, images: Any, digits: Any, classes: int, compiles: bool
) -> Callable[[Any], Any]:
    """Return the function to minimise, from NumPy to NumPy; in between it is on the backend."""
    targets = xp.astype(digits[:, None] == xp.arange(classes), xp.float64)

    def loss(parameters: Any) -> Any:
        found = scores(xp, parameters, images)
        found = found - xp.max(found, axis=1, keepdims=True)
        right = xp.sum(found * targets, axis=1)
        penalty = 0.5 * PENALTY * (parameters @ parameters)
        return xp.mean(xp.log(xp.sum(xp.exp(found), axis=1)) - right) + penalty

    on_backend = ag.compile(loss) if compiles else loss

    def f(parameters: Any) -> Any:
        found = on_backend(ag.asarray(parameters, backend=images))
        return ag.asarray(found, backend=parameters)

    return f


class Counter:
    """It counts the calls of functions, all together."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose calls are counted."""

        def call(*args: Any) -> Any:
            self.calls += 1
            return function(*args)

        return call


def run(f: Callable[[Any], Any], start: Any, method: str, exact: bool) -> Run:
    """Minimise by a SciPy method, with exact derivatives or finite differences."""
    counted = Counter()
    path = [(1, float(f(start)))]

    def note(intermediate_result: Any) -> None:
        path.append((counted.calls, float(intermediate_result.fun)))

    arguments: dict[str, Any] = {"method": method, "callback": note, "tol": TOLERANCE}
    if method == "L-BFGS-B":
        arguments["options"] = {"ftol": 1e-15, "maxfun": 10**6}
    else:
        arguments["hessp"] = counted(lambda x, vector: ag.hvp(f, x, vector))
    if exact:
        found = minimize(counted(ag.value_and_grad(f)), start, jac=True, **arguments)
    else:
        found = minimize(counted(f), start, **arguments)
    slope = float(np.max(np.abs(ag.grad(f)(found.x))))
    derivatives = "exact" if exact else "finite differences"
    return Run(f"{method}, {derivatives}", found.x, float(found.fun), slope, path)


def accuracy(xp: Any, parameters: Any, images: Any, digits: Any) -> float:
    """Return the share of images whose highest score is the right digit's."""
    found = scores(xp, ag.asarray(parameters, backend=images), images)
    right = xp.argmax(found, axis=1) == digits
    share: float = xp.mean(xp.astype(right, xp.float64)).item()
    return share


def report(runs: list[Run]) -> None:
    """Print what each solver did, and how far its parameters are from the last one's."""
    print(f"{'':28} iterations   calls        loss  |gradient|  from the last")
    for each in runs:
        apart = np.max(np.abs(each.parameters - runs[-1].parameters))
        print(
            f"{each.name:28} {len(each.path) - 1:10} {each.calls:7} {each.value:11.8f} "
            f"{each.slope:11.1e} {apart:14.1e}"
        )


def plot(runs: list[Run], path: str) -> None:
    """Draw how far above the minimum each solver was, by the calls that it had made."""
    least = min(each.value for each in runs)
    with figure(path, figsize=(7.0, 4.2)) as axes:
        for each, colour in zip(runs, COLOURS, strict=False):
            calls, values = np.asarray(each.path).T
            axes.loglog(calls, np.maximum(values - least, 1e-12), color=colour, label=each.name)
        axes.set(
            xlabel="calls (function, gradient, or product of the Hessian with a vector)",
            ylabel="loss above the minimum",
            title=f"Exact derivatives spare evaluations ({len(runs[0].parameters)} parameters)",
        )
        axes.legend(loc="lower left")


def main() -> None:
    """Minimise by each solver, print what it took, and read the digits that were held out."""
    made = parser(__doc__)
    made.add_argument("--classes", type=int, default=10, help="how many digits (default: 10)")
    made.add_argument("--images", type=int, default=500, help="to fit (default: 500)")
    made.add_argument("--compile", action="store_true", help="compile the loss")
    options = made.parse_args()
    if not 2 <= options.classes <= 10 or options.images < 1:
        made.error("--classes must be from 2 to 10, and --images positive")
    xp = namespace(options.backend)
    images, digits, *held_out = load(xp, options.classes, options.images, options.seed)
    if not held_out[1].shape[0]:
        made.error(f"--images must leave some of all {images.shape[0]} images for the test")
    f = objective(xp, images, digits, options.classes, options.compile)
    start = np.zeros((PIXELS + 1) * options.classes)
    runs = [run(f, start, method, exact) for method, exact in SOLVERS]
    report(runs)
    share = accuracy(xp, runs[-1].parameters, *held_out)
    print(f"{share:.2%} of {held_out[1].shape[0]} other images are read rightly")
    if options.plot:
        plot(runs, options.plot)


if __name__ == "__main__":
    main()
