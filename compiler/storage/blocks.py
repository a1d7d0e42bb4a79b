"""Resolve block names after allocation: which blocks each name may mean.

A block is named by its allocation, or as a parameter. Branches that return blocks, and loops that
carry them, introduce aliases. `classes` partitions names that may mean one block; `Meanings` gives
the blocks of a name, and names that never mean the same block.
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
"""A block name, a name that it may mean, and whether by an earlier iteration of a loop."""


def links(stm: Stm) -> Iterator[Link]:
    """Yield the block aliases that a branch or loop introduces."""
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
    """Return the blocks that a call allocates, with their number of elements."""
    kinds = [param.type for param in stm.pat] if isinstance(stm.exp, Call) else []
    arrays = [kind for kind in kinds if isinstance(kind, Array)]
    return {kind.mem.block: Poly.product(kind.shape) for kind in arrays if kind.mem is not None}


def all_links(stms: Iterable[Stm]) -> Iterator[Link]:
    """Yield the block aliases of all statements, including nested ones."""
    for stm in stms:
        if type(stm.exp) in NESTED:
            yield from links(stm)
            for child in children(stm.exp):
                yield from all_links(stms_of(child))


def classes(stms: Iterable[Stm]) -> Classes:
    """Return alias classes: names of different classes never mean the same block."""
    found = Classes()
    for name, block, _ in all_links(stms):
        found.join(name, block)
    return found


@dataclass(frozen=True, slots=True)
class _Together:
    """Block names bound together by a branch or loop, and their possible values, case by case."""

    names: tuple[Name, ...]
    cases: tuple[tuple[Name, ...], ...]

    def pairs(self, one: Name, other: Name) -> Iterator[tuple[Name, Name]]:
        """Yield the values of one name with the simultaneous value of another, or older, name."""
        here, there = (self.names.index(x) if x in self.names else None for x in (one, other))
        assert here is not None
        for values in self.cases:
            yield values[here], other if there is None else values[there]


def _together(stm: Stm) -> Iterator[_Together]:
    """Yield the block results of a branch; the blocks a loop carries, as parameters and results."""
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
    """Blocks that each name of a function may mean."""

    def __init__(self, stms: Iterable[Stm], now: Callable[[Name], Name] = lambda name: name):
        """`now`: the current name of a block, where a pass renames blocks."""
        self._stms = stms
        self._now = now
        self._found: dict[Name, frozenset[Name]] = {}
        self._one: dict[frozenset[Name], bool] = {}

    def changed(self) -> None:
        """Drop caches after blocks were renamed."""
        self._found.clear()
        self._one.clear()

    def of(self, block: Name) -> frozenset[Name]:
        """Return the blocks that a name may mean.

        A block carried over from earlier iterations is distinct and marked with a prime: the body
        allocates another block in each iteration.
        """
        found = self._found.get(block)
        if found is None:
            found = self._found[block] = frozenset(self._search(block))
        return found

    def may_be_one(self, block: Name, other: Name) -> bool:
        """True if two names may mean the same block where both are bound.

        False for swapped buffers: they differ before the loop, and an iteration that begins with
        different ones ends with different ones.
        """
        both = frozenset((block, other))
        found = self._one.get(both)
        if found is None:
            found = self._one[both] = not self._apart(block, other)
        return found

    def is_given(self, block: Name) -> bool:
        """True if a branch or loop introduces the name."""
        return block in self._together

    def _apart(self, one: Name, other: Name) -> bool:
        """True if two names never mean the same block where both are bound.

        By induction: the later name is one of its cases, at a time when the other keeps its
        meaning. So they differ if they do in every case; and an iteration that begins with equal
        blocks need not be considered unless the loop's start or another iteration produces it.
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
        """Yield the blocks that a name may mean: follows each path once per set of loops."""
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
        """Map each name introduced by a branch or loop to the names bound with it."""
        groups = (group for stm in all_stms(self._stms) for group in _together(stm))
        return {name: group for group in groups for name in group.names}

    @cached_property
    def _bound_at(self) -> dict[Name, int]:
        """Binding times of block names; those of one statement share a time."""
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
        """Sources of each name, with a loop by `id`; and the loops around each allocation."""
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
