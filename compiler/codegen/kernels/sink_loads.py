"""Sink loads and their computations into the only branch that uses them.

Source programs bind values before testing whether they are needed. If all uses of a loaded value
lie in one branch, the other would load it in vain.

Note [Branches]. These are the branches of an `if`, and alternatives of expressions: of `c ? x : y`,
and the right operands of `&&` and `

`. Consecutive choices with the same condition become one `if`, where that saves a load; otherwise
they are unchanged.

Note [What may move]. A load or a definition is moved over the statements before the branch if none
assigns a variable that it reads, or writes its cell. A block that the kernel only reads
(`read_only.py`) may always be read later; for others, no statement in between may write anything.
Nothing is moved over synchronisation, or into a loop. Moved statements come first in the branch, in
their old order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import chain
from typing import Literal

from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.base.spans import merge_prov
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import map_bodies
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.read_only import read_only
from compiler.codegen.kernels.same_blocks import Same, at_kernels
from compiler.codegen.kernels.walk import lists
from compiler.codegen.stm_uses import StmUses
from compiler.codegen.traits import reads
from compiler.ir.nodes import FALSE, SE, TRUE, Bin, Scalar, Select, Var
from compiler.ir.sizes import prim_of
from compiler.ir.walk import map_subexpressions, se_parts

SUNK = Rule("kernels/sunk", "Moves a load that only one branch needs into that branch.")
_CALM = frozenset(
    (
        *(imp.Define, imp.Declare, imp.Assign, imp.Load, imp.Assert, imp.Apply),
        *(imp.If, imp.For, imp.While, k.Fetch, k.Loads, k.Indices, k.Stride, k.Scope, k.Exit),
    )
)
"""Statements that neither write memory nor synchronise."""

Side = Literal["then", "orelse"]
Place = tuple[int, Side]
"""A branch: index of the branching's first statement in its list, and the side."""
ANYWHERE: Place = (-1, "then")
SIDES: tuple[Side, ...] = ("then", "orelse")


def sink_loads(stms: imp.Stms, ctx: Ctx) -> imp.Stms:
    """Sink loads in the kernels that host statements launch."""
    same = at_kernels(stms)

    def host(stms: imp.Stms) -> imp.Stms:
        return tuple(
            _launch(stm, same.get(id(stm)), ctx)
            if isinstance(stm, k.Launch)
            else map_bodies(stm, host)
            for stm in stms
        )

    return host(stms)


def _launch(launch: k.Launch, same: Same | None, ctx: Ctx) -> k.Launch:
    kernel = launch.kernel
    given = {p.name for p in kernel.params if p.block}
    if not any(_may_move(stms, given) for stms in lists(kernel.body)):
        return launch
    constant, _ = read_only(kernel, same)
    work = _Sinking(ctx, constant, given)
    work.stms(kernel.body)
    if not work.moved:
        return launch
    work = work.of_all()
    body = work.stms(kernel.body)
    called = sorted({f"`{ctx.names.called(load.name)}`" for load in work.moved})
    because = f"Loads that only one branch needs happen there: {', '.join(called)}."
    numbers = (("loads", str(len(work.moved))),)
    at = merge_prov(*(load.prov for load in work.moved))
    made = ctx.commit(SUNK, at, Applied(body, because, numbers))
    return launch if made is None else replace(launch, kernel=replace(kernel, body=made))


def _may_move(stms: imp.Stms, given: Set[Name]) -> bool:
    """True if a load precedes a branching in the list: otherwise nothing can move."""
    loads = False
    for stm in stms:
        if type(stm) is imp.Load:
            loads = loads or stm.block in given
        elif loads and (type(stm) is imp.If or _chooses(_value(stm))):
            return True
    return False


