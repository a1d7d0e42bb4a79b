"""`stridescope lsp`: a language server on standard input and output, over `compiler/editor`.

Texts of open documents win over files on the disk. Requests to the compiler run one after the other
in a thread with a deep stack; one that is cancelled before its turn does not run. Diagnostics wait
until nothing was typed for a moment.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec

from compiler.base import stack
from compiler.base.errors import CompileError, UsageError
from compiler.base.spans import Span
from compiler.driver import checking
from compiler.driver.answers import as_error, failure
from compiler.driver.disk import read_source
from compiler.editor import fixes, flatpack, outline, places
from compiler.editor.complete import completions
from compiler.editor.names import Symbol
from compiler.editor.project import Project, offset, place, with_imports
from compiler.frontend.check.prelude import FOLDER
from compiler.frontend.files import ENDING, FLATPACK
from compiler.frontend.flatpack.evaluate import LIBRARY
from compiler.frontend.format import laid_out
from compiler.protocol.programs import CheckRequest, Problem

QUIET = 0.2
"""Seconds without a change before a text is checked."""
MOST_FILES = 1000
"""Files of a folder that are searched for uses."""
T = TypeVar("T")
Texts = Mapping[str, str]
_KINDS = {
    "function": (lsp.SymbolKind.Function, lsp.CompletionItemKind.Function),
    "constant": (lsp.SymbolKind.Constant, lsp.CompletionItemKind.Constant),
    "variable": (lsp.SymbolKind.Variable, lsp.CompletionItemKind.Variable),
    "size": (lsp.SymbolKind.TypeParameter, lsp.CompletionItemKind.TypeParameter),
    "type": (lsp.SymbolKind.Struct, lsp.CompletionItemKind.Struct),
    "type parameter": (lsp.SymbolKind.TypeParameter, lsp.CompletionItemKind.TypeParameter),
    "module": (lsp.SymbolKind.Module, lsp.CompletionItemKind.Module),
    "module type": (lsp.SymbolKind.Interface, lsp.CompletionItemKind.Interface),
    "field": (lsp.SymbolKind.Field, lsp.CompletionItemKind.Field),
    "constructor": (lsp.SymbolKind.EnumMember, lsp.CompletionItemKind.EnumMember),
    "keyword": (lsp.SymbolKind.Key, lsp.CompletionItemKind.Keyword),
}


class EditorServer(LanguageServer):
    """The server, with the files that it knows."""

    def __init__(self) -> None:
        super().__init__("stridescope", "1")
        self.project = Project({})
        self._disk: dict[str, tuple[float, str]] = {}
        self._checks: dict[str, asyncio.TimerHandle] = {}
        sys.setrecursionlimit(stack.RECURSION_LIMIT)
        before = threading.stack_size(stack.STACK_BYTES)
        self._pool = ThreadPoolExecutor(1)
        self._pool.submit(int).result()  # the thread with the deep stack
        threading.stack_size(before)

    def open_texts(self) -> dict[str, str]:
        """Return the texts of open documents by path."""
        return {_path(doc.uri): doc.source for doc in self.workspace.text_documents.values()}

    async def work(self, uri: str, asked: Callable[[str], T]) -> T:
        """Run a query on a document, in its turn on the compiler's thread."""
        texts, path = self.open_texts(), _path(uri)

        def answer() -> T:
            self.project.files = self._files(path, texts)
            return asked(path)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, answer)
        except CompileError as error:
            raise JsonRpcException(error.message, lsp.LSPErrorCodes.RequestFailed) from None

    def _files(self, path: str, texts: Texts) -> dict[str, str]:
        """Return a program with all its imports."""
        return with_imports(texts.get(path, ""), path, partial(self._text, texts))

    def _text(self, texts: Texts, path: str) -> str | None:
        """Return the text of a file; read it from disk again when it has changed."""
        if path in texts:
            return texts[path]
        try:
            changed = os.stat(path).st_mtime
            if self._disk.get(path, (0.0, ""))[0] != changed:
                self._disk[path] = changed, read_source(path)
        except (OSError, CompileError):
            return None
        return self._disk[path][1]

    def with_folder(self, texts: Texts) -> None:
        """Add all programs of the open folders."""
        roots = [_path(folder.uri) for folder in self.workspace.folders.values()]
        endings = (ENDING, FLATPACK)
        found = (
            file
            for root in roots
            for file in sorted(Path(root).rglob("*"))
            if file.suffix in endings
        )
        for file, _ in zip(found, range(MOST_FILES), strict=False):
            path = os.path.normpath(file)
            text = self._text(texts, path)
            if text is not None:
                self.project.files.setdefault(path, text)

    # --- places ------------------------------------------------------------------------------

    def text(self, path: str) -> str:
        """Return the text of a file of the project or the prelude."""
        return self.project.files.get(path) or (self._text({}, path) or "")

    def at(self, path: str, position: lsp.Position) -> int:
        """Convert a client's position to an offset in the text."""
        lines = self.text(path).split("\n")
        line = min(position.line, len(lines) - 1)
        codec = self._codec()
        here = codec.position_from_client_units(lines, lsp.Position(line, position.character))
        return offset(self.text(path), here.line + 1, here.character + 1)

    def range(self, path: str, start: int, end: int) -> lsp.Range:
        """Convert offsets to the client's range."""
        text = self.text(path)
        lines = text.split("\n")
        ends = (
            lsp.Position(line - 1, column - 1)
            for line, column in (place(text, start), place(text, end))
        )
        codec = self._codec()
        return lsp.Range(*(codec.position_to_client_units(lines, one) for one in ends))

    def range_of(self, span: Span) -> lsp.Range:
        """Convert a span, whose file is a path, to the client's range."""
        text = self.text(span.file)
        start = offset(text, span.line, span.col)
        return self.range(span.file, start, offset(text, span.end_line, span.end_col))

    def _codec(self) -> PositionCodec:
        return self.workspace.position_codec

    def edits(self, changes: list[places.Edit]) -> lsp.WorkspaceEdit:
        """Convert edits to the client's workspace edit."""
        found: dict[str, list[lsp.TextEdit]] = {}
        for one in changes:
            edit = lsp.TextEdit(self.range(one.path, one.start, one.end), one.text)
            found.setdefault(_uri(one.path), []).append(edit)
        return lsp.WorkspaceEdit(changes=found)

    # --- diagnostics -------------------------------------------------------------------------

    def check_soon(self, uri: str) -> None:
        """Schedule a check of a document for when typing pauses."""
        if uri in self._checks:
            self._checks.pop(uri).cancel()
        loop = asyncio.get_running_loop()
        self._checks[uri] = loop.call_later(QUIET, lambda: loop.create_task(self._check(uri)))

    async def _check(self, uri: str) -> None:
        self._checks.pop(uri, None)
        document = self.workspace.text_documents.get(unquote(uri))
        if document is None:
            return
        version, source = document.version, document.source
        found = await self.work(uri, self._problems)
        now = self.workspace.text_documents.get(unquote(uri))
        if now is not None and now.source == source:
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(uri, found, version)
            )

    def forget(self, uri: str) -> None:
        """Forget a closed document."""
        if uri in self._checks:
            self._checks.pop(uri).cancel()
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def _problems(self, path: str) -> list[lsp.Diagnostic]:
        files = {name: text for name, text in self.project.files.items() if name != path}
        try:
            answer = checking.check(CheckRequest(self.project.files[path], files=files, main=path))
        except Exception as problem:
            error = as_error(problem)
            found = failure(error)["error"].get("errors", [])
            return [self._diagnostic(path, one, lsp.DiagnosticSeverity.Error) for one in found]
        severity = lsp.DiagnosticSeverity.Warning
        return [self._diagnostic(path, one, severity) for one in answer["warnings"]]

    def _diagnostic(
        self, path: str, problem: Problem, severity: lsp.DiagnosticSeverity
    ) -> lsp.Diagnostic:
        """Convert a problem; one in another file is shown at the import that leads there."""
        span = problem["span"] or [1, 1, 1, 1]
        message, file = problem["message"], str(span[4]) if len(span) > 4 else path
        at = self.range_of(_span(span, path))
        if file != path:
            message = f"{os.path.basename(file)}:{span[0]}:{span[1]}: {message}"
            found = (i for i in self.project.names(path).imports if i[2] == file)
            start, end, _ = next(found, (0, 0, ""))
            at = self.range(path, start, end)
        hint = problem["hint"]
        told = f"{message}\n{hint}" if hint else message
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(_uri(other.file), self.range_of(other)), one["message"]
            )
            for one in problem.get("related", ())
            if one["span"] and (other := _span(one["span"], path, *map(str, one["span"][4:])))
        ]
        return lsp.Diagnostic(
            at,
            told,
            severity,
            code=problem.get("code"),
            source="stridescope",
            related_information=related,
            data=hint,
        )


