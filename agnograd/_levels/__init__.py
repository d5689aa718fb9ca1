"""Interpretations: backends that stand on others, their arrays, and what crosses their border."""
