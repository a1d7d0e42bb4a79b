"""Memory expansion: hoist allocations of device memory out of kernels (thesis 4.6, procedure 4.5).

A block that every thread allocates becomes one block allocated before the kernel, partitioned by
index functions. On the CPU a thread's elements are contiguous; on the GPU those of consecutive
threads interleave, so that accesses coalesce. Arrays of constant size stay `private` while they
fit, in registers or on the stack; on the CPU, so do arrays whose size only the thread knows. On the
GPU another kernel measures the largest size first.

Arrays shared by a thread block stay shared if their size has a constant bound, or is known at
launch: a version of the kernel for launches where everything fits then uses shared memory.
Otherwise the version without thread blocks runs; where there is none, a kernel with the arrays in
device memory.

Blocks carried by loops and branches inside a kernel are fixed first (`fixed_blocks.py`); blocks of
a thread with disjoint lifetimes share memory (`merge.py`).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from dataclasses import replace

from compiler import codes
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.errors import Limitation
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.rules import Pass, Rule
from compiler.base.spans import Prov
from compiler.base.target import PRIVATE_BYTES
from compiler.ir import nodes as ir
from compiler.ir.build import both, conjunction
from compiler.ir.sizes import se_of
from compiler.ir.source_names import Inhabitants
from compiler.ir.walk import NESTED, Rewrite, all_stms, map_stms, mentioned, rename, rewrite
from compiler.storage.allocation_size import AllocationSizes
from compiler.storage.fixed_blocks import DOUBLE_BUFFER, FixedBlocks, carried, layout_parts
from compiler.storage.interference import Sizes
from compiler.storage.largest_size import LargestSizes
from compiler.storage.merge import merge_inside
from compiler.storage.saturate import saturated
from compiler.storage.state import SHARED_BYTES

EXPANSION = Rule(
    "memory/expand", "Moves allocations out of kernels, which cannot allocate.", optional=False
)

SMALL_BYTES, SMALL_IN_ALL = 1024, 4096
"""Arrays of a thread up to this size may become registers: they share no memory, and have room of
their own, whatever larger ones take.
"""


def expand(prog: ir.Prog, ctx: Ctx) -> ir.Prog:
    """Hoist every allocation out of kernels, except private and shared arrays.

    Needs: memory. Keeps: values; the memory of everything outside kernels.
    """
    funs = tuple(_function(fun, ctx) for fun in prog.funs)
    same = all(new is old for new, old in zip(funs, prog.funs, strict=True))
    return prog if same else ir.Prog(funs)


def _function(fun: ir.Function, ctx: Ctx) -> ir.Function:
    types: dict[Name, ir.Type] = {param.name: param.type for param in fun.params}
    called = Inhabitants(fun, ctx.names.said)
    lengths = [_lengths(fun.params)]
    host = _Host(fun, ctx, types, called)
    stms = host.stms(fun.body.stms, lengths)
    if stms is fun.body.stms:
        return fun
    return replace(fun, body=ir.Body(stms, fun.body.results, fun.body.prov))


class _Host:
    """Transforms the statements of a function outside kernels."""

    def __init__(
        self, fun: ir.Function, ctx: Ctx, types: dict[Name, ir.Type], called: Inhabitants
    ) -> None:
        self.ctx = ctx
        self.types = types
        self.called = called
        self.sizes = Sizes(fun, ctx.proved_here())
        self.thresholds: set[Name] = set()
        """Names that select a version of the code."""

    def stms(self, stms: tuple[ir.Stm, ...], lengths: list[set[Name]]) -> tuple[ir.Stm, ...]:
        """Transform statements; `lengths` are sizes of existing arrays, by enclosing body."""
        out: list[ir.Stm] = []
        changed = False
        for stm in stms:
            new = self.stm(stm, lengths, out)
            self.bind(new, lengths)
            changed = changed or new is not stm
            out.append(new)
        return tuple(out) if changed else stms

    def bind(self, stm: ir.Stm, lengths: list[set[Name]]) -> None:
        """Record the names that a statement binds."""
        self.types.update((param.name, param.type) for param in stm.pat)
        lengths[-1] |= _lengths(stm.pat)
        if isinstance(stm.exp, ir.Threshold):
            self.thresholds.update(param.name for param in stm.pat)

    def stm(self, stm: ir.Stm, lengths: list[set[Name]], out: list[ir.Stm]) -> ir.Stm:
        """Transform one statement; statements that must precede it go to `out`."""
        exp = stm.exp
        if isinstance(exp, ir.SegOp):
            if not _allocates(stm):
                return stm
            return self.expansion(exp, lengths).versions(stm, exp, out)
        if type(exp) not in NESTED:
            return stm
        if isinstance(exp, ir.Loop):
            self.types.update((param.name, param.type) for param in exp.params)
        params = exp.params if isinstance(exp, ir.Loop) else ()
        inner = [*lengths, _lengths(params)]
        if isinstance(exp, ir.If) and (kernel := self.of_version(exp)) is not None:
            return self.version(stm, exp, kernel, inner, out)
        new = map_stms(exp, lambda stms: self.stms(stms, [*inner, set()]))
        return stm if new is exp else ir.Stm(stm.pat, new, stm.prov)

    def expansion(self, exp: ir.SegOp, lengths: list[set[Name]]) -> Expansion:
        """Return the expansion of one kernel."""
        return Expansion(self.ctx, self.types, lengths, exp, self.sizes, self.called)

    def of_version(self, exp: ir.If) -> ir.SegMap | None:
        """Return the single kernel of a version that has an alternative without it.

        Not for operators in loops: they would be a kernel per iteration.
        """
        cond = exp.cond
        while isinstance(cond, ir.Bin) and cond.op == "&&":
            cond = cond.lhs
        if not (isinstance(cond, ir.Var) and cond.name in self.thresholds and exp.then.stms):
            return None
        *first, last = exp.then.stms
        kernel = last.exp
        alone = all(isinstance(stm.exp, ir.Alloc) for stm in first)
        if not (alone and isinstance(kernel, ir.SegMap) and kernel.per_block and _allocates(last)):
            return None
        loops = (stm for stm in all_stms(kernel.body.stms) if isinstance(stm.exp, ir.Loop))
        again = any(isinstance(s.exp, ir.SegOp) for stm in loops for s in all_stms((stm,)))
        return None if again else kernel

    def version(
        self,
        stm: ir.Stm,
        exp: ir.If,
        kernel: ir.SegMap,
        lengths: list[set[Name]],
        out: list[ir.Stm],
    ) -> ir.Stm:
        """Guard a version by the condition that its shared blocks fit."""
        *first, last = exp.then.stms
        lengths = [*lengths, set()]
        for one in first:
            self.bind(one, lengths)
        inside: list[ir.Stm] = []
        made, fits = self.expansion(kernel, lengths).sharing(last, kernel, inside, out)
        cond = both(exp.cond, fits)
        self.bind(made, lengths)
        then = replace(exp.then, stms=(*first, *inside, made))
        orelse = replace(exp.orelse, stms=self.stms(exp.orelse.stms, [*lengths[:-1], set()]))
        return ir.Stm(stm.pat, ir.If(cond, then, orelse), stm.prov)


def _lengths(params: Iterable[ir.Param]) -> set[Name]:
    """Return the names in the shapes of arrays."""
    shapes = (param.type.shape for param in params if isinstance(param.type, ir.Array))
    return {name for shape in shapes for size in shape for name in size.names()}


def _shapes(stms: tuple[ir.Stm, ...]) -> dict[Name, tuple[Poly, ...]]:
    """Return the shape of the array that fills its block, for blocks allocated in a kernel."""
    counts: dict[Name, Poly] = {}
    found: dict[Name, tuple[Poly, ...]] = {}
    for stm in all_stms(stms):
        if isinstance(stm.exp, ir.Alloc):
            counts[stm.pat[0].name] = stm.exp.count
        for param in stm.pat:
            kind = param.type
            if isinstance(kind, ir.Array) and kind.mem is not None and kind.rank > 1:
                block = kind.mem.block
                if block not in found and counts.get(block) == Poly.product(kind.shape):
                    found[block] = kind.shape
    return found


def _allocates(stm: ir.Stm) -> bool:
    return any(isinstance(inner.exp, ir.Alloc) for inner in all_stms((stm,)))


class Owner:
    """Owner of one copy of a block each: threads of a kernel, or of an operator inside it."""

    def __init__(self, dims: tuple[tuple[Name, Poly], ...], is_block: bool = False) -> None:
        self.dims = dims
        self.is_block = is_block
        """True if all threads of a thread block share the copy, and traverse it together."""
        self.own: list[ir.Stm] = []
        """Allocations that stay, at the start of the owner's body."""
        self.left = SHARED_BYTES if is_block else PRIVATE_BYTES
        """Remaining bytes for them."""
        self.small = SMALL_IN_ALL
        """Remaining bytes for small private arrays."""

    def keeps(self, size: int) -> bool:
        """True if a private array of `size` bytes fits; reserves the space."""
        if size <= min(SMALL_BYTES, self.small):
            self.small -= size
        elif size <= self.left and not self.is_block:
            self.left -= size
        else:
            return False
        return True


