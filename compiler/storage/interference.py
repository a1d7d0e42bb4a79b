"""When the blocks of a body are needed, and which of them are needed at the same time.

A block lives from the first statement behind its allocation that mentions it, or an array in it,
to the last one. What happens inside of a statement counts for the whole statement, so that the
operands and results of one kernel always meet. A block that gets a second name, as a result of a
branch, a loop or the body, or as a loop's parameter, lives from there to the end of the body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.spans import Prov
from compiler.ir.known import Known
from compiler.ir.nodes import (
    I64,
    SE_NODES,
    Alloc,
    Array,
    Body,
    Function,
    If,
    Loop,
    Operand,
    Stm,
)
from compiler.ir.poly import Poly
from compiler.ir.walk import all_stms, visit
from compiler.prove.facts import Facts
from compiler.prove.inequality import Prover


@dataclass(frozen=True, slots=True)
class Life:
    """A block of a body: the statements that it is needed from and until, both inclusive.

    `mentioned` is the last statement that mentions it; `until` is later if it `escapes`.
    """

    name: Name
    alloc: Alloc
    start: int
    mentioned: int
    until: int
    prov: Prov

    @property
    def escapes(self) -> bool:
        """Whether it gets a second name, so that its life is not known to end in the body."""
        return self.until > self.mentioned

    @property
    def bytes(self) -> Poly:
        """Its size."""
        return self.alloc.count * BYTES[self.alloc.prim]

    def meets(self, other: Life) -> bool:
        """Whether there is a statement in which both are needed."""
        return self.start <= other.until and other.start <= self.until


def host_bodies(body: Body) -> Iterator[Body]:
    """The body, and those of all branches and loops in it that the host runs; outer ones first."""
    yield body
    for stm in body.stms:
        match stm.exp:
            case If(_, then, orelse):
                yield from host_bodies(then)
                yield from host_bodies(orelse)
            case Loop():
                yield from host_bodies(stm.exp.body)


def lives(body: Body) -> list[Life]:
    """The blocks that the body's own statements allocate, in order of their first use.

    Blocks that nothing mentions are left out.
    """
    allocs = {stm.pat[0].name: stm for stm in body.stms if isinstance(stm.exp, Alloc)}
    if len(allocs) < 2:
        return []
    owner = {
        param.name: param.type.mem.block
        for stm in body.stms
        for param in stm.pat
        if isinstance(param.type, Array) and param.type.mem is not None
    }
    first: dict[Name, int] = {}
    last: dict[Name, int] = {}
    escaped: set[Name] = set()
    for at, stm in enumerate(body.stms):
        used: set[Name] = set()
        visit(stm, used.add, _ignore)
        for block in _blocks(used, owner, allocs):
            first.setdefault(block, at)
            last[block] = at
        escaped.update(_blocks(_renamed(stm), {}, allocs))
    escaped.update(_blocks((r for r in body.results if isinstance(r, str)), owner, allocs))
    end = len(body.stms)
    found = []
    for name, stm in allocs.items():
        assert isinstance(stm.exp, Alloc)
        if name in first:
            until = end if name in escaped else last[name]
            found.append(Life(name, stm.exp, first[name], last[name], until, stm.prov))
    return sorted(found, key=lambda life: life.start)


def _ignore(name: Name) -> None:
    """Do nothing."""


def _blocks(
    names: Iterable[Name], owner: dict[Name, Name], allocs: dict[Name, Stm]
) -> Iterator[Name]:
    for name in names:
        block = owner.get(name, name)
        if block in allocs:
            yield block


def _renamed(stm: Stm) -> Iterator[Name]:
    """Names that loops and branches inside give on as initial values or results."""
    for inner in all_stms((stm,)):
        given: Sequence[Operand] = ()
        match inner.exp:
            case If(_, then, orelse):
                given = (*then.results, *orelse.results)
            case Loop(_, init, _, body):
                given = (*init, *body.results)
        yield from (name for name in given if isinstance(name, str))


class Sizes:
    """Compares the sizes of a function's blocks."""

    def __init__(self, fun: Function) -> None:
        self.known = Known()
        self._sizes = [
            size
            for param in fun.params
            if isinstance(param.type, Array)
            for size in param.type.shape
            if size.constant is None
        ]
        """Not negative, wherever in the function; of other names nothing is assumed."""
        self._names = {name for size in self._sizes for name in size.names()}
        for stm in all_stms(fun.body.stms):
            if len(stm.pat) == 1 and stm.pat[0].type == I64 and isinstance(stm.exp, SE_NODES):
                self.known.define(stm.pat[0].name, stm.exp)
        self._prover: Prover | None = None

    def equal(self, a: Life, b: Life) -> bool:
        """Whether two blocks certainly have the same size."""
        return self.known.equal(a.alloc.count, b.alloc.count)

    def holds(self, large: Life, small: Life) -> bool:
        """Whether `large` is certainly at least as large as `small`."""
        if self.equal(large, small):
            return True
        difference = self.known.normal(large.alloc.count - small.alloc.count)
        if difference.constant is not None:
            return difference.constant >= 0
        if max(difference.terms.values()) < 0 or not difference.names() <= self._names:
            return False
        if self._prover is None:
            self._prover = Prover(Facts.of(self._sizes))
        return self._prover.nonnegative(difference) is not None
