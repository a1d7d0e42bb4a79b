"""What has been checked of a program's files is kept, so that an edit costs what depends on it.

What the check of a file adds to what is known depends on the file's path and text, on where its
names begin, and on what those that it imports show of themselves: their interfaces. An edit that
leaves a file's interface as it was leaves those that import it as they are. Names begin at a round
number in every file, so that few edits change the names of those that come after it.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import fields
from itertools import islice
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError
from compiler.base.names import Mark, Name
from compiler.base.spans import NOWHERE, Span
from compiler.frontend import typed as t
from compiler.frontend.check.modules.module_types import ModuleType
from compiler.frontend.check.modules.modules import Functor
from compiler.frontend.check.program import Checked
from compiler.frontend.check.scope.scope import Module, Scheme, Sealed
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.size_exps import names_in_size
from compiler.frontend.check.types.walks import names_in_type

MOST_CHARACTERS = 400_000
"""Of all files that are kept, but for the last; each takes about 100 bytes."""
ROUND = 1000

_ADDED = ("used", "gave")
"""What is empty at the beginning of a file; to the rest it adds only names and spans of its own."""
_OTHERS = ("table", "serials", "transparent", "own_types", "declared_later")
_STATE = tuple(
    one.name
    for one in fields(Checker)
    if str(one.type).startswith(("dict", "set")) and one.name not in _OTHERS
)


@dataclass(frozen=True, eq=False, slots=True)
class Interface:
    """What a file shows of itself: what it declares, and what is known of the names in that.

    Two that differ only in where things are defined are one.
    """

    declared: Module
    known: dict[Name, tuple[object, ...]]


Shown = tuple[Interface, Module]
"""The one that all have that nobody can tell from it, and what is declared, with its places."""
_Key = tuple[str, str, int, tuple[Interface, ...]]


@dataclass(frozen=True, slots=True)
class _File:
    """What the check of a file has added."""

    interface: Interface
    declared: Module
    imported: tuple[Module, ...]
    """What it imports, if what it declares itself may show where something in there is defined."""
    state: dict[str, Any]
    bound: tuple[Name, ...]
    names: Mark
    authors: dict[Name, str]
    defs: tuple[t.Def, ...]
    not_built: tuple[CompileError, ...]


_kept: OrderedDict[_Key, _File] = OrderedDict()


class Progress:
    """The check of a file whose imports have been checked."""

    def __init__(self, out: Checked, path: str, text: str, imports: dict[str, Interface]) -> None:
        """`imports`: what the files show of themselves that it imports, by path."""
        st = out.st
        st.ctx.names.round_up(ROUND)
        self._out = out
        self._path = path
        self._imported = tuple(out.imported[path] for path in imports)
        self._names = st.ctx.names.mark()
        self._key: _Key = (path, text, self._names[0], tuple(imports.values()))
        self._before = {name: getattr(st, name) for name in _ADDED}
        for name in _ADDED:
            setattr(st, name, set())
        state = {name: getattr(st, name) for name in _STATE}
        self._sizes = {name: len(value) for name, value in state.items()}
        self._sets = {name: set(value) for name, value in state.items() if isinstance(value, set)}
        self._bound, self._defs, self._not_built = map(len, (st.serials, out.defs, out.not_built))

    def recall(self) -> Shown | None:
        """What the file shows of itself if it has been checked before; all is then as it was."""
        found, out = _kept.get(self._key), self._out
        if found is None:
            return None
        if any(a is not b for a, b in zip(found.imported, self._imported, strict=False)):
            return None
        _kept.move_to_end(self._key)
        self._add(found.state)
        for name in found.bound:
            out.st.serials[name] = len(out.st.serials)
        out.st.ctx.names.go_on(found.names, found.authors)
        out.defs += found.defs
        out.not_built += found.not_built
        return found.interface, found.declared

    def done(self, declared: Module) -> Shown:
        """What the file shows of itself, now that it has been checked without an error."""
        out, names = self._out, self._out.st.ctx.names
        shown = Interface(declared, _known(out.st, declared))
        interface = next(self._like(shown), shown)
        _kept[self._key] = _File(
            interface,
            declared,
            self._imported if shows_others(declared, all_of(self._path)) else (),
            {name: self._added(name) for name in _STATE},
            tuple(islice(out.st.serials, self._bound, None)),
            names.mark(),
            names.since(self._names),
            tuple(out.defs[self._defs :]),
            tuple(out.not_built[self._not_built :]),
        )
        self._add({})
        characters = sum(len(text) for _, text, *_ in _kept)
        while characters > MOST_CHARACTERS and len(_kept) > 1:
            characters -= len(_kept.popitem(last=False)[0][1])
        return interface, declared

    def _like(self, shown: Interface) -> Iterator[Interface]:
        """What the file has shown of itself before that nobody can tell from this."""
        for (path, *_), file in reversed(_kept.items()):
            old = file.interface
            if path == self._path and old.declared == shown.declared and old.known == shown.known:
                yield old

    def _added(self, name: str) -> Any:
        """What the file has added to a part of the checker's state."""
        now = getattr(self._out.st, name)
        if isinstance(now, set):
            return now - self._sets[name]
        return dict(islice(now.items(), self._sizes[name], None))

    def _add(self, state: dict[str, Any]) -> None:
        """Add to what was known before the file."""
        st = self._out.st
        for name, before in self._before.items():
            setattr(st, name, before | getattr(st, name))
        for name, added in state.items():
            getattr(st, name).update(added)


