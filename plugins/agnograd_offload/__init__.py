"""Keep what graphs save elsewhere, or smaller, between the forward and the backward pass."""

from __future__ import annotations

import os
import re
import weakref
from numbers import Integral, Real
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from agnograd.extend import Lock, Uncopied, hookimpl
from agnograd_memory import nbytes
from agnograd_offload._packed import Packed

if TYPE_CHECKING:
    from agnograd.extend import Call

__all__ = ["Offload"]

Place = Literal["compressed", "disk", "host", "device"]


class Offload(Uncopied):
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
        Where files go; by default the system's folder for temporary ones. A file has the bytes of
        an array, and is deleted as soon as the graph is freed.
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
        _check_numbers(above, level)
        _check_place(to, dtype, folder)
        self.above = above
        self.to = to
        self.dtype = dtype
        self.folder = folder
        self.level = level
        self._lock = Lock()
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
        if size <= self.above or isinstance(value, op.backend.scalar_types()):
            return None  # a number takes less memory than what would stand for it
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
        host = packed.to_host(op.backend, value)
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


def _check_numbers(above: Any, level: Any) -> None:
    """Raise if an option is not a number, or not one of those that it takes."""
    if not isinstance(above, Real) or isinstance(above, bool):
        raise TypeError(f"offload: above must be a number of bytes, not {above!r}")
    if not isinstance(level, Integral) or isinstance(level, bool):
        raise TypeError(f"offload: level must be an int, not {level!r}")
    if not float(above) >= 0:
        raise ValueError(f"offload: above must be 0 or a number of bytes, not {above}")
    if not 1 <= int(level) <= 9:
        raise ValueError(f"offload: level must be from 1 to 9, not {level}")


def _check_place(to: Place, dtype: str | None, folder: str | os.PathLike[str] | None) -> None:
    """Raise if there is no such place, or values would not become smaller there."""
    if to not in ("compressed", "disk", "host", "device"):
        raise ValueError(f"offload: to must be compressed, disk, host or device, not {to!r}")
    if to == "device" and dtype is None:
        raise ValueError("offload: to='device' saves nothing without a smaller dtype: pass one")
    if dtype is not None and not isinstance(dtype, str):
        raise TypeError(f"offload: dtype must be a name such as 'float32', not {dtype!r}")
    if dtype is not None and not re.fullmatch(r"bfloat16|float(8_\w+|16|32|64)", dtype):
        raise ValueError(
            f"offload: dtype {dtype!r} is none of the real floating-point dtypes, float32 and "
            "others: pass another one"
        )
    if folder is not None and not os.path.isdir(os.fspath(folder)):
        raise NotADirectoryError(
            f"offload: there is no folder {folder!s}: make it, or pass another"
        )
