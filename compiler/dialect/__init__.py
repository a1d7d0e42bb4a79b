"""Languages as tables: a node is a dataclass with one format line and its traits.

`format.py` reads format lines, `table.py` holds a language's nodes, `printing.py` and `parsing.py`
make a printer and a parser of the lines. Nothing here knows a language: each registers itself.
"""
