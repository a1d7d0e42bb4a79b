"""CUDA: kernels in C++, and the host program in Python that launches them."""
