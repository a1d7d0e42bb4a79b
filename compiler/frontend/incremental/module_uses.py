"""What was made of modules and module types at the places of a piece that ask for it.

A place of a text gives the same module as before if it is asked about the same module and the same
module type, and the names in that stand for the same. So do not only functors see the same
argument as before an edit: the types that a module type keeps abstract are the ones that they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.frontend import decs
from compiler.frontend.check.scope.scope import Module, Scope
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.incremental.equal_results import in_same_places
from compiler.frontend.lint.warning import Warning_


@dataclass(slots=True, eq=False)
class Seen:
    """What was asked at a place, and what the answer was."""

    module: Module | None
    exp: decs.ModTypeExp
    applying: bool
    meanings: dict[str, tuple[object, ...]]
    """What the names in `exp` stood for."""
    seen: Module
    gave: frozenset[Name]
    warned: frozenset[Warning_]
    moved: int
    """How many module types had been moved."""

    def holds(self, st: Checker, module: Module | None, exp: decs.ModTypeExp, moved: int) -> bool:
        """Whether the answer is the same now; what it enters is entered then."""
        if (
            st.transparent
            or self.applying != st.applying
            or self.exp != exp
            or (module is None and self.moved != moved)
            or not _is_same(self.module, module)
            or not all(_is_same(one, meaning(st.scope, n)) for n, one in self.meanings.items())
        ):
            return False
        for name in self.gave:
            st.give(name)
        st.warned |= self.warned
        return True


def asked(
    st: Checker,
    module: Module | None,
    exp: decs.ModTypeExp,
    moved: int,
    seen: Callable[[], Module],
) -> Seen:
    """The answer of `seen`, and all that it depends on."""
    words = {part for part in _parts(exp) if isinstance(part, str)}
    meanings = {name: meaning(st.scope, name) for name in words}
    gave, warned, st.gave, st.warned = st.gave, st.warned, set(), set()
    try:
        made = seen()
        return Seen(
            module,
            exp,
            st.applying,
            meanings,
            made,
            frozenset(st.gave),
            frozenset(st.warned),
            moved,
        )
    finally:
        st.gave |= gave
        st.warned |= warned


def meaning(scope: Scope, name: str) -> tuple[object, ...]:
    """What a name stands for, of each kind."""
    tables = (scope.values, scope.types, scope.modules, scope.module_types)
    return tuple([table.get(name) for table in tables])


def _is_same(one: object, other: object) -> bool:
    """Whether two meanings are the same, and are told to be from the same places."""
    return one is other or (one == other and in_same_places(one, other))


def has_functors(exp: decs.ModTypeExp) -> bool:
    """Whether a module type says what the type of a functor is."""
    return any(isinstance(part, decs.MTArrow) for part in _parts(exp))


def _parts(part: object) -> Iterator[object]:
    """A part of the syntax, and all nodes and words in it."""
    yield part
    inner = part if isinstance(part, tuple) else ()
    if is_dataclass(part):
        inner = tuple(getattr(part, one.name) for one in fields(part))
    for one in inner:
        yield from _parts(one)
