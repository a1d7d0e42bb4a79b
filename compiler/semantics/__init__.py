"""What programs of the core language mean: over values (`interp.py`) and memory (`heap.py`)."""
