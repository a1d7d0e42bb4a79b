"""Kernels of threads, barriers and shared memory: what all targets with blocks have in common."""
