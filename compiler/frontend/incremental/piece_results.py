"""Keep the results of checking a text's pieces, and re-check only invalid ones.

The result for a piece depends on the piece, on the meanings of the names in it, and on the
constants that functions may return. A definition that is re-checked with the same type keeps its
identity. The result for a piece that has moved moves with it. A piece with an error is checked each
time.

The body of a module that is cut is checked in the same way, each time that anything in it has
changed; of the module itself what is around its body. If it has parameters, there is one such body
for the module by itself, and one for each application of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from itertools import islice
from typing import Any, TypeVar

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import decs
from compiler.frontend.check.checked_files import mentioned
from compiler.frontend.check.modules.module_types import ModuleType
from compiler.frontend.check.program import Checked, check_decs, check_each
from compiler.frontend.check.scope.scope import KINDS, Abbreviation, Module, Scheme, Scope, Value
from compiler.frontend.incremental.equal_results import (
    equal_up_to_names,
    has_places,
    in_same_places,
    names_in,
    share,
    shown_by,
    with_spans,
)
from compiler.frontend.incremental.module_uses import Seen, asked, has_functors, meaning
from compiler.frontend.incremental.pieces import Cut, Piece
from compiler.frontend.lint.certain_failures import in_definition
from compiler.frontend.lint.unused import unused_and_free
from compiler.frontend.lint.warning import Warning_
from compiler.frontend.typed import EntryPoint

_NameOrKey = TypeVar("_NameOrKey")
_RECOGNISED = ("values", "types", "modules")
"""The tables of modules whose entries stay the same objects; see `InPieces._recognise`."""
Warned = tuple[list[Warning_], ...]
"""Unused names, certain failures, and the checker's warnings."""


@dataclass(slots=True, eq=False)
class FoundInText:
    """The result of checking a text; its errors are in `Checked`."""

    declared: Module
    """Its declarations without `local`."""
    entries: list[EntryPoint]
    warned: Warned
    given: frozenset[Name]
    """Constants of others that functions may return from here on, earlier ones included."""
    names: Collection[Name]
    """Fresh names generated for it."""
    claims: frozenset[Name] = frozenset()
    """See `FoundInPiece`."""
    mentions: set[str] = field(default_factory=set)
    """Its free names."""


@dataclass(slots=True, eq=False)
class Dependencies:
    """The grounds of the result for a piece; renewed where others have moved."""

    around: dict[str, tuple[object, ...]]
    """The meanings of the program's names in it."""
    imported: tuple[Module, ...]
    """The declarations of the files that it imports."""
    given: frozenset[Name]
    """The constants of others that functions could return."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundInPiece:
    """The result of checking a piece at that place."""

    place: Span
    on: Dependencies
    module: Module
    """Its declarations."""
    exported: Module
    """Those without `local`; the same object if equal."""
    own: dict[tuple[str, str], Span]
    types: dict[str, Span]
    wrong_types: set[str]
    entries: tuple[EntryPoint, ...]
    warned: Warned
    names: tuple[Name, ...]
    """Fresh names generated for it."""
    claims: frozenset[Name]
    """The names of its declarations, which name nothing else."""
    gave: frozenset[Name]
    """The constants of others that functions may return from here on."""
    can_move: bool | None
    """True if `_move` knows all its spans; None: not yet determined."""
    shows: frozenset[Span] | None
    """Spans of others that it may contain; None: any."""
    mentions: set[str]
    """Its free names."""
    key: str
    """Key in `InPieces._kept` for its inside; "" if there is none."""
    inside: tuple[tuple[InPieces, FoundInText], ...]
    """The results for the bodies of cut modules, with their stores."""


@dataclass(frozen=True, slots=True, eq=False)
class _Parts(decs.BodyParts):
    """The body of a module in a file."""

    path: str
    cut: Cut
    around: frozenset[str]
    """The names declared around it, its module's parameters included."""
    is_applied: bool
    """True if its module, or one around it, may be applied."""


