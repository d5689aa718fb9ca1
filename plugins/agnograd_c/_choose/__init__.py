"""Chooses what C computes: the steps that it can, in groups that are worth it."""
