"""Namespaces for libraries that have the standard's names, but not all of its keywords."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import partial, wraps
from types import ModuleType
from typing import Any

# What is cast before it is added up or multiplied, and what no cast of the result can round.
_REDUCTIONS = ("sum", "prod", "cumulative_sum", "cumulative_prod")
_EXACT = ("zeros", "ones", "empty", "eye", "zeros_like", "ones_like", "empty_like")

_Function = Callable[..., Any]


def with_keywords(
    library: ModuleType,
    *,
    lacks: Mapping[str, Iterable[str]],
    given: Mapping[str, Any] = {},
    renamed: Mapping[str, Mapping[str, str]] = {},
    device: object = "cpu",
    copied: _Function | None = None,
) -> ModuleType:
    """Return a namespace of a library's functions that take the standard's keywords.

    Functions that lack nothing are used as they are.

    Parameters
    ----------
    library : namespace
        The library's namespace, or an extension of it.
    lacks : dict
        For each keyword, ``"device"``, ``"copy"`` or ``"dtype"``, the names and patterns of
        functions that do not take it. ``device`` is dropped. ``copied`` makes the copy for
        ``copy``. ``dtype`` becomes a cast: of the array before it is summed or multiplied, and of
        the result of functions that make zeros and ones.
    given : dict, optional
        Functions, dtypes and extensions by name, which are used unchanged: those that the library
        lacks, and those that replace its own.
    renamed : dict, optional
        For each function, the library's word for each of the standard's keywords:
        ``{"var": {"correction": "ddof"}}``.
    device : optional
        The library's only device, which ``device=`` may name.
    copied : callable, optional
        A function that returns a copy of an array. Where arrays are immutable, it may return the
        array itself.

    Raises
    ------
    TypeError
        If a keyword cannot be dropped or emulated.

    Examples
    --------
    >>> import types
    >>> import agnograd as ag
    >>> from agnograd.extend import with_keywords
    >>> library = types.ModuleType("library")
    >>> library.sum = lambda x: x[0] + x[1]
    >>> library.astype = lambda x, dtype: dtype(x)
    >>> xp = with_keywords(library, lacks={"dtype": ["sum"], "device": ["*"]})
    >>> xp.sum((1, 2)), xp.astype(1, float, device="cpu")
    (3, 1.0)
    """
    words = {
        "device": partial(_without_device, device),
        "copy": partial(_without_copy, copied),
        "dtype": partial(_without_dtype, library),
    }
    for word in lacks:
        if word not in words:
            raise TypeError(
                f"with_keywords knows how to do without {', '.join(words)}, and not {word!r}: put "
                "functions that take it into `given`"
            )
    made = ModuleType(library.__name__, library.__doc__)
    vars(made)["__array_api_version__"] = "2024.12"
    for name in dir(library):
        value = getattr(library, name)
        if callable(value) and not isinstance(value, type) and name not in given:
            for word, without in words.items():
                if any(fnmatchcase(name, pattern) for pattern in lacks.get(word, ())):
                    value = wraps(value)(without(name, value))
            if name in renamed:
                value = wraps(value)(_renaming(value, renamed[name]))
        if not name.startswith("_") or name.startswith("__array"):
            vars(made)[name] = value
    vars(made).update(given)
    return made


def _without_device(only: object, name: str, function: _Function) -> _Function:
    def call(*args: Any, device: Any = None, **options: Any) -> Any:
        if device is not None and device != only:
            raise ValueError(f"{name}: there is one device, {only!r}, and {device!r} was asked for")
        return function(*args, **options)

    return call


def _without_copy(copied: _Function | None, name: str, function: _Function) -> _Function:
    if copied is None:
        raise TypeError(f"{name} lacks 'copy': pass with_keywords a function as `copied`")
    default = True if name == "astype" else None

    def call(x: Any, *args: Any, copy: bool | None = default, **options: Any) -> Any:
        result = function(x, *args, **options)
        needs = not hasattr(x, "dtype") or x.dtype != result.dtype
        if name == "asarray" and copy is False and needs:
            raise ValueError("asarray: there is no such array without a copy (copy=False)")
        return copied(result) if copy and (result is x or name != "astype") else result

    return call


def _without_dtype(library: Any, name: str, function: _Function) -> _Function:
    if name not in (*_REDUCTIONS, *_EXACT):
        raise TypeError(
            f"{name} lacks 'dtype', and a cast of its result could have lost digits: put a "
            "function into `given`"
        )

    def call(x: Any, *args: Any, dtype: Any = None, **options: Any) -> Any:
        if dtype is None:
            return function(x, *args, **options)
        if name in _REDUCTIONS:  # the sum of small integers may be of another one still
            x = library.astype(x, dtype)
        return library.astype(function(x, *args, **options), dtype)

    return call


def _renaming(function: _Function, words: Mapping[str, str]) -> _Function:
    def call(*args: Any, **options: Any) -> Any:
        return function(*args, **{words.get(word, word): each for word, each in options.items()})

    return call
