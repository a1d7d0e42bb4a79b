"""Lower IMP to kernel IR: host statements launch thread code (`nodes.py`).

The input is IMP for a target with thread blocks; the output contains no IMP kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from itertools import count

from compiler import codes
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.errors import Limitation
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.remarks import Applied
from compiler.base.rules import Pass
from compiler.base.spans import Prov
from compiler.base.target import SHORT_SEGMENT
from compiler.codegen.c.types import c_name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import map_bodies
from compiler.codegen.index import mul, product
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.bins import COUNT, LOCKS, needs_lock, update_bin
from compiler.codegen.kernels.block_sizes import FEWER, FITTED, POINTS, busy_threads, fewer_threads
from compiler.codegen.kernels.blocks import map_code
from compiler.codegen.kernels.columns import ByColumns, by_columns
from compiler.codegen.kernels.fma import FMA, fused
from compiler.codegen.kernels.folds import (
    BLOCKS,
    CHUNK,
    SEVERAL,
    components,
    elements_per_thread,
    first_stage,
    ordered,
    part,
    result_cell,
    second_stage,
    third_stage,
)
from compiler.codegen.kernels.fuse_scan_map import (
    HANDED,
    NEAR,
    ScanMapFusion,
    Users,
    plan_fusion,
    total,
)
from compiler.codegen.kernels.hists import PASSES, SHARED_BINS, hist_stage, plan
from compiler.codegen.kernels.kept_rows import KEPT_ROWS, keep_rows
from compiler.codegen.kernels.large_tiles import BUSY, LARGE_TILES, enlarge
from compiler.codegen.kernels.look_back import BECAUSE, LOOK_BACK, LookBack
from compiler.codegen.kernels.map_squares import squares
from compiler.codegen.kernels.no_elements import of_elements
from compiler.codegen.kernels.repeats import ROUNDS, given_numbers
from compiler.codegen.kernels.resident import RESIDENT, resident
from compiler.codegen.kernels.rows import LANES, ROWS, row_code, rows
from compiler.codegen.kernels.same_blocks import Blocks, Same, at_kernels, points_to
from compiler.codegen.kernels.scan_cache import KEPT, kept_points
from compiler.codegen.kernels.sink_loads import SUNK, sink_loads
from compiler.codegen.kernels.stencil_code import stencil_code
from compiler.codegen.kernels.stencils import STENCILS, stencil
from compiler.codegen.kernels.thread_rows import MANY, THREAD_ROWS, thread_row_code, thread_rows
from compiler.codegen.kernels.threads import i64, own_point, thread_code
from compiler.codegen.kernels.tiled import tile_count, tiled_code
from compiler.codegen.kernels.tiles import TILED, Axis, tiling, worth
from compiler.codegen.kernels.transpose import SQUARES, transposition, unit_stride_dims
from compiler.codegen.kernels.walk import params, shared_bytes
from compiler.codegen.kernels.wide import MANY as MANY_POINTS
from compiler.codegen.kernels.wide import WIDE, wide_fold, wide_map
from compiler.codegen.sequential import copy_body, copy_dims, sequential, with_updates
from compiler.codegen.traits import traits_of
from compiler.codegen.turned_loads import turned_loads
from compiler.ir.build import conjunction
from compiler.ir.nodes import ONE, SE, TRUE, ZERO, Bin, Conv, Lit, Var
from compiler.ir.sizes import poly_of
from compiler.parallel.versions import COLUMNS
from compiler.storage.coalesce import MAP_SQUARES

SMALL_SEGMENT = 32
"""Maximum size of segments reduced or scanned by one thread each."""
FEWEST = 4
"""Minimum elements per thread of a reduction or scan; one if an element contains a loop, so that
a few thousand of these occupy more than a few multiprocessors."""


def lower(prog: imp.ImpProg, ctx: Ctx) -> imp.ImpProg:
    """Return the program with launches in place of kernels."""
    lowering = _Lowering(ctx)
    launched = (replace(f, body=lowering.entry(f)) for f in prog.funs)
    numbers = count(1)
    settled = (resident(f, ctx, numbers) for f in launched)
    numbered = (replace(f, body=given_numbers(f.body, ctx)) for f in settled)
    made = tuple(replace(f, body=fused(sink_loads(f.body, ctx), ctx)) for f in numbered)
    return imp.ImpProg(made, prog.applied)


KERNELS = Pass(
    "kernels",
    "Lowers kernels to threads, barriers and shared memory.",
    lower,
    (
        ROWS,
        THREAD_ROWS,
        SEVERAL,
        HANDED,
        KEPT,
        LOOK_BACK,
        SHARED_BINS,
        TILED,
        LARGE_TILES,
        STENCILS,
        WIDE,
        SQUARES,
        FITTED,
        FEWER,
        KEPT_ROWS,
        RESIDENT,
        ROUNDS,
        SUNK,
        FMA,
    ),
)


class _Lowering:
    """Lowers host statements; numbers the copies that become kernels."""

    def __init__(self, ctx: Ctx) -> None:
        self.ctx, self.target = ctx, ctx.target
        self.copies = 0
        self.blocks: Blocks = {}
        self.results: frozenset[str] = frozenset()
        self.same: dict[int, Same] = {}
        self.known: dict[Name, Poly] = {}

    def entry(self, fun: imp.ImpFun) -> imp.Stms:
        """Lower an entry point."""
        self.blocks = points_to(fun)
        self.same = at_kernels(fun.body)
        self.results = frozenset(value for value in fun.values if isinstance(value, str))
        return self.host(fun.body)

    def host(self, stms: imp.Stms) -> imp.Stms:
        """Lower host statements."""
        out: list[imp.Stm] = []
        left, gone, made = list(stms), set[str](), set[str]()
        scans = any(isinstance(getattr(stm, "work", None), imp.ScanWork) for stm in left)
        users = Users(left if scans else ())
        for at, stm in enumerate(left):
            match stm:
                case imp.Alloc(name) if name not in self.results:
                    made.add(name)
                    out.append(stm)
                case imp.Kernel(work=imp.ScanWork()) if plan := self.fuse_scan(
                    stm, tuple(left[at + 1 : at + 1 + NEAR]), made, users
                ):
                    first, last = self.stages(stm, c_name(stm.name), plan)
                    out += first
                    for old, new in zip(left[at + 1 :], plan.between, strict=False):
                        if new is not old:
                            users.replace(old, new)
                    left[at + 1 : at + 1 + NEAR] = [*plan.between, *last, *plan.behind]
                    gone |= plan.gone
                case imp.Kernel():
                    out.extend(self.kernel(stm))
                case imp.Define(name, "i64", value) if poly := poly_of(value):
                    self.known[name] = poly.put_in(self.known)
                    out.append(stm)
                case imp.Copy(_, _, to, _, come) if not (to.is_row_major() and come.is_row_major()):
                    out.append(self.copy(stm))
                case _:
                    out.append(map_bodies(stm, self.host))
        return tuple(s for s in out if not (isinstance(s, imp.Alloc | imp.Free) and s.name in gone))

    def fuse_scan(
        self, scan: imp.Kernel, behind: imp.Stms, made: Set[str], users: Users
    ) -> ScanMapFusion | None:
        """Fuse a map among the statements after a scan with it, if possible."""
        plan = plan_fusion(scan, behind, made, users, self.blocks)
        if isinstance(plan, Applied) and isinstance(scan.work, imp.ScanWork):
            tile = elements_per_thread(scan.work.folds, True, self.target, plan.new.kept)
            if not isinstance(tile, Applied) or self.ctx.options.is_off(SEVERAL):
                return None
        return self.ctx.commit(HANDED, scan.prov, plan)

    def copy(self, stm: imp.Copy) -> k.Launch:
        """Lower a non-contiguous copy: a map, or a transposition by tiles."""
        self.copies += 1
        dims, body = copy_dims(stm), copy_body(stm)
        name = f"copy_{self.copies}"
        kernel = imp.Kernel(name, "grid", dims, body, imp.MapWork(), prov=stm.prov)
        ends = self.ctx.commit(
            SQUARES, stm.prov, unit_stride_dims(stm), blocks=(stm.dest, stm.source)
        )
        if ends is None:
            return self.map(kernel, name)
        code, blocks = transposition(stm, ends)
        return k.Launch(self.function(name, code, kernel), "blocks", blocks, prov=stm.prov)

    def kernel(self, kernel: imp.Kernel) -> imp.Stms:
        """Return the launches that implement a kernel."""
        name = c_name(kernel.name)
        match kernel.work:
            case imp.MapWork():
                locks: imp.Stms = ()

                def update(hist: imp.Histogram, prov: Prov) -> imp.Stms:
                    nonlocal locks
                    locks = self.locks([hist], prov) or locks
                    return (update_bin(hist, self.target, prov),)

                body = with_updates(kernel.body, update)
                if body is kernel.body:
                    return self.tiled(kernel, name)
                return (*locks, self.map(replace(kernel, body=body), name))
            case imp.HistWork():
                return self.hist(kernel, kernel.work, name)
            case imp.ReduceWork(folds) | imp.ScanWork(folds):
                return self.staged(kernel, of_elements(kernel, folds), name)

    def function(self, name: str, body: imp.Stms, source: imp.Kernel) -> k.Kernel:
        """Return a kernel whose parameters are the free names of its body.

        Raises Limitation if it needs more shared memory than a thread block has.
        """
        made = k.Kernel(name, params(body), body, source.prov)
        need, there = shared_bytes(made), self.target.shared_bytes
        if need > there:
            raise Limitation.at(
                codes.limits.GPU_MEMORY,
                f"A block of threads needs {need} bytes of shared memory here, and has {there}.",
                source.prov,
                "Combine fewer values at once, or run the program with the C backend.",
            )
        return made

    def map(self, kernel: imp.Kernel, name: str) -> k.Launch:
        """Launch a thread, or a thread block, per point."""
        made = self.function(name, map_code(kernel), kernel)
        points = product([size for _, size in kernel.dims])
        if not kernel.per_block:
            return k.Launch(made, "points", points, prov=kernel.prov)
        threads, many = self.target.threads, self.ctx.options.limit(POINTS)
        busy = self.ctx.commit(FITTED, kernel.prov, busy_threads(made, threads))
        otherwise = Lit(threads, "i64") if busy is None else busy
        fewer = fewer_threads(made, points, otherwise, many)
        busy = self.ctx.commit(FEWER, kernel.prov, fewer) or busy
        kept = keep_rows(made, self.same.get(id(kernel)))
        if code := self.ctx.commit(KEPT_ROWS, kernel.prov, kept):
            made = replace(made, body=code)
        return k.Launch(made, "blocks", points, busy=busy, prov=kernel.prov)

    def tiled(self, kernel: imp.Kernel, name: str) -> imp.Stms:
        """Launch a thread block per tile of points, or a thread per point."""
        alone, prov = self.map(kernel, name), kernel.prov
        plan = self.ctx.commit(TILED, prov, tiling(kernel, self.target))
        if plan is not None:
            code, axes, where = tiled_code(kernel, plan), plan.axes, worth(plan)
            small = self.by_tiles(kernel, f"{name}_tiled", code, axes, where, (alone,))
            many = enlarge(kernel, plan, self.ctx.options.limit(BUSY))
            large = self.ctx.commit(LARGE_TILES, prov, many)
            if large is None:
                return small
            code, where = tiled_code(kernel, large.plan), [large.enough, *worth(plan)]
            return self.by_tiles(kernel, f"{name}_large", code, large.plan.axes, where, small)
        around = stencil(kernel, self.target, self.same.get(id(kernel)), self.known)
        found = self.ctx.commit(STENCILS, prov, around)
        if found is None:
            return self.squares(kernel, name, alone) or self.wide(kernel, name, alone)
        code = stencil_code(kernel, found, self.target.threads)
        return self.by_tiles(kernel, f"{name}_stencil", code, found.axes, found.large, (alone,))

    def squares(self, kernel: imp.Kernel, name: str, alone: k.Launch) -> imp.Stms:
        """Launch a thread block per square of a map that reads across, if it does."""
        turned = None if self.ctx.options.is_off(MAP_SQUARES) else turned_loads(kernel)
        if turned is None:
            return ()
        code, count, where = squares(kernel, turned)
        made = replace(self.function(f"{name}_squares", code, kernel), threads=self.target.threads)
        launch = k.Launch(made, "blocks", count, prov=kernel.prov)
        return (imp.If(conjunction(where), (launch,), (alone,), kernel.prov),)

    def wide(self, kernel: imp.Kernel, name: str, alone: k.Launch) -> imp.Stms:
        """Launch a thread for several neighbouring points where there are many, else for each."""
        prov, least = kernel.prov, self.ctx.options.limit(MANY_POINTS)
        several = self.ctx.commit(WIDE, prov, wide_map(kernel, least))
        if several is None:
            return (alone,)
        made = self.function(f"{name}_wide", several.code, kernel)
        launch = k.Launch(made, "points", several.threads, prov=prov)
        if several.where == TRUE:
            return (launch,)
        return (imp.If(several.where, (launch,), (alone,), prov),)

    def by_tiles(
        self,
        kernel: imp.Kernel,
        name: str,
        code: imp.Stms,
        axes: Sequence[Axis],
        where: Iterable[SE],
        others: imp.Stms,
    ) -> imp.Stms:
        """Launch a thread block per tile where that pays, else run `others`."""
        prov = kernel.prov
        made = replace(self.function(name, code, kernel), threads=self.target.threads)
        launch = k.Launch(made, "blocks", tile_count(kernel, axes), prov=prov)
        large = conjunction(where)
        return (launch,) if large == TRUE else (imp.If(large, (launch,), others, prov),)

    def hist(self, kernel: imp.Kernel, work: imp.HistWork, name: str) -> imp.Stms:
        """Lower a histogram: bins in shared memory, or direct updates by a thread per point."""
        prov = kernel.prov
        locks = self.locks(work.hists, prov)
        outcome = plan(kernel, work.hists, self.target)
        made = self.ctx.commit(SHARED_BINS, prov, outcome)
        if made is None:
            return (*locks, self.bins(kernel, work, name))
        code = hist_stage(kernel, work, made, self.target)
        *outer, (_, size) = kernel.dims
        segments = product([size for _, size in outer])
        shared = self.function(f"{name}_shared", code, kernel)
        stages: imp.Stms = (k.Ranges(BLOCKS, CHUNK, segments, size, made.least, prov),)
        if made.passes != ONE:
            stages += (imp.Define(PASSES, "i64", made.passes, prov),)
            segments = mul(segments, i64(PASSES))
        stages += (k.Launch(shared, "blocks", segments, BLOCKS, prov),)
        if made.worth == TRUE:
            return (*locks, *stages)
        return (*locks, imp.If(made.worth, stages, (self.bins(kernel, work, name),), prov))

    def bins(self, kernel: imp.Kernel, work: imp.HistWork, name: str) -> k.Launch:
        """Launch a thread per point that updates bins of the result."""
        prov = kernel.prov
        updates = tuple(update_bin(hist, self.target, prov) for hist in work.hists)
        body = own_point(kernel) + thread_code(kernel.body) + updates
        points = product([size for _, size in kernel.dims])
        return k.Launch(self.function(name, body, kernel), "points", points, prov=prov)

    def locks(self, hists: Sequence[imp.Histogram], prov: Prov) -> imp.Stms:
        """Allocate the locks that histograms need."""
        return (
            (k.Zeros(LOCKS, "i32", Lit(COUNT, "i64"), prov),) if any(map(needs_lock, hists)) else ()
        )

    def staged(self, kernel: imp.Kernel, folds: tuple[imp.Fold, ...], name: str) -> imp.Stms:
        """Lower a fold in two or three stages; short segments get a few lanes each, or a thread."""
        plan = None if self.ctx.options.is_off(COLUMNS) else by_columns(kernel, folds, self.target)
        if plan is not None:
            return self.short(kernel, name, self.columns(plan, name))
        before, behind = self.stages(kernel, name)
        stages, prov = before + behind, kernel.prov
        *outer, last = kernel.dims
        if not outer:
            return stages
        lanes = self.ctx.commit(ROWS, prov, rows(kernel))
        if lanes is not None:
            made = self.function(f"{name}_rows", row_code(kernel, folds), kernel)
            wide = Conv("i32", "i64", Var(LANES, "i32"))
            points = mul(product([size for _, size in outer]), wide)
            launch = k.Launch(made, "points", points, prov=prov)
            few: SE = Bin("<=", "i64", last[1], Lit(SHORT_SEGMENT, "i64"))
            lanes_each = (imp.Define(LANES, "i32", lanes, prov), launch)
            return self.by_thread(kernel, folds, name, (imp.If(few, lanes_each, stages, prov),))
        return self.short(kernel, name, stages)

    def short(self, kernel: imp.Kernel, name: str, others: imp.Stms) -> imp.Stms:
        """Launch a thread for each segment where they are short; elsewhere `others`."""
        *outer, last = kernel.dims
        inner = sequential(replace(kernel, dims=(last,)))
        small = replace(kernel, dims=tuple(outer), body=inner, work=imp.MapWork())
        short = Bin("<=", "i64", last[1], Lit(SMALL_SEGMENT, "i64"))
        return (imp.If(short, (self.map(small, f"{name}_short"),), others, kernel.prov),)

    def columns(self, plan: ByColumns, name: str) -> imp.Stms:
        """Launch both stages of a reduction of columns."""
        prov = plan.kernel.prov
        first = self.function(f"{name}_columns", plan.first(), plan.kernel)
        first = replace(first, threads=self.target.threads)
        second = self.function(f"{name}_of_blocks", plan.second(), plan.kernel)
        return (
            *plan.host(),
            k.Launch(first, "blocks", plan.blocks, BLOCKS, prov),
            k.Launch(second, "points", plan.segments, prov=prov),
        )

    def by_thread(
        self, kernel: imp.Kernel, folds: tuple[imp.Fold, ...], name: str, others: imp.Stms
    ) -> imp.Stms:
        """Launch a thread per segment for many very short ones; else run `others`."""
        prov, threads = kernel.prov, self.target.threads
        outcome = thread_rows(kernel, folds, self.target, self.ctx.options.limit(MANY))
        short = self.ctx.commit(THREAD_ROWS, prov, outcome)
        if short is None:
            return others
        code, blocks = thread_row_code(kernel, folds, short.longest, threads)
        made = replace(self.function(f"{name}_thread_rows", code, kernel), threads=threads)
        return (imp.If(short.where, (k.Launch(made, "blocks", blocks, prov=prov),), others, prov),)

    def stages(
        self, kernel: imp.Kernel, name: str, plan: ScanMapFusion | None = None
    ) -> tuple[imp.Stms, imp.Stms]:
        """Return the stages before and after host statements.

        Ranges, then their results; for a scan, after that, the ranges again.
        """
        kernel = plan.scan if plan else kernel
        assert isinstance(kernel.work, imp.ReduceWork | imp.ScanWork)
        folds = of_elements(kernel, kernel.work.folds)
        prov, scan = kernel.prov, isinstance(kernel.work, imp.ScanWork)
        kept = plan.kept if plan else ()
        tile = self.ctx.commit(SEVERAL, prov, elements_per_thread(folds, scan, self.target, kept))
        if scan and tile and not (plan and plan.totals):
            looks = Applied(LookBack(kernel, folds, tile), BECAUSE)
            if one := self.ctx.commit(LOOK_BACK, prov, looks):
                only = self.one_pass(one, name, plan)
                return ((), only) if plan else (only, ())
        segments = product([size for _, size in kernel.dims[:-1]])
        each = 1 if traits_of(kernel.body).loops else FEWEST
        size, least = kernel.dims[-1][1], Lit(each * self.target.threads, "i64")
        ranges = k.Ranges(BLOCKS, CHUNK, segments, size, least, prov)
        out: list[imp.Stm] = [ranges]
        for lhs, prim, _ in components(folds):
            out.append(k.Part(part(lhs), prim, segments, BLOCKS, prov))
        cells = [] if scan else _variables(folds)
        out += [k.Part(result_cell(name_), prim, ONE, prov=prov) for name_, prim in cells]
        out += [k.Part(total(lhs), p, ONE, prov=prov) for lhs, p in (plan.totals if plan else ())]

        def launch(stage: str, code: imp.Stms, times: str = BLOCKS) -> k.Launch:
            made = self.function(f"{name}_{stage}", code, kernel)
            return k.Launch(made, "blocks", segments, times, prov)

        points = None
        if scan:
            outcome = kept_points(kernel, folds, kept, self.blocks)
            points = self.ctx.commit(KEPT, prov, outcome)
        if points:
            every = product([size for _, size in kernel.dims])
            out += [k.Part(cell, prim, every, prov=prov) for cell, prim in points.cells]
        first = points.first if points else None
        wide = None
        if not ordered(folds):
            wide = self.ctx.commit(WIDE, prov, wide_fold(kernel, folds))
        out.append(launch("first", first_stage(kernel, folds, tile, first, wide)))
        out.append(launch("second", second_stage(kernel, folds, tile, plan), ""))
        out += [k.Fetch(name_, prim, result_cell(name_), ZERO, prov) for name_, prim in cells]
        if not scan:
            return tuple(out), ()
        if points:
            kernel, folds = replace(kernel, body=points.last), points.folds
            plan = plan and replace(plan, kept=points.ends)
        last = launch("third", third_stage(kernel, folds, tile, plan))
        return tuple(out), (ranges, last) if plan else (last,)

    def one_pass(self, scan: LookBack, name: str, plan: ScanMapFusion | None) -> imp.Stms:
        """Launch a scan with look-back."""
        made = self.function(f"{name}_look_back", scan.code(plan), scan.kernel)
        made = replace(made, threads=self.target.threads)
        launch = k.Launch(made, "blocks", scan.count, prov=scan.kernel.prov)
        return (*scan.host(self.target.threads), launch)


def _variables(folds: Sequence[imp.Fold]) -> list[tuple[str, Prim]]:
    """Return the host variables that a reduction assigns."""
    return [
        (into, prim)
        for fold in folds
        for into, prim in zip(fold.into, fold.op.prims, strict=True)
        if isinstance(into, str)
    ]