@dataclass(slots=True, eq=False)
class _Kept:
    """Results for the inside of a piece, in the order of checking."""

    bodies: list[tuple[tuple[bool, bool], InPieces]] = field(default_factory=list)
    """Each with whether it is applied, and whether that is a trial."""
    sites: list[Seen | None] = field(default_factory=list)
    modules: list[Module] = field(default_factory=list)
    """Declarations of bodies that are checked as a whole."""
    own: set[Name] = field(default_factory=set)
    """Constants of the piece itself that functions may return."""


@dataclass(slots=True)
class _Above:
    """The pieces before this one of a text, as far as they decide about this one."""

    given: frozenset[Name]
    """Constants of others that functions may return after them."""
    declared: set[str] = field(default_factory=set)
    """The source names that they declare."""
    claimed: set[Name] = field(default_factory=set)
    """The names of their declarations."""
    keys: set[str] = field(default_factory=set)
    """The keys of their insides."""


class InPieces:
    """The main program, a file, or the body of a module, with the results for its pieces."""

    def __init__(self, out: Checked, path: str, before: FoundInText | None = None) -> None:
        """`before`: the result of checking the whole text."""
        self._out = out
        self._path = path
        self.found: dict[str, FoundInPiece] = {}
        """The latest results for pieces, by text."""
        self._last: dict[tuple[str, str], Any] = {}
        """The latest meanings of the names that it declares, by kind and name."""
        self._born: set[Name] = set()
        """All fresh names ever generated for it."""
        if before is not None:
            for kind in _RECOGNISED:
                declared: dict[str, object] = getattr(before.declared, kind)
                self._last |= {(kind, name): value for name, value in declared.items()}
            self._born |= set(before.names)
        self.above = _Above(frozenset())
        self._kept: dict[str, _Kept] = {}
        """Insides of pieces, by the names of their modules, or by their texts."""
        self._is_applied = False
        """True in a module with parameters, whose pieces are asked for again."""
        self._told: FoundInText | None = None
        """The latest result."""
        self._before = before

    def check(self, cut: Cut, scope: Scope, given: frozenset[Name]) -> FoundInText:
        """Check a text in a `scope` of its own that holds the prelude.

        `given`: constants of others that functions may return.
        """
        out, st = self._out, self._out.st
        st.scope = scope
        st.own_types, st.wrong_types, out.here.own = {}, set(), {}
        st.declared_later = _later(cut)
        out.errors, out.not_built = [], []
        self.above = _Above(given)
        return self._each(cut)

    def within(
        self, parts: _Parts, claimed: frozenset[Name], given: frozenset[Name]
    ) -> FoundInText:
        """Check the body of a module; `claimed` and `given`: see `_Above`."""
        out, st = self._out, self._out.st
        outside = (st.declared_later, st.warned, st.left_first, st.gave, out.defs, out.entries)
        st.declared_later = st.declared_later | _later(parts.cut)
        self.above = _Above(given, set(parts.around), set(claimed))
        self._is_applied = parts.is_applied
        told = self._each(parts.cut)
        told.claims = frozenset(self.above.claimed - claimed)
        (st.declared_later, st.warned, st.left_first, st.gave, out.defs, out.entries) = outside
        out.here.exported = told.declared
        return told

    def _each(self, cut: Cut) -> FoundInText:
        """Check pieces one by one."""
        found: dict[str, FoundInPiece] = {}
        names: list[Name] = []
        told = FoundInText(Module(), [], ([], [], []), self.above.given, names)
        for line, piece in cut:
            before = self.found.get(piece.text)
            known = before and self._as_before(before, piece, line)
            known = known or self._anew(piece, line, before)
            if known is None:
                continue
            found[piece.text] = known
            told.declared.add(known.exported)
            told.entries += known.entries
            told.mentions |= known.mentions
            names += known.names
            for all_of_them, here in zip(told.warned, known.warned, strict=True):
                all_of_them += here
        if len(self.found) > 2 * len(cut):  # an edit may be undone
            self.found = {}
        if len(self._kept) > 2 * len(cut):
            self._kept = {key: kept for key, kept in self._kept.items() if key in self.above.keys}
        self.found |= found
        told.given = self.above.given
        self._told = told
        return told

    def _as_before(self, known: FoundInPiece, piece: Piece, line: int) -> FoundInPiece | None:
        """Enter a piece's result, and return it as it is at that line; None: it holds no more."""
        out, st, above = self._out, self._out.st, self.above
        if (
            not (line == known.place.line or _can_move(known, piece))
            or known.own.keys() & out.here.own.keys()
            or known.on.given != above.given
            or known.key in above.keys
            or not known.claims.isdisjoint(above.claimed)
            or known.on.around.keys() != piece.words & above.declared
            or any(body._told is not told for body, told in known.inside)
        ):
            return None
        imported = self._imported(piece, line)
        around = {name: self._meaning(name) for name in known.on.around}
        before, now = (*known.on.imported, *known.on.around.values()), (*imported, *around.values())
        if before != now or not in_same_places(before, now, known.shows):
            return None
        known.on.imported, known.on.around = imported, around
        if line != known.place.line:
            known = self._moved(known, line)
        st.scope.open(known.module)
        above.declared |= names_in(known.module) | known.wrong_types
        above.claimed |= known.claims
        if known.key:
            above.keys.add(known.key)
        st.wrong_types |= known.wrong_types
        out.here.own |= known.own
        st.own_types |= known.types
        self._give(known.gave)
        return known

    def _imported(self, piece: Piece, line: int) -> tuple[Module, ...]:
        out = self._out
        return tuple(out.imported[out.path_of(one)] for one in piece.importing(self._path, line))

    def _meaning(self, name: str) -> tuple[object, ...]:
        st = self._out.st
        return (*meaning(st.scope, name), name in st.wrong_types)

    def _give(self, names: frozenset[Name]) -> None:
        """Let functions return constants of others from here on."""
        if names:
            self._out.st.given |= names
            self.above.given |= names

    def _moved(self, known: FoundInPiece, line: int) -> FoundInPiece:
        """Return a piece's result as it is at another line; move what the checker knows of it."""
        place, st = known.place, self._out.st
        by, first, last, path = line - place.line, place.line, place.end_line, self._path

        def moved(span: Span) -> Span:
            is_here = first <= span.line < last and span.file == path
            return _moved(span, by) if is_here else span

        def moved_module(module: Module) -> Module:
            return with_spans(module, module, lambda one: moved(one.span))

        for name in known.names:
            if name in st.places:
                st.places[name] = moved(st.places[name])
            if name in st.makers:
                maker = st.makers[name]
                st.makers[name] = replace(maker, span=moved(maker.span))
        module = moved_module(known.module)
        is_exported = known.module is known.exported
        return FoundInPiece(  # faster than `replace`, for each piece that an edit moves
            _moved(place, by),
            known.on,
            module,
            module if is_exported else moved_module(known.exported),
            {name: moved(span) for name, span in known.own.items()},
            {name: moved(span) for name, span in known.types.items()},
            known.wrong_types,
            known.entries,
            tuple([replace(one, span=moved(one.span)) for one in kind] for kind in known.warned),
            known.names,
            known.claims,
            known.gave,
            True,
            known.shows,
            known.mentions,
            known.key,
            known.inside,
        )

    def _anew(self, piece: Piece, line: int, known: FoundInPiece | None) -> FoundInPiece | None:
        """Check a piece; `known`: the latest result for its text.

        Returns None if it has an error.
        """
        out, st = self._out, self._out.st
        mark, before = st.scope.mark(), len(st.serials)
        around = {name: self._meaning(name) for name in piece.words & self.above.declared}
        own, types, wrong = len(out.here.own), len(st.own_types), set(st.wrong_types)
        errors = len(out.errors), len(out.not_built)
        out.defs, out.entries, out.here.exported = [], [], Module()
        st.warned, st.left_first, st.gave = set(), set(), set()
        imported, given = self._imported(piece, line), self.above.given
        tree = piece.at(self._path, line)
        if not (piece.imports or self._is_applied or _applies(tree)):
            piece.tree = None
        if piece.body is not None:
            tree = (self._with_parts(tree[0], line, piece.body),)
        keeping = _Keeping(self, self._key(tree, piece), self._before_module(tree))
        keeper, out.keeper = out.keeper, keeping
        check_each(out, tree)
        out.keeper = keeper
        module = st.scope.since(mark)
        self.above.declared |= names_in(module) | st.wrong_types
        new = _behind(st.serials, before)
        self._born.update(new)
        told = keeping.told
        inner = {name for one in told for name in one.names}
        alone = [name for name in new if name not in inner]
        keeping.kept.own |= st.gave.intersection(alone)
        gave = (st.gave - keeping.kept.own) | keeping.gave
        self._give(frozenset(gave))
        if errors != (len(out.errors), len(out.not_built)):
            return None
        if known is not None and (known.on.imported, known.on.around) == (imported, around):
            self._share(tree, known.module, module)
        exported = self._recognise(module, out.here.exported, set(new))
        claims = self._claims(module, bool(alone)).union(*(one.claims for one in told))
        self.above.claimed |= claims
        place = Span(line, 1, line + piece.text.count("\n") + 1, 1, self._path)
        is_plain = all(isinstance(dec, decs.ValDec | decs.TypeDec) for dec in tree)
        can_move = not has_places([module.values, module.types]) if is_plain else None
        unused, mentions = ([], set()) if st.applying else unused_and_free(tree)
        certain = [w for d in out.defs for w in in_definition(d)]
        warned = (unused, certain, list(st.warned)), *keeping.warned
        return FoundInPiece(
            place,
            Dependencies(around, imported, given),
            module,
            exported,
            {name: out.here.own[name] for name in _behind(out.here.own, own)},
            {name: st.own_types[name] for name in _behind(st.own_types, types)},
            st.wrong_types - wrong,
            tuple(out.entries),
            tuple([w for one in kind for w in one] for kind in zip(*warned, strict=True)),
            (*alone, *(name for one in told for name in one.names)),
            claims,
            frozenset(gave),
            can_move,
            shown_by(module, place),
            mentions,
            keeping.key,
            tuple(keeping.inside),
        )

    def _share(self, tree: tuple[decs.Dec, ...], before: Module, now: Module) -> None:
        """Make functors and module types the earlier ones; both modules are of that piece.

        A module type that is a piece itself stays one object, so that its users see its move.
        """
        share(before, now)
        dec = decs.without_local(tree[0]) if len(tree) == 1 else None
        if not isinstance(dec, decs.ModTypeDec) or has_functors(dec.type):
            return
        one, other = before.module_types[dec.name], now.module_types[dec.name]
        if isinstance(one, ModuleType) and isinstance(other, ModuleType):
            out = self._out
            out.moved += 1
            one.exp, one.scope = other.exp, other.scope
            for place in (now, out.here.exported, out.st.scope):
                if place.module_types.get(dec.name) is other:
                    place.module_types[dec.name] = one

    def _with_parts(self, dec: decs.Dec, line: int, body: Cut) -> decs.Dec:
        """Build the declaration of a cut module at that line, with its pieces."""
        if isinstance(dec, decs.LocalDec):
            return replace(dec, dec=self._with_parts(dec.dec, line, body))
        assert isinstance(dec, decs.ModDec)
        assert isinstance(dec.body, decs.MBody)
        cut = [(line + at, one) for at, one in body]
        values = frozenset(
            name for _, one in body for kind, name in one.declares if kind == "values"
        )
        around = frozenset(self.above.declared.union(param.name for param in dec.params))
        is_applied = self._is_applied or bool(dec.params)
        parts = _Parts(dec.span, values, set(), self._path, cut, around, is_applied)
        return replace(dec, body=replace(dec.body, decs=(parts,)))

    def _key(self, tree: tuple[decs.Dec, ...], piece: Piece) -> str:
        """Return an unused key for the inside of a piece."""
        dec = _module(tree)
        key = dec.name if dec is not None else piece.text
        while key in self.above.keys:
            key += " again"
        return key

    def _before_module(self, tree: tuple[decs.Dec, ...]) -> FoundInText | None:
        """Return the result for a module when its text was checked whole."""
        dec, before = _module(tree), self._before
        if before is None or dec is None or dec.params:
            return None
        return replace(before, declared=before.declared.modules.get(dec.name, Module()))

    def keep(self, key: str, kept: _Kept) -> None:
        """Store the inside of a piece."""
        self._kept[key] = kept
        self.above.keys.add(key)

    def is_of(self, path: str) -> bool:
        """Test whether it is of a text in that file."""
        return self._path == path

    def _claims(self, module: Module, is_new: bool) -> frozenset[Name]:
        """Return the names of declarations that name nothing before them.

        `is_new`: whether names were generated outside the bodies of modules.
        """
        values: dict[str, Value] = {
            name: value
            for name, value in module.values.items()
            if isinstance(value, Scheme) and value.name in self._born
        }
        names = mentioned(Module(values, module.types, module.modules if is_new else {}))
        return frozenset((names & self._born) - self.above.claimed)

    def _recognise(self, module: Module, exported: Module, new: set[Name]) -> Module:
        """Replace declarations by indistinguishable earlier ones.

        Returns the exported part after that.
        """
        st = self._out.st
        for kind in _RECOGNISED:
            table: dict[str, Any] = getattr(module, kind)
            others: dict[str, Any] = getattr(exported, kind)
            scope: dict[str, Any] = getattr(st.scope, kind)
            for name, value in table.items():
                if not isinstance(value, Scheme | Abbreviation | Module):
                    continue
                before = self._last.get((kind, name))
                is_known = before is not None and self._is_alike(value, before, new)
                known = before if is_known else None
                if known is None:
                    self._last[kind, name] = value
                    continue
                if isinstance(value, Module):
                    known = with_spans(known, value, lambda one: one.span)
                else:
                    known = value if value == known else replace(known, span=value.span)
                table[name] = scope[name] = known
                if others.get(name) is value:
                    others[name] = known
        return module if _is_same(module, exported) else exported

    def recognised(self, made: Module, before: Module, names: int) -> Module:
        """Return the earlier module if it is indistinguishable, else the new one.

        `names`: the number of names generated before it was made.
        """
        if not self._is_alike(made, before, set(_behind(self._out.st.serials, names))):
            return made
        return with_spans(before, made, lambda one: one.span)

    def _is_alike(self, value: Any, before: Any, new: set[Name]) -> bool:
        """Test whether a value, type or module equals an earlier one up to spans and fresh names.

        That one must name nothing that the pieces before this one declare.
        """
        same: dict[Name, Name] = {}
        return value == before or bool(
            equal_up_to_names(value, before, new, same)
            and self._born.issuperset(same.values())
            and self.above.claimed.isdisjoint(same.values())
            and all(
                self._is_known_alike(one, other, new, same) for one, other in list(same.items())
            )
        )

    def _is_known_alike(
        self, one: Name, other: Name, new: set[Name], same: dict[Name, Name]
    ) -> bool:
        """Test whether the checker knows the same of two names; see `Interface`."""
        st = self._out.st
        sets = (st.constants, st.given, st.apart, st.functional, st.sized, st.own_sizes)
        reach = frozenset(same.get(name, name) for name in st.of_constants.get(one, ()))
        return (
            all((one in names) == (other in names) for names in sets)
            and st.type_levels.get(one) == st.type_levels.get(other)
            and reach == st.of_constants.get(other, frozenset())
            and equal_up_to_names(st.alias.get(one), st.alias.get(other), new, same)
        )


