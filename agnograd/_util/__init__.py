"""What every layer may use: deferred imports, pytrees, signatures, locks, checks of arguments."""
