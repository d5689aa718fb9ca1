"""Implicit functions: solutions of equations, whatever found them, with their derivatives."""
