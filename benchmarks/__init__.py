"""Measure agnograd, and peers, against derivatives that are written by hand in NumPy."""