class Expansion:
    """The expansion of one kernel."""

    def __init__(
        self,
        ctx: Ctx,
        outer: dict[Name, ir.Type],
        lengths: list[set[Name]],
        exp: ir.SegOp,
        sizes: Sizes,
        called: Inhabitants,
    ) -> None:
        self.exp = exp
        self.called = called
        self.sizes = sizes
        self.ctx = ctx
        self.outer = outer
        self.lengths = lengths
        self.types: ChainMap[Name, ir.Type] = ChainMap(outer)
        self.counts = AllocationSizes(exp.space, sizes.names)
        self.largest = LargestSizes(ctx, exp.space, exp.body.stms, called.fun, outer)
        per_block = isinstance(exp, ir.SegMap) and exp.per_block
        self.owner = Owner(exp.space.dims, per_block)
        self.before: list[ir.Stm] = []
        self.moved: dict[Name, tuple[Name, Owner, Poly]] = {}
        """For each expanded block: the new block, its owner, and the size per owner."""
        self.travelling: set[Name] = set()
        """Blocks returned by branches, which must not be private."""
        self.shapes: dict[Name, tuple[Poly, ...]] = {}
        """Shape of the array that fills its block, by block."""
        self.at_launch: dict[Poly, int] = {}
        """Element counts of shared blocks known at launch, with bytes per element."""
        self.used: set[Name] = set()
        """Names that the kernel mentions, if there are such blocks."""
        self.branches = 0
        """Number of branches around the current statement."""
        self.is_other = False
        """True if another version of the kernel shares such blocks."""

    def kernel(self, stm: ir.Stm, exp: ir.SegOp, out: list[ir.Stm]) -> ir.Stm:
        """Return the kernel without allocations; hoisted ones go to `out`."""
        return self._expanded(stm, self._prepared(exp), out)

    def sharing(
        self, stm: ir.Stm, exp: ir.SegOp, inside: list[ir.Stm], out: list[ir.Stm]
    ) -> tuple[ir.Stm, ir.SE]:
        """Return the kernel with its shared blocks, and the condition that they fit.

        Statements of the kernel go to `inside`, those of the condition to `out`.
        """
        body = self._prepared(exp)
        if self._has_launch_sizes(body):
            self.used = set().union(*map(mentioned, body.stms))
        made = self._expanded(stm, body, inside)
        return made, self._fit_together(stm.prov, out) if self.at_launch else ir.TRUE

    def _prepared(self, exp: ir.SegOp) -> ir.KernelBody:
        """Return the body with fixed blocks that share memory."""
        fixed = FixedBlocks(self.ctx, self.outer, self.called.spell)
        stms = tuple(fixed.transform(exp.body.stms, exp.body.results))
        self.types = fixed.types
        self.travelling = fixed.travelling
        body = replace(exp.body, stms=stms)
        return merge_inside(body, self.sizes, self.ctx, self.called, SMALL_BYTES)

    def _expanded(self, stm: ir.Stm, body: ir.KernelBody, out: list[ir.Stm]) -> ir.Stm:
        """Return the kernel with that body; statements before it go to `out`."""
        self.shapes = _shapes(body.stms)
        self.largest.stms = body.stms
        new = self._owned(replace(self.exp, body=body))
        for earlier in self.before:
            if isinstance(earlier.exp, ir.SegOp) and _allocates(earlier):
                earlier = Expansion(
                    self.ctx, self.outer, self.lengths, earlier.exp, self.sizes, self.called
                ).kernel(earlier, earlier.exp, out)
            out.append(earlier)
        return ir.Stm(stm.pat, new, stm.prov)

    def versions(self, stm: ir.Stm, exp: ir.SegOp, out: list[ir.Stm]) -> ir.Stm:
        """Return the kernel, in two versions if shared sizes are known only at launch.

        One uses shared memory, guarded by the condition that it fits, the other device memory.
        (Where another version of the code exists, neither is made: `_Host.version`.)
        """
        body = self._prepared(exp)
        if not self._has_launch_sizes(body):
            return self._expanded(stm, body, out)
        self.used = set().union(*map(mentioned, body.stms))
        other = Expansion(self.ctx, self.outer, self.lengths, exp, self.sizes, self.called)
        other.types, other.travelling = self.types.new_child(), self.travelling
        other.is_other = True
        alone: list[ir.Stm] = []
        made = self._expanded(stm, body, alone)
        if not self.at_launch:
            out += alone
            return made
        rest: list[ir.Stm] = []
        rest.append(other._expanded(stm, body, rest))
        cond = self._fit_together(stm.prov, out)
        results = tuple(param.name for param in stm.pat)
        then, orelse = (
            rename(ir.Body(tuple(side), results), self.ctx.fresh) for side in ([*alone, made], rest)
        )
        return ir.Stm(stm.pat, ir.If(cond, then, orelse), stm.prov)

    def _fit_together(self, prov: Prov, out: list[ir.Stm]) -> ir.SE:
        """Return the condition that shared blocks of launch-time sizes fit."""
        conds: list[ir.SE] = []
        total = Poly.const(0)
        for count, width in self.at_launch.items():
            name = count.as_name
            if name is None:
                stms, most = saturated(count, self.ctx.fresh, prov)
                name = self.ctx.fresh("size")
                out += [*stms, ir.Stm((ir.Param(name, ir.I64),), most, prov)]
            size = ir.Var(name, "i64")
            if not self.sizes.nonnegative(count):
                conds.append(ir.Bin(">=", "i64", size, ir.ZERO))
            conds.append(ir.Bin("<=", "i64", size, ir.Lit(self.owner.left // width, "i64")))
            total += Poly.var(name) * width
        if len(self.at_launch) > 1:
            conds.append(ir.Bin("<=", "i64", se_of(total), ir.Lit(self.owner.left, "i64")))
        return conjunction(conds)

    def _has_launch_sizes(self, body: ir.KernelBody) -> bool:
        """True if the body allocates shared blocks whose size is known at launch."""
        return any(
            isinstance(stm.exp, ir.Alloc)
            and stm.exp.space == "shared"
            and stm.exp.count.constant is None
            for stm in all_stms(body.stms)
        )

    def _owned(self, exp: ir.SegOp) -> ir.SegOp:
        """Return the operator of `self.owner`, its private blocks first in the body."""
        stms = self._stms(exp.body.stms)
        body = replace(exp.body, stms=(*self.owner.own, *stms))
        exp = replace(exp, body=body)
        return rewrite(exp, Rewrite(fn=self._operator, kernel=lambda same: same))

    def _stms(self, stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        out: list[ir.Stm] = []
        checked = len(self.counts.equal)
        for stm in stms:
            self.counts.enter(stm, self.types)
            if isinstance(stm.exp, ir.Alloc):
                out += self._alloc(stm.pat[0], stm.exp, stm.prov)
            else:
                out.append(self._stm(stm))
        del self.counts.equal[checked:]
        return tuple(out)

    def _stm(self, stm: ir.Stm) -> ir.Stm:
        exp: ir.Exp = stm.exp
        if isinstance(exp, ir.SegOp):
            exp = self._inner(exp)
        elif isinstance(exp, ir.Loop):
            if isinstance(exp.form, ir.ForLoop):
                self.counts.loop(exp.form.index, exp.form.bound)
            for param in exp.params:
                self.counts.made[param.name] = stm
            exp = replace(
                exp,
                params=tuple(self._rebound(param) for param in exp.params),
                body=replace(exp.body, stms=self._stms(exp.body.stms)),
            )
        elif isinstance(exp, ir.Push):
            exp = rewrite(exp, Rewrite(fn=self._operator))
        elif isinstance(exp, ir.If):
            then, orelse = self._branch(stm, exp.then), self._branch(stm, exp.orelse)
            exp = ir.If(exp.cond, then, orelse)
        return ir.Stm(tuple(self._rebound(param) for param in stm.pat), exp, stm.prov)

    def _branch(self, stm: ir.Stm, body: ir.Body) -> ir.Body:
        """Transform a branch; updates the layouts that it returns along with arrays."""
        self.branches += 1
        stms = self._stms(body.stms)
        self.branches -= 1
        results = list(body.results)
        for first, last in carried(stm.pat):
            kind = self.types[str(results[last])]
            assert isinstance(kind, ir.Array)
            assert kind.mem is not None
            if last - first == 2 + kind.rank and kind.mem.block != results[first]:
                results[first:last] = layout_parts(kind.mem)
        return ir.Body(stms, tuple(results))

    def _inner(self, exp: ir.SegOp) -> ir.SegOp:
        """Transform an operator inside the kernel; at block level it has its own threads."""
        for index, bound in exp.space.dims:
            self.counts.index(index, bound)
        if exp.level == "thread":
            changed = map_stms(exp, self._stms)
            assert isinstance(changed, ir.SegOp)
            return changed
        outer = self.owner
        self.owner = Owner(outer.dims + exp.space.dims)
        exp = self._owned(exp)
        self.owner = outer
        return exp

    def _operator(self, fn: ir.Lambda) -> ir.Lambda:
        """Transform an operator's function: all its blocks are private.

        Its calls cannot be numbered, so there is no place for each.
        """
        if not any(isinstance(stm.exp, ir.Alloc) for stm in all_stms(fn.body.stms)):
            return fn
        outer = self.owner
        self.owner = Owner(())
        stms = self._stms(fn.body.stms)
        body = replace(fn.body, stms=(*self.owner.own, *stms))
        self.owner = outer
        return ir.Lambda(fn.params, body, fn.returns)

    # --- one block ---

    def _alloc(self, param: ir.Param, exp: ir.Alloc, prov: Prov) -> list[ir.Stm]:
        """Place a block of the kernel; return the statements in place of its allocation.

        A negative constant size, in code that never runs, counts as 0.
        """
        if exp.count.constant is not None and exp.count.constant < 0:
            exp = replace(exp, count=Poly.const(0))
        if exp.space == "shared":
            size = self.sizes.most(exp.count)
            fits = size is not None and size * BYTES[exp.prim] <= self.owner.left
            if size is not None and (fits or param.name in self.travelling):
                self.owner.left -= size * BYTES[exp.prim]
                self._own(param, size, exp.prim, "shared", prov)
                shown = self.called.spell.size(exp.prim, Poly.const(size))
                because = f"The threads of a block share {self.called(param.name, prov)}."
                self.ctx.tell("note", EXPANSION, prov, because, numbers=(("at most", shown),))
                return []
            if self._is_launched(exp):
                if param.name in self.used:
                    self._at_launch(param, exp, prov)
                return []
            return self._expand(param, exp, prov)
        size = exp.count.constant
        stays = size is not None and param.name not in self.travelling
        if size is not None and stays and self.owner.keeps(size * BYTES[exp.prim]):
            self._own(param, size, exp.prim, "private", prov)
            shown = self.called.spell.size(exp.prim, exp.count)
            because = f"Every thread keeps {self.called(param.name, prov)} private."
            self.ctx.tell("note", EXPANSION, prov, because, numbers=(("per thread", shown),))
            return []
        return self._expand(param, exp, prov)

    def _is_launched(self, exp: ir.Alloc) -> bool:
        """True if the launch of this version knows the size of a shared block."""
        known = exp.count.constant is None and not self.counts.inner(exp.count)
        return known and self.owner.is_block and not self.is_other

    def _at_launch(self, param: ir.Param, exp: ir.Alloc, prov: Prov) -> None:
        """Keep a shared block of launch-time size."""
        width = self.at_launch.get(exp.count, 0) + BYTES[exp.prim]
        self.at_launch[exp.count] = width
        own = ir.Param(param.name, ir.Mem(exp.prim, "shared"))
        self.owner.own.append(ir.Stm((own,), exp, prov))
        because = (
            f"The threads of a block share {self.called(param.name, prov)} if it fits "
            "into shared memory; otherwise another version of the code runs."
        )
        numbers = (("per block of threads", self.called.spell.size(exp.prim, exp.count)),)
        self.ctx.tell("note", EXPANSION, prov, because, numbers=numbers)

    def _own(self, param: ir.Param, size: int, prim: Prim, space: ir.Space, prov: Prov) -> None:
        """Keep a block of `size` elements with its owner."""
        own = ir.Param(param.name, ir.Mem(prim, space))
        self.owner.own.append(ir.Stm((own,), ir.Alloc(Poly.const(size), prim, space), prov))

    def _expand(self, param: ir.Param, exp: ir.Alloc, prov: Prov) -> list[ir.Stm]:
        """Expand one block (procedure 4.5); return the statements in its place."""
        count, measured = None, False
        checks: list[ir.Stm] = []
        if self.owner.dims:
            shape = self.shapes.get(param.name, (exp.count,))
            count = self.counts.outside(exp.count, shape)
            if count is not None and self._may_be_none(count):
                others = self.counts.others(count)
                count = next((one for one in others if not self._may_be_none(one)), None)
            if count is None:
                if self.ctx.target.allocates_in_kernels and param.name not in self.travelling:
                    return [self._kept(param, exp, prov)]
                count = self.largest.of(param.name, self.before)
                measured = count is not None
            if count is None:
                count = self.counts.outside(exp.count, shape, by_wholes=True)
            certain = not self.counts.inner(exp.count) or self.counts.is_certain(exp.count)
            if count is not None and not measured and not certain:
                checks = self._fits(exp, count, prov)
        if count is None:
            raise Limitation.at(
                codes.limits.KERNEL_SIZE,
                f"The size of {self.called(param.name, prov)} is known only inside the "
                "kernel, which cannot allocate memory.",
                prov,
                "Use an array whose size does not depend on its earlier contents.",
            )
        self._make(param, exp, count, prov, measured)
        return checks

    def _may_be_none(self, count: Poly) -> bool:
        """True if a size may be negative or too large because no thread takes the branch.

        Not if arrays outside have the sizes in it: those are valid anyway.
        """
        names = count.names()
        if not self.branches or not names:
            return False
        return not all(any(name in known for known in self.lengths) for name in names)

    def _kept(self, param: ir.Param, exp: ir.Alloc, prov: Prov) -> ir.Stm:
        """Keep a block whose size only its thread knows; the thread allocates it."""
        name = self.called(param.name, prov)
        because = f"Every thread allocates memory for {name}, whose size only that thread knows."
        numbers = (("per thread", self.called.spell.size(exp.prim, exp.count)),)
        self.ctx.tell("note", EXPANSION, prov, because, numbers=numbers)
        kind = ir.Mem(exp.prim, "private")
        return ir.Stm((ir.Param(param.name, kind),), ir.Alloc(exp.count, exp.prim, "private"), prov)

    def _fits(self, exp: ir.Alloc, most: Poly, prov: Prov) -> list[ir.Stm]:
        """Check that a thread's block does not exceed its part of the expanded one."""
        stms, count = saturated(exp.count, self.ctx.fresh, prov)
        size = f" elements of {BYTES[exp.prim]} bytes (type {exp.prim})."
        message = ("There is not enough memory for an array of ", count, size)
        return [
            *stms,
            ir.Stm((), ir.Assert(ir.Bin("<=", "i64", count, se_of(most)), message), prov),
        ]

    def _make(
        self, param: ir.Param, exp: ir.Alloc, count: Poly, prov: Prov, measured: bool
    ) -> None:
        """Allocate one block for all threads, with `count` elements for each."""
        total = Poly.product(bound for _, bound in self.owner.dims) * count
        new = ir.Param(self.ctx.fresh(param.name), ir.Mem(exp.prim))
        self.before.append(ir.Stm((new,), ir.Alloc(total, exp.prim), prov))
        self.moved[param.name] = (new.name, self.owner, count)
        whose, order = "thread", "one thread's elements after another's"
        if self.owner.is_block:
            whose, order = "block of threads", "the elements of each next to each other"
        elif self.ctx.target.in_step:
            order = "the elements of all threads at one index next to each other"
        because = (
            f"Every {whose} needs its own {self.called(param.name, prov)}: all are in "
            f"one memory block, {order}."
        )
        if measured:
            because += " A kernel before it computes the largest size."
        sizes = [self.called.spell.size(exp.prim, number) for number in (count, total)]
        numbers = ((f"per {whose}", sizes[0]), ("in all", sizes[1]))
        self.ctx.tell("note", EXPANSION, prov, because, numbers=numbers)

    def _rebound(self, param: ir.Param) -> ir.Param:
        """Return a name with its array's new index function."""
        kind = param.type
        if isinstance(kind, ir.Array) and kind.mem is not None and kind.mem.block in self.moved:
            block, owner, count = self.moved[kind.mem.block]
            mem = ir.MemBind(block, self._of_thread(kind.mem.lmad, owner, count))
            param = ir.Param(param.name, ir.Array(kind.prim, kind.shape, mem), param.unique)
        self.types[param.name] = param.type
        return param

    def _of_thread(self, lmad: Lmad[Poly], owner: Owner, count: Poly) -> Lmad[Poly]:
        """Return an index function into the current thread's part of the expanded block."""
        flat, threads = Poly.const(0), Poly.const(1)
        for index, bound in owner.dims:
            flat = flat * bound + Poly.var(index)
            threads = threads * bound
        if owner.is_block or not self.ctx.target.in_step:
            return Lmad(flat * count + lmad.offset, lmad.dims)
        dims = tuple(Dim(dim.size, dim.stride * threads) for dim in lmad.dims)
        return Lmad(flat + lmad.offset * threads, dims)


EXPAND = Pass("expand", "Moves allocations out of kernels.", expand, (DOUBLE_BUFFER, EXPANSION))
