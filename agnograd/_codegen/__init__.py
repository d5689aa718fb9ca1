"""One function for each op and backend, written and compiled at its first call."""
