"""Kernels on all cores: OpenMP loops over flat blocks of memory.

Maps share out their points; the last dimension is cut into pieces, so that long rows are shared out
too and the innermost loop is left for vectors. Reductions and scans work in blocks of a fixed
number of elements, so that results do not depend on the number of threads. Histograms give
every thread bins of its own where there are few bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.ir.nodes import SE, Lit, Scalar, Var
from compiler.target.c_stms import Statements
from compiler.target.c_types import C_TYPE, c_name
from compiler.target.imp_nodes import (
    Alloc,
    Assign,
    Bins,
    Cell,
    Copy,
    Declare,
    Define,
    Fold,
    For,
    Free,
    HistWork,
    If,
    Kernel,
    Load,
    MapWork,
    ReduceWork,
    ScanWork,
    Stm,
    Stms,
    Store,
)
from compiler.target.index import poly_exp, product, row_major
from compiler.target.sequential import (
    accumulate,
    begin,
    combine,
    copy_body,
    copy_dims,
    finish,
    inside,
    is_dense,
    next_name,
    sequential,
    update_bins,
)
from compiler.target.traits import (
    Traits,
    builtin,
    may_run_twice,
    reads,
    stored,
    traits_of,
    without_stores,
    work_of,
)

PARALLEL_WORK = 1 << 16
"""Operations below which a kernel runs on one core."""
PIECE = 4096
"""Points of the innermost loop of a map that stay together."""
BLOCK = 16384
"""Elements of a reduction or scan that stay together; fewer where a point is a lot of work."""
HEAVY_BLOCK = 64


class Kernels(Statements):
    """C statements with kernels. `label` is where a failed check goes; None among host statements."""

    label: str | None = None
    labels = 0

    # --- single statements -------------------------------------------------------------------

    def fail(self, call: str) -> None:
        """Report, then leave the point of the kernel or the program."""
        self.line(f"ss_fail({call});")
        self.line("return 1;" if self.label is None else f"goto {self.label};")

    def run_alloc(self, stm: Alloc) -> None:
        """A counted block of the host, or scratch memory of a point."""
        kind, name = C_TYPE[stm.prim], c_name(stm.name)
        if self.label is None:
            count = self.once(stm.count, f"{name}_count")
            site = self.site(stm.prov, self.no_memory(stm))
            self.line(f"{kind} *{name} = ss_alloc({count}, sizeof({kind}));")
            self.open(f"if (!{name}) {{")
            self.fail(site)
            self.close()
        elif not self.local_array(stm):
            self.line(f"{kind} *{name} = ss_scratch({self.show(stm.count)}, sizeof({kind}));")
            self.scratch.append(name)

    def no_memory(self, stm: Alloc) -> tuple[str | SE, ...]:
        """What to say when there is not enough memory."""
        return (
            "not enough memory for an array of ",
            stm.count,
            f" elements of {BYTES[stm.prim]} bytes (type {stm.prim})",
        )

    def declare_block(self, stm: Declare, kind: object) -> None:
        """On the host a variable that holds a block is counted."""
        if self.label is not None:
            super().declare_block(stm, stm.type)  # type: ignore[arg-type]
            return
        prim = stm.type.prim
        start = "0" if stm.value is None else f"ss_hold({self.operand(stm.value)})"
        self.line(f"{C_TYPE[prim]} *{c_name(stm.name)} = {start};")

    def assign(self, stm: Assign) -> None:
        """Blocks on the host are counted."""
        if isinstance(stm.value, str) and self.label is None:
            self.line(f"ss_set({c_name(stm.name)}, {c_name(stm.value)});")
        else:
            super().assign(stm)

    def free(self, stm: Free) -> None:
        """The variable lets go of its block."""
        if self.label is None:
            self.line(f"ss_drop({c_name(stm.name)});")

    def loop_pragma(self, stm: For) -> str:
        """Let lanes share a plain reduction or a loop of independent stores."""
        return reduction_pragma(stm) if self.label is not None else ""

    def run_copy(self, stm: Copy) -> None:
        """One `memcpy` where both are dense, else a map."""
        if is_dense(stm.dest_lmad) and is_dense(stm.source_lmad):
            count = product([poly_exp(d.size) for d in stm.dest_lmad.dims])
            dest = f"{c_name(stm.dest)} + {self.scalars.within(poly_exp(stm.dest_lmad.offset), 10)}"
            source = f"{c_name(stm.source)} + {self.scalars.within(poly_exp(stm.source_lmad.offset), 10)}"
            move = "ss_copy" if self.label is None else "__builtin_memmove"
            size = f"{self.scalars.within(count, 10)} * (int64_t)sizeof({C_TYPE[stm.prim]})"
            self.line(f"{move}({dest}, {source}, {size});".replace(" + 0,", ","))
        elif self.label is None:
            dims, body = copy_dims(stm), copy_body(stm)
            self.open("{")
            self.run_kernel(Kernel("copy", "grid", dims, body, MapWork(), prov=stm.prov))
            self.close()
        else:
            self.open("{")
            super().run_copy(stm)
            self.close()

    # --- kernels -----------------------------------------------------------------------------

    def run_kernel(self, kernel: Kernel) -> None:
        """A kernel of the host in parallel; one of a block in sequence."""
        if self.label is not None:
            for stm in sequential(kernel):
                self.stms((stm,))
            return
        name = c_name(kernel.name)
        self.open("{ // " + kernel.name)
        kernel = self.simple_bounds(kernel)
        match kernel.work:
            case MapWork():
                self.map(kernel)
            case ReduceWork(folds):
                self.reduce(kernel, folds, name)
            case ScanWork(folds):
                self.scan(kernel, folds, name)
            case HistWork(hists):
                self.hist(kernel, hists, name)
        if traits_of(kernel.body).asserts or _ops_assert(kernel):
            self.line("if (ss_failed) return 1;")
        self.close()

    def simple_bounds(self, kernel: Kernel) -> Kernel:
        """The kernel with names or literals for bounds, as OpenMP's loops want them."""
        dims: list[tuple[Name, SE]] = []
        for index, bound in kernel.dims:
            if type(bound) is not Lit and type(bound) is not Var:
                name = f"{next_name(index).replace('_next', '_end', 1)}"
                self.line(f"const int64_t {c_name(name)} = {self.show(bound)};")
                bound = Var(name, "i64")
            dims.append((index, bound))
        return replace(kernel, dims=tuple(dims))

    def condition(self, kernel: Kernel, traits: Traits) -> str:
        """`if(..)`: run in parallel only if there is enough to do."""
        work = work_of(kernel, traits)
        least = max(1, PARALLEL_WORK // max(1, traits.weight))
        if type(work) is Lit:
            return "" if int(work.value) >= least else " if(0)"
        if least == 1:
            return ""
        return f" if({self.scalars.within(work, 8)} >= {least})"

    def parallel(self, kernel: Kernel, traits: Traits, loops: int, simd: bool = False) -> None:
        """The directive before `loops` nested loops that are shared out."""
        collapse = f" collapse({loops})" if loops > 1 else ""
        schedule = " schedule(dynamic)" if traits.uneven else ""
        vector = " simd" if simd else ""
        cond = self.condition(kernel, traits)
        self.line(f"#pragma omp parallel for{vector}{collapse}{schedule}{cond}")

    def body(self, stms: Stms, traits: Traits, after: Sequence[Stm] = ()) -> None:
        """A point's statements; failed checks jump behind them, scratch memory is given back."""
        self.labels += 1
        outer, self.label = self.label, f"next_{self.labels}"
        kept, self.scratch = self.scratch, []
        if traits.allocs:
            self.scratch_names(stms)
        self.stms(stms)
        self.stms(after)
        if traits.asserts or self.scratch:
            self.line(f"{self.label}:;")
        for name in self.scratch:
            self.line(f"ss_unscratch({name});")
        self.scratch = kept
        self.label = outer

    def scratch_names(self, stms: Stms) -> None:
        """Nothing to prepare in C: `ss_scratch` memory is on the point's own list."""

    def map(self, kernel: Kernel) -> None:
        """Share out the points."""
        traits = traits_of(kernel.body)
        dims = kernel.dims
        if not dims:
            self.body(kernel.body, traits)
            return
        if len(dims) == 1:
            simd = traits.straight
            self.parallel(kernel, traits, 1, simd)
            self.loop_over(dims[0])
            self.body(kernel.body, traits)
            self.close()
            return
        self.pieces(kernel, traits)

    def loop_over(self, dim: tuple[Name, SE], low: str = "0", high: str = "") -> None:
        """The head of a loop over a dimension or a part of it."""
        index = c_name(dim[0])
        end = high or self.show(dim[1])
        self.open(f"for (int64_t {index} = {low}; {index} < {end}; {index}++) {{")

    def pieces(self, kernel: Kernel, traits: Traits) -> None:
        """Several dimensions: the last one is cut into pieces, all others are shared out."""
        *outer, last = kernel.dims
        if not traits.straight:
            self.parallel(kernel, traits, len(kernel.dims))
            for dim in kernel.dims:
                self.loop_over(dim)
            self.body(kernel.body, traits)
            for _ in kernel.dims:
                self.close()
            return
        cut = not (type(last[1]) is Lit and int(last[1].value) <= PIECE)
        self.parallel(kernel, traits, len(outer) + cut)
        for dim in outer:
            self.loop_over(dim)
        index, end = c_name(last[0]), self.show(last[1])
        if cut:
            low, high = f"{index}_low", f"{index}_high"
            self.open(f"for (int64_t {low} = 0; {low} < {end}; {low} += {PIECE}) {{")
            self.line(f"const int64_t {high} = {end} - {low} < {PIECE} ? {end} : {low} + {PIECE};")
        self.line("#pragma omp simd")
        self.loop_over(last, *((low, high) if cut else ()))
        self.body(kernel.body, traits)
        self.close()
        if cut:
            self.close()
        for _ in outer:
            self.close()

    # --- reductions and scans ----------------------------------------------------------------

    def by_segment(self, kernel: Kernel) -> Kernel:
        """The kernel as a map over its segments, each done in sequence."""
        inner = sequential(replace(kernel, dims=kernel.dims[-1:]))
        return replace(kernel, dims=kernel.dims[:-1], body=inner, work=MapWork())

    def blocks(self, kernel: Kernel, folds: Sequence[Fold], name: str, block: int) -> str:
        """Declare the number of blocks per segment, and an array for the blocks' outcomes."""
        *outer, (_, bound) = kernel.dims
        count = f"{name}_blocks"
        self.line(f"const int64_t {count} = ({self.show(bound)} + {block - 1}) / {block};")
        segments = [f"{self.scalars.within(size, 10)} * " for _, size in outer]
        for fold in folds:
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
                part, kind = f"{c_name(lhs)}_part", C_TYPE[prim]
                self.line(f"{kind} *{part} = ss_alloc({''.join(segments)}{count}, sizeof({kind}));")
                self.open(f"if (!{part}) {{")
                self.fail(self.site(kernel.prov, ("not enough memory for partial results",)))
                self.close()
        return count

    def drop_blocks(self, folds: Sequence[Fold]) -> None:
        """Free what `blocks` allocated."""
        for fold in folds:
            for lhs in fold.op.lhs:
                self.line(f"ss_drop({c_name(lhs)}_part);")

    def part_at(self, kernel: Kernel, count: str, block: str) -> str:
        """The place of a block's outcome among those of all segments."""
        outer = kernel.dims[:-1]
        if not outer:
            return block
        at = row_major([Var(i, "i64") for i, _ in outer], [size for _, size in outer])
        return f"{self.scalars.within(at, 10)} * {count} + {block}"

    def block_loops(
        self, kernel: Kernel, traits: Traits, count: str, block: int, name: str
    ) -> tuple[str, str]:
        """Open the loops over segments and blocks; answers the ends of a block."""
        *outer, (index, bound) = kernel.dims
        self.parallel(kernel, traits, len(kernel.dims))
        for dim in outer:
            self.loop_over(dim)
        b = f"{name}_block"
        self.open(f"for (int64_t {b} = 0; {b} < {count}; {b}++) {{")
        low, high = f"{c_name(index)}_low", f"{c_name(index)}_high"
        end = self.show(bound)
        self.line(f"const int64_t {low} = {b} * {block};")
        self.line(f"const int64_t {high} = {end} - {low} < {block} ? {end} : {low} + {block};")
        return low, high

    def close_all(self, count: int) -> None:
        """As many closing braces."""
        for _ in range(count):
            self.close()

    def reduce(self, kernel: Kernel, folds: tuple[Fold, ...], name: str) -> None:
        """Every block on its own, then the blocks' outcomes in order."""
        traits = traits_of(kernel.body)
        block = HEAVY_BLOCK if traits.loops else BLOCK
        bound = kernel.dims[-1][1]
        segmented = len(kernel.dims) > 1
        if segmented:
            if type(bound) is Lit and int(bound.value) <= block:
                self.map(self.by_segment(kernel))
                return
            self.nested_map(f"if ({self.show(bound)} <= {block}) {{", self.by_segment(kernel))
            self.open("} else {")
        count = self.blocks(kernel, folds, name, block)
        low, high = self.block_loops(kernel, traits, count, block, name)
        self.fold_range(kernel, folds, traits, low, high, kernel.body)
        at = self.part_at(kernel, count, f"{name}_block")
        self.keep_parts(folds, at)
        self.close_all(len(kernel.dims))
        self.second_stage(kernel, folds, traits, count, name)
        self.drop_blocks(folds)
        if segmented:
            self.close()

    def nested_map(self, head: str, kernel: Kernel) -> None:
        """A map under a condition; the closing brace is left to what follows."""
        self.open(head)
        self.map(kernel)
        self.indent = self.indent[:-4]

    def keep_parts(self, folds: Sequence[Fold], at: str) -> None:
        """Put a block's outcome where the second stage finds it."""
        for fold in folds:
            for lhs in fold.op.lhs:
                self.line(f"{c_name(lhs)}_part[{at}] = {c_name(lhs)};")

    def fold_range(
        self,
        kernel: Kernel,
        folds: Sequence[Fold],
        traits: Traits,
        low: str,
        high: str,
        body: Stms,
    ) -> None:
        """Reduce a range of the last dimension into the operators' left operands."""
        self.in_thread(tuple(s for fold in folds for s in begin(fold.op, kernel.prov)))
        kinds = [builtin(fold.op) for fold in folds]
        whole = _with_ops(traits, folds)
        if whole.straight and all(kinds):
            shares = " ".join(
                f"reduction({kind}:{c_name(fold.op.lhs[0])})"
                for kind, fold in zip(kinds, folds, strict=True)
            )
            self.line(f"#pragma omp simd {shares}")
        self.loop_over(kernel.dims[-1], low, high)
        steps = [s for fold in folds for s in accumulate(fold, kernel.prov)]
        self.body(body, whole, steps)
        self.close()

    def in_thread(self, stms: Stms) -> None:
        """Statements of a thread that cannot fail."""
        outer, self.label = self.label, self.label or "thread"
        self.stms(stms)
        self.label = outer

    def second_stage(
        self, kernel: Kernel, folds: Sequence[Fold], traits: Traits, count: str, name: str
    ) -> None:
        """Combine the blocks of each segment, and put the result where it belongs."""
        outer = kernel.dims[:-1]
        if outer:
            self.parallel(replace(kernel, dims=outer), Traits(weight=8), len(outer))
        for dim in outer:
            self.loop_over(dim)
        self.in_thread(tuple(s for fold in folds for s in begin(fold.op, kernel.prov)))
        b = f"{name}_block"
        self.open(f"for (int64_t {b} = 0; {b} < {count}; {b}++) {{")
        self.combine_parts(kernel, folds, self.part_at(kernel, count, b))
        self.close()
        self.in_thread(tuple(s for fold in folds for s in finish(fold, kernel.prov)))
        self.close_all(len(outer))

    def combine_parts(self, kernel: Kernel, folds: Sequence[Fold], at: str) -> None:
        """Combine the accumulators with a block's outcome."""
        steps: list[Stm] = []
        parts: dict[Name, str] = {}
        for fold in folds:
            inputs = []
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
                part = f"part_of_{lhs}"
                parts[part] = f"{c_name(lhs)}_part[{at}]"
                inputs.append(Var(part, prim))
            steps.extend(combine(fold.op, inputs, kernel.prov))
        self.scalars.names = {**self.scalars.names, **parts}
        self.body(tuple(steps), traits_of(tuple(steps)))
        self.scalars.names = {k: v for k, v in self.scalars.names.items() if k not in parts}

    def scan(self, kernel: Kernel, folds: tuple[Fold, ...], name: str) -> None:
        """Blocks' totals, their prefixes, then every block again from its prefix on.

        A point's body runs twice if it is cheap; else the first pass keeps what it computed.
        """
        traits = traits_of(kernel.body)
        block = HEAVY_BLOCK if traits.loops else BLOCK
        bound = kernel.dims[-1][1]
        segmented = len(kernel.dims) > 1
        if segmented:
            if type(bound) is Lit and int(bound.value) <= block:
                self.map(self.by_segment(kernel))
                return
            self.nested_map(f"if ({self.show(bound)} <= {block}) {{", self.by_segment(kernel))
            self.open("} else {")
        count = self.blocks(kernel, folds, name, block)
        at = self.part_at(kernel, count, f"{name}_block")
        low, high = self.block_loops(kernel, traits, count, block, name)
        twice = may_run_twice(kernel.body, traits)
        if not twice:
            self.scan_range(kernel, folds, traits, low, high)
        else:
            self.fold_range(kernel, folds, traits, low, high, without_stores(kernel.body))
        self.keep_parts(folds, at)
        self.close_all(len(kernel.dims))
        self.prefixes(kernel, folds, count, name)
        low, high = self.block_loops(kernel, traits, count, block, name)
        if not twice:
            self.add_prefix(kernel, folds, low, high, at)
        else:
            self.take_prefix(folds, at)
            self.loop_over(kernel.dims[-1], low, high)
            self.body(kernel.body, _with_ops(traits, folds), _scan_steps(folds, kernel))
            self.close()
        self.close_all(len(kernel.dims))
        self.drop_blocks(folds)
        if segmented:
            self.close()

    def scan_range(
        self, kernel: Kernel, folds: Sequence[Fold], traits: Traits, low: str, high: str
    ) -> None:
        """Scan a range from the neutral element on."""
        self.in_thread(tuple(s for fold in folds for s in begin(fold.op, kernel.prov)))
        self.loop_over(kernel.dims[-1], low, high)
        self.body(kernel.body, _with_ops(traits, folds), _scan_steps(folds, kernel))
        self.close()

    def take_prefix(self, folds: Sequence[Fold], at: str) -> None:
        """Accumulators start as what stands before the block."""
        for fold in folds:
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
                self.line(f"{C_TYPE[prim]} {c_name(lhs)} = {c_name(lhs)}_part[{at}];")

    def prefixes(self, kernel: Kernel, folds: Sequence[Fold], count: str, name: str) -> None:
        """Turn the blocks' totals into what stands before each block."""
        outer = kernel.dims[:-1]
        for dim in outer:
            self.loop_over(dim)
        self.in_thread(tuple(s for fold in folds for s in begin(fold.op, kernel.prov)))
        b = f"{name}_block"
        self.open(f"for (int64_t {b} = 0; {b} < {count}; {b}++) {{")
        at = self.part_at(kernel, count, b)
        for fold in folds:
            inputs: list[SE] = []
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
                total = f"{c_name(lhs)}_total"
                self.line(f"const {C_TYPE[prim]} {total} = {c_name(lhs)}_part[{at}];")
                self.line(f"{c_name(lhs)}_part[{at}] = {c_name(lhs)};")
                self.scalars.names = {**self.scalars.names, total: total}
                inputs.append(Var(total, prim))
            steps = combine(fold.op, inputs, kernel.prov)
            self.body(steps, traits_of(steps))
        self.close_all(1 + len(outer))

    def add_prefix(
        self, kernel: Kernel, folds: Sequence[Fold], low: str, high: str, at: str
    ) -> None:
        """Put what stands before the block in front of each of its prefixes."""
        self.loop_over(kernel.dims[-1], low, high)
        self.take_prefix(folds, at)
        for fold in folds:
            loads: list[Stm] = []
            inputs: list[SE] = []
            for into, lhs, prim in zip(fold.into, fold.op.lhs, fold.op.prims, strict=True):
                assert isinstance(into, Cell)
                own = next_name(lhs).replace("_next", "_own", 1)
                loads.append(Load(own, prim, into.block, into.at, kernel.prov))
                inputs.append(Var(own, prim))
            steps = (*loads, *combine(fold.op, inputs, kernel.prov), *finish(fold, kernel.prov))
            self.body(steps, traits_of(steps))
        self.close()

    # --- histograms --------------------------------------------------------------------------

    def hist(self, kernel: Kernel, hists: tuple[Bins, ...], name: str) -> None:
        """Segments in parallel if there are several; else parts of the points with own bins."""
        traits = traits_of(kernel.body)
        points = kernel.dims[-1][1]
        parts = f"{name}_parts"
        sizes = [self.scalars.within(product(bins.shape), 10) for bins in hists]
        need = " + ".join(sizes)
        self.line(
            f"const int64_t {parts} = ss_parts({self.show(points)}, {need}, {traits.weight});"
        )
        outer = kernel.dims[:-1]
        segments = self.show(product([size for _, size in outer]))
        several = f"{segments} >= {parts} || " if outer else ""
        if outer:
            self.nested_map(f"if ({several}{parts} <= 1) {{", self.by_segment(kernel))
        else:
            self.open(f"if ({parts} <= 1) {{")
            inner = sequential(kernel)
            self.body(inner, traits_of(inner))
            self.indent = self.indent[:-4]
        self.open("} else {")
        for dim in outer:
            self.loop_over(dim)
        self.private_bins(kernel, hists, name, traits)
        self.close_all(1 + len(outer))

    def private_bins(
        self, kernel: Kernel, hists: tuple[Bins, ...], name: str, traits: Traits
    ) -> None:
        """Each part of the points fills bins of its own, which are then combined in order."""
        parts, part = f"{name}_parts", f"{name}_part"
        own = [self.own_bins(kernel, bins, k, name) for k, bins in enumerate(hists)]
        self.line("#pragma omp parallel for schedule(static, 1)")
        self.open(f"for (int64_t {part} = 0; {part} < {parts}; {part}++) {{")
        for bins, (size, blocks) in zip(hists, own, strict=True):
            self.clear_bins(bins, size, blocks, part)
        points = self.show(kernel.dims[-1][1])
        low, high = f"{points} * {part} / {parts}", f"{points} * ({part} + 1) / {parts}"
        self.line(f"const int64_t {name}_high = {high};")
        self.loop_over(kernel.dims[-1], low, f"{name}_high")
        updates = tuple(
            stm
            for bins, (size, blocks) in zip(hists, own, strict=True)
            for stm in self.update_own(kernel, bins, blocks, size, part)
        )
        self.body(kernel.body + updates, traits)
        self.close_all(2)
        for bins, (size, blocks) in zip(hists, own, strict=True):
            self.merge_bins(kernel, bins, size, blocks, name)
            for block in blocks:
                self.line(f"ss_drop({c_name(block)});")

    def own_bins(self, kernel: Kernel, bins: Bins, k: int, name: str) -> tuple[str, list[Name]]:
        """Allocate the parts' bins."""
        size = f"{name}_bins{k}"
        self.line(f"const int64_t {size} = {self.show(product(bins.shape))};")
        blocks = []
        for lhs, prim in zip(bins.op.lhs, bins.op.prims, strict=True):
            block = next_name(lhs).replace("_next", "_bins", 1)
            kind = C_TYPE[prim]
            self.line(f"{kind} *{c_name(block)} = ss_alloc({name}_parts * {size}, sizeof({kind}));")
            self.open(f"if (!{c_name(block)}) {{")
            self.fail(self.site(kernel.prov, ("not enough memory for partial histograms",)))
            self.close()
            blocks.append(block)
        return size, blocks

    def clear_bins(self, bins: Bins, size: str, blocks: Sequence[Name], part: str) -> None:
        """A part's bins start at the neutral element."""
        self.open(f"for (int64_t bin = 0; bin < {size}; bin++) {{")
        for block, ne in zip(blocks, bins.op.neutral, strict=True):
            self.line(f"{c_name(block)}[{part} * {size} + bin] = {self.show(ne)};")
        self.close()

    def update_own(
        self, kernel: Kernel, bins: Bins, blocks: Sequence[Name], size: str, part: str
    ) -> Stms:
        """As `update_bins`, with a part's own bins as destinations."""
        at = row_major(bins.bins, bins.shape)
        base = Var(f"{part}_base", "i64")
        self.scalars.names = {**self.scalars.names, base.name: f"{part} * {size}"}
        place = Var(f"{part}_{size}_at", "i64")
        self.scalars.names = {
            **self.scalars.names,
            place.name: f"{part} * {size} + {self.scalars.within(at, 9)}",
        }
        return own_update(kernel, bins, blocks, place)

    def merge_bins(
        self, kernel: Kernel, bins: Bins, size: str, blocks: Sequence[Name], name: str
    ) -> None:
        """Combine the parts' bins, in order, with the destination."""
        index = [(f"{name}_b{k}_0", bound) for k, bound in enumerate(bins.shape)]
        at = row_major([Var(i, "i64") for i, _ in index], bins.shape)
        part = f"{name}_part"
        place = Var(f"{part}_{size}_at", "i64")
        self.scalars.names = {
            **self.scalars.names,
            place.name: f"{part} * {size} + {self.scalars.within(at, 9)}",
        }
        loads: list[Stm] = []
        values: list[SE] = []
        for block, lhs, prim in zip(blocks, bins.op.lhs, bins.op.prims, strict=True):
            own = next_name(lhs).replace("_next", "_own", 1)
            loads.append(Load(own, prim, block, place, kernel.prov))
            values.append(Var(own, prim))
        points = tuple(Var(i, "i64") for i, _ in index)
        always = replace(bins, bins=points, values=tuple(values))
        (guarded,) = update_bins(always, kernel.prov)
        assert isinstance(guarded, If)
        traits = traits_of(guarded.then)
        whole = replace(kernel, dims=tuple(index), work=MapWork())
        self.parallel(whole, traits, len(index))
        for dim in index:
            self.loop_over(dim)
        self.open(f"for (int64_t {part} = 0; {part} < {name}_parts; {part}++) {{")
        self.body((*loads, *guarded.then), traits)
        self.close_all(1 + len(index))


def own_update(kernel: Kernel, bins: Bins, blocks: Sequence[Name], place: SE) -> Stms:
    """Combine one bin of a part with a point's values, unless the place is outside."""
    op = bins.op
    loads = tuple(
        Load(lhs, prim, block, place, kernel.prov)
        for block, lhs, prim in zip(blocks, op.lhs, op.prims, strict=True)
    )
    rhs = tuple(
        Define(name, prim, value, kernel.prov)
        for name, prim, value in zip(op.rhs, op.prims, bins.values, strict=True)
    )
    stores = tuple(
        Store(block, prim, place, result, kernel.prov)
        for block, prim, result in zip(blocks, op.prims, op.results, strict=True)
    )
    cond = inside(bins.bins, bins.shape)
    return (If(cond, (*loads, *rhs, *op.body, *stores), (), kernel.prov),)


def reduction_pragma(stm: For) -> str:
    """`#pragma omp simd ..` for a loop whose lanes may run together; "" for others.

    That is a straight body that stores nothing and ends in `acc := acc op value` for variables
    from outside that are used nowhere else.
    """
    traits = traits_of(stm.body)
    if not traits.straight or traits.branches or stored(stm.body):
        return ""
    ends = [s for s in stm.body if isinstance(s, Assign)]
    if not ends:
        return ""
    shares = []
    accumulators = {s.name for s in ends}
    for other in stm.body:
        if isinstance(other, Declare):
            return ""
        value = None if isinstance(other, (Assign, Load)) else getattr(other, "value", None)
        at = other.at if isinstance(other, Load) else None
        for se in (value, at):
            if se is not None and reads(se) & accumulators and other.name not in _COPIES:
                return ""
    for end in ends:
        kind = _shared(end)
        if kind is None:
            return ""
        shares.append(f"reduction({kind}:{c_name(end.name)})")
    return f"#pragma omp simd {' '.join(shares)}"


_COPIES: frozenset[Name] = frozenset()


def _shared(end: Assign) -> str | None:
    """The operator of `acc := acc op value` where `value` does not read `acc`."""
    from compiler.ir.nodes import Bin
    from compiler.target.traits import BUILTIN

    value = end.value
    if not isinstance(value, Bin) or value.op not in BUILTIN or value.at in ("f16", "bool"):
        return None
    sides = [value.lhs, value.rhs]
    own = [s for s in sides if isinstance(s, Var) and s.name == end.name]
    rest = [s for s in sides if not (isinstance(s, Var) and s.name == end.name)]
    if len(own) != 1 or len(rest) != 1 or end.name in reads(rest[0]):
        return None
    return BUILTIN[value.op]


def _scan_steps(folds: Sequence[Fold], kernel: Kernel) -> list[Stm]:
    return [
        stm
        for fold in folds
        for stm in (*accumulate(fold, kernel.prov), *finish(fold, kernel.prov))
    ]


def _with_ops(traits: Traits, folds: Sequence[Fold]) -> Traits:
    """A body's traits with those of the operators."""
    result = replace(traits)
    for fold in folds:
        own = traits_of(fold.op.body)
        result.loops |= own.loops
        result.asserts |= own.asserts
        result.allocs |= own.allocs
    return result


def _ops_assert(kernel: Kernel) -> bool:
    match kernel.work:
        case ReduceWork(folds) | ScanWork(folds):
            return any(traits_of(fold.op.body).asserts for fold in folds)
        case HistWork(hists):
            return any(traits_of(bins.op.body).asserts for bins in hists)
    return False


__all__ = ["Kernels", "Prim", "Scalar", "reduction_pragma"]
