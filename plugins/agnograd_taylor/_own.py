"""Series of functions with a derivative of their own: ``ag.Function``, ``ag.wrap``, solvers.

Their ``forward`` gives values only. The derivative by t is what their ``backward`` says, transposed
(Townsend, "A new trick for calculating Jacobian vector products", 2017), for series of what it has
saved.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import agnograd as ag
from agnograd.errors import LostGradientError
from agnograd.extend.arguments import flatten, map_leaves
from agnograd.extend.transforms import domain_of, entered
from agnograd_taylor._integration import bare, integrated


class OwnDerivative:
    """A call of a function with a derivative of its own.

    Parameters
    ----------
    taylor : Taylor
        The interpretation.
    function : Function
        The call, which has saved its values.
    inputs, results : sequence of series
        What it was given, and what it gave: without coefficients.
    """

    def __init__(
        self, taylor: Any, function: Any, inputs: Sequence[Any], results: Sequence[Any]
    ) -> None:
        self.taylor, self.function, self.results = taylor, function, results
        self.inputs, self.kind = inputs, taylor.array_class
        self.active = [i for i, x in enumerate(inputs) if type(x) is self.kind and x.varies]
        self.run: Any = None
        for i in self.active:
            self.run = inputs[i].run.meet(self.run)
        self.saved = list(function.saved)

    def expand(self) -> None:
        """Give the results their coefficients, in place: the function may have saved them."""
        self._without_attributes()
        given = [self.inputs[i] for i in self.active]
        points, tangents = [x.payload for x in given], [x.higher for x in given]
        order, below = self.run.order, self.taylor.below
        for each in self.results:
            each.run, each.higher = self.run, (None,) * order
        # Of a result that is saved, each order needs those below.
        saves_results = any(x is each for x in self.saved for each in self.results)
        for upto in range(1, order + 1) if saves_results else [order]:
            primals = [[x.payload, *x.higher] for x in self.saved if type(x) is self.kind]
            with entered(level=below if below.level else None):
                found = integrated(
                    self.taylor, self.run, upto, self._push, primals, points, tangents
                )
            for place, result in enumerate(self.results):
                result.higher = tuple(None if c is None else c[place] for c in found)

    def _push(self, *arrays: Any) -> list[Any]:
        """Return the tangents of the results: a backward is linear in cotangents."""
        rest, domain, function = iter(arrays), domain_of(arrays[-1]), copy.copy(self.function)
        function.save(*(next(rest) if type(x) is self.kind else x for x in self.saved))
        tangents = list(rest)

        def pulled(*cotangents: Any) -> list[Any]:
            found = function.backward(domain.namespace, *cotangents)
            gradients = list(found) if isinstance(found, tuple | list) else [found]
            zeros = domain.namespace.zeros_like
            pairs = zip([gradients[i] for i in self.active], tangents, strict=True)
            return [zeros(t) if each is None else self._home(each, domain) for each, t in pairs]

        probes = [domain.namespace.ones_like(each.payload) for each in self.results]
        return list(map(bare, ag.vjp(pulled, *probes)[1](tangents)))

    def _home(self, gradient: Any, domain: Any) -> Any:
        """Return a gradient at the level of the tangents.

        The backward of a function that was called at a level above ends at the level of this
        interpretation. Given values from below, it returns series that do not vary.
        """
        array = gradient.data if isinstance(gradient, ag.Variable) else gradient
        known = type(array) is self.kind and domain.level < self.taylor.level
        return array.payload if known else gradient

    def _without_attributes(self) -> None:
        """Refuse arrays of unknown derivatives, if there are orders that need these."""
        function, known = self.function, [*self.inputs, *self.results]
        attributes = {k: v for k, v in vars(function).items() if v is not function.saved}
        kept = [x for x in flatten(list(attributes.values()))[0] if type(x) is self.kind]
        kept += [x for x in self.saved if type(x) is self.kind and all(x is not y for y in known)]
        if kept and self.run.order > 1:
            raise LostGradientError(
                f"{type(function).__name__} keeps an array that is neither an argument nor a "
                "result, or keeps it as an attribute: its derivative is unknown, and coefficients "
                "of order 2 and above need it. Save arguments and results by self.save, and "
                "compute the rest in backward"
            )
        for key, value in attributes.items():
            if any(type(x) is self.kind for x in flatten(value)[0]):
                setattr(function, key, map_leaves(self.taylor.payload, value))
