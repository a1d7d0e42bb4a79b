"""Answer questions about a place: hover, definition, references, rename."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, UsageError
from compiler.base.spans import Span
from compiler.editor import flatpack
from compiler.editor.labels import CONSTRUCTOR, FIELD, labels
from compiler.editor.names import Symbol, Use
from compiler.editor.project import Project, place
from compiler.editor.types import of_library
from compiler.frontend.files import FLATPACK

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_']*")
LONGEST = 400
"""The longest declaration shown, in characters."""


@dataclass(frozen=True, slots=True)
class Told:
    """The hover information of a place."""

    span: Span
    says: str
    """Its type or declaration, in the language."""
    doc: str
    symbol: Symbol | None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replacement of text; `start` and `end` are offsets in the text of `path`."""

    path: str
    start: int
    end: int
    text: str


def use_at(project: Project, path: str, at: int) -> Use | None:
    """Return the name, field or constructor at an offset, or just before it."""
    found = [use for use in project.names(path).uses if use.start <= at <= use.end]
    if not found:
        words = _NAME.finditer(project.files[path])
        word = next((w[0] for w in words if w.start() <= at <= w.end()), "")
        uses = labels(project, word).uses if word and word not in project.words(path) else []
        found = [use for file, use in uses if file == path and use.start <= at <= use.end]
    return max(found, key=lambda use: (use.start, use.declares), default=None)


def told(project: Project, path: str, at: int) -> Told | None:
    """Describe the name (with its declaration) or the expression (with its type) at an offset."""
    use = use_at(project, path, at)
    text = project.files[path]
    if path.endswith(FLATPACK):
        known = flatpack.told(text, path, at, use)
        return Told(*known, use.symbol if use else None) if known else None
    types = project.types_in(path)
    if use is None or use.symbol.kind in (FIELD, CONSTRUCTOR):
        line, column = place(text, at)
        found = types.around(Span(line, column, line, column, path)) if types else None
        if found or use is None:
            return Told(*found, "", use.symbol if use else None) if found else None
    line, column = place(text, use.start)
    span = Span(line, column, line, column + use.end - use.start, path)
    says, symbol = said(project, use.symbol), use.symbol
    here = types.used(span) if types and not use.declares else ""
    if here and not says:
        says = f"{symbol.name}: {here}"
    elif here and " '" in says:
        says = f"{says}\n-- here: {here}"
    return Told(span, says or f"{symbol.kind} {symbol.name}", symbol.doc, symbol)


def said(project: Project, symbol: Symbol) -> str:
    """Return the type of a declared name, or the declaration itself."""
    if symbol.span.file.endswith(FLATPACK) or symbol.span.file == flatpack.OF_LIBRARY:
        return flatpack.said(project.files.get(symbol.span.file, ""), symbol.span.file, symbol)
    if not symbol.span.line or symbol.span.in_prelude:
        return of_library(symbol)
    path = symbol.span.file
    types = project.types_in(path) if path in project.files else None
    found = types.declared(symbol.span) if types else ""
    if found:
        return found if found.startswith(("def ", "entry ")) else f"{symbol.name}: {found}"
    if symbol.is_local or path not in project.files:
        return ""
    whole = project.files[path][slice(*symbol.whole)]
    if symbol.kind in ("function", "constant"):
        whole = re.split(r"\s=(?=\s)", whole, maxsplit=1)[0]
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST]}…"


def references(project: Project, symbol: Symbol) -> list[tuple[str, Use]]:
    """Return all uses of a declaration with their files, its own place included."""
    if symbol.kind in (FIELD, CONSTRUCTOR):
        named = labels(project, symbol.name).uses
        return [(path, use) for path, use in named if same(use.symbol, symbol)]
    found: list[tuple[str, Use]] = []
    for path, text in sorted(project.files.items()):
        if symbol.name in text:
            uses = {(use.start, use.end): use for use in project.names(path).uses}
            found += [(path, uses[at]) for at in sorted(uses) if same(uses[at].symbol, symbol)]
    return found


def same(one: Symbol, other: Symbol) -> bool:
    """Return True if two symbols from different analyses are the same declaration."""
    return one is other or (one.span == other.span and one.name == other.name and one.span.line > 0)


