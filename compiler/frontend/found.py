"""What the checks of a text have found in its pieces, and which of them have to be checked again.

What the check of a piece gives depends on that piece, on what the names in it stand for, and on
which constants functions may return. A definition that is checked again, and whose type is as
before, is to all others the one that it was. What was found in a piece that has moved moves with
it. A piece with an error is checked each time.

What is in a module that is cut is checked in the same way, each time that anything in it has
changed; of the module itself what is around its body.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import decs
from compiler.frontend.alike import alike, has_places, in_same_places, names_in
from compiler.frontend.certain import in_definition
from compiler.frontend.check.kept import mentioned, shows_others
from compiler.frontend.check.program import Checked, check_decs, check_each
from compiler.frontend.check.scope.scope import Abbreviation, Module, Scheme, Scope, Value
from compiler.frontend.pieces import Cut, Piece
from compiler.frontend.typed import EntryPoint
from compiler.frontend.unused import unused
from compiler.frontend.warning import Warning_

_NameOrKey = TypeVar("_NameOrKey")
MOST_MODULES = 300
"""Of a text, whose bodies are kept."""
Warned = tuple[list[Warning_], ...]
"""What is unused, what is certain, and what the checker warns of."""


@dataclass(slots=True, eq=False)
class FoundInText:
    """What the check of a text gives; its errors are in `Checked`."""

    declared: Module
    """What it declares without `local`."""
    entries: list[EntryPoint]
    warned: Warned
    given: frozenset[Name]
    """Constants of others that functions may return from here on, those before it included."""
    names: Collection[Name]
    """Those that were given for what is in it."""
    claims: frozenset[Name] = frozenset()
    """See `_Found`."""


@dataclass(slots=True, eq=False)
class _Found:
    """What the check of a piece has given, which began at that line."""

    line: int
    around: dict[str, tuple[object, ...]]
    """What the names in it that the program declares stood for."""
    imported: tuple[Module, ...]
    """What the files that it imports declare."""
    given: frozenset[Name]
    """The constants of others that functions might return."""
    module: Module
    """What it declares."""
    exported: Module
    """That without `local`; the same object if it is the same."""
    own: dict[tuple[str, str], Span]
    types: dict[str, Span]
    wrong_types: set[str]
    entries: tuple[EntryPoint, ...]
    warned: Warned
    names: tuple[Name, ...]
    """Those that were given."""
    claims: frozenset[Name]
    """Those that stand for what it declares; they stand for nothing else."""
    gave: frozenset[Name]
    """The constants of others that functions may return from here on."""
    is_plain: bool
    """Whether it can be moved: no places but those that `_move` knows."""
    shows_others: bool
    """Whether it may tell where something else is."""
    inside: tuple[InPieces, FoundInText] | None
    """What was found in the body of a module that is cut, and where."""


class InPieces:
    """The main program, a file, or the body of a module: what has been found in its pieces."""

    def __init__(self, out: Checked, path: str, before: FoundInText | None = None) -> None:
        """`before`: what was found when the text was checked whole."""
        self._out = out
        self._path = path
        self._found: dict[str, _Found] = {}
        self._last: dict[tuple[str, str], Any] = {}
        """What the names that it declares stood for last, by kind and name."""
        self._born: set[Name] = set()
        """All names that were ever given for what is in it."""
        if before is not None:
            declared = before.declared
            self._last |= {("values", name): value for name, value in declared.values.items()}
            self._last |= {("types", name): value for name, value in declared.types.items()}
            self._born |= set(before.names)
        self._claimed: set[Name] = set()
        """The names that stand for what the pieces before this one declare."""
        self._declared: set[str] = set()
        """The names that the pieces before this one declare."""
        self._given: frozenset[Name] = frozenset()
        """Constants of others that functions may return, after the pieces before this one."""
        self._modules: dict[str, InPieces] = {}
        """The bodies of modules that are cut, by their names."""
        self._told: FoundInText | None = None
        """What was found last."""
        self._before = before

    def check(self, cut: Cut, scope: Scope, given: frozenset[Name]) -> FoundInText:
        """What a text declares, in a `scope` of its own that holds the prelude.

        `given`: constants of others that functions may return.
        """
        out, st = self._out, self._out.st
        st.scope = scope
        st.own_types, st.wrong_types, out.own = {}, set(), {}
        st.declared_later = _later(cut)
        out.errors, out.not_built = [], []
        self._declared, self._claimed, self._given = set(), set(), given
        return self._each(cut)

    def _within(self, around: InPieces, cut: Cut) -> FoundInText:
        """What the body of a module declares; `around`: the text that it is in."""
        out, st = self._out, self._out.st
        outside = (st.declared_later, st.warned, st.left_first, st.gave, out.defs, out.entries)
        st.declared_later = st.declared_later | _later(cut)
        self._declared, self._claimed = set(around._declared), set(around._claimed)
        self._given = around._given
        told = self._each(cut)
        told.claims = frozenset(self._claimed - around._claimed)
        (st.declared_later, st.warned, st.left_first, st.gave, out.defs, out.entries) = outside
        out.exported = told.declared
        return told

    def _each(self, cut: Cut) -> FoundInText:
        """What pieces declare, one by one."""
        found: dict[str, _Found] = {}
        names: list[Name] = []
        told = FoundInText(Module(), [], ([], [], []), self._given, names)
        for line, piece in cut:
            known = self._found.get(piece.text)
            if known is None or not self._is_as_before(known, piece, line):
                known = self._anew(piece, line)
            if known is None:
                continue
            found[piece.text] = known
            told.declared.add(known.exported)
            told.entries += known.entries
            names += known.names
            for all_of_them, here in zip(told.warned, known.warned, strict=True):
                all_of_them += here
        if len(self._found) > 2 * len(cut):  # an edit may be undone
            self._found = {}
        self._found |= found
        told.given = self._given
        self._told = told
        return told

    def _is_as_before(self, known: _Found, piece: Piece, line: int) -> bool:
        """Whether what was found in a piece holds there; it is entered then."""
        out, st = self._out, self._out.st
        if (
            not (known.is_plain or line == known.line)
            or known.own.keys() & out.own.keys()
            or known.given != self._given
            or not known.claims.isdisjoint(self._claimed)
            or known.around.keys() != piece.words & self._declared
            or (known.inside is not None and known.inside[0]._told is not known.inside[1])
        ):
            return False
        before = *known.imported, *known.around.values()
        now = *self._imported(piece, line), *map(self._meaning, known.around)
        if before != now or (known.shows_others and not in_same_places(before, now)):
            return False
        if line != known.line:
            self._move(known, line)
        st.scope.open(known.module)
        self._declared |= names_in(known.module) | known.wrong_types
        self._claimed |= known.claims
        st.wrong_types |= known.wrong_types
        out.own |= known.own
        st.own_types |= known.types
        self._give(known.gave)
        return True

    def _imported(self, piece: Piece, line: int) -> tuple[Module, ...]:
        out = self._out
        return tuple(out.imported[out.path_of(one)] for one in piece.importing(self._path, line))

    def _meaning(self, name: str) -> tuple[object, ...]:
        st = self._out.st
        tables = (st.scope.values, st.scope.types, st.scope.modules, st.scope.module_types)
        return (*(table.get(name) for table in tables), name in st.wrong_types)

    def _give(self, names: frozenset[Name]) -> None:
        """Let functions return constants of others from here on."""
        if names:
            self._out.st.given |= names
            self._given |= names

    def _move(self, known: _Found, line: int) -> None:
        """Enter that a piece begins at another line."""
        by, st, path = line - known.line, self._out.st, self._path
        known.line = line
        known.own = {name: _moved(span, by, path) for name, span in known.own.items()}
        known.types = {name: _moved(span, by, path) for name, span in known.types.items()}
        known.warned = tuple(
            [replace(one, span=_moved(one.span, by, path)) for one in kind] for kind in known.warned
        )
        for module in {id(one): one for one in (known.module, known.exported)}.values():
            tables: tuple[dict[str, Any], ...] = (module.values, module.types)
            for table in tables:
                for name, value in table.items():
                    if isinstance(value, Scheme | Abbreviation):
                        table[name] = replace(value, span=_moved(value.span, by, path))
        for name in known.names:
            if name in st.places:
                st.places[name] = _moved(st.places[name], by, path)
            if name in st.makers:
                maker = st.makers[name]
                st.makers[name] = replace(maker, span=_moved(maker.span, by, path))

    def _anew(self, piece: Piece, line: int) -> _Found | None:
        """Check a piece. None: there is an error in it."""
        out, st = self._out, self._out.st
        mark, before = st.scope.mark(), len(st.serials)
        around = {name: self._meaning(name) for name in piece.words & self._declared}
        own, types, wrong = len(out.own), len(st.own_types), set(st.wrong_types)
        errors = len(out.errors), len(out.not_built)
        out.defs, out.entries, out.exported = [], [], Module()
        st.warned, st.left_first, st.gave = set(), set(), set()
        imported, given = self._imported(piece, line), self._given
        tree = piece.at(self._path, line)
        piece.tree = piece.tree if piece.imports else None
        inside: list[tuple[InPieces, FoundInText]] = []
        check_body = out.check_body
        out.check_body = check_decs
        if piece.body is not None:
            body = [(line + at, one) for at, one in piece.body]
            out.check_body = lambda _out, _decs: inside.append(self._inside(tree[0], body))
        check_each(out, tree)
        out.check_body = check_body
        module = st.scope.since(mark)
        self._declared |= names_in(module) | st.wrong_types
        names = _behind(st.serials, before)
        self._born.update(names)
        told = inside[0][1] if inside else FoundInText(Module(), [], ([], [], []), self._given, ())
        others = set(told.names)
        names = (*(name for name in names if name not in others), *told.names)
        gave = frozenset(st.gave.difference(set(names) - others)) | (told.given - self._given)
        self._give(gave)
        if errors != (len(out.errors), len(out.not_built)):
            return None
        exported = self._recognise(module, out.exported, set(names))
        claims = self._claims(module) | told.claims
        self._claimed |= claims
        is_plain = all(isinstance(_inner(dec), decs.ValDec | decs.TypeDec) for dec in tree)
        place = Span(line, 1, line + piece.text.count("\n") + 1, 1, self._path)
        return _Found(
            line,
            around,
            imported,
            given,
            module,
            exported,
            {name: out.own[name] for name in _behind(out.own, own)},
            {name: st.own_types[name] for name in _behind(st.own_types, types)},
            st.wrong_types - wrong,
            tuple(out.entries),
            tuple(
                [*own, *others] for own, others in zip(self._warned(tree), told.warned, strict=True)
            ),
            names,
            claims,
            gave,
            is_plain and not has_places([*module.values.values(), *module.types.values()]),
            not is_plain and shows_others(module, place),
            inside[0] if inside else None,
        )

    def _warned(self, tree: tuple[decs.Dec, ...]) -> Warned:
        """What there is to warn of in declarations that have just been checked."""
        certain = [w for d in self._out.defs for w in in_definition(d)]
        return unused(tree), certain, list(self._out.st.warned)

    def _inside(self, dec: decs.Dec, body: Cut) -> tuple[InPieces, FoundInText]:
        """What is in the body of a module that is cut, and where that is kept."""
        dec = _inner(dec)
        assert isinstance(dec, decs.ModDec)
        if dec.name not in self._modules:
            if len(self._modules) > MOST_MODULES:  # their names may have changed
                self._modules = {}
            before = self._before
            if before is not None:
                declared = before.declared.modules.get(dec.name, Module())
                before = replace(before, declared=declared)
            self._modules[dec.name] = InPieces(self._out, self._path, before)
        inner = self._modules[dec.name]
        return inner, inner._within(self, body)

    def _claims(self, module: Module) -> frozenset[Name]:
        """The names that stand for what is declared, and for nothing before it."""
        values: dict[str, Value] = {
            name: value
            for name, value in module.values.items()
            if isinstance(value, Scheme) and value.name in self._born
        }
        names = mentioned(Module(values, module.types))
        return frozenset((names & self._born) - self._claimed)

    def _recognise(self, module: Module, exported: Module, new: set[Name]) -> Module:
        """Let what is declared be what it was before, where nobody can tell the difference.

        What of it is exported, as it is then.
        """
        st = self._out.st
        for kind in ("values", "types"):
            table: dict[str, Any] = getattr(module, kind)
            others: dict[str, Any] = getattr(exported, kind)
            scope: dict[str, Any] = getattr(st.scope, kind)
            for name, value in table.items():
                if not isinstance(value, Scheme | Abbreviation):
                    continue
                before = self._last.get((kind, name))
                same: dict[Name, Name] = {}
                if value == before:
                    continue
                if (
                    before is not None
                    and alike(value, before, new, same)
                    and self._born.issuperset(same.values())
                    and self._claimed.isdisjoint(same.values())
                    and all(
                        self._is_known_alike(one, other, new, same)
                        for one, other in list(same.items())
                    )
                ):
                    table[name] = scope[name] = replace(before, span=value.span)
                    if others.get(name) is value:
                        others[name] = table[name]
                else:
                    self._last[kind, name] = value
        return module if _is_same(module, exported) else exported

    def _is_known_alike(
        self, one: Name, other: Name, new: set[Name], same: dict[Name, Name]
    ) -> bool:
        """Whether the checker knows the same of two names; see `Interface`."""
        st = self._out.st
        sets = (st.constants, st.given, st.apart, st.functional, st.sized, st.own_sizes)
        reach = frozenset(same.get(name, name) for name in st.of_constants.get(one, ()))
        return (
            all((one in names) == (other in names) for names in sets)
            and st.type_levels.get(one) == st.type_levels.get(other)
            and reach == st.of_constants.get(other, frozenset())
            and alike(st.alias.get(one), st.alias.get(other), new, same)
        )


def _later(cut: Cut) -> dict[tuple[str, str], int]:
    """The line of each declaration."""
    return {name: line + at for line, piece in cut for name, at in piece.declares.items()}


def _is_same(one: Module, other: Module) -> bool:
    """Whether two modules have the same objects under the same names."""
    pairs: tuple[tuple[Mapping[str, object], Mapping[str, object]], ...] = (
        (one.values, other.values),
        (one.types, other.types),
        (one.modules, other.modules),
        (one.module_types, other.module_types),
    )
    return all(
        a.keys() == b.keys() and all(value is b[name] for name, value in a.items())
        for a, b in pairs
    )


def _behind(table: dict[_NameOrKey, Any], count: int) -> tuple[_NameOrKey, ...]:
    """The keys behind the first so many."""
    return tuple(islice(reversed(table), len(table) - count))[::-1]


def _inner(dec: decs.Dec) -> decs.Dec:
    return _inner(dec.dec) if isinstance(dec, decs.LocalDec) else dec


def _moved(span: Span, by: int, path: str) -> Span:
    """A place in a file, so many lines further down; those in others stay."""
    if span.file != path or not span.line:
        return span
    return Span(span.line + by, span.col, span.end_line + by, span.end_col, path)
