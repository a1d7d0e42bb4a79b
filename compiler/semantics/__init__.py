"""What programs of the core language mean: over values (`value.py`; fast: `interp.py`) and memory.

The one over memory is `heap.py`.
"""
