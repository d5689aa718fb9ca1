"""Bridges: functions of Variables for PyTorch and JAX, and their functions as ops here.

Arguments and results are arrays or pytrees of them (optree's: dicts, tuples, lists, named tuples,
and what is registered with it). Anything else among the arguments is passed on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agnograd._adopted import Adopted
from agnograd._backends import backend_named
from agnograd._exported import Exported
from agnograd._moving import asarray
from agnograd._namespace import domain_named, is_array
from agnograd._trees import flatten, unflatten
from agnograd._variable import Variable
from agnograd.errors import PluginError

if TYPE_CHECKING:
    from agnograd._bridges import Bridge

__all__ = ["adopt", "export", "from_jax", "from_torch", "jax", "torch"]

Function = Callable[..., Any]


def torch(f: Function, *, backend: str | None = None) -> Function:
    """Return a function of Variables as one of tensors, which PyTorch's autograd differentiates.

    Parameters
    ----------
    f : callable
        A function of arrays that returns an array or a pytree of arrays. It gets Variables.
    backend : str, optional
        The backend that it gets them on; by default they stay on PyTorch's.

    Returns
    -------
    callable
        Takes tensors where ``f`` takes Variables (other raw arrays are moved, as constants), and
        returns tensors. Its derivatives are those of ``f``, in every order; ``create_graph`` works.

    Raises
    ------
    LostGradientError
        When it is called, if ``f`` uses tracked Variables that are none of its arguments.
    """
    return export(f, "torch", backend=backend)


def jax(f: Function, *, backend: str | None = None, results: Function | None = None) -> Function:
    """Return a function of Variables as one of JAX's arrays, which ``jax.grad`` differentiates.

    On JAX's own backend, ``jax.jit`` compiles what ``f`` computes. On another backend ``f`` runs on
    the host, by ``jax.pure_callback``. Derivatives are those of ``f``, in reverse mode, in every
    order; each runs ``f`` again, since JAX keeps nothing but arrays between the two.

    Parameters
    ----------
    f : callable
        A function of arrays that returns an array or a pytree of arrays. It gets Variables. It
        must compute the same thing each time.
    backend : str, optional
        The backend that it gets them on; by default they stay on JAX's.
    results : callable, optional
        Takes what ``f`` takes, and returns objects with the ``shape`` and ``dtype`` of what ``f``
        returns. It is for callbacks in a trace, where ``f`` is otherwise run on arrays of ones to
        see its results.

    Returns
    -------
    callable
        Takes JAX's arrays where ``f`` takes Variables (other raw arrays are moved, as constants),
        and returns JAX's arrays.

    Raises
    ------
    LostGradientError
        When it is differentiated, if ``f`` uses tracked Variables that are none of its arguments.
    UnsupportedArrayError
        When it is called, if a result has a dtype of 64 bits, and JAX is not set up for that.
    """
    return export(f, "jax", backend=backend, results=results)


def export(
    f: Function, library: str, *, backend: str | None = None, results: Function | None = None
) -> Function:
    """Return a function of Variables as one of another library's arrays; see ``torch``, ``jax``.

    Parameters
    ----------
    f : callable
        The function.
    library : str
        The name of the library's backend, which has a ``bridge()``.
    backend : str, optional
        The backend on which ``f`` gets Variables; by default ``library``.
    results : callable, optional
        Takes what ``f`` takes, and returns objects with the ``shape`` and ``dtype`` of what ``f``
        returns; for libraries that trace.

    Raises
    ------
    PluginError
        If the backend has no bridge.
    """
    bridge = _bridge(library)
    if backend is not None:
        backend_named(backend)

    @functools.wraps(f)
    def exported(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten((args, kwargs))
        types = domain_named(library).array_types
        inputs = {
            place: leaf if isinstance(leaf, types) else asarray(leaf, backend=library).data
            for place, leaf in enumerate(leaves)
            if is_array(leaf) and not isinstance(leaf, Variable)
        }
        program = Exported(f, leaves, tree, tuple(inputs), library, backend or library, results)
        outputs = bridge.export(program, list(inputs.values()))
        return unflatten(program.structure, outputs)

    return exported


def from_torch(f: Function) -> Function:
    """Return a function of tensors, or a module, as an op: PyTorch computes its derivatives.

    The parameters of a module that require a gradient get theirs from ``backward``, in their own
    ``grad``, when the whole pass has succeeded; functions that return gradients, such as
    ``ag.grad``, leave them alone.

    Parameters
    ----------
    f : callable
        Takes tensors, or pytrees of them, and returns such.

    Returns
    -------
    callable
        Takes Variables and raw arrays of any backend where ``f`` takes tensors, and returns
        Variables on the backend of the first Variable among the arguments (or else the first
        array). Derivatives are PyTorch's, of every order that it has.

    Raises
    ------
    LostGradientError
        When it is called, if ``f`` uses tensors that require a gradient and are neither arguments
        nor a module's parameters.
    RuleError
        When it is called, if the module has other parameters, or on another device, than when it
        was made an op.
    """
    return adopt(f, "torch")


def from_jax(f: Function) -> Function:
    """Return a function of JAX's arrays as an op, whose derivatives JAX computes.

    Parameters
    ----------
    f : callable
        Takes JAX's arrays, or pytrees of them, and returns such; it may be compiled by ``jax.jit``.

    Returns
    -------
    callable
        Takes Variables and raw arrays of any backend where ``f`` takes JAX's arrays, and returns
        Variables on the backend of the first Variable among the arguments (or else the first
        array). Derivatives are JAX's, of every order.
    """
    return adopt(f, "jax")


def adopt(f: Function, library: str) -> Function:
    """Return a function of another library as an op here; see ``from_torch`` and ``from_jax``.

    Parameters
    ----------
    f : callable
        The function.
    library : str
        The name of the library's backend, which has a ``bridge()``.

    Raises
    ------
    PluginError
        If the backend has no bridge.
    """
    op = Adopted(f, library, _bridge(library))

    # A module has attributes of its own, which are not for a function.
    @functools.wraps(f, updated=())
    def adopted(*args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    return adopted


def _bridge(library: str) -> Bridge:
    domain_named(library)  # a missing library is an error that says what to install
    bridge = backend_named(library).bridge()
    if bridge is None:
        raise PluginError(
            f"backend {library!r} has no bridge: its library computes no derivatives; use its "
            "arrays as they are, or move them by ag.asarray"
        )
    return bridge
