"""What the ops are checked on."""

samples = []
