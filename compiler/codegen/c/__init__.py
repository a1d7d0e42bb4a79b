"""C for all cores of a CPU."""
