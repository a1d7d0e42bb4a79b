"""Uniqueness types: no use after consumption, and no consumption of what is not owned."""
