"""What a function reads besides its arguments, and what it changes."""
