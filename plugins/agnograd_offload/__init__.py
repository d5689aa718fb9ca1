"""Keep what graphs save elsewhere, or smaller, between the forward and the backward pass."""

from __future__ import annotations

import os
import threading
import weakref
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from agnograd.extend import hookimpl
from agnograd_memory import nbytes
from agnograd_offload._packed import Packed

if TYPE_CHECKING:
    from agnograd.extend import Call

__all__ = ["Offload"]

Place = Literal["compressed", "disk", "host", "device"]


class Offload:
    """Pack the large values that graphs save, and restore them when a rule needs them.

    An array that several ops save is packed once. Restored values are equal to the saved ones,
    unless ``dtype`` says otherwise.

    Parameters
    ----------
    above : int
        Leave values of up to so many bytes as they are.
    to : {"compressed", "disk", "host", "device"}
        Compressed in the host's memory; in files; in the host's memory as they are (for backends
        that compute on a device); or where they are, with a smaller ``dtype``.
    dtype : str, optional
        Cast real floating-point values of a wider dtype to this one, such as ``"float32"``. Their
        gradients lose precision with them.
    folder : str or os.PathLike, optional
        Where files go; by default the system's folder for temporary ones. A file is deleted as
        soon as the graph is freed.
    level : int
        How hard zlib compresses, from 1 to 9.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> x = ag.Variable(xp.ones((1000,)).data)
    >>> with ag.hooks("offload"):  # too small for the default limit
    ...     y = xp.sum(xp.exp(x))
    >>> from agnograd_offload import Offload
    >>> with ag.hooks(Offload(above=1000)) as (offload,):
    ...     y = xp.sum(xp.exp(x))
    >>> facts = offload.to_dict()
    >>> facts["values"], facts["bytes"], facts["held"] < 400
    (1, 8000, True)
    """

    def __init__(
        self,
        *,
        above: int = 2**20,
        to: Place = "compressed",
        dtype: str | None = None,
        folder: str | os.PathLike[str] | None = None,
        level: int = 1,
    ) -> None:
        if to not in ("compressed", "disk", "host", "device"):
            raise ValueError(f"to must be compressed, disk, host or device, not {to!r}")
        if to == "device" and dtype is None:
            raise ValueError("to='device' saves nothing without a smaller dtype: pass one")
        self.above = above
        self.to = to
        self.dtype = dtype
        self.folder = folder
        self.level = level
        self._lock = threading.Lock()
        # By the id of the array that was packed: see _known.
        self._packed: weakref.WeakValueDictionary[int, Packed] = weakref.WeakValueDictionary()
        self.reset()

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def reset(self) -> None:
        """Forget the figures; what is packed stays so."""
        names = ("values", "bytes", "packed", "written", "restored", "seconds")
        self._figures: dict[str, float] = dict.fromkeys(names, 0)

    @hookimpl
    def save_value(self, op: Call, value: Any) -> Any:
        """Pack a large value."""
        size = nbytes(value)
        if size <= self.above:
            return None
        packed = self._known(value)
        if packed is None:
            start = perf_counter()
            packed = self._pack(op, value)
            seconds = perf_counter() - start
            if packed.nbytes >= size and self.to == "compressed":
                self._count(seconds=seconds)  # in vain
                return None
            with self._lock:
                self._packed[id(value)] = packed
            self._count(values=1, bytes=size, packed=packed.nbytes, seconds=seconds)
        return packed

    @hookimpl
    def restore_value(self, packed: Any) -> Any:
        """Return a value that was packed here."""
        if not isinstance(packed, Packed) or packed.owner is not self:
            return None
        start = perf_counter()
        value = packed.unpacked()
        self._count(restored=1, seconds=perf_counter() - start)
        return value

    def _known(self, value: Any) -> Packed | None:
        packed = self._packed.get(id(value))
        # Another array may have been there before, and have left its id.
        return packed if packed is not None and packed.source() is value else None

    def _pack(self, op: Call, value: Any) -> Packed:
        packed = Packed(self, value)
        value = self._cast(packed.xp, value)
        if self.to == "device":
            packed.content, packed.nbytes = value, nbytes(value)
            return packed
        host = op.backend.to_host(value)
        if self.to == "host":
            packed.content, packed.nbytes = host, host.nbytes
        elif self.to == "compressed":
            packed.compress(host, self.level)
        else:
            self._count(written=packed.write(host, self.folder))
        return packed

    def _cast(self, xp: Any, value: Any) -> Any:
        if self.dtype is None or not xp.isdtype(value.dtype, "real floating"):
            return value
        narrow = getattr(xp, self.dtype, None)
        if narrow is None:
            raise ValueError(f"dtype {self.dtype!r} is none of {xp.__name__}: pass another one")
        if xp.finfo(narrow).bits >= xp.finfo(value.dtype).bits:
            return value
        return xp.astype(value, narrow)

    def _count(self, **figures: float) -> None:
        with self._lock:
            for name, figure in figures.items():
                self._figures[name] += figure

    def to_dict(self) -> dict[str, Any]:
        """Return the figures.

        Returns
        -------
        dict
            How many ``values`` were packed, their ``bytes``, those in memory that they were
            ``packed`` into, and those ``written`` to files; what graphs have ``held`` of the
            packed until now; how often one was ``restored``; the ``seconds`` that all this took.
        """
        with self._lock:
            held = sum(packed.nbytes for packed in self._packed.values())
            return {**self._figures, "held": held}

    def summary(self) -> str:
        """Return the figures in a line."""
        from rich.filesize import decimal

        facts = self.to_dict()
        return (
            f"offload: {facts['values']} values of {decimal(facts['bytes'])} packed into "
            f"{decimal(facts['packed'])} of memory and {decimal(facts['written'])} of files, "
            f"{facts['restored']} times restored, in {facts['seconds']:.3f} s; held now: "
            f"{decimal(facts['held'])}"
        )
