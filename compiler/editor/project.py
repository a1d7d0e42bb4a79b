"""The files of a program in an editor, with cached results of analyses.

In a text with syntax errors the wrong declarations are blanked out: so all others are known, at
their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache

from lark import Token, Tree

from compiler.base.context import Ctx, Options
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, SyntaxError_
from compiler.base.prim import PRIMS
from compiler.base.spans import NOWHERE, PRELUDE, Span
from compiler.editor import flatpack
from compiler.editor.names import MODULE_TYPE, TYPE, VALUE, Names, Resolver, Symbol, Table
from compiler.editor.types import Types
from compiler.frontend import decs
from compiler.frontend.check import examine
from compiler.frontend.check.prelude import load
from compiler.frontend.check.scope.builtins import member_names
from compiler.frontend.check.scope.scope import Module
from compiler.frontend.files import FLATPACK, gather, path_of
from compiler.frontend.lexer import KEYWORDS, Lexed, tokenise
from compiler.frontend.parser import concrete, parse

_DECLARATION = re.compile(r"(?m)^(?:(?:def|entry|let|type|module|open|import|local)\b|#\[)")
TRIES = 5
"""Rounds of blanking out wrong declarations."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed text."""

    text: str
    """The text, with wrong declarations blanked out."""
    tree: Tree[Token]
    lexed: Lexed
    program: decs.Program
    is_whole: bool
    """True if nothing was blanked out."""

    def docs(self) -> dict[int, str]:
        """Return documentation comments by the offset of their declaration."""
        return {self.lexed.tokens[k].start_pos or 0: text for k, text in self.lexed.docs.items()}


@lru_cache(maxsize=400)
def parsed(text: str, path: str) -> Parsed | None:
    """Parse as much of a text as possible; None if nothing parses, and for FlatPack."""
    if path.endswith(FLATPACK):
        return None
    whole = True
    for _ in range(TRIES):
        try:
            program = parse(text, path)
        except SyntaxError_ as error:
            whole = False
            text = _without(text, (error, *error.others))
        else:
            lexed = tokenise(text, path)
            return Parsed(text, concrete(lexed), lexed, program, whole)
    return None


def with_imports(text: str, path: str, read: Callable[[str], str | None]) -> dict[str, str]:
    """Return a file and its imports, even if it has errors."""
    found = parsed(text, path)
    return {path: text, **gather(found.text if found else "", path, read)}


def _without(text: str, errors: Iterable[CompileError]) -> str:
    """Blank out the declarations that contain errors."""
    starts = [0, *(found.start() for found in _DECLARATION.finditer(text)), len(text)]
    for error in errors:
        at = min(offset(text, error.span.line, error.span.col), len(text) - 1)
        begin = max(start for start in starts if start <= max(at, 0))
        end = min((start for start in starts if start > at), default=len(text))
        blank = re.sub(r"[^\r\n]", " ", text[begin:end])
        text = text[:begin] + blank + text[end:]
    return text


