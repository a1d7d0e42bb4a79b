"""What `check` answers after an edit: declarations that it does not touch are not checked again.

What the check of a piece of the text gives depends on that piece and on what the names in it stand
for. A definition that is checked again, and whose type is as before, is to all others the one that
it was. What was found in a piece that has moved moves with it. A piece with an error is checked
each time.

The checker's tables are those of all checks of a program so far: they only grow, by names that are
given once. Nothing is made of them but this answer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from compiler.base.context import Ctx, Options
from compiler.base.errors import CompileError
from compiler.base.names import Name, NameSource, base_of
from compiler.base.spans import Span
from compiler.frontend import decs, pieces
from compiler.frontend.certain import certain, in_definition
from compiler.frontend.check.expressions.table import TABLE
from compiler.frontend.check.files import check_imports, first_error
from compiler.frontend.check.prelude import load
from compiler.frontend.check.program import Checked, check_each
from compiler.frontend.check.scope.scope import Abbreviation, Module, Scheme
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.pieces import Piece
from compiler.frontend.typed import EntryPoint
from compiler.frontend.types import SizeExp
from compiler.frontend.unused import unused
from compiler.frontend.warning import Warning_
from compiler.frontend.warnings import in_place, own_files, unused_in

PROGRAMS = 3
"""Of so many programs what was found last is kept."""
_NameOrKey = TypeVar("_NameOrKey")
MOST_NAMES = 30_000
"""Beside twice as many as a program has: when checks have given more, all begins anew."""

Answer = tuple[list[EntryPoint], list[Warning_]]
_Key = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]


def checked(source: str, files: Mapping[str, str], main: str, entry: str) -> Answer | None:
    """A program's entry points and warnings; None: it cannot be cut into pieces, or is not read.

    Errors: as those of `check`.
    """
    cut = pieces.cut(source)
    if cut is None:
        return None
    paths = tuple(path for _, piece in cut for path in piece.imports)
    key = main, paths, tuple(sorted(files.items()))
    program = _programs.pop(key, None)
    if program is None or program.is_full:
        program = _Program(cut, files, main)
    try:
        told = program.check(cut)
    except CompileError:
        raise
    except Exception:  # a defect, or nested too deeply: who checks the whole program says so
        return None
    _programs[key] = program
    while len(_programs) > PROGRAMS:
        _programs.popitem(last=False)
    without = any(one.name == entry for one in told[0])
    errors, limits = program.out.errors, program.out.not_built
    if wrong := errors if without else errors + limits:
        raise first_error(wrong)
    return told


def forget() -> None:
    """Forget all that is kept of programs."""
    _programs.clear()
    pieces.forget()


@dataclass(slots=True, eq=False)
class _Found:
    """What the check of a piece has given, which began at that line."""

    line: int
    around: dict[str, tuple[object, ...]]
    """What the names in it that the program declares stood for."""
    module: Module
    """What it declares."""
    own: dict[tuple[str, str], Span]
    types: dict[str, Span]
    wrong_types: set[str]
    entries: tuple[EntryPoint, ...]
    warned: tuple[list[Warning_], ...]
    names: tuple[Name, ...]
    """Those that were given."""
    is_plain: bool
    """Whether it can be moved: no places but those that `_move` knows."""


class _Program:
    """A program whose imports stay as they are: what has been found in its pieces."""

    def __init__(self, cut: list[tuple[int, Piece]], files: Mapping[str, str], main: str) -> None:
        """Check what it imports. Errors: as those of `check_imports`."""
        ctx = Ctx(Options(main=main, files=tuple(files.items())), NameSource(authors={}))
        prelude = load()
        st = Checker(ctx, scope=prelude.scope(), table=TABLE)
        self.out = out = Checked(st)
        tree = decs.Program(
            tuple(dec for line, piece in cut if piece.imports for dec in piece.at(line))
        )
        check_imports(out, tree, files, prelude.scope)
        self._own = own_files(tree, files, main)
        self._imported = unused_in(self._own), certain(out.defs), list(st.warned)
        self._mark = st.scope.mark()
        self._found: dict[str, _Found] = {}
        self._last: dict[tuple[str, str], Any] = {}
        """What the names that it declares stood for last, by kind and name."""
        self._live = 0
        """How many names there are in what was found last."""
        self._declared: set[str] = set()
        """The names that the pieces before this one declare."""

    @property
    def is_full(self) -> bool:
        """Whether so many names were given that it is time to begin anew."""
        return len(self.out.st.serials) > 2 * self._live + MOST_NAMES

    def check(self, cut: list[tuple[int, Piece]]) -> Answer:
        """The entry points and warnings; errors are left in `out`."""
        out, st = self.out, self.out.st
        st.scope.leave(self._mark)
        st.own_types, st.wrong_types, out.own = {}, set(), {}
        st.declared_later = {
            name: line + at for line, piece in cut for name, at in piece.declares.items()
        }
        out.errors, out.not_built, self._declared = [], [], set()
        found: dict[str, _Found] = {}
        entries: list[EntryPoint] = []
        told = tuple(list(one) for one in self._imported)
        for line, piece in cut:
            known = self._found.get(piece.text)
            if known is None or not self._is_as_before(known, piece, line):
                known = self._anew(piece, line)
            if known is None:
                continue
            found[piece.text] = known
            entries += known.entries
            for all_of_them, here in zip(told, known.warned, strict=True):
                all_of_them += here
        if len(self._found) > 2 * len(cut):  # an edit may be undone
            self._found = {}
        self._found |= found
        self._live = sum(len(known.names) for known in found.values())
        return entries, in_place((one for kind in told for one in kind), self._own)

    def _is_as_before(self, known: _Found, piece: Piece, line: int) -> bool:
        """Whether what was found in a piece holds there; it is entered then."""
        out, st = self.out, self.out.st
        if (
            not (known.is_plain or line == known.line)
            or known.own.keys() & out.own.keys()
            or known.around.keys() != piece.words & self._declared
            or any(self._meaning(name) != before for name, before in known.around.items())
        ):
            return False
        if line != known.line:
            self._move(known, line)
        st.scope.open(known.module)
        self._declared |= names_in(known.module) | known.wrong_types
        st.wrong_types |= known.wrong_types
        out.own |= known.own
        st.own_types |= known.types
        return True

    def _meaning(self, name: str) -> tuple[object, ...]:
        st = self.out.st
        tables = (st.scope.values, st.scope.types, st.scope.modules, st.scope.module_types)
        return (*(table.get(name) for table in tables), name in st.wrong_types)

    def _move(self, known: _Found, line: int) -> None:
        """Enter that a piece begins at another line."""
        by, st = line - known.line, self.out.st
        known.line = line
        known.own = {name: _moved(span, by) for name, span in known.own.items()}
        known.types = {name: _moved(span, by) for name, span in known.types.items()}
        known.warned = tuple(
            [replace(one, span=_moved(one.span, by)) for one in kind] for kind in known.warned
        )
        tables: tuple[dict[str, Any], ...] = (known.module.values, known.module.types)
        for table in tables:
            for name, value in table.items():
                if isinstance(value, Scheme | Abbreviation):
                    table[name] = replace(value, span=_moved(value.span, by))
        for name in known.names:
            if name in st.places:
                st.places[name] = _moved(st.places[name], by)
            if name in st.makers:
                what, span = st.makers[name]
                st.makers[name] = what, _moved(span, by)

    def _anew(self, piece: Piece, line: int) -> _Found | None:
        """Check a piece. None: there is an error in it."""
        out, st = self.out, self.out.st
        mark, given = st.scope.mark(), len(st.serials)
        around = {name: self._meaning(name) for name in piece.words & self._declared}
        own, types, wrong = len(out.own), len(st.own_types), set(st.wrong_types)
        errors = len(out.errors), len(out.not_built)
        out.defs, out.entries, out.exported = [], [], Module()
        st.warned, st.left_first = set(), set()
        tree = piece.at(line)
        piece.tree = piece.tree if piece.imports else None
        check_each(out, tree)
        module = st.scope.since(mark)
        self._declared |= names_in(module) | st.wrong_types
        if errors != (len(out.errors), len(out.not_built)):
            return None
        names = _behind(st.serials, given)
        self._recognise(module, set(names))
        return _Found(
            line,
            around,
            module,
            {name: out.own[name] for name in _behind(out.own, own)},
            {name: st.own_types[name] for name in _behind(st.own_types, types)},
            st.wrong_types - wrong,
            tuple(out.entries),
            (unused(tree), [w for d in out.defs for w in in_definition(d)], list(st.warned)),
            names,
            all(isinstance(_inner(dec), decs.ValDec | decs.TypeDec) for dec in tree)
            and not _has_places([*module.values.values(), *module.types.values()]),
        )

    def _recognise(self, module: Module, new: set[Name]) -> None:
        """Let what is declared be what it was before, where nobody can tell the difference."""
        st = self.out.st
        for kind in ("values", "types"):
            table: dict[str, Any] = getattr(module, kind)
            scope: dict[str, Any] = getattr(st.scope, kind)
            for name, value in table.items():
                if not isinstance(value, Scheme | Abbreviation):
                    continue
                before = self._last.get((kind, name))
                same: dict[Name, Name] = {}
                if (
                    before is not None
                    and _alike(value, before, new, same)
                    and all(
                        self._is_known_alike(one, other, new, same)
                        for one, other in list(same.items())
                    )
                ):
                    table[name] = scope[name] = replace(before, span=value.span)
                else:
                    self._last[kind, name] = value

    def _is_known_alike(
        self, one: Name, other: Name, new: set[Name], same: dict[Name, Name]
    ) -> bool:
        """Whether the checker knows the same of two names; see `Interface`."""
        st = self.out.st
        sets = (st.constants, st.given, st.apart, st.functional, st.sized, st.own_sizes)
        reach = frozenset(same.get(name, name) for name in st.of_constants.get(one, ()))
        return (
            all((one in names) == (other in names) for names in sets)
            and st.type_levels.get(one) == st.type_levels.get(other)
            and reach == st.of_constants.get(other, frozenset())
            and _alike(st.alias.get(one), st.alias.get(other), new, same)
        )


def names_in(module: Module) -> set[str]:
    """The names that a module binds, of all kinds."""
    return {*module.values, *module.types, *module.modules, *module.module_types}


def _behind(table: dict[_NameOrKey, Any], count: int) -> tuple[_NameOrKey, ...]:
    """The keys behind the first so many."""
    return tuple(islice(reversed(table), len(table) - count))[::-1]


def _inner(dec: decs.Dec) -> decs.Dec:
    return _inner(dec.dec) if isinstance(dec, decs.LocalDec) else dec


def _moved(span: Span, by: int) -> Span:
    """A place in the main program, so many lines further down."""
    if span.file or not span.line:
        return span
    return Span(span.line + by, span.col, span.end_line + by, span.end_col)


def _alike(one: Any, other: Any, new: set[Name], same: dict[Name, Name]) -> bool:
    """Whether two values differ in nothing but names that are `new` in the one.

    `same` gets those names, and what each is in the other; places do not count.
    """
    if isinstance(one, str):
        if one in same or one in new:
            fits = isinstance(other, str) and base_of(one) == base_of(other)
            taken = one not in same and other in same.values()
            return fits and not taken and same.setdefault(one, other) == other
        return bool(one == other)
    if type(one) is not type(other):
        return False
    if isinstance(one, frozenset):
        return bool(frozenset(same.get(name, name) for name in one) == other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(
            _alike(a, b, new, same) for a, b in zip(one, other, strict=True)
        )
    if is_dataclass(one):
        return all(
            _alike(getattr(one, f.name), getattr(other, f.name), new, same)
            for f in fields(one)
            if f.compare
        )
    return bool(one == other)


def _has_places(value: Any) -> bool:
    """Whether a value, or a type in it, holds an expression, which says where it stands."""
    if isinstance(value, SizeExp):
        return True
    if isinstance(value, list | tuple):
        return any(map(_has_places, value))
    return is_dataclass(value) and any(_has_places(getattr(value, f.name)) for f in fields(value))


_programs: OrderedDict[_Key, _Program] = OrderedDict()
