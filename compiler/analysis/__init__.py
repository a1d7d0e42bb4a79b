"""Analyses of integer arithmetic, effects and cost, each shared by several passes.

ranges.py   bounds of integers, and the search for proofs of `p >= 0`
facts.py    facts from definitions, sizes, indices and conditions
no_wrap.py  index arithmetic of a function that cannot wrap
"""
