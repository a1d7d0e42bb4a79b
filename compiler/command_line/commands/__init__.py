"""One file for each command: `add_options(to)` adds its options, `run(args)` returns its status."""
