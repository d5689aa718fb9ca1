"""Writes the C functions of groups."""
