"""Incremental checking: cache what the check of a file added, to re-check only dependents.

What a file adds to the checker's state depends on its path and text, on the number at which its
names start, and on the interfaces of the files that it imports. An edit that leaves a file's
interface unchanged invalidates no importer. Names start at a round number in every file, so that
few edits change the names of later files.
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
"""Limit on the characters of all cached files but the last; each costs about 100 bytes."""
ROUND = 1000

_ADDED = ("used", "gave")
"""Parts of the state that are empty when a file begins.

Others gain only the file's own names and spans."""
_OTHERS = ("table", "serials", "transparent", "own_types", "declared_later")
_STATE = tuple(
    one.name
    for one in fields(Checker)
    if str(one.type).startswith(("dict", "set")) and one.name not in _OTHERS
)


@dataclass(frozen=True, eq=False, slots=True)
class Interface:
    """The view of a file by its importers: declarations, and what is known of their names.

    Two interfaces that differ only in spans are equal.
    """

    declared: Module
    known: dict[Name, tuple[object, ...]]


Shown = tuple[Interface, Module]
"""The shared representative of equal interfaces, and the declarations with their spans."""
_Key = tuple[str, str, int, tuple[Interface, ...]]


@dataclass(frozen=True, slots=True)
class _File:
    """The additions to the state by the check of a file."""

    interface: Interface
    declared: Module
    imported: tuple[Module, ...]
    """The imports, if the file's own declarations may hold spans inside them."""
    state: dict[str, Any]
    bound: tuple[Name, ...]
    names: Mark
    authors: dict[Name, str]
    defs: tuple[t.Def, ...]
    not_built: tuple[CompileError, ...]


_kept: OrderedDict[_Key, _File] = OrderedDict()


class Progress:
    """The check of one file, whose imports have been checked."""

    def __init__(self, out: Checked, path: str, text: str, imports: dict[str, Interface]) -> None:
        """`imports`: the interfaces of the imported files, by path."""
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
        """Replay a cached check of the file and return its interface; None if there is none."""
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
        """Cache the check of the file, which had no errors, and return its interface."""
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
        """Yield earlier equal interfaces of the file."""
        for (path, *_), file in reversed(_kept.items()):
            old = file.interface
            if path == self._path and old.declared == shown.declared and old.known == shown.known:
                yield old

    def _added(self, name: str) -> Any:
        """Return what the file added to a part of the checker's state."""
        now = getattr(self._out.st, name)
        if isinstance(now, set):
            return now - self._sets[name]
        return dict(islice(now.items(), self._sizes[name], None))

    def _add(self, state: dict[str, Any]) -> None:
        """Merge into the state from before the file."""
        st = self._out.st
        for name, before in self._before.items():
            setattr(st, name, before | getattr(st, name))
        for name, added in state.items():
            getattr(st, name).update(added)


def forget(path: str, declared: Module) -> None:
    """Drop the cache of a file that owns a module type of `declared`, and of all its importers."""
    gone: set[Interface] = set()
    while found := [
        key
        for key, file in _kept.items()
        if (key[0] == path and share_module_types(file.declared, declared))
        or not gone.isdisjoint(key[3])
    ]:
        gone |= {_kept.pop(key).interface for key in found}


def share_module_types(one: Module, other: Module) -> bool:
    """Test whether two modules share a module type by identity."""
    return any(one.module_types.get(name) is m for name, m in other.module_types.items())


def _known(st: Checker, module: Module) -> dict[Name, tuple[object, ...]]:
    """Return what the checker knows of the names that a module mentions, transitively."""
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
    """Return the names that a module mentions, those inside functors and module types excluded."""
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
    """Test whether declarations at a place may hold spans of declarations elsewhere.

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
    """Return a span that covers a whole file."""
    return Span(1, 1, sys.maxsize, 1, path)
