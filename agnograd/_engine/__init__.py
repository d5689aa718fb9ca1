"""The reverse pass: it knows nodes, calls and raw arrays, and no Variables."""
