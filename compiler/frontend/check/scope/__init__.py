"""Scopes: the meanings of names, and the checker's state."""
