"""What tests and benchmarks share: random programs, ways to run and compare them. Not shipped."""
