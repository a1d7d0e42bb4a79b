"""Run Futhark's own CUDA programs under the observer, on a machine without a GPU.

`futhark cuda` generates a C program that calls CUDA's driver and compiler. It is compiled against
`cuda.h` here and linked with `driver.cpp`, which runs kernels on the processor. Their text is
compiled as our kernels are, statement for statement without optimisation.
"""
