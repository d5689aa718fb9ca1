"""Loops and branches, which stay loops and branches in compiled programs."""

from agnograd_loops._budget import checkpoint_loop
from agnograd_loops._cond import cond
from agnograd_loops._scan import fori_loop, scan
from agnograd_loops._while import while_loop

__all__ = ["checkpoint_loop", "cond", "fori_loop", "scan", "while_loop"]
