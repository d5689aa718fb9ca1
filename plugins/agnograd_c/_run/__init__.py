"""Compiles C functions, and runs programs with them."""
