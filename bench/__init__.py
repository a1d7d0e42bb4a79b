"""Measurements: `python -m bench.compile`, `python -m bench.run`; figures go to `bench/results`."""
