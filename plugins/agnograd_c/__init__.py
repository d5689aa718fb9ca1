"""The lowering ``c``: element-wise steps of programs of NumPy arrays as compiled C.

Groups of steps on many elements, and of many steps, become one C function each; all other steps run
as they are. Without a C compiler, all do.
"""

from __future__ import annotations

from agnograd_c._lowering import C

__all__ = ["C", "lowering"]

lowering = C()
