"""The hook that takes the mean of gradients over ranks while the pass goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from sys import getrefcount
from time import perf_counter
from typing import TYPE_CHECKING, Any

import optree

from agnograd.extend import Uncopied, hookimpl
from agnograd_distributed._buckets import Bucket, bytes_in, in_buckets
from agnograd_distributed._communicator import CommunicationError, Communicator
from agnograd_distributed._functions import check_same
from agnograd_distributed._sending import Sending
from agnograd_distributed.kernels.host import empty_like, from_host, is_whole, total_of

if TYPE_CHECKING:
    import agnograd as ag

__all__ = ["AllReduce"]


def _references_to_what_is_alone() -> int:
    made = {0: object()}
    alone = made.pop(0, None)
    return getrefcount(alone)


_ALONE = _references_to_what_is_alone()


class _Running:
    """One pass: the gradients of leaves by number, and how many buckets have left."""

    def __init__(self) -> None:
        self.grads: dict[int, Any] = {}
        self.futures: list[Any] = []


class AllReduce(Uncopied):
    """Give leaves the mean of the ranks' gradients: ``with ag.hooks(AllReduce(comm)):``.

    Gradients leave in buckets as soon as they are final, from a thread with a channel of its own,
    while the pass goes on; when the pass is done it waits for those that are still on their way.
    Buckets are the same, in the same order, on all ranks: in the order in which gradients became
    final in the first pass of rank 0. A leaf that a rank's pass does not reach counts as zeros
    there, and one that no rank's reaches gets no gradient. Either all ranks commit the gradients
    of a pass, or none: if a rank raises, ends or is late, the others raise a
    ``CommunicationError`` that names it, and so does every later pass.

    It is for ``backward``, and for one pass at a time. Gradients of ``ag.grad`` are those of new
    leaves in every call: take their ``mean``.

    Parameters
    ----------
    comm : Communicator
        The ranks. All of them enter and leave the ``with`` block.
    params : pytree of Variable, optional
        The leaves, in the same order on all ranks. Gradients of others stay as they are. By
        default all leaves of the first pass, which then has to reach the same on all ranks.
    bucket, first : str or int
        The size of a bucket, and that of the first and the last one: the first leaves early, and
        little is left to be sent when the pass is done.

    Examples
    --------
    >>> import agnograd as ag
    >>> from agnograd_distributed import AllReduce, communicator
    >>> w = ag.Variable([3.0, 4.0])
    >>> with ag.hooks(AllReduce(communicator("none"), [w])) as (reduce,):
    ...     (w * w)[0].backward()
    >>> w.grad.data.tolist(), reduce.to_dict()["passes"]
    ([6.0, 0.0], 1)
    """

    def __init__(
        self,
        comm: Communicator,
        params: Any = None,
        *,
        bucket: str | int = "8 MiB",
        first: str | int = "512 KiB",
    ) -> None:
        self.comm = comm
        self._bucket = bytes_in("AllReduce: bucket", bucket)
        self._first = bytes_in("AllReduce: first", first)
        self._given = None if params is None else optree.tree_leaves(params)
        self._leaves: Sequence[ag.Variable] = ()
        self._numbers: dict[int, int] = {}  # of leaves, by identity
        self._buckets: tuple[Bucket, ...] = ()
        # By identity, leaves and the sums of their gradients of passes that were skipped.
        self._kept: dict[int, tuple[ag.Variable, Any]] = {}
        self._spare: dict[int, Any] = {}  # by number, arrays for the next means
        self._skipping = False
        self._depth = 0
        self._running: _Running | None = None
        self._passes = 0
        self._exposed = 0.0
        self._channel = comm  # inside the block one of its own, for another thread
        self._sent: Sequence[tuple[str, float, float, int]] = ()

    def __enter__(self) -> AllReduce:
        self._passes, self._exposed = 0, 0.0
        self._channel = self.comm.channel()
        self._sending = Sending("agnograd-all-reduce")
        self._sent = self._sending.events
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, CommunicationError):
            self._fail(error)
        self._sending.end()
        self._channel.close()
        self._spare.clear()

    @contextmanager
    def skip(self) -> Iterator[None]:
        """Send nothing for the passes in a block; their gradients are added to the next pass's.

        Until then ``grad`` of the leaves stays as it is, on all ranks.
        """
        before, self._skipping = self._skipping, True
        try:
            yield
        finally:
            self._skipping = before

    # -- hooks ----------------------------------------------------------------------------------

    @hookimpl
    def backward_start(self, leaves: Sequence[ag.Variable]) -> None:
        """Agree with all ranks on the buckets, in the first pass."""
        self._depth += 1
        if self._depth > 1:  # a pass inside a rule, whose gradients are the outer one's
            return
        self._running = None
        if not self._buckets and not self._skipping:
            self._agree(leaves)
        reached = {*map(id, leaves), *self._kept}
        if self._given is None and self._buckets and not reached <= {*self._numbers}:
            raise ValueError(
                "AllReduce: the pass reaches a leaf that the first pass did not reach; give all "
                "of them: AllReduce(comm, params)"
            )
        self._running = _Running()

    @hookimpl
    def gradient_ready(self, variable: ag.Variable, grad: Any) -> None:
        """Let a bucket leave that is full now."""
        number = self._numbers.get(id(variable))
        if self._depth == 1 and number is not None and self._running and not self._skipping:
            self._running.grads[number] = grad
            self._let_leave(self._running, complete=False)

    @hookimpl
    def replace_gradients(
        self, variables: Sequence[ag.Variable], grads: Sequence[Any]
    ) -> list[tuple[ag.Variable, Any]] | None:
        """Return the means, once all ranks have them."""
        running = self._running
        if self._depth > 1 or running is None:
            return None
        if self._skipping:
            return self._keep(variables, grads)
        used = {*running.grads, *(self._numbers[each] for each in self._kept)}
        self._let_leave(running, complete=True)
        start = perf_counter()
        means = {
            number: from_host(mean, self._leaves[number].data)
            for bucket, future in zip(self._buckets, running.futures, strict=True)
            for number, mean in zip(bucket.numbers, future.result(), strict=True)
        }
        # When all ranks have come here, each of them has all means: now they may be committed.
        agreed = self._sending.submit("agree", 0, self._channel.objects, used)
        everywhere = set().union(*agreed.result())
        self._exposed += perf_counter() - start
        self._passes += 1
        self._kept = {}
        return [(self._leaves[number], means[number]) for number in sorted(everywhere)]

    @hookimpl
    def backward_finish(self, error: BaseException | None) -> None:
        """Tell all ranks of a pass that failed."""
        self._depth = max(self._depth - 1, 0)  # another plugin's hook may fail before it begins
        if self._depth == 0:
            self._running = None
            if error is not None and not isinstance(error, CommunicationError):
                self._fail(error)

    # -- what it reports ------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return what was measured since the ``with`` block began; times are in seconds.

        Returns
        -------
        dict
            ``passes`` is how many passes were reduced, ``buckets`` how many buckets each of them
            sends, and ``bytes`` how many bytes of gradients this rank has sent in all. ``seconds``
            is the time that the thread communicated, ``exposed`` the time that passes waited for
            it, and ``hidden`` the rest.
        """
        sent = [each for each in list(self._sent) if each[3]]
        seconds = sum(stop - start for _, start, stop, _ in sent)
        exposed = min(self._exposed, seconds)
        return {
            "passes": self._passes,
            "buckets": len(self._buckets),
            "bytes": sum(each[3] for each in sent),
            "seconds": seconds,
            "hidden": seconds - exposed,
            "exposed": self._exposed,
        }

    def summary(self) -> str:
        """Return what was measured as a text."""
        found = self.to_dict()
        share = found["hidden"] / found["seconds"] if found["seconds"] else 0.0
        return (
            f"{found['passes']} passes sent {found['bytes'] / (1 << 20):.1f} MiB in "
            f"{found['buckets']} buckets each: {found['seconds'] * 1e3:.1f} ms, of which "
            f"{found['hidden'] * 1e3:.1f} ms ({share:.0%}) hidden behind passes; passes waited "
            f"{found['exposed'] * 1e3:.1f} ms"
        )

    def trace_events(self) -> list[tuple[str, float, float]]:
        """Return what was sent, for ``timer.trace(path, reduce)``: name, start and stop."""
        return [each[:3] for each in list(self._sent)]

    # -- what it does ---------------------------------------------------------------------------

    def _agree(self, leaves: Sequence[ag.Variable]) -> None:
        """Find the buckets: the same on all ranks, in the order of rank 0's first pass."""
        own = list(leaves) if self._given is None else self._given
        raw = [each.data for each in own]
        self._sending.submit("check", 0, check_same, raw, self._channel, "leaves").result()
        numbers = {id(each): number for number, each in enumerate(own)}
        reached = [numbers[id(each)] for each in leaves if id(each) in numbers]
        late = [number for number in reversed(range(len(own))) if number not in {*reached}]
        order = self._sending.submit("order", 0, self._channel.objects, reached + late).result()[0]
        self._leaves, self._numbers = own, numbers
        self._buckets = tuple(in_buckets(order, raw, self._bucket, self._first))

    def _let_leave(self, running: _Running, complete: bool) -> None:
        """Let the next buckets leave, as long as they are full; all of them if none will be."""
        kept = {self._numbers[each]: grad for each, (_, grad) in self._kept.items()}
        while len(running.futures) < len(self._buckets):
            bucket = self._buckets[len(running.futures)]
            if not (complete or running.grads.keys() >= {*bucket.numbers}):
                return
            parts = [
                [g for g in (running.grads.get(number), kept.get(number)) if g is not None]
                for number in bucket.numbers
            ]
            name = f"bucket {len(running.futures)}"
            sent = self._sending.submit(name, bucket.nbytes, self._means, name, bucket, parts)
            running.futures.append(sent)

    def _means(self, name: str, bucket: Bucket, parts: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the means of one bucket's gradients, each the sum of its parts on this rank.

        They are in host memory: this thread has not the settings that libraries keep for another
        one, such as JAX's precision or a current device.
        """
        likes = [self._leaves[number].data for number in bucket.numbers]
        hosts = [total_of(part, like) for part, like in zip(parts, likes, strict=True)]
        results = [self._memory(*each) for each in zip(bucket.numbers, hosts, strict=True)]
        self._channel._mean(hosts, results, name)
        for number, part, result in zip(bucket.numbers, parts, results, strict=True):
            self._spare[number] = part[0] if len(part) == 1 and is_whole(part[0]) else result
        return results

    def _memory(self, number: int, host: Any) -> Any:
        """Return memory for a leaf's mean: that of the pass before, if nothing refers to it now.

        New memory comes from the system, which has to clear it first, page by page. What is kept
        is the memory of the gradient, and not that of its mean: so a user who lets go of the means
        makes room for the gradients of the next pass.
        """
        spare = self._spare.pop(number, None)
        return empty_like(host) if spare is None or getrefcount(spare) > _ALONE else spare

    def _keep(
        self, variables: Sequence[ag.Variable], grads: Sequence[Any]
    ) -> list[tuple[ag.Variable, Any]]:
        """Add gradients to those that the next pass sends; leaves get none of them."""
        kept, left_out = dict(self._kept), []
        for variable, grad in zip(variables, grads, strict=True):
            if self._given is None or any(variable is each for each in self._given):
                _, held = kept.get(id(variable), (variable, None))
                kept[id(variable)] = variable, grad if held is None else held + grad
                left_out.append((variable, None))
        self._kept = kept
        return left_out

    def _fail(self, error: BaseException) -> None:
        """Let all other ranks raise an error that names this one."""
        reason = f"rank {self.comm.rank} raised {type(error).__name__}: {error}"
        self._sending.submit("fail", 0, self._channel.fail, reason)
