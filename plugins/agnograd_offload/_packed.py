"""What a graph keeps instead of an array."""

from __future__ import annotations

import os
import tempfile
import weakref
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import array_api_compat

from agnograd.extend import device_of

if TYPE_CHECKING:
    from agnograd.extend import Backend

__all__ = ["Packed"]


def _delete(path: Path, process: int) -> None:
    """Delete a file, unless this is a forked child: its graphs are gone, and not its parent's."""
    if os.getpid() == process:
        path.unlink(missing_ok=True)


class Packed:
    """An array elsewhere, or smaller, and what is needed to make it again.

    Attributes
    ----------
    owner : object
        Who packed it.
    source : weakref.ref
        The array, as long as it is there.
    content : array, bytes or Path
        The array on the host, or a cast one; its bytes, compressed; the file of its bytes.
    nbytes : int
        The bytes of memory that the content takes.
    """

    __slots__ = (
        *("__weakref__", "_checksum", "_halves", "_layout", "content", "device", "dtype"),
        *("nbytes", "owner", "source", "xp"),
    )

    def __init__(self, owner: object, value: Any) -> None:
        self.owner = owner
        self.xp = array_api_compat.array_namespace(value)
        self.dtype = value.dtype
        self.device = device_of(value)
        self.source = weakref.ref(value)
        self.content: Any = None
        self.nbytes = 0
        self._halves = False

    def to_host(self, backend: Backend, value: Any) -> Any:
        """Return a NumPy array for one of the backend, of as many bytes if it can.

        NumPy has no ``bfloat16``: it is the upper half of the bits of ``float32``. The dtypes of
        eight bits, which it lacks, too, are parts of ``float16``.
        """
        name = str(value.dtype).rpartition(".")[2]
        if name.startswith("float8"):
            value = self.xp.astype(value, self.xp.float16)
        if name != "bfloat16":
            return backend.to_host(value)
        self._halves = True
        single = backend.to_host(self.xp.astype(value, self.xp.float32))
        return (single.view("uint32") >> 16).astype("uint16")

    def compress(self, host: Any, level: int) -> None:
        """Keep an array of the host compressed."""
        self.content = zlib.compress(self._bytes_of(host), level)
        self.nbytes = len(self.content)

    def write(self, host: Any, folder: str | os.PathLike[str] | None) -> int:
        """Keep an array of the host in a file, as long as this lives; return the bytes written."""
        handle, name = tempfile.mkstemp(prefix="agnograd-", suffix=".bin", dir=folder)
        self.content = path = Path(name)
        weakref.finalize(self, _delete, path, os.getpid())
        with os.fdopen(handle, "wb") as file:
            data = self._bytes_of(host)
            self._checksum = zlib.crc32(data)
            return file.write(data)

    def unpacked(self) -> Any:
        """Return the array, of its old dtype, on its old device."""
        value = self.content
        if isinstance(value, Path):
            value = self._array_of(self._read(value))
        elif isinstance(value, bytes):
            value = self._array_of(zlib.decompress(value))
        if self._halves:
            value = (value.astype("uint32") << 16).view("float32")
        value = self.xp.asarray(value, device=self.device)
        return self.xp.astype(value, self.dtype, copy=False)

    # What the bytes mean is known here, and not read from a file, which others may have written:
    # whatever is in it, it is taken for numbers.

    def _bytes_of(self, host: Any) -> bytes:
        """Return the bytes of a NumPy array, which all backends give to the host."""
        order = "F" if host.flags.f_contiguous and not host.flags.c_contiguous else "C"
        self._layout = type(host), host.shape, host.dtype, order
        data: bytes = host.tobytes(order)
        return data

    def _array_of(self, data: bytes) -> Any:
        kind, shape, dtype, order = self._layout
        # Of bytes that can be written to: PyTorch warns of others.
        return kind(shape, dtype=dtype, buffer=bytearray(data), order=order)

    def _read(self, path: Path) -> bytes:
        data = path.read_bytes()
        if zlib.crc32(data) != self._checksum:
            raise OSError(
                f"{path} is not as the plugin 'offload' wrote it, so that the value is lost: keep "
                "others from writing to its folder, and run the forward pass again"
            )
        return data
