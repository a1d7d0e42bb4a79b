"""Flatten nested parallelism: kernels, code versions under thresholds, the tuning tree."""
