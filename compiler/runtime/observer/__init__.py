"""CUDA text run on a processor, with every access seen: what a device does, without a device.

`build.py` compiles the text as it is, with a callback before each access; `watch.cpp` runs its
threads in turns and watches them; `device.hpp` has what kernels find on a device. `stand_in.py` is
as much of CuPy as the host's program needs, `records.py` reads what was seen.
"""
