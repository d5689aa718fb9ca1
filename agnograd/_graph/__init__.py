"""What is recorded: nodes, and the calls that they stand for."""
