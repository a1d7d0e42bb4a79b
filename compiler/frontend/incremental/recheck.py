"""Answer `check` after an edit, re-checking only declarations that it may affect.

The main program and the files that it imports are checked one by one, as always. A file of a new
program is checked, or recalled, as a whole. Once its text changes, or what it imports declares
something else, it is checked in pieces (`piece_results.py`), as the main program is from the start;
what the check of the whole tells of them (`file_results.py`) is not found out again.

The checker's tables are those of all checks of a program so far: they only grow, by names that are
given once. Nothing is made of them but this answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from compiler.base.context import Ctx, Options
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError
from compiler.base.names import Name, NameSource
from compiler.frontend.check import checked_files
from compiler.frontend.check.checked_files import all_of, shows_others
from compiler.frontend.check.expressions.table import TABLE
from compiler.frontend.check.files import WholeFiles, check_imports, end_file, first_error
from compiler.frontend.check.prelude import load
from compiler.frontend.check.program import Checked
from compiler.frontend.check.scope.scope import Module
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.files import Import, package_of
from compiler.frontend.incremental import pieces
from compiler.frontend.incremental.equal_results import in_same_places
from compiler.frontend.incremental.file_results import in_pieces
from compiler.frontend.incremental.piece_results import FoundInPiece, FoundInText, InPieces
from compiler.frontend.incremental.pieces import Cut
from compiler.frontend.lint.all_warnings import in_place, unused_in
from compiler.frontend.lint.certain_failures import in_definition
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.typed import EntryPoint

PROGRAMS = 3
"""Number of programs whose results are kept."""
MOST_NAMES = 30_000
"""Slack of fresh names, beyond twice a program's number, before a restart."""

Answer = tuple[list[EntryPoint], list[Warning_]]


def checked(source: str, files: Mapping[str, str], main: str, entry: str) -> Answer | None:
    """Check a program; return entry points and warnings, or None if it cannot be cut.

    Errors: as those of `check`.
    """
    cut = pieces.cut(source)
    if cut is None:
        return None
    program = _program(files, main)
    try:
        told = program.check(cut, files)
    except (CompileError, _Uncut) as error:
        _programs.append(program)
        if isinstance(error, _Uncut):
            return None
        raise
    except Exception:  # a defect, or deep nesting: the full check reports it
        return None
    _programs.append(program)
    without = any(one.name == entry for one in told[0])
    if wrong := program.errors if without else program.errors + program.not_built:
        raise first_error(wrong)
    return told


def forget() -> None:
    """Drop all cached programs."""
    _programs.clear()
    pieces.forget()


class _Uncut(Exception):
    """Raised if a file cannot be cut into pieces."""


@dataclass(slots=True)
class _File:
    """A file that has been checked without an error."""

    text: str
    imports: tuple[Import, ...]
    imported: tuple[Module, ...]
    """The declarations of those."""
    given: frozenset[Name]
    """See `InPieces.check`."""
    told: FoundInText
    not_built: list[CompileError]
    shows_others: bool
    """True if its declarations may contain spans of other files."""


