"""Consumption in loops.

A parameter that the body consumes makes the loop consume its initial value. Then the body may read
that value under no other name, and the parameter's next value must be the loop's own.
"""

from __future__ import annotations

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import TypeError_
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.check.consumption.aliases import (
    NONE,
    Aliases,
    Names,
    broadcast,
    components,
    flat,
    root,
    shown,
)
from compiler.frontend.check.consumption.aliases import field as field_aliases
from compiler.frontend.check.consumption.freshness import result_span
from compiler.frontend.check.consumption.ownership import COPY, Walk


def walk_loop(walk: Walk, e: t.Loop) -> Aliases:
    """Walk a loop and return the aliases of its result.

    Errors: the body consumes what is not its own.
    """
    init = walk.exp(e.init)
    if isinstance(e.form, t.For):
        walk.exp(e.form.bound)
    array = walk.exp(e.form.array) if isinstance(e.form, t.ForIn) else NONE
    before = walk.inside("the loop")
    outer = walk.consumed.copy()
    read_before, walk.observed = walk.observed, {}
    walk.bind(e.pat, NONE, consumable=True)
    if isinstance(e.form, t.ForIn):
        walk.bind(e.form.pat, flat(array), consumable=False, what="an element of the array")
    if isinstance(e.form, t.While):
        walk.exp(e.form.cond)
    result = walk.exp(e.body)
    taken = {n for n in walk.consumed if n not in outer}
    taken_roots = {root(n) for n in taken}
    parts = _loop_parts(e.pat, init, result, taken_roots)
    _check_iterations(walk, e, parts)
    walk.leave(before)
    read, walk.observed = walk.observed, read_before
    walk.observed.update(read)
    final: Names = walk.nameless() if _some_share(parts) else NONE
    _not_begun_twice(parts, e.init.span)
    for part in parts:
        if part.starred and not part.eaten:
            walk.needless_stars.add(part.name)
        if part.eaten:
            _not_read_inside(part, read)
            walk.consume(part.init, e.init.span)
        else:
            final |= flat(part.init) | {n for n in flat(part.result) if _outside(walk, n)}
    return _loop_result(e, parts, final)


def _not_read_inside(part: _Part, read: dict[Name, Span]) -> None:
    """Demand that the body reads a consumed initial value under no other name."""
    for name in flat(part.init):
        if name in read:
            raise TypeError_(
                codes.uniqueness.LOOP,
                f"The loop uses `{shown(name)}`, but consumes it as the initial value "
                f"of `{shown(part.name)}`.",
                read[name],
                COPY,
            )


def _not_begun_twice(parts: list[_Part], span: Span) -> None:
    """Demand that a consumed initial value belongs to one parameter only."""
    for at, part in enumerate(parts):
        for other in parts[:at]:
            if (part.eaten or other.eaten) and flat(part.init) & flat(other.init):
                raise TypeError_(
                    codes.uniqueness.LOOP,
                    f"`{shown(other.name)}` and `{shown(part.name)}` may start as the "
                    "same array, and the loop consumes one of them.",
                    span,
                    COPY,
                )


def _some_share(parts: list[_Part]) -> bool:
    """Test whether two unconsumed results of an iteration may alias."""
    found = [names for part in parts if not part.eaten for names in components(part.result)]
    return sum(map(len, found)) > len(NONE.union(*found))


@dataclass(frozen=True, slots=True)
class _Part:
    """One variable of a loop's pattern: the aliases of its initial value and of its next one."""

    name: Name
    init: Aliases
    result: Aliases
    eaten: bool
    """True if the loop consumes the initial value."""
    starred: bool = False

    @property
    def is_own(self) -> bool:
        """True if the next value must be the loop's own."""
        return self.eaten or self.starred


def _loop_parts(pat: t.Pat, init: Aliases, result: Aliases, taken: set[Name]) -> list[_Part]:
    """Return the variables of a loop's pattern; `taken` are those that its body consumes.

    With a written `*`, the initial value is consumed also where the next one is the variable itself
    or has no name.
    """
    match pat:
        case t.PVar(name=name, consumes=starred):
            becomes = flat(result)
            keeps_star = starred and (not becomes or any(root(n) == name for n in becomes))
            return [_Part(name, init, result, keeps_star or name in taken, starred)]
        case t.PRecord(fields=fields):
            return [
                part
                for f, p in fields
                for part in _loop_parts(p, field_aliases(init, f), field_aliases(result, f), taken)
            ]
    return [_Part("", init, result, eaten=False)]


def _check_iterations(walk: Walk, e: t.Loop, parts: list[_Part]) -> None:
    """Demand that the next value of a consumed parameter is fresh and no other parameter's."""
    names = {p.name for p in parts}
    seen: set[Name] = set()
    seen_own: set[Name] = set()
    for part in parts:
        found = flat(part.result)
        if part.is_own:
            for name in sorted(found):
                if root(name) not in names and _outside_loop(walk, name):
                    raise TypeError_(
                        codes.uniqueness.LOOP,
                        f"The loop consumes `{shown(part.name)}` in every iteration, but its next"
                        f" value may alias `{shown(name)}` from outside.",
                        result_span(e.body),
                        COPY,
                    )
        common = found & (seen if part.is_own else seen_own)
        if common:
            shared = shown(min(common))
            raise TypeError_(
                codes.uniqueness.LOOP,
                f"Two loop parameters would both be `{shared}` in the next iteration, "
                "and the loop consumes one of them.",
                result_span(e.body),
                COPY,
            )
        seen |= found
        if part.is_own:
            seen_own |= found


def _outside_loop(walk: Walk, name: Name) -> bool:
    variable = walk.variables.get(root(name))
    return variable is None or variable.depth < walk.depth


def _outside(walk: Walk, name: Name) -> bool:
    variable = walk.variables.get(root(name))
    return variable is None or variable.depth <= walk.depth


def _loop_result(e: t.Loop, parts: list[_Part], shared: Names) -> Aliases:
    """Return the aliases of a loop's result; unconsumed parameters may keep initial values."""
    table = {p.name: NONE if p.eaten else shared for p in parts}

    def aliases_of(pat: t.Pat) -> Aliases:
        match pat:
            case t.PVar(name=name):
                return broadcast(pat.type, table.get(name, shared))
            case t.PRecord(fields=fields):
                return {f: aliases_of(p) for f, p in fields}
        return broadcast(pat.type, shared)

    return aliases_of(e.pat)
