"""What is measured: a function of arrays, its derivative by hand, and what they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Case", "Workload"]


class Case(NamedTuple):
    """A workload of one size.

    Attributes
    ----------
    value : callable
        Takes a namespace, the variables and the constants; what it returns is differentiated, with
        a cotangent of ones.
    by_hand : callable or None
        Takes the variables, the constants and the vectors; returns the derivatives in NumPy. None
        where they are compared with agnograd's, and not with what is written by hand.
    variables : tuple of arrays
        What to differentiate by.
    constants : tuple
        Other arguments: arrays, or lists of arrays.
    vectors : tuple of arrays
        If there are any, the Hessian's product with them is meant, and not the gradient.
    many : str
        ``"examples"`` if a gradient is meant for each example, which lie along the first axes of
        the constants; ``"jacobian"`` or ``"hessian"`` if that of the only variable is;
        ``"laplacians"`` if that by each row of the only variable is; and ``"loss of laplacians"``
        if the gradient of the sum of their squares is, by rows of the only constant.
    """

    value: Callable[..., Any]
    by_hand: Callable[..., tuple[Any, ...]] | None
    variables: tuple[Any, ...]
    constants: tuple[Any, ...] = ()
    vectors: tuple[Any, ...] = ()
    many: str = ""

    def transformed(self, library: Any, xp: Any) -> Callable[..., Any]:
        """Return a function of the variables and the constants that computes what ``many`` says.

        It is made by the functions ``vmap``, ``grad``, ``jacobian``, ``hessian`` and ``laplacian``
        of a library.
        """
        function, count = partial(self.value, xp), len(self.variables)
        if self.many == "laplacians":
            axes = (0,) + (None,) * len(self.constants)
            each: Callable[..., Any] = library.vmap(library.laplacian(function), axes)
            return lambda *arrays: (each(*arrays),)
        if self.many == "loss of laplacians":

            def loss(*arrays: Any) -> Any:
                *parameters, x = arrays
                of_point = library.laplacian(lambda point: function(*parameters, point))
                return xp.sum(library.vmap(of_point)(x) ** 2)

            gradient: Callable[..., Any] = library.grad(loss, tuple(range(count)))
            return gradient
        if self.many == "examples":
            axes = (None,) * count + (0,) * len(self.constants)
            of_all: Callable[..., Any] = library.vmap(
                library.grad(function, tuple(range(count))), axes
            )
            return of_all
        derivative = getattr(library, self.many)(function)
        return lambda *arrays: (derivative(*arrays),)

    def on(self, asarray: Callable[[Any], Any]) -> Case:
        """Return the case with its arrays converted to another library's."""

        def converted(each: Any) -> Any:
            if isinstance(each, tuple | list):
                return type(each)(converted(part) for part in each)
            return asarray(each)

        return self._replace(
            variables=converted(self.variables),
            constants=converted(self.constants),
            vectors=converted(self.vectors),
        )


class Workload(NamedTuple):
    """What makes cases of any size.

    Attributes
    ----------
    make : callable
        Takes a random generator and the sizes, and returns the case.
    title : str
        One line, with the sizes in braces.
    sizes : mapping
        By its name, each size to measure with, and the one to check with.
    needs : str
        What not every library has: ``"linalg"``, ``"fft"``, ``"second order"``; or nothing.
    tolerance : float, optional
        By how much derivatives may differ, relative to the largest element, if not as usual.
    """

    make: Callable[..., Case]
    title: str
    sizes: Mapping[str, tuple[Any, Any]]
    needs: str = ""
    tolerance: float | None = None

    def case(self, sizes: str) -> Case:
        """Return the case of the ``"full"`` or the ``"small"`` sizes, the same one every time."""
        return self.make(np.random.default_rng(0), **self._sizes(sizes))

    def describe(self, sizes: str) -> str:
        """Return the title with the sizes in it."""
        return self.title.format(**self._sizes(sizes))

    def _sizes(self, sizes: str) -> Mapping[str, Any]:
        which = ("full", "small").index(sizes)
        return {name: both[which] for name, both in self.sizes.items()}
