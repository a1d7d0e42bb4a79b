"""Measurements, as `python -m bench.compile` or `bench.peers`; figures go to `bench/results`."""
