"""Questions that passes ask about a program; every pass asks them here.

exact.py     which index arithmetic of a function cannot wrap
facts.py     what is known about integers at a place, and what follows from it
"""
