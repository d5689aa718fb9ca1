"""Python callables of compiled functions: by an extension module, or by ctypes."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from agnograd.extend import switch
from agnograd_c._run.compiler import NoCompiler, loaded, name_of
from agnograd_c._run.library import source_of
from agnograd_compile.lowering import Fact

__all__ = ["callable_of", "driver", "slope", "ties"]

# From how many elements on other threads run while C computes: to let them takes as long as a call.
RELEASING_ELEMENTS = switch("RELEASING_ELEMENTS", 2**12, least=0, most=2**62, module=__name__)


@cache
def driver() -> Any:
    """Return the extension module that makes callables, None if it cannot be compiled.

    It needs the header files of Python, which not every machine with a compiler has.
    """
    source = source_of("driver.c")
    options = [f"-I{path}" for path in (sysconfig.get_paths()["include"], np.get_include())]
    key = f"{source}{np.__version__}{sysconfig.get_config_var('SOABI')}"
    try:
        name = name_of(key, options)
        options.append(f"-DINITIALISE=PyInit_{name}")
        return loaded(partial(_module, name), source, options, name)
    except NoCompiler:
        return None


def _module(name: str, path: Path) -> Any:
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def callable_of(
    library: ctypes.CDLL, name: str, inputs: Sequence[Fact], results: Sequence[Fact], threads: int
) -> Callable[..., Any]:
    """Return a Python callable of a function of a library.

    It takes arrays, and scalars, as ``inputs`` says, and returns a tuple of new ones. It may also
    be given, after them, an array to write to, or None, for each result. Then it returns what it
    makes where there is None: a tuple, unless that is one thing, or nothing.
    """
    laid_out = partial(_laid_out, inputs, library)
    large = any(fact.size >= RELEASING_ELEMENTS for fact in (*inputs, *results))
    made = driver()
    if made is None:
        return _by_ctypes(library[name], inputs, results, threads, laid_out)
    # A function of ctypes refers to itself: only the garbage collector would let go of it.
    address = ctypes.addressof(ctypes.c_char.in_dll(library, name))
    values = tuple(
        (fact.dtype, fact.kind is np.ndarray, fact.shape, fact.strides or ())
        for fact in (*inputs, *results)
    )
    call: Callable[..., Any] = made.make(address, threads, large, len(inputs), values, laid_out)
    return call


def _laid_out(inputs: Sequence[Fact], _library: ctypes.CDLL, value: Any, number: int) -> Any:
    """Return a copy of a value in memory as a function expects its input.

    It is given the function's library, so that this stays open.
    """
    fact = inputs[number]
    own = np.asarray(value)
    if own.dtype != fact.dtype or own.shape != fact.shape:
        raise TypeError(
            f"a value is not what it was when the program was traced: {own.dtype} of shape "
            f"{own.shape}, and not {fact.dtype} of shape {fact.shape}"
        )
    made = _new(fact)
    made[...] = own
    return made


def _by_ctypes(
    function: Any,
    inputs: Sequence[Fact],
    results: Sequence[Fact],
    threads: int,
    laid_out: Callable[[Any, int], Any],
) -> Callable[..., Any]:
    """Return the callable without an extension module, which takes longer to call."""
    function.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_long]
    function.restype = ctypes.c_int
    places = ctypes.c_void_p * (len(inputs) + len(results))

    def call(*given: Any) -> Any:
        own, into = given[: len(inputs)], given[len(inputs) :]
        arrays = [
            x if _fits(x, fact) else laid_out(x, number)
            for number, (x, fact) in enumerate(zip(own, inputs, strict=True))
        ]
        outs = into or (None,) * len(results)
        for x, fact in zip(outs, results, strict=True):
            if x is not None and not (_fits(x, fact) and x.flags.writeable):
                raise TypeError("a group cannot write a result there")
        made = [_new(fact) if x is None else x for x, fact in zip(outs, results, strict=True)]
        if function(places(*(x.ctypes.data for x in (*arrays, *made))), threads):
            raise MemoryError
        new = tuple(
            x if fact.kind is np.ndarray else x[()]
            for x, fact, out in zip(made, results, outs, strict=True)
            if out is None
        )
        return new if not into or len(new) > 1 else new[0] if new else None

    return call


def _fits(x: Any, fact: Fact) -> bool:
    """Return whether a value lies in memory as the function expects it."""
    return (
        isinstance(x, np.ndarray)
        and x.dtype == fact.dtype
        and x.shape == fact.shape
        and x.flags.aligned
        and all(
            one == other or length == 1
            for one, other, length in zip(x.strides, fact.strides or (), x.shape, strict=True)
        )
    )


def _new(fact: Fact) -> Any:
    """Return a new array that has the strides of a fact."""
    strides = fact.strides or ()
    ways = [stride * (length - 1) for stride, length in zip(strides, fact.shape, strict=True)]
    memory = np.empty(sum(map(abs, ways)) + fact.dtype.itemsize, np.uint8)
    return np.ndarray(fact.shape, fact.dtype, memory, -sum(min(0, way) for way in ways), strides)


def slope(x: Any) -> Any:
    """Return the derivative of tanh at an array, where no group computes it: see ``slopes``."""
    e = np.exp(np.abs(x) * -2.0)
    return 4.0 * e / (1.0 + e) ** 2


def ties(x: Any, out: Any) -> Any:
    """Return 1 where an array equals its extreme and 0 elsewhere, where no group computes it."""
    return np.equal(x, out).astype(x.dtype)
