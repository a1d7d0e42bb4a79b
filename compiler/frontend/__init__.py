"""From source text to a typed program: parse, check, elaborate."""
