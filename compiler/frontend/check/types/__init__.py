"""Types and sizes with unknowns: what they are made of, and when two are equal."""
