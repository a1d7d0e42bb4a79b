"""Questions about a program that several passes ask, each answered in one place.

ranges.py   what is known about integers, and proofs that something is not negative
facts.py    what definitions, sizes, indices and conditions say about integers
no_wrap.py  which index arithmetic of a function cannot wrap
"""
