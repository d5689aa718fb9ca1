"""What knows NumPy: how the functions of groups are called."""
