"""Derivative rules of the standard's functions, one module per chapter."""
