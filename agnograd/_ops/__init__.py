"""What an op and a derivative rule are, and what rules and the engine compute with."""