def _chooses(se: SE | None) -> bool:
    """True if an expression contains a choice."""
    return se is not None and (_choice(se) is not None or any(map(_chooses, se_parts(se))))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A statement that assigns one of two values; `key` identifies the choice."""

    stm: imp.Define | imp.Assign
    choice: Select
    key: int

    def branch(self, side: Side) -> imp.Stms:
        """Return the statements for one alternative."""
        name, value = self.stm.name, self.choice.then if side == "then" else self.choice.orelse
        is_same = isinstance(value, Var) and value.name == name
        return () if is_same else (imp.Assign(name, value, self.stm.prov),)


Listed = imp.Stm | _Chosen


@dataclass(frozen=True, slots=True)
class _Branching:
    """An `if`, or consecutive choices under one condition: from `first` up to `end`."""

    first: int
    end: int
    cond: SE


class _Sinking:
    """Rewrites the statements of a kernel, and records `moved` loads.

    `constant`: blocks that it only reads, of its parameters `given`. In the first pass, lists in
    which no load can move are skipped: most kernels have no others, and stay as they are.
    """

    def __init__(self, ctx: Ctx, constant: Set[Name], given: Set[Name]) -> None:
        self.ctx, self.constant, self.given = ctx, constant, given
        self.moved: list[imp.Load] = []
        self.does = _Does()
        self.named: list[Name] = []
        self.fresh = iter(lambda: ctx.fresh("chosen"), "")
        self.every = False

    def of_all(self) -> _Sinking:
        """Return a pass over all lists, with the names generated before."""
        made = _Sinking(self.ctx, self.constant, self.given)
        made.does, made.every = self.does, True
        made.fresh = chain(self.named, made.fresh)
        return made

    def stms(self, stms: imp.Stms) -> imp.Stms:
        """Rewrite a list: choices become branches where each of these saves a load."""
        if not self.every and not _may_move(stms, self.given):
            return tuple(map_bodies(stm, self.stms) for stm in stms)
        choices = tuple(self.choices(stms))
        if choices or any(type(stm) is imp.If for stm in stms):
            stms = self.branched(stms, choices)
        return tuple(map_bodies(stm, self.stms) for stm in stms)

    def branched(self, stms: imp.Stms, choices: Sequence[tuple[int, int]]) -> imp.Stms:
        """Sink statements into branches; `choices` may become branches."""
        asked = frozenset(key for _, key in choices)
        while True:
            where = {at for at, key in choices if key in asked}
            listed = [
                part
                for at, stm in enumerate(stms)
                for part in (self.split(stm, asked) if at in where else (stm,))
            ]
            found = {one.first: one for one in _branchings(listed)}
            moves = self.moves(listed, found)
            loads = {at: stm for at in sorted(moves) if isinstance(stm := listed[at], imp.Load)}
            spared = {moves[at][0] for at in loads}
            kept = frozenset(
                part.key
                for first in spared
                for part in listed[first : found[first].end]
                if isinstance(part, _Chosen)
            )
            if kept == asked:
                break
            asked = kept
        self.moved += loads.values()
        return _rebuilt(listed, found, moves) if moves else stms

    def choices(self, stms: imp.Stms) -> Iterator[tuple[int, int]]:
        """Yield the choices of statements, and those within expressions with loads.

        Each is the index of the statement, and the id of the choice.
        """
        local: set[Name] = set()
        for at, stm in enumerate(stms):
            if isinstance(stm, imp.Load) and stm.block in self.given:
                local.add(stm.name)
            if isinstance(stm, imp.Define) and not local.isdisjoint(self.does.one(stm).uses):
                local.add(stm.name)
            value = _value(stm)
            pending = [] if value is None else [value]
            while pending:
                se = pending.pop()
                choice = _choice(se)
                if choice is None:
                    pending += se_parts(se)
                    continue
                pending.append(choice.cond)
                is_whole = se is value and not isinstance(stm, imp.Store)
                if is_whole or local & (reads(choice.then) | reads(choice.orelse)):
                    yield at, id(se)

    def split(self, stm: imp.Stm, asked: Set[int]) -> list[Listed]:
        """Extract the `asked` choices of a statement's expression into statements before it."""
        made: list[Listed] = []

        def pulled(se: SE) -> SE:
            choice = _choice(se)
            if choice is None:
                return map_subexpressions(se, pulled)
            cond = pulled(choice.cond)
            if id(se) in asked:
                name, prim = next(self.fresh), prim_of(se)
                self.named.append(name)
                define = imp.Define(name, prim, se, stm.prov)
                made.append(_Chosen(define, replace(choice, cond=cond), id(se)))
                return Var(name, prim)
            if cond is choice.cond:
                return se
            return replace(se, lhs=cond) if isinstance(se, Bin) else replace(choice, cond=cond)

        match stm:
            case imp.Define(value=value) | imp.Assign(value=value) if not isinstance(value, str):
                choice = _choice(value)
                if choice is not None and id(value) in asked:
                    choice = replace(choice, cond=pulled(choice.cond))
                    return [*made, _Chosen(stm, choice, id(value))]
                new = pulled(value)
                return [*made, stm if new is value else replace(stm, value=new)]
            case imp.Store(value=value):
                new = pulled(value)
                return [*made, stm if new is value else replace(stm, value=new)]
        return [stm]

    def moves(self, listed: Sequence[Listed], found: dict[int, _Branching]) -> dict[int, Place]:
        """Return the statements that move, by index, with their targets."""
        inside = {at: one for one in found.values() for at in range(one.first, one.end)}
        between = _Between(listed, self.does)
        uses: dict[Name, Place] = {}
        moves: dict[int, Place] = {}

        def note(names: Iterable[Name], place: Place) -> None:
            for name in names:
                uses[name] = place if uses.get(name, place) == place else ANYWHERE

        for at in range(len(listed) - 1, -1, -1):
            part, place = listed[at], ANYWHERE
            if at in inside:
                one = inside[at]
                note(reads(one.cond), ANYWHERE)
                for side in SIDES:
                    for stm in _branch(part, side):
                        note(self.does.one(stm).uses, (one.first, side))
                continue
            assert not isinstance(part, _Chosen)
            if isinstance(part, imp.Define | imp.Load):
                wanted = uses.get(part.name, ANYWHERE)
                if wanted != ANYWHERE and self.may_move(part, between, at, wanted[0]):
                    moves[at] = place = wanted
            note(self.does.one(part).uses, place)
        return moves

    def may_move(self, stm: imp.Define | imp.Load, between: _Between, at: int, to: int) -> bool:
        """True if a statement may run later; see Note [What may move]."""
        if isinstance(stm, imp.Define):
            return between.keeps(reads(stm.value), at, to)
        if stm.block not in self.given or not between.keeps(reads(stm.at), at, to):
            return False
        return stm.block in self.constant or between.is_calm(at, to)


