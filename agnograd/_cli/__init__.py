"""The command `agnograd`."""
