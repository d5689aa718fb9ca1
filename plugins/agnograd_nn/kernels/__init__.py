"""Libraries' own ways to compute ops; a module for each backend that has some."""

__all__: list[str] = []
