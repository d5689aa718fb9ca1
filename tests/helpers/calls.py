"""Python's own profiler: what is called while a function runs."""

import gc
import os
import sys

CHECKS = os.path.join("_levels", "invariants.py")

__all__ = ["calls", "profiled"]


def profiled(function, notice):
    """Return what a function returns; ``notice`` is called as a profiler, by each event."""
    sys.setprofile(notice)
    try:
        return function()
    finally:
        sys.setprofile(None)


def calls(function):
    """Return how many Python functions are called while a function runs.

    Those that check invariants do not count: they are called in tests only.
    """
    count = 0

    def notice(frame, event, argument):
        nonlocal count
        count += event == "call" and not frame.f_code.co_filename.endswith(CHECKS)

    gc.collect()
    gc.disable()  # what it frees may have finalizers
    try:
        profiled(function, notice)
    finally:
        gc.enable()
    return count
