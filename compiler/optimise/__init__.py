"""Optimise the core language: inlining, simplification, fusion."""
