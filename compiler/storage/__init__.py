"""Introduce memory: blocks, index functions, short-circuiting, expansion (chapters 4 and 5)."""
