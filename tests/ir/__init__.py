"""Tests of the core language."""
