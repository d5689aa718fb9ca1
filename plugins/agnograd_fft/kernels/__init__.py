"""Where a library has a transform itself, by the name of the backend."""
