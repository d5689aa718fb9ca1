"""Ops as functions of PyTorch, JAX and other libraries, which differentiate them by their rules.

``agnograd.bridge.library`` returns such functions. Authors of an engine, which makes them for one
library, import ``Engine`` from here.
"""

from agnograd_engines._engine import Calling, Engine
from agnograd_engines._library import Library, engine_function, library
from agnograd_engines._primitive import Primitive

__all__ = ["Calling", "Engine", "Library", "Primitive", "engine_function", "library"]
