"""Derivatives of solutions by the implicit function theorem: ``ag.implicit``."""

from agnograd_implicit._transformation import implicit

__all__ = ["implicit"]
