"""What memory a program takes."""

import tracemalloc

__all__ = ["peak_of"]


def peak_of(function, *args, **kwargs):
    """Return the most bytes that Python and NumPy hold while a function runs."""
    tracemalloc.start()
    try:
        function(*args, **kwargs)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
