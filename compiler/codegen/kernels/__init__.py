"""Kernels of threads, barriers and shared memory, for all targets with thread blocks."""
