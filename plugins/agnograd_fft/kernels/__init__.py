"""Where a library has a transform itself, by the name of the backend; what SciPy does for all."""

__all__: list[str] = []
