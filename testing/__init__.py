"""Share tools between tests and benchmarks: random programs, runners, comparisons. Not shipped."""
