"""CUDA: kernels in C++, and the Python program on the host that starts them."""
