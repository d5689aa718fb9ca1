"""What users hand in, checked where it is handed in: an ArgumentError there says what to change.

``what`` is how a message names the argument, or the function that takes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Complex, Integral, Real
from operator import index
from reprlib import repr as shown
from typing import Any

from agnograd.errors import ArgumentError, NoGradientError


def callable_in(what: str, f: Any, example: str) -> None:
    """Check that something is callable; ``example`` shows a call that is right."""
    if not callable(f):
        raise ArgumentError(f"{what} takes a function, not {_named(f)}: {example}")


def argnums_in(what: str, argnums: Any) -> int | tuple[int, ...]:
    """Return the positions of arguments as Python's integers, one or a tuple of them."""
    try:
        if not isinstance(argnums, Sequence):
            return _position(argnums)
        if not isinstance(argnums, str | bytes):
            return tuple(_position(each) for each in argnums)
    except TypeError:
        pass
    raise ArgumentError(
        f"{what}: argnums is {_named(argnums)}; it must be the position of an argument to "
        "differentiate, argnums=0 say, or a tuple of positions"
    )


def _position(each: Any) -> int:
    if isinstance(each, bool):
        raise TypeError
    return index(each)


def flag_in(what: str, flag: Any) -> bool:
    """Return a flag as Python's boolean; a function that is handed in by mistake is not true."""
    if flag is True or flag is False:  # most often
        return flag
    if type(flag).__name__ in ("bool", "bool_") or (isinstance(flag, int) and flag in (0, 1)):
        return bool(flag)  # NumPy's, or a number for it
    raise ArgumentError(f"{what} is {_named(flag)}; it must be True or False")


def flags_in(what: str, **flags: Any) -> None:
    """Check several flags; None is the default of each."""
    for name, flag in flags.items():
        if flag is not None:
            flag_in(f"{what}: {name}", flag)


def name_in(what: str, name: Any, example: str) -> None:
    """Check that something is a name, like the example."""
    if not isinstance(name, str):
        raise ArgumentError(f"{what} is {_named(name)}; it must be a name, {example} say")


def number_in(what: str, value: Any) -> None:
    """Check that something is a real number, as Python or NumPy has them, and no Variable."""
    try:
        if not isinstance(value, bool | str | bytes) and not hasattr(value, "_node"):
            float(value)
            return
    except (TypeError, ValueError):
        pass
    raise ArgumentError(f"{what} is {_named(value)}; it must be a number")


def positive_in(what: str, value: Any) -> None:
    """Check that something is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ArgumentError(f"{what} is {_named(value)}; it must be a positive integer")


def tuple_in(what: str, args: Any, values: Any, name: str) -> tuple[tuple[Any, ...], Any]:
    """Return arguments as a tuple, and a tuple of what belongs to each of them."""
    if not isinstance(args, tuple):
        return (args,), (values,)
    if not isinstance(values, tuple | list):
        raise ArgumentError(
            f"{what}: {name} must be a tuple as the arguments are, with one for each of the "
            f"{len(args)}, not {_named(values)}"
        )
    return args, tuple(values)


def pair_from(what: str, result: Any) -> tuple[Any, Any]:
    """Return what a function gave as a value and what goes with it."""
    if isinstance(result, tuple | list) and len(result) == 2:
        return result[0], result[1]
    raise ArgumentError(
        f"{what} with has_aux=True needs a function that returns a pair, (value, aux), not "
        f"{_named(result)}: return one, or leave has_aux out"
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the known one that is like it, if any."""
    import difflib  # only errors need it

    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _named(value: Any) -> str:
    """Return how a message shows a value: by its type as well, since 5 and "5" look alike."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return shown(value)
    kind = type(value).__qualname__
    return f"a {kind} of length {len(value)}" if isinstance(value, tuple | list) else f"a {kind}"


def python_number(x: Any) -> Any:
    """Return a number of any class as one of Python's own: libraries make objects of others."""
    if hasattr(x, "item"):
        x = x.item()  # NumPy's longdouble stays one
    kinds: Sequence[tuple[type, Any]] = ((Integral, int), (Real, float), (Complex, complex))
    for number, kind in kinds:
        if isinstance(x, number):
            return x if isinstance(x, kind | bool) else kind(x)
    return x


def is_variable(x: object) -> bool:
    """Return whether an object is a Variable: the lower layers know no more of them."""
    return hasattr(type(x), "_domain")


def variables_in(what: str, variables: Any) -> list[Any]:
    """Return Variables as a list, or raise an error that names what is none."""
    if is_variable(variables):
        return [variables]
    if isinstance(variables, str | bytes | Mapping) or not isinstance(variables, Iterable):
        raise ArgumentError(
            f"{what} is of type {type(variables).__qualname__}; it must be a Variable, or a list "
            "of Variables"
        )
    found = list(variables)
    for place, variable in enumerate(found):
        if not is_variable(variable):
            raise NoGradientError(
                f"{what}[{place}] is of type {type(variable).__name__}, not a Variable: wrap "
                "arrays in ag.Variable before they are computed with"
            )
    return found
