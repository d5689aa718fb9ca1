"""What needs an array library, or a library that communicates."""
