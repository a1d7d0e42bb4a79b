"""Reductions and scans on all cores.

Segments are cut into blocks of a fixed number of elements: blocks are processed independently, then
combined in order, so that results do not depend on the number of threads. Short segments are
processed by one thread each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.codegen.c.interchange import LoopKernels
from compiler.codegen.c.kernels import BLOCK, HEAVY_BLOCK
from compiler.codegen.c.lane_scans import SCANS
from compiler.codegen.c.types import C_TYPE, c_name
from compiler.codegen.checks import checks_first
from compiler.codegen.imp.nodes import Cell, Fold, Kernel, Load, MapWork, Stm, Stms
from compiler.codegen.index import product, row_major
from compiler.codegen.sequential import accumulate, begin, combine, finish, next_name, sequential
from compiler.codegen.traits import Traits, builtin, may_recompute, traits_of, without_stores
from compiler.ir.nodes import SE, Lit, Var

SCAN_BLOCK = 1 << 15
"""Elements per block of a scan, which passes through the cache twice."""
ONE_PASS = Rule("c/one-pass", "Lets one thread run a scan of integers in one pass.")
_ONCE = (
    "The elements are integers or booleans, so any grouping gives the same result, and "
    "one thread needs no totals of blocks before it starts."
)
MANY_SEGMENTS = 64
"""Number of segments from which each is processed by one thread."""


class FoldKernels(LoopKernels):
    """Adds reductions and scans."""

    # --- reductions and scans ----------------------------------------------------------------

    def by_segment(self, kernel: Kernel) -> Kernel:
        """Return the kernel as a map over its segments, each sequential."""
        inner = sequential(replace(kernel, dims=kernel.dims[-1:]))
        return replace(kernel, dims=kernel.dims[:-1], body=inner, work=MapWork())

    def blocks(self, kernel: Kernel, folds: Sequence[Fold], name: str, block: int) -> str:
        """Declare the number of blocks per segment, and an array of block results."""
        *outer, (_, bound) = kernel.dims
        count = f"{name}_blocks"
        points = self.scalars.atom(bound)
        self.line(f"const int64_t {count} = {points} / {block} + ({points} % {block} > 0);")
        elements = count
        for _, size in outer:
            elements = f"ss_times({self.show(size)}, {elements})"
        for fold in folds:
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
                part, kind = f"{c_name(lhs)}_part", C_TYPE[prim]
                self.line(f"{kind} *{part} = ss_alloc({elements}, sizeof({kind}));")
                self.open(f"if (!{part}) {{")
                self.fail(
                    self.site(kernel.prov, ("There is not enough memory for partial results.",))
                )
                self.close()
        return count

    def drop_blocks(self, folds: Sequence[Fold]) -> None:
        """Free the arrays allocated by `blocks`."""
        for fold in folds:
            for lhs in fold.op.lhs:
                self.line(f"ss_drop({c_name(lhs)}_part);")

    def part_at(self, kernel: Kernel, count: str, block: str) -> str:
        """Return the index of a block's result among those of all segments."""
        outer = kernel.dims[:-1]
        if not outer:
            return block
        at = row_major([Var(i, "i64") for i, _ in outer], [size for _, size in outer])
        return f"{self.scalars.within(at, 10)} * {count} + {block}"

    def block_loops(
        self, kernel: Kernel, traits: Traits, count: str, block: int, name: str
    ) -> tuple[str, str]:
        """Open the loops over segments and blocks; return the bounds of a block."""
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
        """Print closing braces."""
        for _ in range(count):
            self.close()

    def reduce(self, kernel: Kernel, folds: tuple[Fold, ...], name: str) -> None:
        """Print a reduction: every block on its own, then block results in order."""
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
        self.fold_range(kernel, folds, low, high, kernel.body)
        at = self.part_at(kernel, count, f"{name}_block")
        self.keep_parts(folds, at)
        self.close_all(len(kernel.dims))
        self.second_stage(kernel, folds, count, name)
        self.drop_blocks(folds)
        if segmented:
            self.close()

    def nested_map(self, head: str, kernel: Kernel) -> None:
        """Print a map under a condition; the caller closes the brace."""
        self.open(head)
        self.map(kernel)
        self.indent = self.indent[:-4]

    def keep_parts(self, folds: Sequence[Fold], at: str) -> None:
        """Store a block's result for the second stage."""
        for fold in folds:
            for lhs in fold.op.lhs:
                self.line(f"{c_name(lhs)}_part[{at}] = {c_name(lhs)};")

    def fold_range(
        self,
        kernel: Kernel,
        folds: Sequence[Fold],
        low: str,
        high: str,
        body: Stms,
    ) -> None:
        """Reduce a range of the last dimension into the operators' left operands."""
        self.in_thread(tuple(s for fold in folds for s in begin(fold.op, kernel.prov)))
        steps = [s for fold in folds for s in accumulate(fold, kernel.prov)]
        whole = _with_ops(traits_of(body), folds)
        checks = checks_first(body)
        if checks is not None:
            self.make_checks(kernel.dims[-1], low, high, checks)
            self.open("if (checked) {")
            rest = _with_ops(traits_of(checks.rest), folds)
            self.fold_loop(kernel, folds, rest, low, high, checks.rest, steps)
            self.close("} else {")
            self.indent += "    "
            self.fold_loop(kernel, folds, whole, low, high, body, steps)
            self.close()
        else:
            self.fold_loop(kernel, folds, whole, low, high, body, steps)

    def fold_loop(
        self,
        kernel: Kernel,
        folds: Sequence[Fold],
        whole: Traits,
        low: str,
        high: str,
        body: Stms,
        steps: Sequence[Stm],
    ) -> None:
        """Print the loop over a range, vectorised where body and operators permit."""
        kinds = [builtin(fold.op) for fold in folds]
        if whole.straight and all(kinds):
            shares = " ".join(
                f"reduction({kind}:{c_name(fold.op.lhs[0])})"
                for kind, fold in zip(kinds, folds, strict=True)
            )
            self.line(f"#pragma omp simd {shares}")
        self.loop_over(kernel.dims[-1], low, high)
        self.body(body, whole, steps)
        self.close()

    def in_thread(self, stms: Stms) -> None:
        """Print statements of a thread that cannot fail."""
        outer, self.label = self.label, self.label or "thread"
        self.stms(stms)
        self.label = outer

    def second_stage(self, kernel: Kernel, folds: Sequence[Fold], count: str, name: str) -> None:
        """Combine the blocks of each segment, and store the result.

        Starts from the first block's result: a neutral element that is not neutral counts once for
        a single block, as it does sequentially.
        """
        outer = kernel.dims[:-1]
        if outer:
            self.parallel(replace(kernel, dims=outer), Traits(weight=8), len(outer))
        for dim in outer:
            self.loop_over(dim)
        self.in_thread(tuple(s for fold in folds for s in begin(fold.op, kernel.prov)))
        first = self.part_at(kernel, count, "0")
        self.open(f"if ({count} > 0) {{")
        for lhs in (lhs for fold in folds for lhs in fold.op.lhs):
            self.line(f"{c_name(lhs)} = {c_name(lhs)}_part[{first}];")
        self.close()
        b = f"{name}_block"
        self.open(f"for (int64_t {b} = 1; {b} < {count}; {b}++) {{")
        self.combine_parts(kernel, folds, self.part_at(kernel, count, b))
        self.close()
        self.in_thread(tuple(s for fold in folds for s in finish(fold, kernel.prov)))
        self.close_all(len(outer))

    def combine_parts(self, kernel: Kernel, folds: Sequence[Fold], at: str) -> None:
        """Combine the accumulators with a block's result."""
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
        """Scan segment after segment if they are few and long; else one thread per segment."""
        block = HEAVY_BLOCK if traits_of(kernel.body).loops else SCAN_BLOCK
        *outer, (_, bound) = kernel.dims
        if not outer:
            self.scan_blocks(kernel, folds, block)
            return
        if type(bound) is Lit and int(bound.value) <= block:
            self.map(self.by_segment(kernel))
            return
        segments = self.scalars.within(product([size for _, size in outer]), 8)
        cond = f"{self.show(bound)} <= {block} || {segments} >= {MANY_SEGMENTS}"
        self.nested_map(f"if ({cond}) {{", self.by_segment(kernel))
        self.open("} else {")
        for dim in outer:
            self.loop_over(dim)
        self.scan_blocks(kernel, folds, block)
        self.close_all(1 + len(outer))

    def scan_blocks(self, kernel: Kernel, folds: tuple[Fold, ...], block: int) -> None:
        """Scan in two passes: block totals, their prefixes in order, then each block again.

        Blocks are handed out in order, and are cached in the second pass. A point's body runs twice
        if it is cheap; else the first pass keeps its values.
        """
        traits = traits_of(kernel.body)
        cond = self.condition(replace(kernel, dims=kernel.dims[-1:]), traits)
        whole = all(prim[0] != "f" for fold in folds for prim in fold.op.prims)
        once = whole and self.choices.take(ONE_PASS, kernel.prov or self.src, _ONCE)
        if once:
            several = f" || !{cond.removeprefix(' if')}" if cond else ""
            self.open(f"if (omp_get_max_threads() == 1{several}) {{")
            self.in_thread(tuple(s for fold in folds for s in begin(fold.op, kernel.prov)))
            self.scan_loop(kernel, folds, traits, "0", self.show(kernel.dims[-1][1]))
            self.close("} else {")
            self.indent += "    "
        self.scan_parts(kernel, folds, block, cond)
        if once:
            self.close()

    def scan_parts(self, kernel: Kernel, folds: tuple[Fold, ...], block: int, cond: str) -> None:
        """Print the blocks of a scan, distributed in order."""
        traits = traits_of(kernel.body)
        index, bound = kernel.dims[-1]
        components = [
            (c_name(lhs), C_TYPE[prim], self.show(ne))
            for fold in folds
            for lhs, prim, ne in zip(fold.op.lhs, fold.op.prims, fold.op.neutral, strict=True)
        ]
        for lhs, kind, ne in components:
            self.line(f"{kind} {lhs}_carry = {ne};")
        self.line(f"#pragma omp parallel for ordered schedule(static, 1){cond}")
        low, high, end = f"{c_name(index)}_low", f"{c_name(index)}_high", self.show(bound)
        self.open(f"for (int64_t {low} = 0; {low} < {end}; {low} += {block}) {{")
        self.line(f"const int64_t {high} = {end} - {low} < {block} ? {end} : {low} + {block};")
        recompute = may_recompute(kernel.body, traits)
        if recompute:
            self.fold_range(kernel, folds, low, high, without_stores(kernel.body))
        else:
            self.in_thread(tuple(s for fold in folds for s in begin(fold.op, kernel.prov)))
            self.scan_loop(kernel, folds, traits, low, high)
        for lhs, kind, _ in components:
            self.line(f"{kind} {lhs}_before;")
        self.line("#pragma omp ordered")
        self.open("{")
        self.hand_over(kernel, folds)
        self.close()
        for lhs, _, _ in components:
            self.line(f"{lhs} = {lhs}_before;")
        if recompute:
            self.scan_loop(kernel, folds, traits, low, high)
        else:
            self.add_prefix(kernel, folds, low, high)
        self.close()

    def hand_over(self, kernel: Kernel, folds: Sequence[Fold]) -> None:
        """Read the prefix before the block, and write the one before the next."""
        for fold in folds:
            inputs: list[SE] = []
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True):
                name = c_name(lhs)
                self.line(f"const {C_TYPE[prim]} {name}_total = {name};")
                self.line(f"{name} = {name}_before = {name}_carry;")
                self.scalars.names = {**self.scalars.names, f"{name}_total": f"{name}_total"}
                inputs.append(Var(f"{name}_total", prim))
            steps = combine(fold.op, inputs, kernel.prov)
            self.body(steps, traits_of(steps))
            for name in map(c_name, fold.op.lhs):
                self.line(f"{name}_carry = {name};")

    def scan_loop(
        self, kernel: Kernel, folds: Sequence[Fold], traits: Traits, low: str, high: str
    ) -> None:
        """Scan a range from the accumulators on, vectorised where the operator permits."""
        whole = _with_ops(traits, folds)
        kinds = [builtin(fold.op) for fold in folds]
        names = [c_name(fold.op.lhs[0]) for fold in folds]
        if not whole.straight or not all(kind in SCANS for kind in kinds):
            self.loop_over(kernel.dims[-1], low, high)
            self.body(kernel.body, whole, _scan_steps(folds, kernel))
            self.close()
            return
        shares = " ".join(
            f"reduction(inscan, {kind}:{name})" for kind, name in zip(kinds, names, strict=True)
        )
        self.line(f"#pragma omp simd {shares}")
        self.loop_over(kernel.dims[-1], low, high)
        self.open("{")
        self.body(kernel.body, whole, [s for f in folds for s in accumulate(f, kernel.prov)])
        self.close()
        self.line(f"#pragma omp scan inclusive({', '.join(names)})")
        self.open("{")
        self.in_thread(tuple(s for fold in folds for s in finish(fold, kernel.prov)))
        self.close()
        self.close()

    def add_prefix(self, kernel: Kernel, folds: Sequence[Fold], low: str, high: str) -> None:
        """Combine the prefix before the block with each of its results."""
        self.loop_over(kernel.dims[-1], low, high)
        for fold in folds:
            loads: list[Stm] = []
            inputs: list[SE] = []
            for into, lhs, prim in zip(fold.into, fold.op.lhs, fold.op.prims, strict=True):
                assert isinstance(into, Cell)
                own = next_name(lhs).replace("_next", "_own", 1)
                loads.append(Load(own, prim, into.block, into.at, kernel.prov))
                inputs.append(Var(own, prim))
                self.line(f"{c_name(lhs)} = {c_name(lhs)}_before;")
            steps = (*loads, *combine(fold.op, inputs, kernel.prov), *finish(fold, kernel.prov))
            self.body(steps, traits_of(steps))
        self.close()


def _scan_steps(folds: Sequence[Fold], kernel: Kernel) -> list[Stm]:
    return [
        stm
        for fold in folds
        for stm in (*accumulate(fold, kernel.prov), *finish(fold, kernel.prov))
    ]


def _with_ops(traits: Traits, folds: Sequence[Fold]) -> Traits:
    """Return a body's traits joined with those of the operators."""
    result = replace(traits)
    for fold in folds:
        own = traits_of(fold.op.body)
        result.loops |= own.loops
        result.asserts |= own.asserts
        result.allocs |= own.allocs
    return result
