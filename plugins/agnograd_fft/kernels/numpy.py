"""SciPy's transforms of NumPy's arrays."""

from scipy.fft import dct, dst

__all__ = ["dct", "dst"]
