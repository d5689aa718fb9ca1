"""Each library's own special functions: a module per backend, imported when one is first called."""

__all__: list[str] = []
