"""Functions of users as parts of a graph: with rules of their own, run again, moved."""