class _Keeping:
    """The `Keeper` of a piece's inside while that is checked."""

    def __init__(self, around: InPieces, key: str, before: FoundInText | None) -> None:
        """`around`: the text with that piece; `before`: see `InPieces`, of its module's body."""
        self.told: list[FoundInText] = []
        """The results for the bodies of cut modules."""
        self.warned: list[Warned] = []
        """Warnings of those that count for the program."""
        self.inside: list[tuple[InPieces, FoundInText]] = []
        self.gave: frozenset[Name] = frozenset()
        """The constants of others that functions may return now, those of trials excluded."""
        self._around = around
        self._key = key
        self._before = before
        self.kept = around._kept.get(key) or _Kept()
        self._given = around.above.given
        self._bodies, self._sites, self._modules = 0, 0, 0

    @property
    def key(self) -> str:
        """The key of the inside; "" if there is none."""
        return self._key if self._bodies or self._sites or self._modules else ""

    def body(self, out: Checked, declared: tuple[decs.Dec, ...]) -> None:
        """Check a module's body."""
        parts, st = (declared[0] if declared else None), out.st
        if not isinstance(parts, _Parts):
            names = len(st.serials)
            check_decs(out, declared)
            out.here.exported = self._recognised(out.here.exported, names)
            return
        body = self._body(parts, (st.applying, out.is_trial))
        given = self._given | st.gave
        claimed = self._around.above.claimed.union(*(one.claims for one in self.told))
        told = body.within(parts, frozenset(claimed), given)
        self._given = told.given
        if not out.is_trial:
            self.gave |= told.given - given
        parts.mentions.update(told.mentions)
        unused, certain, others = told.warned
        self.told.append(told)
        self.warned.append(([] if st.applying else unused, [] if out.is_trial else certain, others))
        self.inside.append((body, told))

    def _body(self, parts: _Parts, kind: tuple[bool, bool]) -> InPieces:
        """Return the store for the next body."""
        bodies, at = self.kept.bodies, self._bodies
        self._bodies += 1
        self._around.keep(self._key, self.kept)
        if at < len(bodies) and bodies[at][0] == kind and bodies[at][1].is_of(parts.path):
            return bodies[at][1]
        before = None if at or any(kind) else self._before
        bodies[at:] = [(kind, InPieces(self._around._out, parts.path, before))]
        return bodies[at][1]

    def _recognised(self, made: Module, names: int) -> Module:
        """Return the earlier module at a place, or this one, with names after so many."""
        modules, at = self.kept.modules, self._modules
        self._modules += 1
        self._around.keep(self._key, self.kept)
        if at < len(modules):
            made = self._around.recognised(made, modules[at], names)
        modules[at:] = [made, *modules[at + 1 :]]
        return made

    def once(
        self, module: Module | None, exp: decs.ModTypeExp, seen: Callable[[], Module]
    ) -> Module:
        """See `Keeper`."""
        out, sites, at = self._around._out, self.kept.sites, self._sites
        st = out.st
        self._sites += 1
        self._around.keep(self._key, self.kept)
        before = sites[at] if at < len(sites) else None
        if before is not None and before.holds(st, module, exp, out.moved):
            return before.seen
        names, inside = len(st.serials), (self._bodies, self._sites)
        site: Seen | None = asked(st, module, exp, out.moved, seen)
        assert site is not None
        if before is not None:
            site.seen = self._around.recognised(site.seen, before.seen, names)
        made = site.seen
        sites += [None] * (at + 1 - len(sites))
        is_alone = inside == (self._bodies, self._sites) and not st.transparent
        sites[at] = site if is_alone else None
        return made


