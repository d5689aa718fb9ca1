"""A hook, ops, a backend and a protocol for agnograd, which finds them by their entry points."""

__all__: list[str] = []
