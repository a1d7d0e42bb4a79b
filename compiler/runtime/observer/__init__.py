"""Run CUDA text on the processor with every access observed, without a device.

`build.py` compiles the text unchanged, with a callback before each access; `watch.cpp` runs its
threads in turns and observes them; `device.hpp` defines the builtins of a device. `driver.cpp`
makes that a CUDA driver, for the same host code as on a GPU; `records.py` reads the records.
"""
