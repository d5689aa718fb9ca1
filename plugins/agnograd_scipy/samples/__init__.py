"""What the ops are checked on: every option, and what is at the edges of their domains."""
