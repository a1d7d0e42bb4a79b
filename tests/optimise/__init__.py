"""Tests of the optimiser."""
