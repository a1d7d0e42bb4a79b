"""`stridescope doc`: render a library's comments as HTML, a page for each file.

A page shows the exports of a file, each with its comment, its type and links to where names
are declared. Text from files, their names too, is escaped.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from html import escape
from pathlib import Path
from urllib.parse import quote

from compiler.base.dataclass import dataclass
from compiler.base.errors import UsageError
from compiler.command_line.formatting import programs_in
from compiler.driver.disk import read_source
from compiler.editor.names import Symbol
from compiler.editor.outline import outline
from compiler.editor.places import said
from compiler.editor.project import Project

INDEX = "index.html"
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:#8881;padding:.5rem;overflow-x:auto}"
    "section section{margin-left:2rem}"
)
_VALUE = re.compile(r"\s=(?=\s)")
_BODY = re.compile(r"\s=\s*\{")


def write_pages(folder: str, to: str) -> list[str]:
    """Write the pages of all programs in a folder below `to`; return the paths written.

    Errors: `UsageError` for files that cannot be read or written, and for no programs.
    """
    files = {
        Path(os.path.relpath(path, folder)).as_posix(): read_source(path)
        for path in programs_in(folder)
    }
    made = pages(files)
    for path, text in made.items():
        target = Path(to, path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
        except OSError as error:
            raise UsageError(f"Cannot write `{target}`: {error.strerror}.") from None
    return list(made)


def pages(files: Mapping[str, str]) -> dict[str, str]:
    """Render the pages of a library by path; `files` are its texts by path."""
    library = _Library(Project(files))
    for path in files:
        library.note(path, _exported(library.project, path), "")
    made = {_page(path): library.page(path) for path in sorted(files)}
    items = [
        f'<li><a href="{quote(_page(path))}">{escape(path)}</a> {_text(_first(library, path))}</li>'
        for path in sorted(files)
    ]
    return {INDEX: _html("Documentation", f"<ul>{''.join(items)}</ul>"), **made}


def _page(path: str) -> str:
    """Return the path of a file's page, which cannot be the index."""
    return f"{path}.html"


def _first(library: _Library, path: str) -> str:
    return library.about(path).partition("\n\n")[0]


def _exported(project: Project, path: str) -> list[Symbol]:
    given = {(one.span, one.name) for one in project.names(path).exports.values()}
    return [one for one in outline(project, path) if (one.span, one.name) in given]


@dataclass(slots=True)
class _Library:
    """All files of a library, and the page and anchor of each declaration."""

    project: Project
    places: dict[tuple[object, str], tuple[str, str]] = field(default_factory=dict)

    def note(self, path: str, symbols: list[Symbol], prefix: str) -> None:
        """Record the pages and anchors of declarations and nested ones."""
        for one in symbols:
            anchor = f"{prefix}{one.kind.replace(' ', '-')}.{one.name}"
            self.places[one.span, one.name] = path, anchor
            self.note(path, one.inside, f"{anchor}.")

    def about(self, path: str) -> str:
        """Return the comment at the head of a file."""
        found = self.project.parsed(path)
        return found.program.doc if found else ""

    def page(self, path: str) -> str:
        """Render the page of a file."""
        up = posixpath.relpath(INDEX, posixpath.dirname(_page(path)) or ".")
        shown = "".join(self.shown(path, one) for one in _exported(self.project, path))
        wrong = "<p>This file has errors.</p>" if self.is_wrong(path) else ""
        index = f'<p><a href="{quote(up)}">All files</a></p>'
        return _html(path, f"{index}{wrong}{_text(self.about(path))}{shown}")

    def is_wrong(self, path: str) -> bool:
        """Return True if a file, or one that it imports, has an error."""
        found, types = self.project.parsed(path), self.project.types_in(path)
        return found is None or not found.is_whole or types is None or bool(types.errors)

    def shown(self, path: str, one: Symbol) -> str:
        """Render a declaration with its comment, its type and its members."""
        anchor = self.places[one.span, one.name][1]
        text = self.project.files[path]
        start, end = one.whole
        ends = [] if one.kind == "type" else [_BODY] if one.inside else [_VALUE]
        for found in filter(None, (pattern.search(text, start, end) for pattern in ends)):
            end = found.start()
        head = "".join(self.linked(path, start, end))
        known = said(self.project, one) if one.kind in ("function", "constant") else ""
        plain = " ".join(text[start:end].split())
        type_ = f"<p>Type: <code>{escape(known)}</code></p>" if known not in ("", plain) else ""
        inside = "".join(self.shown(path, part) for part in one.inside if not part.is_local)
        return (
            f'<section id="{escape(anchor)}"><pre><code>{head}</code></pre>'
            f"{type_}{_text(one.doc)}{inside}</section>"
        )

    def linked(self, path: str, start: int, end: int) -> Iterator[str]:
        """Render a piece of a file as HTML whose names link to their declarations."""
        text, at = self.project.files[path], start
        for use in sorted(self.project.names(path).uses, key=lambda use: use.start):
            target = self.places.get((use.symbol.span, use.symbol.name))
            if not at <= use.start <= use.end <= end or use.declares or target is None:
                continue
            page = posixpath.relpath(_page(target[0]), posixpath.dirname(path) or ".")
            href = f"{quote(page)}#{quote(target[1])}"
            yield escape(text[at : use.start])
            yield f'<a href="{escape(href)}">{escape(text[use.start : use.end])}</a>'
            at = use.end
        yield escape(text[at:end])


def _text(doc: str) -> str:
    """Render a comment: paragraphs, and backquoted text as code."""
    paragraphs = [" ".join(part.split()) for part in doc.split("\n\n") if part.strip()]
    coded = [re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(part)) for part in paragraphs]
    return "".join(f"<p>{part}</p>" for part in coded)


def _html(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>\n"
    )
