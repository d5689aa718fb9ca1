"""Sample inputs of the special functions, away from singularities."""
samples = []
