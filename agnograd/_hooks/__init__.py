"""A thread's state, and the plugins that are active in it."""
