"""The calls that are certified: functions with their arguments, and expressions as text."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import optree

from agnograd.errors import ArgumentError
from agnograd.extend import backend_named, function_from, is_array

__all__ = ["Call", "Differentiable", "TextCall", "differentiable", "plain_numpy"]


@cache
def plain_numpy() -> Any:
    """Return NumPy itself, on whose arrays the differences are taken: the core imports none."""
    return import_module(backend_named("numpy").modules[0])


class Differentiable:
    """A function with its arguments, which ``pytest --differentiable`` certifies.

    ``differentiable`` makes it. Put it into a list, or above a test function as a decorator, which
    leaves the function as it is.
    """

    arrays: list[Any]
    name: str
    names: list[str]
    theirs: tuple[str, ...]

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self._f = f
        given: Any = (args, kwargs)
        self._leaves, self._tree = optree.tree_flatten(given)
        self._chosen = [place for place, leaf in enumerate(self._leaves) if is_array(leaf)]
        self.arrays = [self._numpy(self._leaves[place]) for place in self._chosen]
        if not any(each.dtype.kind in "fc" for each in self.arrays):
            raise ArgumentError(
                f"differentiable({_title(f)}, ...): no argument is a NumPy array of floating-point "
                "or complex dtype, and so there is nothing to differentiate; Python's numbers are "
                "constants: pass numpy.asarray(0.5)"
            )
        found = optree.tree_paths(given)
        self.names = [_argument(f, found[place]) for place in self._chosen]
        self.name = f"{_title(f)}({_shown(args, kwargs)})"
        self.theirs = ((getattr(f, "__module__", None) or "").partition(".")[0],)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Let a test function be certified with this call, too; it is returned as it is."""
        above = getattr(function, "_agnograd_differentiable", ())
        function._agnograd_differentiable = (self, *above)  # type: ignore[attr-defined]
        return function

    def __repr__(self) -> str:
        return f"<differentiable {self.name}>"

    def named(self, name: str) -> Differentiable:
        """Return the same call by another name, for reports.

        Parameters
        ----------
        name : str
            The name; white space in it counts as one space.
        """
        self.name = " ".join(name.split())
        return self

    def call(self, xp: Any, arrays: Sequence[Any]) -> Any:
        """Return the result for arrays of a library."""
        filled = list(self._leaves)
        for place, array in zip(self._chosen, arrays, strict=True):
            filled[place] = array
        args, kwargs = optree.tree_unflatten(self._tree, filled)
        return self._f(*args, **kwargs)

    def _numpy(self, leaf: Any) -> Any:
        if not isinstance(leaf, backend_named("numpy").array_types()):
            raise ArgumentError(
                f"differentiable({_title(self._f)}, ...) takes NumPy arrays, which it moves to "
                f"each backend, not a {type(leaf).__module__}.{type(leaf).__name__}: pass "
                "numpy.asarray(x)"
            )
        return leaf


def differentiable(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Differentiable:
    """Declare that a call is differentiable, in every array library.

    With ``pytest --differentiable`` there is a test for each such call and each installed backend.
    It fails if the gradient is wrong, lost, NaN or refused. Without this option, nothing happens.

    Parameters
    ----------
    f : callable
        A function of arrays that returns an array, or containers of arrays.
    *args, **kwargs
        Its arguments. NumPy arrays in them, also those in containers, become arrays of each
        backend, and those of floating-point or complex dtype are differentiated. Everything else is
        passed as it is.

    Returns
    -------
    Differentiable
        Goes into a table, ``CALLS = [differentiable(f, x), ...]``, or is a decorator of a test
        function.

    Raises
    ------
    ArgumentError
        If ``f`` is not callable, no argument is an array to differentiate, or an array is not one
        of NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from agnograd_certify import differentiable
    >>> def energy(x, scale):
    ...     xp = x.__array_namespace__()
    ...     return xp.sum(xp.sin(x) ** 2) * scale
    >>> differentiable(energy, np.asarray([0.5, 1.0]), 3.0)
    <differentiable energy(float64[2], 3.0)>
    """
    if not callable(f):
        raise ArgumentError(
            f"differentiable takes a function and its arguments, not {type(f).__name__}: "
            "differentiable(f, x), without calling f"
        )
    return Differentiable(f, args, kwargs)


def _title(f: Any) -> str:
    name = getattr(f, "__qualname__", None) or type(f).__name__
    return str(name).rpartition("<locals>.")[2]


def _argument(f: Any, path: tuple[Any, ...]) -> str:
    """Return what an array is called: by the function's parameter, and where it is in that."""
    name, inside = str(path[1]), path[2:]
    if path[0] == 0:
        try:
            parameters = list(inspect.signature(f).parameters.values())
            found = parameters[min(path[1], len(parameters) - 1)]
            several = found.kind is found.VAR_POSITIONAL
            name = f"{found.name}[{path[1] - parameters.index(found)}]" if several else found.name
        except (ValueError, TypeError, IndexError):
            name = f"argument {path[1]}"
    return name + "".join(f"[{part!r}]" for part in inside)


def _shown(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    given = [_one(each) for each in args]
    given += [f"{name}={_one(each)}" for name, each in kwargs.items()]
    return ", ".join(given)


def _one(value: Any) -> str:
    if is_array(value):
        return f"{value.dtype}{list(value.shape)}"
    if callable(value):
        return _title(value)
    if isinstance(value, list | tuple) and any(is_array(each) for each in value):
        return f"[{', '.join(map(_one, value))}]"
    text = " ".join(repr(value).split())
    if " at 0x" in text:  # another one in each process
        return type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."


class TextCall:
    """An expression, whose free names are arrays and what a scope has, and ``xp`` the namespace.

    Its arrays are those of the ``inputs``, as NumPy's, that it names. ``scope`` returns what else
    it names, when the call is first made. By default its name is its text.

    Raises
    ------
    SyntaxError
        If it is not an expression.
    """

    def __init__(
        self,
        text: str,
        inputs: Mapping[str, Any],
        scope: Callable[[], Mapping[str, Any]],
        theirs: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        self.text, self._scope, self.theirs = text.strip(), scope, tuple(theirs)
        self.name = " ".join((name or text).split())
        tree = ast.parse(self.text, mode="eval")
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.names = sorted(used & set(inputs))
        self._inputs = inputs

    @cached_property
    def arrays(self) -> list[Any]:
        """The arrays that the expression names."""
        return [plain_numpy().asarray(self._inputs[name]) for name in self.names]

    @cached_property
    def _function(self) -> Callable[..., Any]:
        source = ast.unparse(ast.parse(self.text, mode="eval"))
        text = f"def call({', '.join(('xp', *self.names))}):\n    return {source}\n"
        return function_from(text, {"__name__": "", **self._scope()}, keep=False)

    def call(self, xp: Any, arrays: Sequence[Any]) -> Any:
        """Return the value of the expression."""
        return self._function(xp, *arrays)


# A call that can be made with the arrays of any library, ``call.call(xp, arrays)``. Reports have
# its ``name``, in one line; ``names`` are those of its ``arrays``, which are NumPy's. If something
# goes wrong, it is told which line did it of the packages that are ``theirs``.
Call = Differentiable | TextCall
