"""Functions with a derivative of their own."""

from __future__ import annotations

import copy
from typing import Any

from agnograd._functions.beneath import called
from agnograd._functions.derivative import CustomDerivative


class Function(CustomDerivative):
    """A function with its own derivative: subclass it, and call an instance.

    ``forward(self, xp, *args, **options)`` gets the raw namespace and raw arrays, and returns an
    array or a tuple of arrays. It passes the arrays that ``backward`` needs to ``self.save(...)``;
    ``self.saved`` then has them. You may keep anything else as an attribute, but a second
    derivative through an array that is kept this way, be it in an object or a function or in the
    class, raises an error. So does one through an array that ``forward`` puts into a variable of
    the module or of an enclosing function, if ``backward`` names that variable. No method may write
    to the arrays that it gets. Where the backend can tell, such a write raises an error, too.

    ``backward(self, xp, *grads)`` gets the cotangent of each output (zeros for an output that
    nothing depends on). For each array argument it returns None, or the gradient with the
    argument's shape, dtype and device. In a first-order pass it gets raw arrays. Under
    ``create_graph`` it gets Variables and the differentiable namespace, and the inputs and outputs
    that were saved are connected to the graph.

    ``accumulate(self, xp, g, into)`` is optional, and saves full-size arrays in first-order passes.
    It adds the gradients to ``into``, a list with the sum so far for each array argument (an array
    that may be changed, or None), and returns the sums. ``g`` is the cotangent, or a list of them.

    ``jvp(self, xp, *tangents)`` is optional, and is the derivative in forward mode. For each array
    argument it gets the raw tangent, or None for zeros, and it returns those of the results, like
    the results. Without it, and where a derivative in forward mode is itself differentiated or
    batched, ``backward`` is transposed.

    ``guarded_backward(self, xp, *grads)`` is optional: ``backward`` where a zero in a cotangent may
    mean that nothing is asked there, so that its product with a derivative that is not finite is 0.
    A class that has it gets None for the cotangent of an output that nothing depends on.

    If the results are on a different backend than the arguments, set the attribute ``backend`` to
    its name. ``backward`` then gets the namespace and cotangents of that backend, and returns
    gradients on the backend of the arguments.

    Arguments that are not arrays are passed on unchanged and have no gradient; neither do arrays in
    keyword arguments. You can call one instance many times: each call has its own copy.

    Keyword arguments of a subclass, as in ``class F(ag.Function, pure=True)``, say what else holds
    for it. They hold for its subclasses, too. ``pure``: no method writes to the arrays that it
    gets, which are not watched then. ``constant_attributes``: no attribute depends on the
    arguments, and none is searched for arrays. ``lifts``: ``backward`` also takes cotangents of a
    level above that of the arguments, as those of ``vmap`` over a pullback from outside; otherwise
    it is called for each member. ``transparent``: hooks see the ops that ``forward`` itself shows
    them, as the steps of a compiled function, and not the call. ``records_below``: for arrays of a
    level, such as that of ``vmap``, the calls in ``forward`` are recorded below and have the right
    derivative there; otherwise what is below gets the derivative of this function.

    Raises
    ------
    RuleError
        If ``forward`` does not return arrays, or ``backward`` does not return gradients that fit,
        or either of them writes to an array that it got.
    GradientError
        In a pass under ``create_graph``, if ``backward`` reads an array with a gradient that
        ``forward`` kept as an attribute or in a variable of the module.

    Examples
    --------
    >>> import agnograd as ag
    >>> class Square(ag.Function):
    ...     def forward(self, xp, x):
    ...         self.save(x)
    ...         return x * x
    ...
    ...     def backward(self, xp, g):
    ...         (x,) = self.saved
    ...         return 2 * x * g
    >>> float(ag.grad(Square())(3.0))
    6.0
    """

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the function; what it returns is recorded as one op."""
        return called(copy.copy(self), args, options)
