"""Python's own profiler: what is called while a function runs."""

import gc
import os
import sys

CHECKS = os.path.join("_levels", "invariants.py")

__all__ = ["calls", "profiled"]


def profiled(function, notice):
    """Return what a function returns; ``notice`` is called as a profiler, by each event.

    The garbage collector rests: what it frees may have finalizers, and libraries may have
    functions of Python that it calls (JAX has), which would be seen as the function's own calls.
    """
    gc.collect()
    gc.disable()
    sys.setprofile(notice)
    try:
        return function()
    finally:
        sys.setprofile(None)
        gc.enable()


def calls(function):
    """Return how many Python functions are called while a function runs.

    Those that check invariants do not count: they are called in tests only.
    """
    count = 0

    def notice(frame, event, argument):
        nonlocal count
        count += event == "call" and not frame.f_code.co_filename.endswith(CHECKS)

    profiled(function, notice)
    return count
