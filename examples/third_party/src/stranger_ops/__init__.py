"""A hook, ops, a backend, a protocol and an interpretation for agnograd, by a third party."""

__all__: list[str] = []
