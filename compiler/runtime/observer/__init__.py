"""CUDA text run on a processor, with every access seen: what a device does, without a device.

`build.py` compiles the text as it is, with a callback before each access; `watch.cpp` runs its
threads in turns and watches them; `device.hpp` has what kernels find on a device. `driver.cpp`
makes a driver of CUDA of that, for the same host code as on a GPU; `records.py` reads what was
seen.
"""
