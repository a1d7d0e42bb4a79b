"""Derive fixes from the hint of an error or a warning; each is tried before it is offered."""

from __future__ import annotations

import re

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, SyntaxError_, UsageError
from compiler.base.spans import Span
from compiler.editor import flatpack
from compiler.editor.places import Edit, rename
from compiler.editor.project import Project, offset
from compiler.frontend.files import FLATPACK
from compiler.frontend.parser import parse

_MEANT = re.compile(r"Did you mean (.*)\?")
_SILENT = re.compile(r"call it `(_[^`]*)`")
_QUOTED = re.compile(r"`([^`]*)`")
_REMOVE = "Remove it."


@dataclass(frozen=True, slots=True)
class Fix:
    """A code action: its title and edits."""

    title: str
    edits: tuple[Edit, ...]


def fixes(project: Project, path: str, span: Span, hint: str) -> list[Fix]:
    """Return the fixes that a hint suggests, at the place of its error in a file."""
    text = project.files[path]
    start = offset(text, span.line, span.col)
    end = offset(text, span.end_line, span.end_col)
    found: list[Fix] = []
    if meant := _MEANT.search(hint):
        name = start + text[start:end].rfind(".") + 1
        for word in _QUOTED.findall(meant.group(1)):
            found.append(Fix(f"Change to `{word}`", (Edit(path, name, end, word),)))
    elif hint == _REMOVE:
        found.append(Fix(f"Remove `{text[start:end]}`", (Edit(path, start, end, ""),)))
    elif silent := _SILENT.search(hint):
        try:
            edits = rename(project, path, start, silent.group(1))
        except UsageError:
            return []
        return [Fix(f"Call it `{silent.group(1)}`", tuple(edits))]
    return [fix for fix in found if _helps(project, path, fix)]


def _helps(project: Project, path: str, fix: Fix) -> bool:
    """Return True if the fix reduces the number of errors."""
    edit = fix.edits[0]
    text = project.files[path]
    after = project.with_text(path, f"{text[: edit.start]}{edit.text}{text[edit.end :]}")
    if path.endswith(FLATPACK):
        return _is_gone(project, after, path)
    return _errors(after, path) < _errors(project, path)


def _is_gone(before: Project, after: Project, path: str) -> bool:
    """Return True if a FlatPack error is gone; the first error of meaning hides later ones."""
    was, now = (flatpack.read(one.files[path], path) for one in (before, after))
    if was.is_whole:
        first, then = ([(e.code, e.span[:2]) for e in one.errors] for one in (was, now))
        return now.is_whole and then != first
    return now.is_whole or len(now.errors) < len(was.errors)


def _errors(project: Project, path: str) -> tuple[int, int]:
    """Count errors of syntax, then of types; a large number where types are unknown."""
    try:
        parse(project.files[path], path)
    except SyntaxError_ as error:
        return 1 + len(error.others), 0
    types = project.types_in(path)
    errors: list[CompileError] | None = types.errors if types else None
    return 0, 1000 if errors is None else len(errors)
