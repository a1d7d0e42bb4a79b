"""Nested parallelism becomes flat: kernels, code versions under thresholds, the tuning tree."""
