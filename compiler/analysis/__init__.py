"""Questions that passes ask about a program; every pass asks them here.

ranges.py    what is known about integers, and proofs that something is not negative
facts.py     what definitions, sizes, indices and conditions say about integers
exact.py     which index arithmetic of a function cannot wrap
"""
