"""Walls around processes that handle what strangers wrote.

`policies.py` says what each kind of process may do; `walls.py` starts one from outside, under
bubblewrap where that works; `enter.py` runs first inside, and puts on the layers that a process
puts on itself (`kernel.py`, `filters.py`). Every layer is optional: what a machine lacks is named
by `walls.missing`, and the others hold without it.

What runs inside imports only the standard library and this package, so that it starts quickly.
"""
