"""Functions of functions: gradients, Jacobians, checkpoints, functions with rules of their own."""
