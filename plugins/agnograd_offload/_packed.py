"""What a graph keeps instead of an array."""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
import zlib
from pathlib import Path
from typing import Any

import array_api_compat

__all__ = ["Packed"]


class Packed:
    """An array elsewhere, or smaller, and what is needed to make it again.

    Attributes
    ----------
    owner : object
        Who packed it.
    source : weakref.ref
        The array, as long as it is there.
    content : array, bytes or Path
        The array on the host, or a cast one; a compressed pickle; the file of a pickle.
    nbytes : int
        The bytes of memory that the content takes.
    """

    __slots__ = ("__weakref__", "content", "device", "dtype", "nbytes", "owner", "source", "xp")

    def __init__(self, owner: object, value: Any) -> None:
        self.owner = owner
        self.xp = array_api_compat.array_namespace(value)
        self.dtype = value.dtype
        self.device = array_api_compat.device(value)
        self.source = weakref.ref(value)
        self.content: Any = None
        self.nbytes = 0

    # NumPy arrays, which all backends give to the host, pickle with their dtypes.

    def compress(self, host: Any, level: int) -> None:
        """Keep an array of the host compressed."""
        self.content = zlib.compress(pickle.dumps(host, protocol=5), level)
        self.nbytes = len(self.content)

    def write(self, host: Any, folder: str | os.PathLike[str] | None) -> int:
        """Keep an array of the host in a file, as long as this lives; return the bytes written."""
        handle, name = tempfile.mkstemp(prefix="agnograd-", suffix=".pickle", dir=folder)
        self.content = path = Path(name)
        weakref.finalize(self, path.unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as file:
            pickle.dump(host, file, protocol=5)
            return file.tell()

    def unpacked(self) -> Any:
        """Return the array, of its old dtype, on its old device."""
        value = self.content
        if isinstance(value, Path):
            value = pickle.loads(value.read_bytes())
        elif isinstance(value, bytes):
            value = pickle.loads(zlib.decompress(value))
        value = self.xp.asarray(value, device=self.device)
        return self.xp.astype(value, self.dtype, copy=False)
