"""How each library draws faster than by a program of the standard's functions."""

__all__: list[str] = []
