"""Core language to core language: inlining, simplification, fusion."""
