"""Live ranges of the blocks of a body, and their interference.

A block lives from the first statement after its allocation that mentions it, or an array in it, to
the last one. A nested access counts for the whole statement, so that operands and results of one
kernel always interfere. An alias, as a result of a branch or a loop, or as a loop parameter,
extends the lives of all blocks that it may mean. A block that may be a result of the body lives to
its end.
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
"""Number of latest blocks compared in search of a size."""


@dataclass(frozen=True, slots=True)
class Life:
    """Live range of a block: first and last statement, both inclusive.

    `mentioned` is the last statement that mentions it or an alias; `until` is later if it
    `escapes`.
    """

    name: Name
    alloc: ir.Alloc
    made: int
    """Index of the allocating statement."""
    start: int
    mentioned: int
    until: int
    prov: Prov

    @property
    def escapes(self) -> bool:
        """True if it may be a result of the body."""
        return self.until > self.mentioned

    @property
    def bytes(self) -> Poly:
        """Size in bytes."""
        return self.alloc.count * BYTES[self.alloc.prim]

    def meets(self, other: Life) -> bool:
        """True if the live ranges overlap."""
        return self.start <= other.until and other.start <= self.until


def live_ranges(body: ir.Body) -> list[Life]:
    """Return the live ranges of the body's own allocations, in order of first use.

    Omits unused blocks.
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


def fused_scan_blocks(body: ir.Body, target: Target) -> frozenset[Name]:
    """Return the blocks of scan results consumed by a map over the same points; none on a CPU.

    On a GPU they may never be materialised (`codegen/kernels/fuse_scan_map.py`), so they are not
    shared: a shared block must exist anyway.
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
    # Query the target only where it matters: a pass that does not is shared by all targets.
    return frozenset(found) if found and target.has_blocks else frozenset()


def owners(stms: Iterable[ir.Stm]) -> dict[Name, Name]:
    """Return the block of each array that the statements bind."""
    return {
        param.name: param.type.mem.block
        for stm in stms
        for param in stm.pat
        if isinstance(param.type, ir.Array) and param.type.mem is not None
    }


def _asserted(body: ir.Body) -> Iterable[ir.SE]:
    """Return the conditions that the body checks before it allocates anything."""
    for stm in body.stms:
        if any(map(_may_allocate, all_stms((stm,)))):
            return
        if isinstance(stm.exp, ir.Assert):
            yield stm.exp.cond


def _may_allocate(stm: ir.Stm) -> bool:
    """True if a statement has a block of its own, or may have once there is memory."""
    if isinstance(stm.exp, ir.Alloc | ir.Call):
        return True
    makes = not isinstance(stm.exp, ir.Slice | ir.Scratch)
    return makes and any(isinstance(p.type, ir.Array) and p.type.mem is None for p in stm.pat)


class Sizes:
    """Compares the sizes of a function's blocks."""

    def __init__(self, fun: ir.Function, shown: list[Argument] | None = None) -> None:
        """`shown`: receives the arguments by which sizes compare and do not wrap."""
        self.known = Known()
        self.made: list[Poly] = []
        """Sizes of blocks allocated so far; maintained by the caller."""
        shapes = [param.type.shape for param in fun.params if isinstance(param.type, ir.Array)]
        self.names = frozenset(name for shape in shapes for size in shape for name in size.names())
        """Names in the sizes of parameters."""
        defined: dict[Name, Poly] = {}
        self._facts = IntegerFacts(defined, shown)
        self._facts.oldest(param.name for param in fun.params)
        for shape in shapes:
            if fun.entry:
                self._facts.given(shape)
                continue
            self._facts.array(shape)
            # It fills its block, whose size is the product where none is computed.
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
        """True if two blocks certainly have the same size."""
        return self.known.equal(a, b)

    def holds(self, large: Poly, small: Poly) -> bool:
        """True if `large >= small` certainly holds."""
        return self.equal(large, small) or self._facts.is_at_least(large, small)

    def nonnegative(self, size: Poly) -> bool:
        """True if a size is certainly not negative."""
        return self._facts.is_at_least(size, Poly.const(0))

    def is_size(self, size: Poly) -> bool:
        """True if a block of that size may be allocated: it is natural, or was allocated before."""
        return any(self.equal(size, one) for one in self.made[-NEAR:]) or self.nonnegative(size)

    def most(self, size: Poly) -> int | None:
        """Return a constant upper bound of a size, if one is known."""
        most = max(0, self._facts.span(self._facts.poly(se_of(size)))[1])
        return most if most < HIGH and self._facts.is_at_least(Poly.const(most), size) else None

    def fits(self, size: Poly) -> bool:
        """True if a size can be computed anywhere in the function without wrapping."""
        return self._facts.is_value(size)
