"""Einstein summation: opt_einsum finds the order in which arrays are contracted, two at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

from agnograd.errors import PluginError
from agnograd.extend import OpSet, conjugate_if_complex, device_of, switch
from agnograd_nn.contraction import Plan, plan, without_ones

__all__ = ["einsum", "ops"]

# The samples are those of the other ops of this package.
ops = OpSet("nn")

Shape = tuple[int, ...]

# How many plans are kept, each for arrays of certain shapes: parsing subscripts and looking for an
# order takes longer than a contraction of small arrays.
KEPT_PLANS = switch("KEPT_PLANS", 1024, least=1, most=2**20, module=__name__)


def _opt_einsum() -> Any:
    try:
        import opt_einsum
    except ImportError as error:
        raise PluginError(
            "einsum needs opt_einsum, which is not installed: pip install 'agnograd[nn]'"
        ) from error
    return opt_einsum


def _checked(subscripts: object) -> None:
    if not isinstance(subscripts, str):
        raise TypeError(f"subscripts are a string such as 'ij,jk->ik', not {subscripts!r}")


def _parsed(subscripts: str, shapes: Sequence[Shape]) -> tuple[list[str], str, dict[str, int]]:
    """Return the names of each array's axes, of the result's, and the length of each.

    Raises
    ------
    ValueError
        If the subscripts are none, or do not belong to these shapes.
    """
    parse = _opt_einsum().parser.parse_einsum_input
    inputs, output, _ = parse((subscripts, *shapes), shapes=True)
    names = inputs.split(",")
    lengths: dict[str, int] = {}
    for each, shape in zip(names, shapes, strict=True):
        if len(each) != len(shape):
            raise ValueError(f"{subscripts!r} has {len(each)} names for an array of shape {shape}")
        for name, length in zip(each, shape, strict=True):
            known = lengths.get(name, 1)
            if 1 not in (known, length) and known != length:
                raise ValueError(
                    f"{subscripts!r}: axis {name!r} has lengths {known} and {length}; all axes of "
                    "one name have one length, or length 1"
                )
            lengths[name] = length if known == 1 else known
    return names, output, lengths


@lru_cache(KEPT_PLANS)
def _planned(subscripts: str, shapes: tuple[Shape, ...]) -> Plan:
    """Plan a contraction: in which order, and what is done to each array and each product."""
    names, output, lengths = _parsed(subscripts, shapes)
    operands = [without_ones(*each, lengths) for each in zip(names, shapes, strict=True)]
    names, reshaped = [each for each, _ in operands], [each for _, each in operands]
    path: list[tuple[int, ...]] = []
    if len(names) > 1:
        sizes = [tuple(lengths[name] for name in each) for each in names]
        text = f"{','.join(names)}->{output}"
        path, _ = _opt_einsum().contract_path(text, *sizes, shapes=True)
    return plan(names, reshaped, output, lengths, path)


def einsum(xp: Any, subscripts: str, *arrays: Any) -> Any:
    """Return the sum of products of arrays over all axes whose names the result does not have.

    Parameters
    ----------
    subscripts : str
        The names of each array's axes, and of the result's: ``"ij,jk->ik"``. An ellipsis stands
        for any number of axes; without an arrow the result has all names that occur once, in
        alphabetical order, as NumPy's has.
    *arrays : array

    Raises
    ------
    ValueError
        If the subscripts do not belong to the arrays.
    PluginError
        If opt_einsum is not installed.
    """
    _checked(subscripts)
    return _planned(subscripts, tuple([tuple(x.shape) for x in arrays])).of(arrays, xp)


@lru_cache(KEPT_PLANS)
def _with_members(subscripts: str, shapes: tuple[Shape, ...]) -> str:
    """Return subscripts for arrays of these shapes that have one more axis each, the first one."""
    names, output, lengths = _parsed(subscripts, shapes)
    symbols = map(_opt_einsum().get_symbol, count())
    members = next(symbol for symbol in symbols if symbol not in lengths)
    return f"{','.join(members + each for each in names)}->{members}{output}"


def _batch(xp: Any, subscripts: str, *arrays: Any) -> Any:
    _checked(subscripts)
    shapes = tuple([tuple(x.shape[1:]) for x in arrays])
    return xp.einsum(_with_members(subscripts, shapes), *arrays)


class _Gradient(NamedTuple):
    """How the gradient of one array is made of the cotangent and the other arrays.

    Along axes that no other array and no result has it is constant, and off a diagonal it is 0.
    """

    subscripts: str  # of the cotangent and of the others
    others: tuple[tuple[int, Shape | None], ...]  # their places, and shapes that they are given
    spread: Shape | None  # the shape with 1 for each constant axis
    whole: Shape | None  # the shape that is broadcast to
    diagonal: str  # the names of its axes, if one is there twice
    shape: Shape | None  # the array's shape


@lru_cache(KEPT_PLANS)
def _planned_gradients(
    subscripts: str, shapes: tuple[Shape, ...]
) -> tuple[tuple[_Gradient, ...], dict[str, int]]:
    names, output, lengths = _parsed(subscripts, shapes)
    pairs = [without_ones(*each, lengths) for each in zip(names, shapes, strict=True)]
    found = []
    for place, (own, _) in enumerate(pairs):
        others = [(i, *each) for i, each in enumerate(pairs) if i != place]
        elsewhere = output + "".join(each for _, each, _ in others)
        once = "".join(dict.fromkeys(own))
        known = "".join(name for name in once if name in elsewhere)
        spread = tuple(lengths[name] if name in known else 1 for name in once)
        whole = tuple(lengths[name] for name in once)
        full = tuple(lengths[name] for name in own)
        found.append(
            _Gradient(
                f"{','.join([output, *(each for _, each, _ in others)])}->{known}",
                tuple((i, shape) for i, _, shape in others),
                None if known == once else spread,
                None if known == once else whole,
                "" if once == own else own,
                None if shapes[place] == full else shapes[place],
            )
        )
    return tuple(found), lengths


def _gradients(
    g: Any, subscripts: str, arrays: Sequence[Any], arrays_shape: Sequence[Shape], xp: Any
) -> list[Any]:
    """Return each array's gradient: the sum of products of the others' conjugates and g."""
    plans, lengths = _planned_gradients(subscripts, tuple([tuple(each) for each in arrays_shape]))
    found = []
    for planned in plans:
        constants = []
        for place, shape in planned.others:
            x = conjugate_if_complex(arrays[place], xp)
            constants.append(x if shape is None else xp.reshape(x, shape))
        part = xp.einsum(planned.subscripts, g, *constants)
        if planned.spread is not None:
            part = xp.broadcast_to(xp.reshape(part, planned.spread), planned.whole)
        if planned.diagonal:
            part = _off_diagonal(part, planned.diagonal, lengths, xp)
        found.append(part if planned.shape is None else xp.reshape(part, planned.shape))
    return found


def _off_diagonal(x: Any, own: str, lengths: Mapping[str, int], xp: Any) -> Any:
    """Return zeros but for the diagonals of axes that have one name, which are given."""
    first = {name: own.index(name) for name in own}
    x = xp.reshape(x, tuple(lengths[n] if first[n] == i else 1 for i, n in enumerate(own)))
    for place, name in enumerate(own):
        if place != first[name]:
            eye = xp.eye(lengths[name], dtype=xp.bool, device=device_of(x))
            axes = (lengths[name] if i in (first[name], place) else 1 for i in range(len(own)))
            x = xp.where(xp.reshape(eye, tuple(axes)), x, 0.0)
    return x


ops.multilinear(
    "einsum(subscripts, /, *arrays)",
    arrays=_gradients,
    forward=einsum,
    contracts=True,
    batch=_batch,
    options=("subscripts",),
)
