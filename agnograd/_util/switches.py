"""Switches: the numbers at which the way of computing changes, such as how many passes are few.

A gradient must not depend on them, but the usual arrays of a test are on one side of most. So each
is defined by :func:`switch`, which returns a plain number, and ``AGNOGRAD_SWITCHES`` says for a
process on which side they are: ``least`` or ``most`` for all of them, or ``random:SEED``. Numbers
of single switches may follow, or be all that is said: ``least,FEW_PASSES=16``.
"""

from __future__ import annotations

import os
from typing import NamedTuple, TypeVar

Number = TypeVar("Number", int, float)
VARIABLE = "AGNOGRAD_SWITCHES"


class Switch(NamedTuple):
    """A number at which the way of computing changes.

    Attributes
    ----------
    name : str
        The name of the constant.
    module : str
        The module that defines it.
    default, least, most : int or float
        The number in use, and the ends of the range in which results must be right.
    value : int or float
        The number in this process, which may be another one by ``AGNOGRAD_SWITCHES``.
    """

    name: str
    module: str
    default: int | float
    least: int | float
    most: int | float
    value: int | float


class Setting(NamedTuple):
    """What ``AGNOGRAD_SWITCHES`` says: ``side`` is "", "least", "most" or the seed."""

    side: str
    numbers: dict[str, float]


def mode_of(text: str) -> Setting:
    """Return what ``AGNOGRAD_SWITCHES`` says by a text; raise a ValueError if that is nothing."""
    sides, numbers = list[str](), dict[str, float]()
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, number = part.partition("=")
        seed = part.removeprefix("random:")
        try:
            if equals:
                numbers[name.strip()] = float(number)
                continue
            sides.append(part if part in ("least", "most") else str(int(seed)))
        except ValueError:
            raise ValueError(
                f"{VARIABLE}={text!r}: {part!r} is not 'least', 'most', 'random:SEED' with an "
                "integer, or NAME=NUMBER"
            ) from None
    if len(sides) > 1:
        raise ValueError(f"{VARIABLE}={text!r}: give one of {' and '.join(sides)}")
    return Setting("".join(sides), numbers)


MODE = mode_of(os.environ.get(VARIABLE, ""))
_known: dict[tuple[str, str], Switch] = {}


def switch(name: str, default: Number, *, least: Number, most: Number, module: str) -> Number:
    """Register a number at which the way of computing changes; return the one in use.

    Call it where the constant is defined, once for each::

        FEW_PASSES = switch("FEW_PASSES", 16, least=0, most=2**62, module=__name__)

    Parameters
    ----------
    name : str
        The name of the constant.
    default : int or float
        The number that is used unless ``AGNOGRAD_SWITCHES`` says otherwise.
    least, most : int or float
        The ends of the range in which results must be right, and programs end.
    module : str
        The module's ``__name__``.

    Returns
    -------
    int or float
        A plain number, of the type of the default.
    """
    value = default
    if MODE.side or MODE.numbers:
        chosen = {"": default, "least": least, "most": most}.get(MODE.side)
        if chosen is None:
            chosen = type(default)(_drawn(name, default, least, most, module))
        value = type(default)(MODE.numbers.get(name, chosen))
        if not least <= value <= most:
            raise ValueError(f"{VARIABLE}: {name} is at least {least} and at most {most}")
    _known[module, name] = Switch(name, module, default, least, most, value)
    return value


def _drawn(name: str, default: float, least: float, most: float, module: str) -> float:
    """Draw a number by the seed and by the switch, so that the order of imports does not matter.

    It is one of the ends, or one between that and the default: small ones are as likely as large
    ones, since arrays of tests are small.
    """
    from random import Random  # which takes long to import

    random = Random(f"{MODE.side} {module} {name}")
    if random.random() < 0.5:
        return random.choice((least, most))
    if isinstance(default, float):
        return random.uniform(least, min(most, 2 * default))
    low, high = max(least, 1), max(min(most, 2 * default), least, 1)
    drawn: float = round(low * (high / low) ** random.random())
    return min(max(drawn, least), most)


def known_switches() -> list[Switch]:
    """Return the switches of all modules that are imported, by module and name."""
    return [_known[key] for key in sorted(_known)]
