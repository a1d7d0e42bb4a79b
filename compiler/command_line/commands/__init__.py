"""A file for each command: `add_options(to)` adds its options, `run(args)` answers its status."""
