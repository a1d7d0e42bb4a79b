"""Histograms on all cores: private bins per part of the points, if there are few bins.

Histograms of rows with an elementwise operator iterate over rows (`element_rows.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.codegen.c.folds import FoldKernels
from compiler.codegen.c.types import C_TYPE, c_name
from compiler.codegen.element_rows import ElementRows, element_rows
from compiler.codegen.imp import nodes as imp
from compiler.codegen.index import product, row_major
from compiler.codegen.sequential import loops, next_name, sequential, update_bins
from compiler.codegen.traits import Traits, traits_of
from compiler.ir.build import inside
from compiler.ir.nodes import SE, Var

ROWS = Rule(
    "c/element-rows",
    "Processes each row of a histogram of rows in vector registers, without divisions.",
)
_BECAUSE = "The points are elements of rows, and each row has its own bins."


class Kernels(FoldKernels):
    """C statements with all kinds of kernels."""

    rows: ElementRows | None = None
    """The rows that the current histogram iterates over, if any."""

    def loop_pragma(self, stm: imp.For) -> str:
        """Vectorise the elements of a row."""
        if self.rows is not None and stm.index == self.rows.column:
            return "#pragma omp simd"
        return super().loop_pragma(stm)

    def point(self, kernel: imp.Kernel, updates: Iterable[imp.Stm]) -> imp.Stms:
        """Return the statements for each index of the last dimension of a histogram."""
        return self.rows.nest(updates) if self.rows is not None else (*kernel.body, *updates)

    def in_order(self, kernel: imp.Kernel, hists: tuple[imp.Histogram, ...]) -> imp.Stms:
        """Return a histogram on one core."""
        if self.rows is None:
            return sequential(replace(kernel, dims=kernel.dims[-1:]))
        updates = [stm for hist in hists for stm in update_bins(hist, kernel.prov)]
        return loops(kernel.dims[-1:], self.point(kernel, updates), kernel.prov)

    def other(self, kernel: imp.Kernel, name: str) -> None:
        """Print a kernel other than a map."""
        match kernel.work:
            case imp.ReduceWork(folds):
                self.reduce(kernel, folds, name)
            case imp.ScanWork(folds):
                self.scan(kernel, folds, name)
            case imp.HistWork(hists):
                self.hist(kernel, hists, name)

    def hist(self, kernel: imp.Kernel, hists: tuple[imp.Histogram, ...], name: str) -> None:
        """Distribute segments if there are several; else parts of the points with private bins."""
        traits = traits_of(kernel.body)
        points = kernel.dims[-1][1]
        named = self.ends.get(points.name) if isinstance(points, Var) else None
        rows = element_rows(kernel, points if named is None else named)
        if rows is not None and self.choices.take(ROWS, kernel.prov or self.src, _BECAUSE):
            self.rows, kernel = rows, rows.kernel
            assert isinstance(kernel.work, imp.HistWork)
            hists = kernel.work.hists
        parts = f"{name}_parts"
        sizes = [self.scalars.within(product(hist.shape), 10) for hist in hists]
        need = " + ".join(sizes)
        self.line(
            f"const int64_t {parts} = ss_parts({self.show(points)}, {need}, {traits.weight});"
        )
        outer = kernel.dims[:-1]
        segments = self.show(product([size for _, size in outer]))
        several = f"{segments} >= {parts} || " if outer else ""
        if outer:
            each = replace(
                kernel,
                dims=kernel.dims[:-1],
                body=self.in_order(kernel, hists),
                work=imp.MapWork(),
            )
            self.nested_map(f"if ({several}{parts} <= 1) {{", each)
        else:
            self.open(f"if ({parts} <= 1) {{")
            inner = self.in_order(kernel, hists)
            self.body(inner, traits_of(inner))
            self.indent = self.indent[:-4]
        self.open("} else {")
        for dim in outer:
            self.loop_over(dim)
        self.private_bins(kernel, hists, name, traits)
        self.close_all(1 + len(outer))
        self.rows = None

    def private_bins(
        self, kernel: imp.Kernel, hists: tuple[imp.Histogram, ...], name: str, traits: Traits
    ) -> None:
        """Fill private bins per part of the points, and combine them in order."""
        parts, part = f"{name}_parts", f"{name}_part"
        own = [self.own_bins(kernel, hist, k, name) for k, hist in enumerate(hists)]
        self.line("#pragma omp parallel for schedule(static, 1)")
        self.open(f"for (int64_t {part} = 0; {part} < {parts}; {part}++) {{")
        for hist, (size, blocks) in zip(hists, own, strict=True):
            self.clear_bins(hist, size, blocks, part)
        points = self.scalars.atom(kernel.dims[-1][1])
        low, high = f"{points} * {part} / {parts}", f"{points} * ({part} + 1) / {parts}"
        self.line(f"const int64_t {name}_high = {high};")
        self.loop_over(kernel.dims[-1], low, f"{name}_high")
        updates = tuple(
            stm
            for hist, (size, blocks) in zip(hists, own, strict=True)
            for stm in self.update_own(kernel, hist, blocks, size, part)
        )
        self.body(self.point(kernel, updates), traits)
        self.close_all(2)
        for hist, (size, blocks) in zip(hists, own, strict=True):
            self.merge_bins(kernel, hist, size, blocks, name)
            for block in blocks:
                self.line(f"ss_drop({c_name(block)});")

    def own_bins(
        self, kernel: imp.Kernel, hist: imp.Histogram, k: int, name: str
    ) -> tuple[str, list[Name]]:
        """Allocate the private bins."""
        size = f"{name}_bins{k}"
        self.line(f"const int64_t {size} = {self.show(product(hist.shape))};")
        blocks = []
        for lhs, prim in zip(hist.op.lhs, hist.op.prims, strict=True):
            block = next_name(lhs).replace("_next", "_bins", 1)
            kind = C_TYPE[prim]
            cells = f"ss_times({name}_parts, {size})"
            self.line(f"{kind} *{c_name(block)} = ss_alloc({cells}, sizeof({kind}));")
            self.open(f"if (!{c_name(block)}) {{")
            self.fail(
                self.site(kernel.prov, ("There is not enough memory for partial histograms.",))
            )
            self.close()
            blocks.append(block)
        return size, blocks

    def clear_bins(self, hist: imp.Histogram, size: str, blocks: Sequence[Name], part: str) -> None:
        """Initialise a part's bins with the neutral element."""
        self.open(f"for (int64_t bin = 0; bin < {size}; bin++) {{")
        for block, ne in zip(blocks, hist.op.neutral, strict=True):
            self.line(f"{c_name(block)}[{part} * {size} + bin] = {self.show(ne)};")
        self.close()

    def update_own(
        self, kernel: imp.Kernel, hist: imp.Histogram, blocks: Sequence[Name], size: str, part: str
    ) -> imp.Stms:
        """Update private bins; see `update_bins`."""
        at = row_major(hist.bins, hist.shape)
        base = Var(f"{part}_base", "i64")
        self.scalars.names = {**self.scalars.names, base.name: f"{part} * {size}"}
        bin_cell = Var(f"{part}_{size}_at", "i64")
        self.scalars.names = {
            **self.scalars.names,
            bin_cell.name: f"{part} * {size} + {self.scalars.within(at, 9)}",
        }
        return own_update(kernel, hist, blocks, bin_cell)

    def merge_bins(
        self, kernel: imp.Kernel, hist: imp.Histogram, size: str, blocks: Sequence[Name], name: str
    ) -> None:
        """Combine the private bins, in order, with the destination."""
        index = [(f"{name}_b{k}_0", bound) for k, bound in enumerate(hist.shape)]
        at = row_major([Var(i, "i64") for i, _ in index], hist.shape)
        part = f"{name}_part"
        bin_cell = Var(f"{part}_{size}_at", "i64")
        self.scalars.names = {
            **self.scalars.names,
            bin_cell.name: f"{part} * {size} + {self.scalars.within(at, 9)}",
        }
        loads: list[imp.Stm] = []
        values: list[SE] = []
        for block, lhs, prim in zip(blocks, hist.op.lhs, hist.op.prims, strict=True):
            own = next_name(lhs).replace("_next", "_own", 1)
            loads.append(imp.Load(own, prim, block, bin_cell, kernel.prov))
            values.append(Var(own, prim))
        points = tuple(Var(i, "i64") for i, _ in index)
        always = replace(hist, bins=points, values=tuple(values))
        (guarded,) = update_bins(always, kernel.prov)
        assert isinstance(guarded, imp.If)
        traits = traits_of(guarded.then)
        whole = replace(kernel, dims=tuple(index), work=imp.MapWork())
        self.parallel(whole, traits, len(index))
        for dim in index:
            self.loop_over(dim)
        self.open(f"for (int64_t {part} = 0; {part} < {name}_parts; {part}++) {{")
        self.body((*loads, *guarded.then), traits)
        self.close_all(1 + len(index))


def own_update(
    kernel: imp.Kernel, hist: imp.Histogram, blocks: Sequence[Name], bin_cell: SE
) -> imp.Stms:
    """Combine one private bin with a point's values, if the index is in bounds."""
    op = hist.op
    loads = tuple(
        imp.Load(lhs, prim, block, bin_cell, kernel.prov)
        for block, lhs, prim in zip(blocks, op.lhs, op.prims, strict=True)
    )
    rhs = tuple(
        imp.Define(name, prim, value, kernel.prov)
        for name, prim, value in zip(op.rhs, op.prims, hist.values, strict=True)
    )
    stores = tuple(
        imp.Store(block, prim, bin_cell, result, kernel.prov)
        for block, prim, result in zip(blocks, op.prims, op.results, strict=True)
    )
    cond = inside(hist.bins, hist.shape)
    return (imp.If(cond, (*loads, *rhs, *op.body, *stores), (), kernel.prov),)