def _span(told: Sequence[int | str], *files: str) -> Span:
    """Convert a protocol span to one in the last of `files`."""
    line, column, end_line, end_column = map(int, told[:4])
    return Span(line, column, end_line, end_column, files[-1])


def _path(uri: str) -> str:
    return os.path.normpath(uris.to_fs_path(uri) or uri)


def _uri(path: str) -> str:
    return uris.from_fs_path(path) or path


server = EditorServer()


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
async def did_open(ls: EditorServer, params: lsp.DidOpenTextDocumentParams) -> None:
    """Check an opened document."""
    ls.check_soon(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
async def did_change(ls: EditorServer, params: lsp.DidChangeTextDocumentParams) -> None:
    """Check a changed document and its dependents."""
    ls.check_soon(params.text_document.uri)
    for document in ls.workspace.text_documents.values():
        ls.check_soon(document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
async def did_close(ls: EditorServer, params: lsp.DidCloseTextDocumentParams) -> None:
    """Return to the text on disk."""
    ls.forget(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
async def hover(ls: EditorServer, params: lsp.HoverParams) -> lsp.Hover | None:
    """Show type and documentation at a place."""

    def ask(path: str) -> lsp.Hover | None:
        found = places.told(ls.project, path, ls.at(path, params.position))
        if found is None:
            return None
        language = "flatpack" if path.endswith(FLATPACK) else "futhark"
        text = f"```{language}\n{found.says}\n```" + (f"\n\n{found.doc}" if found.doc else "")
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
        return lsp.Hover(content, ls.range_of(found.span._replace(file=path)))

    return await ls.work(params.text_document.uri, ask)


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
async def definition(ls: EditorServer, params: lsp.DefinitionParams) -> lsp.Location | None:
    """Find the declaration of a name; for an import, the file."""

    def ask(path: str) -> lsp.Location | None:
        at = ls.at(path, params.position)
        for start, end, file in ls.project.names(path).imports:
            if start <= at <= end:
                return lsp.Location(_uri(file), ls.range(file, 0, 0))
        use = places.use_at(ls.project, path, at)
        return _location(ls, use.symbol) if use and use.symbol.span.line else None

    return await ls.work(params.text_document.uri, ask)


def _location(ls: EditorServer, symbol: Symbol) -> lsp.Location:
    span = symbol.span
    if span.file == flatpack.OF_LIBRARY:
        span = span._replace(file=str(LIBRARY))
    elif span.in_prelude:
        span = span._replace(file=str(FOLDER / span.file.partition("/")[2]))
    return lsp.Location(_uri(span.file), ls.range_of(span))


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
async def references(ls: EditorServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    """Find all uses of a name in the open folders."""
    texts = ls.open_texts()

    def ask(path: str) -> list[lsp.Location]:
        ls.with_folder(texts)
        use = places.use_at(ls.project, path, ls.at(path, params.position))
        found = places.references(ls.project, use.symbol) if use else []
        return [
            lsp.Location(_uri(file), ls.range(file, one.start, one.end))
            for file, one in found
            if params.context.include_declaration or not one.declares
        ]

    return await ls.work(params.text_document.uri, ask)


@server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
async def rename(ls: EditorServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    """Rename, if all names keep their meaning."""
    texts = ls.open_texts()

    def ask(path: str) -> lsp.WorkspaceEdit:
        ls.with_folder(texts)
        at = ls.at(path, params.position)
        return ls.edits(places.rename(ls.project, path, at, params.new_name))

    return await ls.work(params.text_document.uri, ask)


@server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
async def prepare_rename(ls: EditorServer, params: lsp.PrepareRenameParams) -> lsp.Range:
    """Return the range of the name that can be renamed."""

    def ask(path: str) -> lsp.Range:
        use = places.use_at(ls.project, path, ls.at(path, params.position))
        if use is None:
            raise UsageError("There is no declared name here.")
        places.can_rename(use.symbol)
        return ls.range(path, use.start, use.end)

    return await ls.work(params.text_document.uri, ask)


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
async def symbols(ls: EditorServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    """Return the declarations of a document as a tree."""

    def shown(path: str, symbol: Symbol) -> lsp.DocumentSymbol:
        return lsp.DocumentSymbol(
            symbol.name,
            _KINDS[symbol.kind][0],
            ls.range(path, *symbol.whole),
            ls.range_of(symbol.span),
            children=[shown(path, one) for one in symbol.inside],
        )

    def ask(path: str) -> list[lsp.DocumentSymbol]:
        return [shown(path, one) for one in outline.outline(ls.project, path)]

    return await ls.work(params.text_document.uri, ask)


@server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "#"]))
async def completion(ls: EditorServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    """Return completions with types."""

    def ask(path: str) -> lsp.CompletionList:
        at = ls.at(path, params.position)
        start, items = completions(ls.project, path, at)
        replaced = ls.range(path, start, at)
        found = [
            lsp.CompletionItem(
                item.name,
                kind=_KINDS[item.kind][1],
                detail=item.says or None,
                documentation=item.doc or None,
                text_edit=lsp.TextEdit(replaced, item.name),
            )
            for item in items
        ]
        return lsp.CompletionList(False, found)

    return await ls.work(params.text_document.uri, ask)


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
async def formatting(ls: EditorServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    """Format the document; the client's width is ignored."""

    def ask(path: str) -> list[lsp.TextEdit]:
        text = ls.text(path)
        made = laid_out(text, path)
        return [] if made == text else [lsp.TextEdit(ls.range(path, 0, len(text)), made)]

    return await ls.work(params.text_document.uri, ask)


@server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
async def folding(ls: EditorServer, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    """Return folds: declarations, loops, comment blocks."""

    def ask(path: str) -> list[lsp.FoldingRange]:
        found = outline.folds(ls.project, path)
        return [lsp.FoldingRange(start - 1, end - 1) for start, end in found]

    return await ls.work(params.text_document.uri, ask)


@server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION)
async def actions(ls: EditorServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Return fixes derived from hints, if they help."""

    def ask(path: str) -> list[lsp.CodeAction]:
        found: list[lsp.CodeAction] = []
        for one in params.context.diagnostics:
            start, end = (ls.at(path, at) for at in (one.range.start, one.range.end))
            text = ls.text(path)
            span = Span(*place(text, start), *place(text, end), path)
            hint = one.data if isinstance(one.data, str) else ""
            for fix in fixes.fixes(ls.project, path, span, hint):
                edit = ls.edits(list(fix.edits))
                kind = lsp.CodeActionKind.QuickFix
                found.append(lsp.CodeAction(fix.title, kind, [one], edit=edit))
        return found

    return await ls.work(params.text_document.uri, ask)


def main() -> None:
    """Serve until the client leaves."""
    server.start_io()


if __name__ == "__main__":
    main()
