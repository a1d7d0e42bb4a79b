"""Answer the editor's operations of the protocol."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.base.errors import UsageError
from compiler.base.spans import Span, plain
from compiler.editor import complete as completing
from compiler.editor import fixes as fixing
from compiler.editor import places
from compiler.editor.names import Symbol
from compiler.editor.outline import folds, outline
from compiler.editor.project import Project, offset, place
from compiler.frontend import format as layouts
from compiler.protocol import editing
from compiler.protocol.answering import answers

_project = Project({})
"""The last program: analyses of its files stay cached."""


def _of(asked: editing.OfFile) -> tuple[Project, str]:
    """Load the request's program; return it and the path of the file in question."""
    path = asked.file or asked.main
    _project.files, _project.main = {**asked.files, asked.main: asked.source}, asked.main
    if path not in _project.files:
        raise UsageError(f"The program has no file `{path}`.")
    return _project, path


def _at(asked: editing.AtPlace, project: Project, path: str) -> int:
    return offset(project.files[path], asked.line, asked.column)


def _span(span: Span, main: str) -> list[int | str]:
    return plain(span._replace(file="" if span.file == main else span.file))


def _piece(project: Project, path: str, start: int, end: int) -> list[int | str]:
    text = project.files[path]
    return _span(Span(*place(text, start), *place(text, end), path), project.main)


@answers(editing.INSPECT)
def inspect(asked: editing.InspectRequest) -> editing.InspectAnswer:
    """Answer hover and references at a place; nothing for blanks and comments."""
    project, path = _of(asked)
    found = places.told(project, path, _at(asked, project, path))
    if found is None:
        return {"ok": True, "says": "", "doc": "", "span": None, "declared": None, "uses": []}
    symbol = found.symbol
    uses = places.references(project, symbol) if symbol else []
    return {
        "ok": True,
        "says": found.says,
        "doc": found.doc,
        "span": _span(found.span._replace(file=path), project.main),
        "declared": _span(symbol.span, project.main) if symbol and symbol.span.is_own else None,
        "uses": [_piece(project, file, use.start, use.end) for file, use in uses],
    }


@answers(editing.COMPLETE)
def complete(asked: editing.CompleteRequest) -> editing.CompleteAnswer:
    """Answer completion at a place."""
    project, path = _of(asked)
    start, items = completing.completions(project, path, _at(asked, project, path))
    found: list[editing.CompletionItem] = [
        {"name": item.name, "kind": item.kind, "says": item.says, "doc": item.doc} for item in items
    ]
    return {"ok": True, "column": place(project.files[path], start)[1], "items": found}


@answers(editing.RENAME)
def rename(asked: editing.RenameRequest) -> editing.RenameAnswer:
    """Answer rename with its edits."""
    project, path = _of(asked)
    edits = places.rename(project, path, _at(asked, project, path), asked.name)
    return {"ok": True, "edits": _edits(project, edits)}


@answers(editing.FIXES)
def fixes(asked: editing.FixesRequest) -> editing.FixesAnswer:
    """Answer code actions for an error."""
    project, path = _of(asked)
    span = Span(asked.line, asked.column, asked.end_line, asked.end_column, path)
    found: list[editing.Fix] = [
        {"title": fix.title, "edits": _edits(project, fix.edits)}
        for fix in fixing.fixes(project, path, span, asked.hint)
    ]
    return {"ok": True, "fixes": found}


def _edits(project: Project, edits: Iterable[places.Edit]) -> list[editing.TextEdit]:
    return [{"span": _piece(project, e.path, e.start, e.end), "text": e.text} for e in edits]


@answers(editing.OUTLINE)
def outlined(asked: editing.OutlineRequest) -> editing.OutlineAnswer:
    """Answer the declarations of a file, and its folds."""
    project, path = _of(asked)
    found: list[editing.OutlineSymbol] = []

    def go(symbols: list[Symbol], depth: int) -> None:
        for one in symbols:
            span = _span(one.span, project.main)
            found.append({"name": one.name, "kind": one.kind, "span": span, "depth": depth})
            go(one.inside, depth + 1)

    go(outline(project, path), 0)
    return {"ok": True, "symbols": found, "folds": [list(fold) for fold in folds(project, path)]}


@answers(editing.FORMAT)
def laid_out(asked: editing.FormatRequest) -> editing.FormatAnswer:
    """Answer the formatted text."""
    return {"ok": True, "text": layouts.laid_out(asked.source, asked.main, asked.width)}
