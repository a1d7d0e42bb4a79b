"""A definition whose types are known: freed of unknowns, and checked as a whole."""
