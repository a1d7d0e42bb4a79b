"""Memoise module ascriptions and module types per place in a piece.

A place gives the same module as before if it is asked about the same module and module type, and
the names in that have the same meanings. So functors see the same argument as before an edit, and
the abstract types of a module type are the same ones.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.frontend import decs
from compiler.frontend.ast import all_inside
from compiler.frontend.check.scope.scope import KINDS, Module, Scope
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.incremental.equal_results import in_same_places
from compiler.frontend.lint.warning import Warning_


@dataclass(slots=True, eq=False)
class Seen:
    """A question asked at a place, and its answer."""

    module: Module | None
    exp: decs.ModTypeExp
    applying: bool
    meanings: dict[str, tuple[object, ...]]
    """The meanings of the names in `exp`."""
    seen: Module
    gave: frozenset[Name]
    warned: frozenset[Warning_]
    moved: int
    """Number of moves of module types at that time."""

    def holds(self, st: Checker, module: Module | None, exp: decs.ModTypeExp, moved: int) -> bool:
        """Test whether the answer still holds; if so, replay its effects."""
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
    """Compute the answer of `seen`, and record all that it depends on."""
    words = {part for part in all_inside(exp) if isinstance(part, str)}
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
    """Return the meanings of a name, one per kind."""
    return tuple([getattr(scope, kind).get(name) for kind in KINDS])


def _is_same(one: object, other: object) -> bool:
    """Test whether two meanings are equal, with the same spans."""
    return one is other or (one == other and in_same_places(one, other))


def has_functors(exp: decs.ModTypeExp) -> bool:
    """Test whether a module type contains a functor's type."""
    return any(isinstance(part, decs.MTArrow) for part in all_inside(exp))
