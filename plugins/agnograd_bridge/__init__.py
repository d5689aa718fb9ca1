"""Bridges: functions of Variables and ops for PyTorch and JAX, and their functions as ops here.

Arguments and results are arrays or pytrees of arrays. Pytrees are those of optree: dicts, tuples,
lists, named tuples, and types registered with it. Any other argument is passed on unchanged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agnograd.errors import PluginError
from agnograd.extend import Bridge, backend_named, domain_named
from agnograd.extend.arguments import callable_in, name_in, unflatten
from agnograd.extend.members import is_above, member_by_member
from agnograd_bridge._crossing import Adopted, Exported

if TYPE_CHECKING:
    from agnograd_engines import Library

__all__ = ["adopt", "export", "from_jax", "from_torch", "jax", "library", "torch"]

Function = Callable[..., Any]


def torch(f: Function, *, backend: str | None = None) -> Function:
    """Turn a function of Variables into one of tensors, which PyTorch's autograd differentiates.

    Parameters
    ----------
    f : callable
        A function of arrays that returns an array or a pytree of arrays. It gets Variables.
    backend : str, optional
        The backend of the Variables that ``f`` gets. By default it is PyTorch's.

    Returns
    -------
    callable
        Takes tensors where ``f`` takes Variables, and returns tensors. Other raw arrays are moved,
        as constants. Its derivatives are those of ``f``, in every order; ``create_graph`` works.

    Raises
    ------
    LostGradientError
        When it is called, if ``f`` uses tracked Variables that are not its arguments.
    """
    return export(f, "torch", backend=backend)


def jax(f: Function, *, backend: str | None = None, results: Function | None = None) -> Function:
    """Turn a function of Variables into one of JAX arrays, which ``jax.grad`` differentiates.

    On JAX's own backend, ``jax.jit`` compiles what ``f`` computes. On another backend, ``f`` runs
    on the host, through ``jax.pure_callback``. The derivatives are those of ``f``, in reverse mode,
    in every order. Each derivative runs ``f`` again, because JAX keeps only arrays between the
    forward and the backward computation.

    Parameters
    ----------
    f : callable
        A function of arrays that returns an array or a pytree of arrays. It gets Variables. It
        must compute the same thing each time.
    backend : str, optional
        The backend of the Variables that ``f`` gets. By default it is JAX's.
    results : callable, optional
        A function that takes what ``f`` takes, and returns objects with the ``shape`` and ``dtype``
        of what ``f`` returns. It is used for callbacks in a trace. Without it, ``f`` runs once on
        arrays of ones to find out what it returns.

    Returns
    -------
    callable
        Takes JAX arrays where ``f`` takes Variables, and returns JAX arrays. Other raw arrays are
        moved, as constants.

    Raises
    ------
    LostGradientError
        When it is differentiated, if ``f`` uses tracked Variables that are not its arguments.
    UnsupportedArrayError
        When it is called, if a result has a 64-bit dtype, and 64 bits are not enabled in JAX.
    """
    return export(f, "jax", backend=backend, results=results)


def export(
    f: Function, library: str, *, backend: str | None = None, results: Function | None = None
) -> Function:
    """Turn a function of Variables into one of another library's arrays; see ``torch``, ``jax``.

    Parameters
    ----------
    f : callable
        The function.
    library : str
        The name of the library's backend, which has a ``bridge()``.
    backend : str, optional
        The backend on which ``f`` gets Variables; by default ``library``.
    results : callable, optional
        A function that takes what ``f`` takes, and returns objects with the ``shape`` and ``dtype``
        of what ``f`` returns, for libraries that trace.

    Raises
    ------
    PluginError
        If the backend has no bridge.
    """
    callable_in(f"bridge to {library}", f, "bridge.torch(f), where f takes Variables")
    if results is not None:
        callable_in("bridge: results", results, "results=f, a function of what f takes")
    bridge = _bridge(library)
    if backend is not None:
        name_in("bridge: backend", backend, "backend='numpy'")
        backend_named(backend)

    @functools.wraps(f)
    def exported(*args: Any, **kwargs: Any) -> Any:
        program = Exported(f, args, kwargs, library, backend or library, results)
        outputs = bridge.export(program, program.inputs())
        return unflatten(program.structure, outputs)

    return exported


def library(name: str, *, engine: str | None = None) -> Library:
    """Return the functions of an op set as functions of PyTorch, JAX, or another engine.

    Each function takes that engine's arrays, and returns such arrays, which the engine
    differentiates by the rules of agnograd. Which engine it is, is decided by the arrays of each
    call: those of PyTorch, of JAX, or boxes of autograd. Constants may be NumPy arrays. Variables
    and arrays of other libraries are computed as in their own namespaces.

    Parameters
    ----------
    name : str
        An extension of a namespace, such as ``special`` or ``stats.norm``; or a package that
        registers ops, with or without ``agnograd_`` before its name: ``scipy`` has ``signal``,
        ``linalg`` and more.
    engine : str, optional
        The only engine whose arrays the functions take: ``torch``, ``jax`` or ``autograd``. Then
        NumPy arrays are constants of it, too, where there is no other array.

    Returns
    -------
    namespace
        It has the functions under the names that they have in a namespace, with the same
        signatures.

    Raises
    ------
    PluginError
        If there is no such op set, or no such engine. When a function is called, if it takes
        functions, and the engine cannot convert those.
    MixedBackendsError
        When a function is called with arrays of several engines.
    MissingRuleError
        When it is differentiated, if there is no rule for an argument that needs a gradient.

    Examples
    --------
    >>> import agnograd as ag
    >>> special = ag.bridge.library("special")
    >>> float(special.xlogy(2.0, 1.0))
    0.0
    """
    import agnograd_engines as engines  # few programs need it

    name_in("bridge.library", name, "'scipy'")
    if engine is not None:
        name_in("bridge.library: engine", engine, "engine='torch'")
    return engines.library(name, engine)


def from_torch(f: Function) -> Function:
    """Turn a function of tensors, or a module, into an op whose derivatives PyTorch computes.

    If parameters of a module require a gradient, ``backward`` adds it to their own ``grad`` once
    the whole pass has succeeded. Functions that return gradients, such as ``ag.grad``, do not
    change these parameters.

    Parameters
    ----------
    f : callable
        A function that takes and returns tensors, or pytrees of tensors.

    Returns
    -------
    callable
        Takes Variables and raw arrays of any backend where ``f`` takes tensors. It returns
        Variables on the backend of the first Variable among the arguments, or of the first array if
        there is no Variable. PyTorch computes the derivatives, in every order that it has.

    Raises
    ------
    LostGradientError
        When it is called, if ``f`` uses tensors that require a gradient and are neither arguments
        nor parameters of a module.
    RuleError
        When it is called, if the module's parameters, or their device, have changed since the
        module was turned into an op.
    """
    return adopt(f, "torch")


def from_jax(f: Function) -> Function:
    """Turn a function of JAX arrays into an op whose derivatives JAX computes.

    Parameters
    ----------
    f : callable
        A function that takes and returns JAX arrays, or pytrees of them. It may be compiled with
        ``jax.jit``.

    Returns
    -------
    callable
        Takes Variables and raw arrays of any backend where ``f`` takes JAX arrays. It returns
        Variables on the backend of the first Variable among the arguments, or of the first array if
        there is no Variable. JAX computes the derivatives, in every order.
    """
    return adopt(f, "jax")


def adopt(f: Function, library: str) -> Function:
    """Turn a function of another library into an op here; see ``from_torch`` and ``from_jax``.

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
    callable_in(f"bridge from {library}", f, "bridge.from_torch(f), where f takes tensors")
    op = Adopted(f, library, _bridge(library))

    # A module has attributes of its own, which are not for a function.
    @functools.wraps(f, updated=())
    def adopted(*args: Any, **kwargs: Any) -> Any:
        if is_above((args, kwargs)):  # its arrays are not the library's, but those of members are
            return member_by_member(of_both, (args, kwargs), {})
        return op(*args, **kwargs)

    def of_both(args: Any, kwargs: Any) -> Any:
        return adopted(*args, **kwargs)

    of_both.__name__ = op.op.__name__

    return adopted


def _bridge(library: str) -> Bridge:
    name_in("bridge: library", library, "'torch'")
    domain_named(library)  # if the library is missing, this raises
    bridge = backend_named(library).bridge()
    if bridge is None:
        raise PluginError(
            f"backend {library!r} has no bridge: its library computes no derivatives; use its "
            "arrays as they are, or move them by ag.asarray"
        )
    return bridge
