"""What an editor asks about a program of several files, from its text.

    names.py    which declaration each name of a file stands for
    project.py  the files, what has been found out about them, and what is kept
    types.py    types at places of the text
    places.py   at a place: type and documentation, declaration, uses, a new name
    complete.py what may be written at a place
    outline.py  declarations as a tree, parts that fold
    flatpack.py names and shapes of FlatPack programs, and `flatpack_words.py`
    fixes.py    changes that mend an error, tried before they are offered

Nothing here knows who asks: the page through the worker, `stridescope lsp`.
"""
