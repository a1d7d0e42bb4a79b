"""Sandbox processes that handle untrusted input.

`policies.py` defines the rights of each kind of process; `walls.py` starts one from outside, under
bubblewrap where that works; `enter.py` runs first inside, and applies the layers that a process
applies to itself (`kernel.py`, `filters.py`). Every layer is optional: what a machine lacks is
named by `walls.missing`, and the others hold without it.

Code inside imports only the standard library and this package, so that it starts quickly.
"""