def can_rename(symbol: Symbol) -> None:
    """Raise `UsageError` if the author cannot rename the declaration."""
    if not symbol.span.line or symbol.span.in_prelude:
        raise UsageError(f"`{symbol.name}` is part of the language's library.")
    if not _NAME.fullmatch(symbol.name):
        raise UsageError(f"`{symbol.name}` is an operator, whose name determines its precedence.")


def rename(project: Project, path: str, at: int, new: str) -> list[Edit]:
    """Return the edits that rename a declaration and all its uses.

    Errors: `UsageError` where there is no name, `new` is not one, or a name would change its
    meaning.
    """
    use = use_at(project, path, at)
    if use is None:
        raise UsageError("There is no declared name here.")
    can_rename(use.symbol)
    if not _NAME.fullmatch(new) or new == "_":
        raise UsageError(
            f"`{new}` is not a valid name.", hint="Names have letters, digits, `_` and `'`."
        )
    if new in project.words(path):
        raise UsageError(f"`{new}` is a word of the language.")
    old = use.symbol.name
    both = f"{old} = {new}"
    if use.symbol.kind in (FIELD, CONSTRUCTOR):
        both = f"{new} = {old}"
        _can_change(project, use.symbol, new)
    edits = [
        Edit(file, one.start, one.end, both if one.field else new)
        for file, one in references(project, use.symbol)
    ]
    after = project
    for file in sorted({edit.path for edit in edits}):
        if not project.is_whole(file):
            raise UsageError(f"{_called(file)} has syntax errors: fix them first.")
        after = after.with_text(file, changed(project.files[file], edits, file))
    _same_meaning(project, after, edits, new)
    for root in sorted({project.root(edit.path) for edit in edits}):
        _still_right(project.errors(root), after.errors(root))
    return edits


def _can_change(project: Project, symbol: Symbol, new: str) -> None:
    """Raise `UsageError` if the type of a field or constructor is unknown or has `new` already."""
    found = labels(project, symbol.name)
    if new in (found.groups[symbol.span.file, symbol.start] or ()) and new != symbol.name:
        raise UsageError(f"The type has a {symbol.kind} `{new}` already.")
    for path, start in found.unknown:
        line, _ = place(project.files[path], start)
        raise UsageError(
            f"It is unknown if `{symbol.name}` in line {line} of {_called(path)} is the "
            f"same {symbol.kind}.",
            hint=(
                "Fix the errors of the program; code that no entry point can reach has no types."
            ),
        )


def changed(text: str, edits: Iterable[Edit], path: str) -> str:
    """Apply edits to the text of a file."""
    for edit in sorted(edits, key=lambda one: -one.start):
        if edit.path == path:
            text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _same_meaning(before: Project, after: Project, edits: list[Edit], new: str) -> None:
    """Check that every name keeps its declaration; names are identified by their ends."""

    def moved(path: str, end: int) -> int:
        ends = (e for e in edits if e.path == path and e.end <= end)
        return end + sum(len(e.text) - (e.end - e.start) for e in ends)

    for path in sorted(before.files):
        old, found = before.names(path), after.names(path)
        if old is found:
            continue
        was = {moved(path, u.end): _declared(u.symbol, moved) for u in old.uses}
        now = {use.end: _declared(use.symbol, None) for use in found.uses}
        for at in sorted(was.keys() | now.keys()):
            if was.get(at) != now.get(at):
                line, _ = place(after.files[path], at)
                raise UsageError(
                    f"With the name `{new}`, the meaning of line {line} of "
                    f"{_called(path)} would change.",
                    hint="Choose a name that is not used there.",
                )


def _declared(symbol: Symbol, moved: Callable[[str, int], int] | None) -> tuple[str, int | str]:
    """Identify a declaration by the end of its name; the library's by the name."""
    path, end = symbol.span.file, symbol.start + len(symbol.name)
    if not symbol.span.line or symbol.span.in_prelude:
        return path, symbol.name
    return path, moved(path, end) if moved else end


def _still_right(
    before: Sequence[CompileError] | None, after: Sequence[CompileError] | None
) -> None:
    """Check that a program without type errors still has none."""
    if before is None or before:
        return
    if after is None or after:
        why = f": {after[0].message}" if after else "."
        raise UsageError(f"With this name the program would be wrong{why}")


def _called(path: str) -> str:
    return f"`{path}`" if path else "the program"
