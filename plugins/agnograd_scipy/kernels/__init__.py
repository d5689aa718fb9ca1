"""SciPy's own functions: a module for each backend whose arrays they can take."""

__all__: list[str] = []
