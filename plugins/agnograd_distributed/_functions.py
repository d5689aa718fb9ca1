"""Functions of data parallelism: what is done around a step, by hand."""

from __future__ import annotations

from typing import Any

import optree

import agnograd as ag
from agnograd_distributed._communicator import CommunicationError, Communicator
from agnograd_distributed.kernels.host import empty_like, from_host, joined, parted, to_host

__all__ = ["broadcast", "check_same", "mean", "shard"]


def mean(grads: Any, comm: Communicator, *, weight: float | None = None) -> Any:
    """Return the mean of the ranks' gradients.

    Parameters
    ----------
    grads : pytree of array
        Raw arrays, or Variables, whose values are taken; of the same structure, shapes and dtypes
        on all ranks, real or complex floating.
    comm : Communicator
        The ranks.
    weight : float, optional
        What this rank's gradients count, for example how many examples they are a mean of. By
        default all ranks count the same.

    Returns
    -------
    pytree of array
        Raw arrays, the same bit for bit on all ranks.

    Raises
    ------
    CommunicationError
        If the ranks' structures differ, or a rank fails or is late; it names the rank.
    """
    leaves, structure = optree.tree_flatten(grads)
    leaves = [each.data if isinstance(each, ag.Variable) else each for each in leaves]
    check_same(grads, comm, what="gradients")
    weights = comm.objects(1.0 if weight is None else float(weight))
    total = sum(weights)
    if not total > 0:
        raise ValueError(f"mean: the ranks' weights must have a positive sum, not {weights}")
    hosts = [to_host(each) for each in leaves]
    for dtype in dict.fromkeys(each.dtype for each in hosts):  # one message for each dtype
        places = [index for index, each in enumerate(hosts) if each.dtype == dtype]
        flat = joined([hosts[each] for each in places])
        flat *= weights[comm.rank] / total
        means = [empty_like(hosts[each]) for each in places]
        parted(comm.all_sum(flat), means)
        for place, each in zip(places, means, strict=True):
            leaves[place] = from_host(each, leaves[place])
    return optree.tree_unflatten(structure, leaves)


def broadcast(params: Any, comm: Communicator, *, root: int = 0) -> Any:
    """Return the parameters of one rank on all of them.

    Parameters
    ----------
    params : pytree of array
        Raw arrays, of the same structure, shapes and dtypes on all ranks.
    comm : Communicator
        The ranks.
    root : int
        The rank whose parameters all of them get.

    Raises
    ------
    CommunicationError
        If structure, shapes or dtypes differ between ranks; it names the rank and the leaf.
    """
    comm.check_rank("broadcast", root)
    check_same(params, comm, what="parameters")
    return optree.tree_map(lambda each: comm.broadcast(each, root), params)


def shard(data: Any, comm: Communicator) -> Any:
    """Return this rank's part of data, along the first axis.

    The parts of the ranks are one after the other, and their lengths differ by one at most; then
    pass ``weight`` to ``mean``.

    Parameters
    ----------
    data : pytree of array
        The same on all ranks, all of one length.
    comm : Communicator
        The ranks.
    """
    leaves = optree.tree_leaves(data)
    lengths = {each.shape[0] if each.ndim else -1 for each in leaves}
    if len(lengths) != 1 or lengths == {-1}:
        raise ValueError(
            "shard: all arrays must have a first axis of one length, not "
            f"{[tuple(each.shape) for each in leaves]}"
        )
    (length,) = lengths
    start, stop = (length * each // comm.size for each in (comm.rank, comm.rank + 1))
    return optree.tree_map(lambda each: each[start:stop, ...], data)


def check_same(tree: Any, comm: Communicator, what: str = "arrays") -> None:
    """Raise on all ranks if structure, shapes or dtypes of a pytree of arrays differ.

    The error names the first rank that differs from rank 0, and the leaf.
    """
    paths, leaves, structure = optree.tree_flatten_with_path(tree)
    own = [
        (".".join(map(str, path)) or "the array", tuple(leaf.shape), _dtype_name(leaf))
        for path, leaf in zip(paths, leaves, strict=True)
    ]
    everyone = comm.objects((str(structure), own))
    structures, first = everyone[0]
    for rank, (other, facts) in enumerate(everyone):
        for (name, *expected), (theirs, *found) in zip(first, facts, strict=False):
            if name != theirs:
                break
            if expected != found:
                raise CommunicationError(
                    f"the {what} of the ranks differ: leaf {name} of rank {rank} has shape "
                    f"{found[0]} and dtype {found[1]}, that of rank 0 has shape {expected[0]} and "
                    f"dtype {expected[1]}"
                )
        if other != structures:
            raise CommunicationError(
                f"the {what} of the ranks differ: rank {rank} has {other}, rank 0 has {structures}"
            )


def _dtype_name(array: Any) -> str:
    return str(array.dtype).rpartition(".")[2]
