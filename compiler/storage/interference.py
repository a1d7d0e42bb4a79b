"""When the blocks of a body are needed, and which of them are needed at the same time.

A block lives from the first statement behind its allocation that mentions it, or an array in it,
to the last one. What happens inside of a statement counts for the whole statement, so that the
operands and results of one kernel always meet. A block that gets a second name, as a result of a
branch or a loop, or as a loop's parameter, is needed as long as any block that may have that name.
One that may be a result of the body lives from its first use to the end of the body.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.algebra.argument import Argument
from compiler.algebra.poly import Poly
from compiler.analysis.facts import IntegerFacts
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.spans import Prov
from compiler.base.target import Target
from compiler.ir import nodes as ir
from compiler.ir.known import Known
from compiler.ir.sizes import HIGH, poly_of, se_of
from compiler.ir.walk import all_stms, mentioned
from compiler.storage.blocks import classes

NEAR = 16
"""So many blocks, the latest ones, are looked at for one of a size."""


@dataclass(frozen=True, slots=True)
class Life:
    """A block of a body: the statements that it is needed from and until, both inclusive.

    `mentioned` is the last statement that mentions it, or what it is called by then; `until` is
    later if it `escapes`.
    """

    name: Name
    alloc: ir.Alloc
    made: int
    """The number of the statement that allocates it."""
    start: int
    mentioned: int
    until: int
    prov: Prov

    @property
    def escapes(self) -> bool:
        """Whether it may be a result of the body."""
        return self.until > self.mentioned

    @property
    def bytes(self) -> Poly:
        """Its size."""
        return self.alloc.count * BYTES[self.alloc.prim]

    def meets(self, other: Life) -> bool:
        """Whether there is a statement in which both are needed."""
        return self.start <= other.until and other.start <= self.until


def lives(body: ir.Body) -> list[Life]:
    """The blocks that the body's own statements allocate, in order of their first use.

    Blocks that nothing mentions are left out.
    """
    allocs = {
        stm.pat[0].name: k for k, stm in enumerate(body.stms) if isinstance(stm.exp, ir.Alloc)
    }
    if len(allocs) < 2:
        return []
    owner = owners(body.stms)
    same = classes(body.stms)
    first: dict[Name, int] = {}
    last: dict[Name, int] = {}
    for at, stm in enumerate(body.stms):
        for name in mentioned(stm):
            block = owner.get(name, name)
            first.setdefault(block, at)
            last[same.find(block)] = at
    given = {owner.get(result, result) for result in body.results if isinstance(result, str)}
    escaped = {same.find(block) for block in given if block not in allocs}
    end = len(body.stms)
    found = []
    for name, made in allocs.items():
        stm = body.stms[made]
        assert isinstance(stm.exp, ir.Alloc)
        if name in first:
            root = same.find(name)
            until = end if root in escaped or name in given else last[root]
            found.append(Life(name, stm.exp, made, first[name], last[root], until, stm.prov))
    return sorted(found, key=lambda life: life.start)


def handed_on(body: ir.Body, target: Target) -> frozenset[Name]:
    """The blocks of scans whose prefixes a map of the same points takes; on a processor none.

    Where threads work in blocks they may end up in no memory
    (`codegen/kernels/fuse_scan_map.py`). So these blocks are not for others: what is in memory
    for something else has to be made.
    """
    found: set[Name] = set()
    owner = owners(body.stms)
    scans: dict[Name, ir.Stm] = {}
    for stm in body.stms:
        match stm.exp:
            case ir.SegScan(level="grid", space=ir.SegSpace((_,))):
                scans |= {param.name: stm for param in stm.pat}
            case ir.SegMap(level="grid", space=ir.SegSpace((_,))) if scans:
                for name in mentioned(stm) & scans.keys():
                    found.update(owner[param.name] for param in scans[name].pat)
    found.difference_update(result for result in body.results if isinstance(result, str))
    # Only where it matters is the target asked: what asks nothing is shared by all of them.
    return frozenset(found) if found and target.has_blocks else frozenset()


def owners(stms: Iterable[ir.Stm]) -> dict[Name, Name]:
    """The block of each array that the statements bind."""
    return {
        param.name: param.type.mem.block
        for stm in stms
        for param in stm.pat
        if isinstance(param.type, ir.Array) and param.type.mem is not None
    }


def _asserted(body: ir.Body) -> Iterable[ir.SE]:
    """What the body checks before it allocates anything."""
    for stm in body.stms:
        if any(isinstance(one.exp, ir.Alloc | ir.Call) for one in all_stms((stm,))):
            return
        if isinstance(stm.exp, ir.Assert):
            yield stm.exp.cond


class Sizes:
    """Compares the sizes of a function's blocks."""

    def __init__(self, fun: ir.Function, shown: list[Argument] | None = None) -> None:
        """`shown`: what arguments are added to by which sizes compare and do not wrap."""
        self.known = Known()
        self.made: list[Poly] = []
        """The sizes of blocks that were made before the statement at hand, kept by who goes on."""
        shapes = [param.type.shape for param in fun.params if isinstance(param.type, ir.Array)]
        self.names = frozenset(name for shape in shapes for size in shape for name in size.names())
        """Names that sizes of the parameters are made of."""
        defined: dict[Name, Poly] = {}
        self._facts = IntegerFacts(defined, shown)
        self._facts.oldest(param.name for param in fun.params)
        for shape in shapes:
            if fun.entry:
                self._facts.given(shape)
                continue
            self._facts.array(shape)
            # It fills a block, of as many elements as its sizes say where none is computed.
            if all(size.as_name or size.constant is not None for size in shape):
                self._facts.in_memory(Poly.product(shape))
        for cond in _asserted(fun.body):
            self._facts.learn(cond, True)
        for stm in all_stms(fun.body.stms):
            form = stm.exp.form if isinstance(stm.exp, ir.Loop) else None
            if isinstance(form, ir.ForLoop) and form.prim == "i64":
                bound = poly_of(form.bound)
                if bound is not None:
                    self._facts.index(form.index, bound)
            if len(stm.pat) == 1 and stm.pat[0].type == ir.I64 and isinstance(stm.exp, ir.SE_NODES):
                self.known.define(stm.pat[0].name, stm.exp)
                poly = poly_of(stm.exp)
                if poly is None:
                    self._facts.defined(stm.pat[0].name, stm.exp, self._facts.depth)
                elif self._facts.is_value(value := poly.put_in(defined)):
                    defined[stm.pat[0].name] = value

    def equal(self, a: Poly, b: Poly) -> bool:
        """Whether two blocks certainly have the same size."""
        return self.known.equal(a, b)

    def holds(self, large: Poly, small: Poly) -> bool:
        """Whether `large` is certainly at least as large as `small`."""
        return self.equal(large, small) or self._facts.is_at_least(large, small)

    def nonnegative(self, size: Poly) -> bool:
        """Whether a size is certainly not negative."""
        return self._facts.is_at_least(size, Poly.const(0))

    def is_size(self, size: Poly) -> bool:
        """Whether a block of that size may be made: it is not negative, or there is one by now."""
        return any(self.equal(size, one) for one in self.made[-NEAR:]) or self.nonnegative(size)

    def most(self, size: Poly) -> int | None:
        """A number that a size certainly does not exceed, if one is known."""
        most = max(0, self._facts.span(self._facts.poly(se_of(size)))[1])
        return most if most < HIGH and self._facts.is_at_least(Poly.const(most), size) else None

    def fits(self, size: Poly) -> bool:
        """Whether a size can be computed without wrapping, wherever in the function."""
        return self._facts.is_value(size)
