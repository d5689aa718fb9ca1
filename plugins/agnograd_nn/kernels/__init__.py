"""Libraries' own ways to compute ops; each module is imported by the backends that name it."""

__all__: list[str] = []