@dataclass(frozen=True, slots=True)
class _Deed:
    """Effects of a statement, nested ones included: `uses`, `assigns`, and whether it is calm.

    A calm statement neither writes memory nor synchronises.
    """

    uses: Set[Name]
    assigns: Set[Name]
    is_calm: bool


class _Does:
    """Cached effects of statements: lists share nested statements."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[imp.Stm, _Deed]] = {}
        """Entries by id, with the statement to keep it alive."""

    def one(self, stm: imp.Stm) -> _Deed:
        """Return the effects of a statement."""
        found = self.known.get(id(stm))
        if found is None:
            found = self.known[id(stm)] = stm, self.found_out(stm)
        return found[1]

    def found_out(self, stm: imp.Stm) -> _Deed:
        """Compute the effects of a statement."""
        own = StmUses(stm)
        uses, is_calm = set(own.scalars), type(stm) in _CALM
        assigns = set(own.assigned)
        for inner in map(self.one, own.inside):
            uses |= inner.uses
            assigns |= inner.assigns
            is_calm = is_calm and inner.is_calm
        return _Deed(uses, assigns, is_calm)


class _Between:
    """Effects of a list's statements on variables and memory."""

    def __init__(self, listed: Sequence[Listed], does: _Does) -> None:
        self.assigned: dict[Name, list[int]] = {}
        self.writing: list[int] = []
        """Indices of statements that may write memory, or synchronise."""
        for at, part in enumerate(listed):
            deed = does.one(part.stm if isinstance(part, _Chosen) else part)
            for name in deed.assigns:
                self.assigned.setdefault(name, []).append(at)
            if not deed.is_calm:
                self.writing.append(at)

    def keeps(self, names: Iterable[Name], at: int, to: int) -> bool:
        """True if variables are unchanged between statements `at` and `to`."""
        return not any(_any_in(self.assigned.get(name, ()), at, to) for name in names)

    def is_calm(self, at: int, to: int) -> bool:
        """True if memory is unchanged between statements `at` and `to`."""
        return not _any_in(self.writing, at, to)


def _any_in(numbers: Sequence[int], at: int, to: int) -> bool:
    """True if a sorted list has an element strictly between two."""
    return bisect_right(numbers, at) < bisect_left(numbers, to)


def _value(stm: imp.Stm) -> SE | None:
    """Return the expression of a statement whose choices may become branches."""
    if isinstance(stm, imp.Define | imp.Assign | imp.Store) and not isinstance(stm.value, str):
        return stm.value
    return None


def _choice(se: SE) -> Select | None:
    """Return a lazy expression as a choice, or None."""
    match se:
        case Select():
            return se
        case Bin("&&", _, lhs, rhs):
            return Select(lhs, rhs, FALSE)
        case Bin("||", _, lhs, rhs):
            return Select(lhs, TRUE, rhs)
    return None


def _branchings(listed: Sequence[Listed]) -> Iterator[_Branching]:
    """Yield the branchings of a list."""
    at = 0
    while at < len(listed):
        part, first = listed[at], at
        at += 1
        if isinstance(part, imp.If):
            yield _Branching(first, at, part.cond)
        elif isinstance(part, _Chosen):
            cond, given = part.choice.cond, {part.stm.name}
            needs = reads(cond)
            while at < len(listed) and not given & needs:
                part = listed[at]
                if not isinstance(part, _Chosen) or part.choice.cond != cond:
                    break
                given.add(part.stm.name)
                at += 1
            yield _Branching(first, at, cond)


def _branch(part: Listed, side: Side) -> imp.Stms:
    """Return the statements of a branching for one side."""
    if isinstance(part, _Chosen):
        return part.branch(side)
    assert isinstance(part, imp.If)
    return part.then if side == "then" else part.orelse


def _rebuilt(
    listed: Sequence[Listed], found: dict[int, _Branching], moves: dict[int, Place]
) -> imp.Stms:
    """Return the list with statements moved."""
    moved: dict[Place, list[imp.Stm]] = {}
    for at in sorted(moves):
        part = listed[at]
        assert not isinstance(part, _Chosen)
        moved.setdefault(moves[at], []).append(part)
    out: list[imp.Stm] = []
    for at, part in enumerate(listed):
        if at in found:
            parts = listed[at : found[at].end]
            then, orelse = (
                (*moved.get((at, side), ()), *(s for p in parts for s in _branch(p, side)))
                for side in SIDES
            )
            stms = [p.stm if isinstance(p, _Chosen) else p for p in parts]
            for stm in stms:
                if isinstance(stm, imp.Define):
                    out.append(imp.Declare(stm.name, Scalar(stm.prim), None, stm.prov))
            out.append(imp.If(found[at].cond, then, orelse, stms[0].prov))
        elif at not in moves and not isinstance(part, _Chosen):
            out.append(part)
    return tuple(out)
