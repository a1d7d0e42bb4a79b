"""The core language of all stages from `soa` to `merged`: nodes, text form, checks."""
