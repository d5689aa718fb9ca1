"""A hook, ops and a backend for agnograd, which finds them by their entry points."""

__all__: list[str] = []
