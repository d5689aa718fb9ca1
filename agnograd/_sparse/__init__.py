"""Sparse derivatives: patterns, colourings, and the Jacobians and Hessians computed by them."""
