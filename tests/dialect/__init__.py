"""Tests of `compiler/dialect`, and of the languages that it prints and reads."""