def offset(text: str, line: int, column: int) -> int:
    """Convert line and column, both from 1, to an offset."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return min(at + column - 1, len(text))


def place(text: str, at: int) -> tuple[int, int]:
    """Convert an offset to line and column."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class Project:
    """Files by path. The file in question is the main program, with all its imports."""

    def __init__(self, files: Mapping[str, str], main: str = "") -> None:
        """`main`: the program being edited, of which its imports are part."""
        self.files, self.main = dict(files), main
        self._names: dict[str, tuple[str, list[tuple[str, Names]], Names]] = {}
        self._types: dict[str, tuple[str, dict[str, str], Types | None]] = {}
        self._busy: set[str] = set()

    def with_text(self, path: str, text: str) -> Project:
        """Return a project with another text of one file, sharing cached results."""
        other = Project({**self.files, path: text}, self.main)
        other._names, other._types = dict(self._names), dict(self._types)
        return other

    def parsed(self, path: str) -> Parsed | None:
        """Parse a file."""
        return parsed(self.files[path], path) if path in self.files else None

    def names(self, path: str) -> Names:
        """Return the resolved names of a file, cached until it or a dependency changes."""
        text = self.files.get(path, "")
        if path in self._names:
            before, needs, names = self._names[path]
            if before == text and all(self.names(one) is known for one, known in needs):
                return names
        needs = []
        names = self._resolved(path, -1, needs)
        self._names[path] = text, needs, names
        return names

    def scope(self, path: str, at: int) -> Table:
        """Return the names in scope at an offset."""
        return self._resolved(path, at, []).scope

    def _resolved(self, path: str, at: int, needs: list[tuple[str, Names]]) -> Names:
        if path.endswith(FLATPACK):
            return flatpack.names(self.files.get(path, ""), path)
        found = self.parsed(path)
        if found is None:
            return Names()

        def imported(named: str, span: Span) -> tuple[str, Mapping[tuple[str, str], Symbol]]:
            try:
                other = path_of(decs.ImportDec(span, named), path)
            except CompileError:
                return "", {}
            if other not in self.files or other in self._busy:
                return "", {}
            names = self.names(other)
            needs.append((other, names))
            return other, names.exports

        self._busy.add(path)
        try:
            return Resolver(path, found.docs(), prelude(), imported, at).program(found.tree)
        finally:
            self._busy.discard(path)

    def types(self, root: str) -> Types | None:
        """Type check a program as far as it is right; None if it cannot be parsed or checked."""
        found = self.parsed(root)
        if found is None:
            return None
        text, files = self.files[root], with_imports(self.files[root], root, self.files.get)
        if self._types.get(root, ())[:2] != (text, files):
            try:
                ctx = Ctx(Options(files=_others(files, root), main=root))
                self._types[root] = text, files, Types(examine(found.program, ctx))
            except CompileError:
                self._types[root] = text, files, None
        return self._types[root][2]

    def errors(self, root: str) -> Sequence[CompileError] | None:
        """Return the errors of a program; None if it does not parse or check."""
        if root.endswith(FLATPACK):
            known = flatpack.read(self.files[root], root)
            return known.errors if known.is_whole else None
        types = self.types(root)
        return types.errors if types else None

    def is_whole(self, path: str) -> bool:
        """Return True if a file has no errors of syntax."""
        if path.endswith(FLATPACK):
            return flatpack.read(self.files[path], path).is_whole
        found = self.parsed(path)
        return found is not None and found.is_whole

    def words(self, path: str) -> Collection[str]:
        """Return the keywords of a file's language."""
        return flatpack.KEYWORDS if path.endswith(FLATPACK) else KEYWORDS

    def types_in(self, path: str) -> Types | None:
        """Return the types in a file, as part of the main program if possible."""
        return self.types(self.root(path)) or self.types(path)

    def root(self, path: str) -> str:
        """Return the program as part of which a file is checked."""
        whole = self.files.get(self.main)
        if whole is None or path == self.main:
            return path
        return self.main if path in with_imports(whole, self.main, self.files.get) else path


def _others(files: Mapping[str, str], main: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((path, text) for path, text in files.items() if path != main))


@cache
def prelude() -> Table:
    """Return the names of the prelude."""
    known = load()
    table: Table = {(TYPE, prim): Symbol("type", prim, NOWHERE) for prim in PRIMS}
    module = Module(values=known.values, modules=known.modules, module_types=known.module_types)
    return table | _members(module)


def _members(module: Module) -> Table:
    found: Table = {}
    for name, value in module.values.items():
        span: Span = getattr(value, "span", NOWHERE)
        kind = "function" if span.in_prelude else "constant"
        found[VALUE, name] = Symbol(kind, name, span)
    for name in member_names(module.prim) if module.prim else ():
        span = NOWHERE._replace(file=f"{PRELUDE}{module.prim}")
        found.setdefault((VALUE, name), Symbol("function", name, span))
    for name in module.types:
        found[TYPE, name] = Symbol("type", name, NOWHERE)
    for name, inner in module.modules.items():
        found[VALUE, name] = Symbol("module", name, NOWHERE, members=_members(inner))
    for name in module.module_types:
        found[MODULE_TYPE, name] = Symbol("module type", name, NOWHERE)
    return found
