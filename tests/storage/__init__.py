"""Tests of memory: blocks, index functions, expansion, and the heap semantics."""
