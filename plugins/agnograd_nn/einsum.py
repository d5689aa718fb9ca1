"""Einstein summation: opt_einsum finds the order in which arrays are contracted, two at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agnograd.errors import PluginError
from agnograd.extend import OpSet, conjugate_if_complex, device_of
from agnograd_nn.contraction import contracted, ordered

__all__ = ["einsum", "ops"]

# The samples are those of the other ops of this package.
ops = OpSet("nn")

Shape = tuple[int, ...]


def _opt_einsum() -> Any:
    try:
        import opt_einsum
    except ImportError as error:
        raise PluginError(
            "einsum needs opt_einsum, which is not installed: pip install 'agnograd[nn]'"
        ) from error
    return opt_einsum


def _parsed(subscripts: str, shapes: Sequence[Shape]) -> tuple[list[str], str, dict[str, int]]:
    """Return the names of each array's axes, of the result's, and the length of each.

    Raises
    ------
    ValueError
        If the subscripts are none, or do not belong to these shapes.
    """
    if not isinstance(subscripts, str):
        raise TypeError(f"subscripts are a string such as 'ij,jk->ik', not {subscripts!r}")
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


def _without_ones(x: Any, names: str, lengths: Mapping[str, int], xp: Any) -> tuple[Any, str]:
    """Leave out the axes of length 1 whose name has another length elsewhere."""
    pairs = [(n, i) for n, i in zip(names, x.shape, strict=True) if i == lengths[n]]
    if len(pairs) == len(names):
        return x, names
    return xp.reshape(x, tuple(i for _, i in pairs)), "".join(n for n, _ in pairs)


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
    names, output, lengths = _parsed(subscripts, [each.shape for each in arrays])
    operands = [_without_ones(*pair, lengths, xp) for pair in zip(arrays, names, strict=True)]
    if len(operands) == 1:
        return xp.asarray(ordered(*operands[0], output, xp), copy=True)
    path, _ = _opt_einsum().contract_path(
        f"{','.join(each for _, each in operands)}->{output}",
        *(each.shape for each, _ in operands),
        shapes=True,
    )
    for step in path:
        taken = [operands.pop(place) for place in sorted(step, reverse=True)]
        while len(taken) > 1:
            (x1, names1), (x2, names2) = taken.pop(), taken.pop()
            outside = {*output, *(name for _, each in (*operands, *taken) for name in each)}
            kept = "".join(name for name in dict.fromkeys(names1 + names2) if name in outside)
            kept = kept if operands or taken else output
            taken.append((contracted(x1, names1, x2, names2, kept, xp), kept))
        operands += taken
    return operands[0][0]


def _gradients(
    g: Any, subscripts: str, arrays: Sequence[Any], arrays_shape: Sequence[Shape], xp: Any
) -> list[Any]:
    """Return each array's gradient: the sum of products of the others' conjugates and g.

    Along axes that no other array and no result has it is constant, and off a diagonal it is 0.
    """
    names, output, lengths = _parsed(subscripts, arrays_shape)
    pairs = [_without_ones(*each, lengths, xp) for each in zip(arrays, names, strict=True)]
    found = []
    for place, (_, own) in enumerate(pairs):
        others = [each for i, each in enumerate(pairs) if i != place]
        elsewhere = output + "".join(each for _, each in others)
        once = "".join(dict.fromkeys(own))
        known = "".join(name for name in once if name in elsewhere)
        inputs = ",".join([output, *(each for _, each in others)])
        constants = [conjugate_if_complex(x, xp) for x, _ in others]
        part = xp.einsum(f"{inputs}->{known}", g, *constants)
        part = xp.reshape(part, tuple(lengths[name] if name in known else 1 for name in once))
        part = xp.broadcast_to(part, tuple(lengths[name] for name in once))
        found.append(xp.reshape(_off_diagonal(part, own, lengths, xp), arrays_shape[place]))
    return found


def _off_diagonal(x: Any, own: str, lengths: Mapping[str, int], xp: Any) -> Any:
    """Return zeros but for the diagonals of axes that have one name, which are given."""
    first = {name: own.index(name) for name in own}
    if len(first) == len(own):
        return x
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
    options=("subscripts",),
)
