"""The contracts of plugins, and what is installed."""
