"""Answer editors' questions about programs of several files, from their texts.

    names.py    resolution of names to declarations
    project.py  the files, with cached results of analyses
    types.py    types at places of the text
    places.py   hover, go to definition, references, rename
    complete.py completion
    outline.py  document symbols and folding
    flatpack.py names and shapes of FlatPack programs, and `flatpack_words.py`
    fixes.py    code actions that mend an error, tried before they are offered

The callers are the page, through the worker, and `stridescope lsp`.
"""