def forget(path: str, declared: Module) -> None:
    """Forget of a file what has a module type of `declared` itself, and all who import that."""
    gone: set[Interface] = set()
    while found := [
        key
        for key, file in _kept.items()
        if (key[0] == path and share_module_types(file.declared, declared))
        or not gone.isdisjoint(key[3])
    ]:
        gone |= {_kept.pop(key).interface for key in found}


def share_module_types(one: Module, other: Module) -> bool:
    """Whether two modules have a module type in common, and not only equal ones."""
    return any(one.module_types.get(name) is m for name, m in other.module_types.items())


def _known(st: Checker, module: Module) -> dict[Name, tuple[object, ...]]:
    """What the checker knows of the names that a module mentions, and of those in that."""
    found: dict[Name, tuple[object, ...]] = {}
    names = mentioned(module)
    while names:
        name = names.pop()
        if name not in found:
            alias, constants = st.alias.get(name), st.of_constants.get(name, frozenset())
            sets = (st.constants, st.given, st.apart)
            found[name] = (*(name in one for one in sets), constants, alias)
            names |= constants
            if alias is not None:
                names_in_size(alias, names)
    return found


def mentioned(module: Module) -> set[Name]:
    """The names that a module mentions, but for those that functors and module types do."""
    found: set[Name] = set()
    for value in module.values.values():
        if isinstance(value, Scheme):
            types, sizes = value.args or ((), ())
            found |= {value.name}.union(*map(names_in_type, (value.type, *types)))
            for size in sizes:
                names_in_size(size, found)
        elif isinstance(value, Sealed):
            found |= names_in_type(value.type)
    return found.union(
        *[names_in_type(one.type) for one in module.types.values()],
        *[mentioned(inner) for inner in module.modules.values()],
    )


def shows_others(module: Module, place: Span) -> bool:
    """Whether what is declared at a place may tell where something is that is declared elsewhere.

    Functors and module types know all names around them.
    """
    placed = (*module.values.values(), *module.types.values())
    spans = [getattr(one, "span", NOWHERE) for one in placed]
    return (
        isinstance(module, Functor)
        or any(span.is_own and not place.holds(span) for span in spans)
        or any(isinstance(one, ModuleType) for one in module.module_types.values())
        or any(shows_others(inner, place) for inner in module.modules.values())
    )


def all_of(path: str) -> Span:
    """Where everything in a file is."""
    return Span(1, 1, sys.maxsize, 1, path)
