"""Which blocks a name may mean, after allocation: the one answer for passes and panes.

A block is called by its allocation, or as a parameter. Branches that return blocks, and loops that
carry them, give them more names. Whoever wants to know which names may mean one block asks for
their classes; whoever wants to know which blocks a name may mean, or which names never mean the
same, for its `Meanings`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir.nodes import Alloc, Array, Call, If, Loop, Mem, Param, Stm
from compiler.ir.sharing import Classes
from compiler.ir.walk import NESTED, all_stms, children, stms_of

Link = tuple[Name, Name, bool]
"""A name of a block, what it may mean, and whether an earlier iteration of a loop made it so."""


def links(stm: Stm) -> Iterator[Link]:
    """The names that a branch or loop gives to blocks."""
    match stm.exp:
        case If(_, then, orelse):
            for param, one, other in zip(stm.pat, then.results, orelse.results, strict=True):
                if isinstance(param.type, Mem):
                    yield param.name, str(one), False
                    yield param.name, str(other), False
        case Loop(params, init, _, body):
            for param, out, start, end in zip(params, stm.pat, init, body.results, strict=True):
                if isinstance(param.type, Mem):
                    for name in (param.name, out.name):
                        yield name, str(start), False
                        yield name, str(end), name == param.name


def made_by_call(stm: Stm) -> dict[Name, Poly]:
    """The blocks that a function makes for a call, with how many elements each holds."""
    kinds = [param.type for param in stm.pat] if isinstance(stm.exp, Call) else []
    arrays = [kind for kind in kinds if isinstance(kind, Array)]
    return {kind.mem.block: Poly.product(kind.shape) for kind in arrays if kind.mem is not None}


def all_links(stms: Iterable[Stm]) -> Iterator[Link]:
    """Those of all statements, also inner ones."""
    for stm in stms:
        if type(stm.exp) in NESTED:
            yield from links(stm)
            for child in children(stm.exp):
                yield from all_links(stms_of(child))


def classes(stms: Iterable[Stm]) -> Classes:
    """Names of blocks in classes: two names of different classes never mean the same block."""
    found = Classes()
    for name, block, _ in all_links(stms):
        found.join(name, block)
    return found


@dataclass(frozen=True, slots=True)
class _Together:
    """Names that a branch or loop gives to blocks, and what they all may be, in either case."""

    names: tuple[Name, ...]
    cases: tuple[tuple[Name, ...], ...]

    def pairs(self, one: Name, other: Name) -> Iterator[tuple[Name, Name]]:
        """What one of them may be, with what another one of them or an older name is then."""
        here, there = (self.names.index(x) if x in self.names else None for x in (one, other))
        assert here is not None
        for values in self.cases:
            yield values[here], other if there is None else values[there]


def _together(stm: Stm) -> Iterator[_Together]:
    """What a branch gives; what a loop carries, by the names inside of it and by those behind."""
    match stm.exp:
        case If(_, then, orelse):
            given = [(stm.pat, then.results, orelse.results)]
        case Loop(params, init, _, body):
            given = [(names, init, body.results) for names in (params, stm.pat)]
        case _:
            return
    for params, first, second in given:
        rows = zip(params, first, second, strict=True)
        blocks = [(p.name, str(a), str(b)) for p, a, b in rows if isinstance(p.type, Mem)]
        if blocks:
            names, *cases = zip(*blocks, strict=True)
            yield _Together(names, tuple(cases))


class Meanings:
    """The blocks that each name of a function may mean."""

    def __init__(self, stms: Iterable[Stm], now: Callable[[Name], Name] = lambda name: name):
        """`now`: the name that a block has by now, where a pass gives blocks others."""
        self._stms = stms
        self._now = now
        self._found: dict[Name, frozenset[Name]] = {}
        self._one: dict[frozenset[Name], bool] = {}

    def changed(self) -> None:
        """Forget what was found out, after blocks have got other names."""
        self._found.clear()
        self._one.clear()

    def of(self, block: Name) -> frozenset[Name]:
        """The blocks that a name may mean.

        What a loop hands on from earlier iterations is a block of its own, with a prime: what the
        body allocates is another block in each iteration.
        """
        found = self._found.get(block)
        if found is None:
            found = self._found[block] = frozenset(self._search(block))
        return found

    def may_be_one(self, block: Name, other: Name) -> bool:
        """Whether two names may mean the same block where both are bound.

        Not so are buffers that are exchanged: they are different ones before the loop, and an
        iteration that begins with different ones ends with different ones.
        """
        both = frozenset((block, other))
        found = self._one.get(both)
        if found is None:
            found = self._one[both] = not self._apart(block, other)
        return found

    def is_given(self, block: Name) -> bool:
        """Whether a branch or loop gives a block that name."""
        return block in self._together

    def _apart(self, one: Name, other: Name) -> bool:
        """Whether two names never mean the same block where both are bound.

        What is given later is one of its cases, at a time when the other one means what it does.
        So it is never that if no case is; and in a loop no iteration has to be looked at that
        begins with them being one, if none ends so, nor the loop.
        """
        waiting, begun = [(one, other)], set[frozenset[Name]]()
        while waiting:
            one, other = map(self._now, waiting.pop())
            if one == other:
                return False
            both = frozenset((one, other))
            if both in begun or self.of(one).isdisjoint(self.of(other)):
                continue
            begun.add(both)
            if self._bound_at.get(one, 0) < self._bound_at.get(other, 0):
                one, other = other, one
            group = self._together.get(one)
            if group is None:
                return False
            waiting += group.pairs(one, other)
        return True

    def _search(self, block: Name) -> Iterator[Name]:
        """Through all ways to a block, and the loops whose earlier iterations are on the way."""
        links, allocated_in = self._table
        start: tuple[Name, frozenset[int]] = (block, frozenset())
        seen, todo = {start}, [start]
        while todo:
            name, loops = todo.pop()
            if name not in links:
                yield name if loops.isdisjoint(allocated_in.get(name, ())) else f"{name}'"
            for source, loop in links.get(name, ()):
                step = (self._now(source), loops | {loop} if loop is not None else loops)
                if step not in seen:
                    seen.add(step)
                    todo.append(step)

    @cached_property
    def _together(self) -> dict[Name, _Together]:
        """For each name that a branch or loop gives to a block: what is given together with it."""
        groups = (group for stm in all_stms(self._stms) for group in _together(stm))
        return {name: group for group in groups for name in group.names}

    @cached_property
    def _bound_at(self) -> dict[Name, int]:
        """When names of blocks come to be, one after the other; those of one statement at once."""
        found: dict[Name, int] = {}

        def enter(stms: Iterable[Stm]) -> None:
            for stm in stms:
                if type(stm.exp) in NESTED:
                    if isinstance(stm.exp, Loop):
                        bind(stm.exp.params)
                    for child in children(stm.exp):
                        enter(stms_of(child))
                bind(stm.pat)

        def bind(params: Iterable[Param]) -> None:
            now = len(found) + 1
            found.update((p.name, now) for p in params if isinstance(p.type, Mem))

        enter(self._stms)
        return found

    @cached_property
    def _table(self) -> tuple[dict[Name, list[tuple[Name, int | None]]], dict[Name, list[int]]]:
        """What each name may mean, with a loop by its `id`; the loops that a block is made in."""
        meant: dict[Name, list[tuple[Name, int | None]]] = {}
        allocated_in: dict[Name, list[int]] = {}

        def enter(stms: Iterable[Stm], loops: list[int]) -> None:
            for stm in stms:
                if isinstance(stm.exp, Alloc):
                    allocated_in[stm.pat[0].name] = loops
                elif isinstance(stm.exp, Call):
                    allocated_in.update(dict.fromkeys(made_by_call(stm), loops))
                elif type(stm.exp) in NESTED:
                    for name, block, earlier in links(stm):
                        meant.setdefault(name, []).append((block, id(stm) if earlier else None))
                    inner = [*loops, id(stm)] if isinstance(stm.exp, Loop) else loops
                    for child in children(stm.exp):
                        enter(stms_of(child), inner)

        enter(self._stms, [])
        return meant, allocated_in
