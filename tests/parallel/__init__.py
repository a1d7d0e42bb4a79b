"""Tests of `compiler/parallel`."""
