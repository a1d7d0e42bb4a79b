"""Random programs and inputs, and families of programs of any size."""
