"""What CuPy has of NumPy's and SciPy's names, and which arguments each takes: a file of lines.

CuPy imports without a device, but computes nothing there. The stand-in for it (``cupy_over_numpy``)
has what this file lists, and refuses calls that do not fit; a test with CuPy's wheel installed says
whether the file is true. It is written by ``python tests/helpers/cupy_names.py``.
"""

import importlib
import inspect
import re
from operator import attrgetter
from pathlib import Path

FILE = Path(__file__).with_suffix(".txt")

# Where a name of CuPy's is looked for, and where that of the library that it is like.
MODULES = {
    "cupy": "numpy",
    "cupy.fft": "numpy.fft",
    "cupy.lib.stride_tricks": "numpy.lib.stride_tricks",
    "cupy.linalg": "numpy.linalg",
    "cupy.ndarray": "numpy.ndarray",
    "cupyx.scipy.fft": "scipy.fft",
    "cupyx.scipy.special": "scipy.special",
}
# What only CuPy has, and the backend uses; "value" and "type" stand for what is not called.
OWN = {
    "cupy.cuda": ("Device", "Event", "get_current_stream", "get_elapsed_time"),
    "cupy.cuda.device": ("Device",),
    "cupy.cuda.Device": ("mem_info", "synchronize", "use"),
    "cupy.cuda.Event": ("done", "record", "synchronize"),
    "cupy.cuda.memory": ("ManagedMemory", "Memory", "MemoryAsync", "PooledMemory"),
    "cupy.cuda.MemoryPool": ("total_bytes", "used_bytes"),
    "cupy.cuda.MemoryPointer": ("mem", "ptr"),
    "cupy.cuda.runtime": ("CUDARuntimeError", "getDeviceCount"),
    "cupy.ndarray": ("get", "data", "device"),
    "cupy": ("get_default_memory_pool",),
    "cupy.ufunc": ("at",),
}
# What the communicator calls of NCCL, by position; the wheel has it if NCCL is installed, too.
NCCL = {
    "groupStart": "()",
    "groupEnd": "()",
    "get_unique_id": "()",
    "NcclCommunicator.allReduce": "(self, sendbuf, recvbuf, count, datatype, op, stream)",
    "NcclCommunicator.allGather": "(self, sendbuf, recvbuf, count, datatype, stream)",
    "NcclCommunicator.reduceScatter": "(self, sendbuf, recvbuf, recvcount, datatype, op, stream)",
    "NcclCommunicator.broadcast": "(self, sendbuff, recvbuff, count, datatype, root, stream)",
    "NcclCommunicator.send": "(self, sendbuf, count, datatype, peer, stream)",
    "NcclCommunicator.recv": "(self, recvbuf, count, datatype, peer, stream)",
    "NcclCommunicator.check_async_error": "(self)",
    "NcclCommunicator.abort": "(self)",
}


def version() -> str:
    """Return the version of CuPy that the file is of."""
    return FILE.read_text(encoding="utf-8").removeprefix("# CuPy ").partition(":")[0]


def listed() -> dict[str, str]:
    """Return what the file says: by name the parameters, or a word for what has none."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


def found() -> dict[str, str]:
    """Return what the installed CuPy has."""
    names = {}
    for place, like in MODULES.items():
        ours, theirs = _at(place), _at(like)
        for name in dir(ours):
            special = place == "cupy.ndarray" and re.fullmatch("__[a-z]+__", name)
            if hasattr(theirs, name) and (name[0] != "_" or special):
                names[f"{place}.{name}"] = _described(getattr(ours, name))
    for place, own in OWN.items():
        names |= {f"{place}.{name}": _described(getattr(_at(place), name)) for name in own}
    return {name: what for name, what in sorted(names.items()) if what}


def of_nccl(module: object) -> dict[str, str]:
    """Return what a module like ``cupy.cuda.nccl`` has of these names."""
    return {name: _described(attrgetter(name)(module)) for name in NCCL}


def _at(path: str) -> object:
    """Return a module, or a class of one."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(_at(module), name)


def _described(value: object) -> str:
    """Return a line on a value: its parameters without annotations and defaults, if it has any."""
    if inspect.ismodule(value):
        return ""
    if isinstance(value, type):
        return "type"
    if hasattr(value, "nin"):
        return f"ufunc {value.nin} {value.nout}"
    if not callable(value):
        return "value"
    try:
        signature = inspect.signature(value)
    except ValueError:  # it is compiled, and its documentation begins with its signature
        return _compiled(value.__doc__ or "")
    return _text(signature)


def _compiled(text: str) -> str:
    first = text.strip().partition("\n")[0]
    parameters = re.match(r"[\w.]+\((.*)\)( -> .*)?$", first)
    if parameters is None:
        return "(*args, **kwargs)"
    scope: dict[str, object] = {}
    arguments = re.sub(r"\w+ (?=\w)", "", parameters[1])  # without types, as of C
    exec(f"def function({arguments}): ...", scope)
    return _text(inspect.signature(scope["function"]))


def _text(signature: inspect.Signature) -> str:
    kept = [
        each.replace(
            annotation=inspect.Parameter.empty,
            default=each.default if each.default is inspect.Parameter.empty else None,
        )
        for each in signature.parameters.values()
    ]
    return str(inspect.Signature(kept)).replace("=None", "=")


if __name__ == "__main__":
    import cupy

    head = f"# CuPy {cupy.__version__}: written by `python tests/helpers/cupy_names.py`.\n"
    lines = "".join(f"{name} {what}\n" for name, what in found().items())
    FILE.write_text(head + lines, encoding="utf-8")