def _later(cut: Cut) -> dict[tuple[str, str], int]:
    """Return the line of each declaration."""
    return {name: line + at for line, piece in cut for name, at in piece.declares.items()}


def _is_same(one: Module, other: Module) -> bool:
    """Test whether two modules have the same objects under the same names."""
    pairs: list[tuple[Mapping[str, object], Mapping[str, object]]] = [
        (getattr(one, kind), getattr(other, kind)) for kind in KINDS
    ]
    return all(
        a.keys() == b.keys() and all(value is b[name] for name, value in a.items())
        for a, b in pairs
    )


def _behind(table: dict[_NameOrKey, Any], count: int) -> tuple[_NameOrKey, ...]:
    """Return the keys after the first `count`."""
    return tuple(islice(reversed(table), len(table) - count))[::-1]


def _module(tree: tuple[decs.Dec, ...]) -> decs.ModDec | None:
    """Return the module declaration that a piece is, or begins with."""
    dec = decs.without_local(tree[0]) if tree else None
    return dec if isinstance(dec, decs.ModDec) else None


def _applies(tree: tuple[decs.Dec, ...]) -> bool:
    """Test for a module made of others, whose piece depends on changes of these."""
    dec = _module(tree)
    return dec is not None and not isinstance(dec.body, decs.MBody)


def _can_move(known: FoundInPiece, piece: Piece) -> bool:
    """Test whether a piece's result can be moved."""
    if known.can_move is None:
        return piece.body is None and not has_places([getattr(known.module, k) for k in KINDS])
    return known.can_move


def _moved(span: Span, by: int) -> Span:
    """Shift a span by so many lines."""
    return Span(span.line + by, span.col, span.end_line + by, span.end_col, span.file)
