"""Reductions and scans on the GPU, and histograms.

Each block of threads takes a range of a segment, in order, so that operators need not commute; a
second kernel combines the ranges, and for scans a third one goes over the ranges again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.codegen.c.types import c_name
from compiler.codegen.cuda.atomics import needs_lock, update_bin
from compiler.codegen.cuda.kernels import CudaMaps, KernelParam, Launchable
from compiler.codegen.imp.nodes import Cell, Fold, HistWork, Kernel, ReduceWork, ScanWork, Stms
from compiler.codegen.index import product
from compiler.codegen.sequential import accumulate, begin, combine, finish
from compiler.codegen.traits import builtin, may_recompute, traits_of, without_stores
from compiler.ir.nodes import ZERO, Var


class CudaKernels(CudaMaps):
    """Device code with all kinds of kernels."""

    # --- reductions and scans ----------------------------------------------------------------

    def block_fold(self, kernel: Kernel, folds: tuple[Fold, ...], scan: bool) -> None:
        """An inner reduction or scan: segment by segment, tile by tile."""
        self.open("{")
        self.shared(folds)
        for index, size in kernel.dims[:-1]:
            i = c_name(index)
            self.open(f"for (int64_t {i} = 0; {i} < {self.show(size)}; {i}++) {{")
        self.carries(folds)
        end = self.show(kernel.dims[-1][1])
        self.tiles(kernel, folds, "0", end, scan, kernel.body)
        if not scan:
            self.results(folds, kernel.prov)
        for _ in kernel.dims[:-1]:
            self.close()
        self.close()

    def shared(self, folds: Sequence[Fold]) -> None:
        """Shared memory for one value per thread and component; all folds of a kernel share it."""
        at = 0
        for fold in folds:
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
                kind = self.type(prim)
                self.line(f"{kind} *{c_name(lhs)}_all = ({kind} *)(pool + {at} * THREADS);")
                at += 8
        self.pool = max(self.pool, at)

    def carries(self, folds: Sequence[Fold], start: dict[Name, str] | None = None) -> None:
        """What stands before the next tile, in every thread."""
        for fold in folds:
            for lhs, prim, ne in zip(fold.op.lhs, fold.op.prims, fold.op.neutral, strict=True):
                value = start[lhs] if start else self.show(ne)
                self.line(f"{self.type(prim)} {c_name(lhs)}_carry = {value};")

    def tiles(
        self,
        kernel: Kernel,
        folds: tuple[Fold, ...],
        low: str,
        high: str,
        scan: bool,
        body: Stms,
    ) -> None:
        """Tile after tile of as many elements as there are threads, from `low` up to `high`."""
        index = c_name(kernel.dims[-1][0])
        tile = f"{index}_tile"
        if not scan and all(builtin(fold.op) or fold.op.commutative for fold in folds):
            self.strided(kernel, folds, low, high, body)
            return
        self.open(f"for (int64_t {tile} = {low}; {tile} < {high}; {tile} += THREADS) {{")
        self.line(f"const int64_t {index} = {tile} + threadIdx.x;")
        for fold in folds:
            self.plain(begin(fold.op, kernel.prov))
        self.open(f"if ({index} < {high}) {{")
        steps = [s for fold in folds for s in accumulate(fold, kernel.prov)]
        self.point(body, steps)
        self.close()
        for fold in folds:
            self.tree(fold, kernel.prov, scan)
        if scan:
            self.open(f"if ({index} < {high}) {{")
            for fold in folds:
                self.before(fold, kernel.prov)
                self.plain(finish(fold, kernel.prov))
            self.close()
        for fold in folds:
            self.next_carry(fold, kernel.prov)
        self.line("__syncthreads();")
        self.close()

    def strided(
        self, kernel: Kernel, folds: tuple[Fold, ...], low: str, high: str, body: Stms
    ) -> None:
        """Operators that commute: every thread takes elements of its own, one tree at the end."""
        i = c_name(kernel.dims[-1][0])
        for fold in folds:
            self.plain(begin(fold.op, kernel.prov))
        self.open(f"for (int64_t {i} = {low} + threadIdx.x; {i} < {high}; {i} += THREADS) {{")
        self.point(body, [s for fold in folds for s in accumulate(fold, kernel.prov)])
        self.close()
        for fold in folds:
            self.tree(fold, kernel.prov, False)
            for n in map(c_name, fold.op.lhs):
                self.line(f"{n}_carry = {n}_all[THREADS - 1];")
        self.line("__syncthreads();")

    def tree(self, fold: Fold, prov: Prov, scan: bool) -> None:
        """Inclusive prefixes over the threads, in shared memory, in log2 steps and in order.

        A reduction takes the last one. Afterwards the left operands hold the thread's prefix.
        """
        op = fold.op
        for lhs in op.lhs:
            self.line(f"{c_name(lhs)}_all[threadIdx.x] = {c_name(lhs)};")
        self.line("__syncthreads();")
        self.open("for (int step = 1; step < THREADS; step *= 2) {")
        self.open("if (threadIdx.x >= step) {")
        self.line("const int other = threadIdx.x - step;")
        self.combine_texts(
            fold, [f"{c_name(n)}_all[other]" for n in op.lhs], [c_name(n) for n in op.lhs], prov
        )
        self.close()
        self.line("__syncthreads();")
        for lhs in op.lhs:
            self.line(f"{c_name(lhs)}_all[threadIdx.x] = {c_name(lhs)};")
        self.line("__syncthreads();")
        self.close()

    def combine_texts(
        self, fold: Fold, first: Sequence[str], second: Sequence[str], prov: Prov
    ) -> None:
        """`lhs := first op second`, all given as text."""
        op = fold.op
        self.open("{")
        for rhs, prim, text in zip(op.rhs, op.prims, second, strict=True):
            self.line(f"const {self.type(prim)} {c_name(rhs)} = {text};")
        for lhs, text in zip(op.lhs, first, strict=True):
            self.line(f"{c_name(lhs)} = {text};")
        kept = self.scalars.names
        own = {rhs: c_name(rhs) for rhs in op.rhs}
        self.scalars.names = {k: v for k, v in kept.items() if k not in own}
        inputs = [Var(rhs, prim) for rhs, prim in zip(op.rhs, op.prims, strict=True)]
        steps = tuple(s for s in combine(op, inputs, prov) if getattr(s, "name", "") not in op.rhs)
        self.plain(steps)
        self.scalars.names = kept
        self.close()

    def before(self, fold: Fold, prov: Prov) -> None:
        """Put what stands before the tile in front of the thread's prefix."""
        names = [c_name(n) for n in fold.op.lhs]
        self.combine_texts(fold, [f"{n}_carry" for n in names], names, prov)

    def next_carry(self, fold: Fold, prov: Prov) -> None:
        """What stands before the next tile."""
        names = [c_name(n) for n in fold.op.lhs]
        self.open("{")
        last = [f"{n}_all[THREADS - 1]" for n in names]
        self.combine_texts(fold, [f"{n}_carry" for n in names], last, prov)
        for n in names:
            self.line(f"{n}_carry = {n};")
        self.close()

    def results(self, folds: Sequence[Fold], prov: Prov) -> None:
        """Put a reduction's outcome where it belongs: variables in all threads, cells by one."""
        for fold in folds:
            for into, lhs, prim in zip(fold.into, fold.op.lhs, fold.op.prims, strict=True):
                carry = f"{c_name(lhs)}_carry"
                if isinstance(into, Cell):
                    place = f"{c_name(into.block)}[{self.show(into.at)}]"
                    text = self.written(prim, carry)
                    self.line(f"if (threadIdx.x == 0) {place} = {text};")
                else:
                    self.line(f"{c_name(into)} = {carry};")

    def parts(self, folds: Sequence[Fold]) -> list[KernelParam]:
        """Blocks for the outcomes of the first stage."""
        return [
            KernelParam(f"{lhs}_part", prim, True)
            for fold in folds
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True)
        ]

    def range_head(self, kernel: Kernel, name: str) -> tuple[str, str]:
        """Which segment and which range of it a block of threads works on."""
        *outer, (index, size) = kernel.dims
        self.line("const int64_t segment = blockIdx.x / blocks_0;")
        self.line("const int64_t range = blockIdx.x % blocks_0;")
        if outer:
            self.indices(outer, "segment")
        i, end = c_name(index), self.show(size)
        self.line(f"const int64_t {i}_low = range * chunk_0;")
        self.line(
            f"const int64_t {i}_high = {end} - {i}_low < chunk_0 ? {end} : {i}_low + chunk_0;"
        )
        return f"{i}_low", f"{i}_high"

    def first_stage(self, kernel: Kernel, folds: tuple[Fold, ...], name: str) -> Launchable:
        """Every block of threads reduces its range of a segment."""
        numbers = [KernelParam("blocks_0", "i64", False), KernelParam("chunk_0", "i64", False)]
        body = kernel.body
        scan = isinstance(kernel.work, ScanWork)
        twice = scan and may_recompute(body, traits_of(body))
        if twice:
            body = without_stores(body)
        arguments = self.kernel_head(
            name, replace(kernel, body=body), [*self.parts(folds), *numbers]
        )
        low, high = self.range_head(kernel, name)
        self.shared(folds)
        self.carries(folds)
        self.tiles(kernel, folds, low, high, scan and not twice, body)
        for fold in folds:
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
                n = c_name(lhs)
                text = self.written(prim, f"{n}_carry")
                self.line(f"if (threadIdx.x == 0) {c_name(lhs + '_part')}[blockIdx.x] = {text};")
        return self.launchable(name, arguments)

    def second_stage(self, kernel: Kernel, folds: tuple[Fold, ...], name: str) -> Launchable:
        """One block of threads per segment combines the outcomes of the first stage.

        For a scan they become what stands before each range.
        """
        scan = isinstance(kernel.work, ScanWork)
        flat = self.part_kernel(kernel, folds, scan)
        numbers = [KernelParam("blocks_0", "i64", False)]
        arguments = self.kernel_head(name, flat, [*self.parts(folds), *numbers, *self.cells(folds)])
        self.line("const int64_t segment = blockIdx.x;")
        if kernel.dims[:-1]:
            self.indices(kernel.dims[:-1], "segment")
        self.shared(folds)
        self.carries(folds)
        index = "block_0"
        self.open("for (int64_t tile = 0; tile < blocks_0; tile += THREADS) {")
        self.line(f"const int64_t {index} = tile + threadIdx.x;")
        for fold in folds:
            self.plain(begin(fold.op, kernel.prov))
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
                place = f"{c_name(lhs + '_part')}[segment * blocks_0 + {index}]"
                self.line(f"if ({index} < blocks_0) {c_name(lhs)} = {self.read(prim, place)};")
        for fold in folds:
            self.tree(fold, kernel.prov, scan)
            if scan:
                self.exclusive(fold, kernel.prov, index)
            self.next_carry(fold, kernel.prov)
        self.line("__syncthreads();")
        self.close()
        if not scan:
            self.second_results(folds)
        return self.launchable(name, arguments)

    def part_kernel(self, kernel: Kernel, folds: tuple[Fold, ...], scan: bool) -> Kernel:
        """What the second stage uses of a kernel: operators and places, not the body."""
        dims = (*kernel.dims[:-1], ("block_0", Var("blocks_0", "i64")))
        kept = tuple(
            replace(f, inputs=tuple(ZERO for _ in f.inputs), into=() if scan else f.into)
            for f in folds
        )
        if scan:
            kept = tuple(
                replace(f, into=tuple(Cell(f"{n}_part", ZERO) for n in f.op.lhs)) for f in kept
            )
        return replace(kernel, dims=dims, body=(), work=ReduceWork(kept))

    def cells(self, folds: Sequence[Fold]) -> list[KernelParam]:
        """One-element blocks for results that are variables of the host."""
        return [
            KernelParam(f"{into}_cell", prim, True)
            for fold in folds
            for into, prim in zip(fold.into, fold.op.prims, strict=True)
            if isinstance(into, str)
        ]

    def second_results(self, folds: Sequence[Fold]) -> None:
        """The result of a segment, by one thread."""
        for fold in folds:
            for into, lhs, prim in zip(fold.into, fold.op.lhs, fold.op.prims, strict=True):
                place = (
                    f"{c_name(into.block)}[{self.show(into.at)}]"
                    if isinstance(into, Cell)
                    else f"{c_name(into + '_cell')}[0]"
                )
                text = self.written(prim, f"{c_name(lhs)}_carry")
                self.line(f"if (threadIdx.x == 0) {place} = {text};")

    def exclusive(self, fold: Fold, prov: Prov, index: str) -> None:
        """Replace a range's total by what stands before it."""
        names = [c_name(n) for n in fold.op.lhs]
        self.open("{")
        for n, ne in zip(names, fold.op.neutral, strict=True):
            self.line(f"{n} = threadIdx.x > 0 ? {n}_all[threadIdx.x - 1] : {self.show(ne)};")
        self.before(fold, prov)
        for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
            place = f"{c_name(lhs + '_part')}[segment * blocks_0 + {index}]"
            text = self.written(prim, c_name(lhs))
            self.line(f"if ({index} < blocks_0) {place} = {text};")
        self.close()

    def third_stage(self, kernel: Kernel, folds: tuple[Fold, ...], name: str) -> Launchable:
        """Every block of threads scans its range, from what stands before it on."""
        numbers = [KernelParam("blocks_0", "i64", False), KernelParam("chunk_0", "i64", False)]
        arguments = self.kernel_head(name, kernel, [*self.parts(folds), *numbers])
        low, high = self.range_head(kernel, name)
        self.shared(folds)
        start = {
            lhs: self.read(prim, f"{c_name(lhs + '_part')}[blockIdx.x]")
            for fold in folds
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True)
        }
        if may_recompute(kernel.body, traits_of(kernel.body)):
            self.carries(folds, start)
            self.tiles(kernel, folds, low, high, True, kernel.body)
        else:
            self.add_prefixes(kernel, folds, start, low, high)
        return self.launchable(name, arguments)

    def add_prefixes(
        self,
        kernel: Kernel,
        folds: tuple[Fold, ...],
        start: dict[Name, str],
        low: str,
        high: str,
    ) -> None:
        """Put what stands before the range in front of each prefix that the first stage made."""
        i = c_name(kernel.dims[-1][0])
        self.open(f"for (int64_t {i} = {low} + threadIdx.x; {i} < {high}; {i} += THREADS) {{")
        for fold in folds:
            cells = [into for into in fold.into if isinstance(into, Cell)]
            own = [
                self.read(p, f"{c_name(c.block)}[{self.show(c.at)}]")
                for c, p in zip(cells, fold.op.prims, strict=True)
            ]
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
                self.line(f"{self.type(prim)} {c_name(lhs)};")
            self.combine_texts(fold, [start[n] for n in fold.op.lhs], own, kernel.prov)
            self.plain(finish(fold, kernel.prov))
        self.close()

    # --- histograms --------------------------------------------------------------------------

    def hist(self, kernel: Kernel, work: HistWork, name: str) -> Launchable:
        """A thread per point; bins are updated by atomic operations, or under a lock."""
        locked = any(needs_lock(hist) for hist in work.hists)
        locks = [KernelParam("locks_0", "i32", True)] if locked else []
        arguments = self.kernel_head(name, kernel, locks)
        total = self.show(product([size for _, size in kernel.dims]))
        self.line("const int64_t point = (int64_t)blockIdx.x * THREADS + threadIdx.x;")
        self.line(f"if (point >= {total}) return;")
        self.indices(kernel.dims, "point")
        self.stms(kernel.body)
        for hist in work.hists:
            update_bin(self, hist, kernel.prov)
        return self.launchable(name, arguments)
