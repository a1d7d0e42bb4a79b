"""The type of each kind of expression."""
