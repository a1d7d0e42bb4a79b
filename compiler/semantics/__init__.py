"""Semantics of programs over values (`value.py`; fast: `interp.py`), over memory (`heap.py`)."""
