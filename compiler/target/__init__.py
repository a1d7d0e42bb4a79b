"""From memory-annotated programs to machines: the imperative IR, C, CUDA, and running them."""
