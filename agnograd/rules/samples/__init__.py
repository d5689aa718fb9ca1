"""Sample inputs of the standard's functions, one module per chapter; tests import them."""
