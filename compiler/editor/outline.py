"""Document symbols and folds of a file."""

from __future__ import annotations

from itertools import groupby

from lark import Tree

from compiler.editor import flatpack
from compiler.editor.names import Node, Symbol, first, last
from compiler.editor.project import Project
from compiler.frontend.files import FLATPACK

_FOLDED = frozenset("val_dec op_dec mod_dec mod_type_dec type_dec e_loop e_match e_lambda".split())


def outline(project: Project, path: str) -> list[Symbol]:
    """Return the declarations of a file, nested by module."""
    return project.names(path).symbols


def folds(project: Project, path: str) -> list[tuple[int, int]]:
    """Return first and last lines of folds (declarations, comments), one per first line."""
    if path.endswith(FLATPACK):
        return flatpack.folds(project.files.get(path, ""), path)
    parsed = project.parsed(path)
    if parsed is None:
        return []
    found: dict[int, int] = {}

    def go(node: Node) -> None:
        if isinstance(node, Tree):
            if node.data in _FOLDED:
                start, end = first(node).line or 0, last(node).end_line or 0
                if end > start:
                    found[start] = max(end, found.get(start, 0))
            for child in node.children:
                go(child)

    go(parsed.tree)
    own = [token.line or 0 for token in parsed.lexed.comments]
    for _, group in groupby(enumerate(own), lambda pair: pair[1] - pair[0]):
        lines = [line for _, line in group]
        if len(lines) > 1:
            found.setdefault(lines[0], lines[-1])
    return sorted(found.items())
