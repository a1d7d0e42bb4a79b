"""Type inference, by kind of expression."""
