"""Sparse derivatives: patterns, colourings, and Jacobians and Hessians that are computed by them."""