class _Program:
    """The results for a program's texts; implements `Way` to check its files."""

    def __init__(self, main: str) -> None:
        """Start without results."""
        prelude = load()
        ctx = Ctx(Options(main=main), NameSource(authors={}))
        self.main = main
        self.texts: Mapping[str, str] = {}
        """The files' texts at the latest check."""
        self.errors: list[CompileError] = []
        """Errors of the main program."""
        self.not_built: list[CompileError] = []
        """Limitations, of all files."""
        self._out = Checked(Checker(ctx, scope=prelude.scope(), table=TABLE))
        self._main = InPieces(self._out, "")
        self._files: dict[str, _File] = {}
        self._in_pieces: dict[str, InPieces] = {}
        """The files that are checked in pieces."""
        self._cuts: dict[str, Cut] = {}
        """The pieces of files whose texts have changed."""
        self._whole: WholeFiles | None = None
        """Checks files as a whole, the first time."""
        self._given: frozenset[Name] = frozenset()
        """See `InPieces.check`."""
        self._names = 0
        """Number of names generated for the latest result."""

    @property
    def is_full(self) -> bool:
        """True if too many names were generated, so that a restart is due."""
        return len(self._out.st.serials) > 2 * self._names + MOST_NAMES

    def check(self, cut: Cut, texts: Mapping[str, str]) -> Answer:
        """Return entry points and warnings; leave errors of the main program in `errors`.

        Errors: the first one in a file, or in an import.
        """
        out = self._out
        is_new = not out.st.serials
        self._whole = WholeFiles(out, texts, load().scope) if is_new else None
        self.texts, self._cuts = texts, {}
        out.st.given -= self._given
        out.imported, out.importing, out.errors, self._given = {}, [], [], frozenset()
        check_imports(out, _imports(cut, ""), texts, self)
        told = self._main.check(cut, load().scope(), self._given)
        self._given = told.given
        files = [self._files[path] for path in out.imported]
        every = [told, *(file.told for file in files)]
        self._names = sum(len(one.names) for one in every)
        self.errors = out.errors
        self.not_built = [*(e for file in files for e in file.not_built), *out.not_built]
        warned = (
            w
            for kinds in zip(*(one.warned for one in every), strict=True)
            for kind in kinds
            for w in kind
        )
        return told.entries, in_place(warned, [p for p in out.imported if not package_of(p)])

    def imports(self, path: str) -> Iterable[Import]:
        """See `Way`."""
        file = self._files.get(path)
        if self._whole is not None:
            return self._whole.imports(path)
        if file is not None and file.text == self.texts[path]:
            return file.imports
        return _imports(self._cut(path), path)

    def check_file(self, path: str, direct: list[str]) -> Module:
        """See `Way`."""
        file = self._files.get(path)
        imported = tuple(self._out.imported[one] for one in direct)
        if self._whole is not None:
            file = self._wholly(self._whole, path, direct)
        elif file is None or not self._is_as_before(file, path, imported):
            file = self._by_pieces(path)
        file.imported = imported
        self._files[path] = file
        self._given = file.told.given
        self._out.st.given |= self._given
        return file.told.declared

    def _is_as_before(self, file: _File, path: str, imported: tuple[Module, ...]) -> bool:
        """Test whether a file declares the same as before, with the same spans."""
        if file.text != self.texts[path] or file.given != self._given:
            return False
        if all(now is before for now, before in zip(imported, file.imported, strict=True)):
            return True
        in_pieces = path in self._in_pieces
        return not (in_pieces or file.shows_others) and imported == file.imported

    def _wholly(self, whole: WholeFiles, path: str, direct: list[str]) -> _File:
        """Check a file as a whole.

        Errors: the first one in it.
        """
        out, st = self._out, self._out.st
        names, defs, not_built = len(st.serials), len(out.defs), len(out.not_built)
        st.warned, st.gave, given = set(), set(), self._given
        text = self.texts[path]
        try:
            declared = whole.check_file(path, direct)
        finally:
            new = frozenset(islice(st.serials, names, None))
            self._given |= st.gave - new
        warned = (
            [] if package_of(path) else unused_in([(path, text)]),
            [w for d in out.defs[defs:] if d.span.is_own for w in in_definition(d)],
            list(st.warned),
        )
        return _File(
            text,
            tuple(whole.imports(path)),
            (),
            given,
            FoundInText(declared, [], warned, self._given, new),
            out.not_built[not_built:],
            shows_others(declared, all_of(path)),
        )

    def _by_pieces(self, path: str) -> _File:
        """Check the new pieces of a file.

        Errors: the first one in it.
        """
        out, given, before = self._out, self._given, self._files.get(path)
        cut = self._cut(path)
        if path not in self._in_pieces:
            self._in_pieces[path] = InPieces(out, path, before.told if before else None)
            if before is not None:
                self._in_pieces[path].found = self._in_whole(path, before)
        moved = out.moved
        told = self._in_pieces[path].check(cut, load().scope(), given)
        self._given = told.given
        if out.moved > moved:
            _alone(path, told.declared)
        end_file(out, self.texts)
        declared = None if before is None else before.told.declared
        if declared == told.declared and in_same_places(declared, told.declared):
            told.declared = declared
        return _File(
            self.texts[path], tuple(_imports(cut, path)), (), given, told, out.not_built, False
        )

    def _in_whole(self, path: str, file: _File) -> dict[str, FoundInPiece]:
        """Return the results for the pieces of a file that was checked as a whole."""
        out, cut = self._out, pieces.cut(file.text, path)
        if cut is None or file.not_built:
            return {}
        imported = {one.path: m for one, m in zip(file.imports, file.imported, strict=True)}
        out.st.scope = load().scope()
        return in_pieces(out.st, path, cut, file.given, file.told, imported)

    def _cut(self, path: str) -> Cut:
        """Cut a file into pieces.

        Errors: of syntax; `_Uncut`.
        """
        if path not in self._cuts:
            cut = pieces.cut(self.texts[path], path)
            if cut is None:
                raise _Uncut
            self._cuts[path] = cut
        return self._cuts[path]


def _alone(path: str, declared: Module) -> None:
    """Drop all other users of a file's module types, whose spans have moved."""
    checked_files.forget(path, declared)
    for program in list(_programs):
        file = program._files.get(path)
        if file is not None and checked_files.share_module_types(file.told.declared, declared):
            _programs.remove(program)


def _imports(cut: Cut, path: str) -> Iterator[Import]:
    """Yield the imports of a text."""
    for line, piece in cut:
        yield from piece.importing(path, line)


def _program(files: Mapping[str, str], main: str) -> _Program:
    """Return the kept results of a program, up to one changed file; or new ones."""
    while len(_programs) > PROGRAMS:
        del _programs[0]
    for most in (0, 1):
        for program in reversed(_programs):
            if program.main == main and _changed(program.texts, files) <= most:
                _programs.remove(program)
                return _Program(main) if program.is_full else program
    return _Program(main)


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> int:
    """Count changed files, new and removed ones included."""
    return sum(before.get(path) != now.get(path) for path in before.keys() | now.keys())


_programs: list[_Program] = []
"""Results by program; the most recently used is last."""
