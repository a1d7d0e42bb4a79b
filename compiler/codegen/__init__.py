"""Generate code from programs with memory: the imperative IR, and a folder per target."""
