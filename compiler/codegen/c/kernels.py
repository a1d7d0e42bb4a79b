"""Maps and single statements on all cores: OpenMP loops over flat blocks of memory.

Points are distributed; the last dimension is cut into pieces, so that long rows are distributed too
and the innermost loop can be vectorised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.text import Line
from compiler.codegen.c.choices import Choices
from compiler.codegen.c.lane_scans import BECAUSE as WHOLE
from compiler.codegen.c.lane_scans import LANE_SCANS, LaneScan, is_short, lane_scan
from compiler.codegen.c.scalar import Scalars
from compiler.codegen.c.stms import Sites, Statements
from compiler.codegen.c.types import C_TYPE, c_name, typed
from compiler.codegen.c.vector import BECAUSE, SHORT, SHORT_ROWS, reduction_pragma
from compiler.codegen.checks import Checks, checks_first
from compiler.codegen.imp import nodes as imp
from compiler.codegen.index import is_plain, poly_exp, product
from compiler.codegen.interior import INTERIOR, Halves, Interior, halves, interior
from compiler.codegen.kernels.threads import is_local
from compiler.codegen.sequential import (
    copy_body,
    copy_dims,
    loops,
    next_name,
    sequential,
    update_bins,
    with_updates,
)
from compiler.codegen.traits import Traits, allocations, traits_of, work_of
from compiler.ir.nodes import SE, Bin, Lit, Var

PARALLEL_WORK = 1 << 16
"""Number of operations below which a kernel runs on one core."""
PIECE = 4096
"""Points of the innermost loop of a map per piece."""
BLOCK = 16384
"""Elements per block of a reduction or scan; fewer for expensive points."""
HEAVY_BLOCK = 64
_BECAUSE = (
    "The border of this map is tested once per row: inner points need no conditions, "
    "and neighbouring points read neighbouring cells."
)


class MapKernels(Statements):
    """C statements with maps; `folds.py` and `hists.py` add the other kinds of kernels.

    `label` is the jump target of a failed check; None in host statements. `functions` are lines
    before the entry point.
    """

    def __init__(self, scalars: Scalars, sites: Sites, numbers: Iterator[int]) -> None:
        super().__init__(scalars, sites, numbers)
        self.functions: list[Line] = []
        self.choices = Choices(Ctx())
        self.middles: set[str] = set()
        self.ends: dict[Name, SE] = {}
        """Definitions of names for kernel bounds."""

    label: str | None = None
    labels = 0

    # --- single statements -------------------------------------------------------------------

    def fail(self, call: str) -> None:
        """Report a failure, then leave the kernel's point or the program."""
        self.line(f"ss_fail({call});")
        self.reached.add(self.label)
        self.line("return 1;" if self.label is None else f"goto {self.label};")

    def run_alloc(self, stm: imp.Alloc) -> None:
        """Allocate a reference-counted block of the host, or scratch memory of a point."""
        kind, name = C_TYPE[stm.prim], c_name(stm.name)
        if self.label is None:
            count, shown = self.elements(stm.count), stm.count
            if not isinstance(shown, (Lit, Var)):
                wide = c_name(f"count_of_{stm.name}")
                self.line(f"const ss_wide {wide} = {count};")
                shown = Var(f"ss_narrow({wide})", "i64")
                self.scalars.names = {**self.scalars.names, shown.name: shown.name}
                count = wide
            site = self.site(stm.prov, self.no_memory(stm, shown))
            self.line(f"{kind} *{name} = ss_alloc({count}, sizeof({kind}));")
            self.open(f"if (!{name}) {{")
            self.fail(site)
            self.close()
        elif not self.local_array(stm):
            count = self.elements(stm.count)
            self.line(f"{name} = ss_scratch({name}, {count}, sizeof({kind}));")
            self.open(f"if (!{name}) {{")
            self.fail(self.site(stm.prov, self.no_memory(stm, stm.count)))
            self.close()

    def elements(self, count: SE) -> str:
        """Return the exact number of elements of a block: sums and products do not wrap."""
        shown = self.exact(count)
        return f"ss_at_least_none({shown})" if is_plain(count) else shown

    def exact(self, count: SE) -> str:
        """Return the value of an i64 expression without wrapping."""
        match count:
            case Bin("*", "i64", lhs, rhs):
                return f"ss_times({self.exact(lhs)}, {self.exact(rhs)})"
            case Bin("+", "i64", lhs, rhs):
                return f"ss_plus({self.exact(lhs)}, {self.exact(rhs)})"
            case Bin("-", "i64", lhs, rhs):
                return f"ss_plus({self.exact(lhs)}, ss_times(-1, {self.exact(rhs)}))"
        return self.show(count)

    def no_memory(self, stm: imp.Alloc, count: SE) -> tuple[str | SE, ...]:
        """Return the message for insufficient memory."""
        return (
            "There is not enough memory for an array of ",
            count,
            f" elements of {BYTES[stm.prim]} bytes (type {stm.prim}).",
        )

    def call(self, stm: imp.Call) -> None:
        """Call a host function, which returns results by pointers; propagates failures.

        The function releases the blocks that it is given.
        """
        kept = {arg for arg in stm.args if isinstance(arg, str)} - set(stm.gone)
        shown = ((arg in kept, self.operand(arg)) for arg in stm.args)
        args = [f"ss_hold({text})" if held else text for held, text in shown]
        for one in stm.results:
            self.line(f"{typed(one)};")
            args.append(f"&{c_name(one.name)}")
        self.line(f"if ({c_name(stm.fun)}({', '.join(args)})) return 1;")

    def declare_block(self, stm: imp.Declare, kind: object) -> None:
        """Declare a variable that holds a block, reference-counted on the host."""
        if self.label is not None:
            super().declare_block(stm, stm.type)  # type: ignore[arg-type]
            return
        prim = stm.type.prim
        start = "0" if stm.value is None else f"ss_hold({self.operand(stm.value)})"
        self.line(f"{C_TYPE[prim]} *{c_name(stm.name)} = {start};")

    def assign(self, stm: imp.Assign) -> None:
        """Assign a variable; blocks on the host are reference-counted."""
        if isinstance(stm.value, str) and self.label is None:
            self.line(f"ss_set({c_name(stm.name)}, {c_name(stm.value)});")
        else:
            super().assign(stm)

    def free(self, stm: imp.Free) -> None:
        """Release a variable's block."""
        if self.label is None:
            self.line(f"ss_drop({c_name(stm.name)});")

    def loop_pragma(self, stm: imp.For) -> str:
        """Vectorise a plain reduction or a loop of independent stores."""
        pragma = reduction_pragma(stm) if self.label is not None else ""
        short = type(stm.bound) is Lit and int(stm.bound.value) < SHORT
        return "" if pragma and short and self.short_rows(stm) else pragma

    def counted(self, stm: imp.For, end: str) -> None:
        """Print a counting loop; a vectorised reduction gets a plain loop for short rows."""
        scan = None if self.label in (None, "tile") or is_short(stm, SHORT) else lane_scan(stm)
        if scan and self.choices.take(LANE_SCANS, stm.prov or self.src, WHOLE):
            self.scan_in_lanes(stm, end, scan)
            return
        reduction = self.label is not None and reduction_pragma(stm)
        if type(stm.bound) is Lit or not reduction or not self.short_rows(stm):
            super().counted(stm, end)
            return
        self.open(f"if ({end} < {SHORT}) {{")
        self.plain_loop(stm, end)
        self.close("} else {")
        self.indent += "    "
        super().counted(stm, end)
        self.close()

    def scan_in_lanes(self, stm: imp.For, end: str, scan: LaneScan) -> None:
        """Print a vectorised scan, with a plain loop for few elements and for aliasing blocks."""
        conds = [] if type(stm.bound) is Lit else [f"{end} >= {SHORT}"]
        conds += [f"{c_name(one)} != {c_name(other)}" for one, other in scan.apart]
        if conds:
            self.open(f"if ({' && '.join(conds)}) {{")
        index, kind, acc = c_name(stm.index), self.kind(stm.index, stm.prim), c_name(scan.acc)
        self.line(f"#pragma omp simd reduction(inscan, {scan.kind}:{acc})")
        self.open(f"for ({kind} {index} = 0; {index} < {end}; {index}++) {{")
        self.nested("{", scan.before)
        self.line(f"#pragma omp scan inclusive({acc})")
        self.nested("{", scan.after)
        self.close()
        if conds:
            self.close("} else {")
            self.indent += "    "
            self.plain_loop(stm, end)
            self.close()

    def short_rows(self, stm: imp.For) -> bool:
        """Decide whether a vectorisable loop stays scalar while it is short."""
        return self.choices.take(SHORT_ROWS, stm.prov or self.src, BECAUSE)

    def run_copy(self, stm: imp.Copy) -> None:
        """Copy a block if both sides are known to be dense; else classify at run time, or map."""
        count = product([poly_exp(d.size) for d in stm.dest_lmad.dims])
        size = f"{self.scalars.within(count, 10)} * (int64_t)sizeof({C_TYPE[stm.prim]})"
        if stm.dest_lmad.is_row_major() and stm.source_lmad.is_row_major():
            dest = f"{c_name(stm.dest)} + {self.scalars.within(poly_exp(stm.dest_lmad.offset), 10)}"
            start = self.scalars.within(poly_exp(stm.source_lmad.offset), 10)
            source = f"{c_name(stm.source)} + {start}"
            move = "ss_copy" if self.label is None else "ss_move"
            self.line(f"{move}({dest}, {source}, {size});".replace(" + 0,", ","))
            return
        if self.label is not None:
            self.open("{")
            self.line(f"ss_copied_inside({size});")
            super().run_copy(stm)
            self.close()
            return
        dims, body = copy_dims(stm), copy_body(stm)
        self.open("{")
        self.open(f"if (!{self.looked_at(stm)}) {{")
        self.run_kernel(imp.Kernel("copy", "grid", dims, body, imp.MapWork(), prov=stm.prov))
        self.close()
        self.close()

    def looked_at(self, stm: imp.Copy) -> str:
        """Call the function that classifies a copy at run time, and may perform it."""
        pairs = zip(stm.dest_lmad.dims, stm.source_lmad.dims, strict=True)
        dims = ", ".join(
            "{" + ", ".join(map(self.number, (to.size, to.stride, come.stride))) + "}"
            for to, come in pairs
        )
        self.line(f"ss_dim ss_dims[] = {{{dims}}};")
        ends = (
            f"{c_name(block)}, {self.number(lmad.offset)}"
            for block, lmad in ((stm.dest, stm.dest_lmad), (stm.source, stm.source_lmad))
        )
        size = f"sizeof({C_TYPE[stm.prim]})"
        return f"ss_copy_lmads({', '.join(ends)}, {size}, {stm.dest_lmad.rank}, ss_dims)"

    def number(self, poly: Poly) -> str:
        """Print a polynomial."""
        return self.show(poly_exp(poly))

    # --- kernels -----------------------------------------------------------------------------

    def run_kernel(self, kernel: imp.Kernel) -> None:
        """Run a kernel of the host in parallel, one of a block sequentially."""
        if self.label is not None:
            for stm in sequential(kernel):
                self.stms((stm,))
            return
        name = c_name(kernel.name)
        self.open("{ // " + kernel.name)
        kernel = self.simple_bounds(kernel)
        match kernel.work:
            case imp.MapWork():
                self.map(kernel)
            case _:
                self.other(kernel, name)
        if traits_of(kernel.body).asserts or _ops_assert(kernel):
            self.line("if (ss_failed) return 1;")
        self.close()

    def other(self, kernel: imp.Kernel, name: str) -> None:
        """Print a kernel other than a map."""
        raise NotImplementedError

    def simple_bounds(self, kernel: imp.Kernel) -> imp.Kernel:
        """Bind the bounds to names or literals, as OpenMP requires."""
        dims: list[tuple[Name, SE]] = []
        for index, bound in kernel.dims:
            if type(bound) is not Lit and type(bound) is not Var:
                name = f"{next_name(index).replace('_next', '_end', 1)}"
                self.line(f"const int64_t {c_name(name)} = {self.show(bound)};")
                self.ends[name] = bound
                bound = Var(name, "i64")
            dims.append((index, bound))
        return replace(kernel, dims=tuple(dims))

    def condition(self, kernel: imp.Kernel, traits: Traits) -> str:
        """Return `if(..)`: run in parallel only if there is enough work."""
        work = work_of(kernel, traits)
        least = max(1, PARALLEL_WORK // max(1, traits.weight))
        if type(work) is Lit:
            return "" if int(work.value) >= least else " if(0)"
        if least == 1:
            return ""
        return f" if({self.scalars.within(work, 8)} >= {least})"

    def parallel(self, kernel: imp.Kernel, traits: Traits, loops: int, simd: bool = False) -> None:
        """Print the directive before `loops` nested loops to distribute."""
        collapse = f" collapse({loops})" if loops > 1 else ""
        schedule = " schedule(dynamic)" if traits.uneven else ""
        vector = " simd" if simd else ""
        cond = self.condition(kernel, traits)
        self.line(f"#pragma omp parallel for{vector}{collapse}{schedule}{cond}")

    def body(self, stms: imp.Stms, traits: Traits, after: Sequence[imp.Stm] = ()) -> None:
        """Print a point's statements; failed checks jump behind them, scratch memory is freed."""
        self.labels += 1
        outer, self.label = self.label, f"next_{self.labels}"
        kept, self.scratch = self.scratch, []
        if traits.allocs:
            self.scratch_names((*stms, *after))
        self.stms(stms)
        self.stms(after)
        if self.label in self.reached:
            self.line(f"{self.label}:;")
        for name in self.scratch:
            self.line(f"ss_unscratch({name});")
        self.scratch = kept
        self.label = outer

    def scratch_names(self, stms: imp.Stms) -> None:
        """Declare scratch variables, since failed checks must not jump over declarations."""
        for stm in allocations(stms):
            if not is_local(stm):
                name = c_name(stm.name)
                self.line(f"{C_TYPE[stm.prim]} *{name} = 0;")
                self.scratch.append(name)

    def map(self, kernel: imp.Kernel) -> None:
        """Distribute the points."""
        body = with_updates(kernel.body, update_bins)
        if body is not kernel.body:
            # Float sums must be reproducible: one core combines in order.
            body = loops(kernel.dims, body, kernel.prov)
            self.body(body, traits_of(body))
            return
        traits = traits_of(kernel.body)
        dims = kernel.dims
        if not dims:
            self.body(kernel.body, traits)
            return
        parts = self.parts(kernel, kernel.body)
        if len(dims) == 1 and parts is None:
            self.parallel(kernel, traits, 1, traits.straight)
            self.loop_over(dims[0])
            self.body(kernel.body, traits)
            self.close()
            return
        self.pieces(kernel, traits, parts)

    def parts(self, kernel: imp.Kernel, body: imp.Stms) -> Interior | Halves | Checks | None:
        """Choose a split of a map's last dimension, if any."""
        index, end = kernel.dims[-1]
        traits = traits_of(body)
        found: Interior | Halves | None = interior(
            body, index, self.ends.get(end.name, end) if isinstance(end, Var) else end, traits.bound
        ) or halves(body, index, traits.bound)
        if found and self.choices.take(INTERIOR, kernel.prov or self.src, _BECAUSE):
            return found
        return None if traits.straight else checks_first(body)

    def loop_over(self, dim: tuple[Name, SE], low: str = "0", high: str = "") -> None:
        """Open a loop over a dimension or a part of it."""
        index = c_name(dim[0])
        end = high or self.show(dim[1])
        self.open(f"for (int64_t {index} = {low}; {index} < {end}; {index}++) {{")

    def pieces(
        self, kernel: imp.Kernel, traits: Traits, parts: Interior | Halves | Checks | None
    ) -> None:
        """Cut the last of several dimensions into pieces, and distribute all others."""
        *outer, last = kernel.dims
        if not traits.straight and parts is None:
            self.parallel(kernel, traits, len(kernel.dims))
            for dim in kernel.dims:
                self.loop_over(dim)
            self.body(kernel.body, traits)
            for _ in kernel.dims:
                self.close()
            return
        cut = not outer or not (type(last[1]) is Lit and int(last[1].value) <= PIECE)
        self.parallel(kernel, traits, len(outer) + cut)
        for dim in outer:
            self.loop_over(dim)
        index, end = c_name(last[0]), self.show(last[1])
        if cut:
            low, high = f"{index}_low", f"{index}_high"
            self.open(f"for (int64_t {low} = 0; {low} < {end}; {low} += {PIECE}) {{")
            self.line(f"const int64_t {high} = {end} - {low} < {PIECE} ? {end} : {low} + {PIECE};")
        else:
            low, high = "0", end
        self.piece(kernel, kernel.body, parts, low, high)
        if cut:
            self.close()
        for _ in outer:
            self.close()

    def piece(
        self,
        kernel: imp.Kernel,
        body: imp.Stms,
        parts: Interior | Halves | Checks | None,
        low: str,
        high: str,
    ) -> None:
        """Print a range of the last dimension."""
        last, traits = kernel.dims[-1], traits_of(body)
        match parts:
            case Checks():
                self.checked_loop(last, low, high, body, parts)
            case Interior():
                self.split_loop(last, body, parts, low, high)
            case Halves():
                self.half_loops(kernel, parts, low, high)
            case None if traits.straight:
                self.simd_loop(last, low, high, body, traits)
            case _:
                self.loop_over(last, low, high)
                self.body(body, traits)
                self.close()

    def simd_loop(
        self, dim: tuple[Name, SE], low: str, high: str, body: imp.Stms, traits: Traits
    ) -> None:
        """Print a vectorised loop over independent points."""
        self.line("#pragma omp simd")
        self.loop_over(dim, low, high)
        self.body(body, traits)
        self.close()

    def make_checks(self, dim: tuple[Name, SE], low: str, high: str, checks: Checks) -> None:
        """Set `checked`: all points of a range pass their checks."""
        self.line("bool checked = true;")
        self.line("#pragma omp simd reduction(&&:checked)")
        self.loop_over(dim, low, high)
        self.body(checks.needs, traits_of(checks.needs))
        conditions = " && ".join(self.scalars.within(c, 3) for c in checks.conditions)
        self.line(f"checked = checked && {conditions};")
        self.close()

    def checked_loop(
        self, dim: tuple[Name, SE], low: str, high: str, body: imp.Stms, checks: Checks
    ) -> None:
        """Check a range first; then work without checks, or with them on failure."""
        self.make_checks(dim, low, high, checks)
        self.open("if (checked) {")
        self.simd_loop(dim, low, high, checks.rest, traits_of(checks.rest))
        self.close("} else {")
        self.indent += "    "
        self.loop_over(dim, low, high)
        self.body(body, traits_of(body))
        self.close()
        self.close()

    def split_loop(
        self, dim: tuple[Name, SE], body: imp.Stms, inside: Interior, low: str, high: str
    ) -> None:
        """Print the interior, then the points before and after it."""
        index = c_name(dim[0])
        first, end = f"{index}_first", f"{index}_end"
        self.line(f"int64_t {first} = {low}, {end} = {high};")
        for edge in map(self.show, inside.lows):
            self.line(f"if ({first} < {edge}) {first} = {edge};")
        for edge in map(self.show, inside.highs):
            self.line(f"if ({end} > {edge}) {end} = {edge};")
        self.line(f"if ({first} > {high}) {first} = {high};")
        self.line(f"if ({end} < {first}) {end} = {first};")
        for need in inside.needs:
            self.line(f"if (!({self.show(need)})) {end} = {first};")
        self.simd_loop(dim, first, end, inside.body, traits_of(inside.body))
        self.open(f"for (int64_t {index} = {low};; {index}++) {{")
        self.line(f"if ({index} == {first}) {index} = {end};")
        self.line(f"if ({index} >= {high}) break;")
        self.body(body, traits_of(body))
        self.close()

    def half_loops(self, kernel: imp.Kernel, parts: Halves, low: str, high: str) -> None:
        """Print the points below a limit, then the others."""
        middle = f"{c_name(kernel.dims[-1][0])}_middle"
        while middle in self.middles:
            middle += "_"
        self.middles.add(middle)
        limit = self.show(parts.limit)
        self.line(f"int64_t {middle} = {limit} < {high} ? {limit} : {high};")
        self.line(f"if ({middle} < {low}) {middle} = {low};")
        for body, start, end in ((parts.below, low, middle), (parts.above, middle, high)):
            self.open("{")
            self.piece(kernel, body, self.parts(kernel, body), start, end)
            self.close()


def _ops_assert(kernel: imp.Kernel) -> bool:
    match kernel.work:
        case imp.ReduceWork(folds) | imp.ScanWork(folds):
            return any(traits_of(fold.op.body).asserts for fold in folds)
        case imp.HistWork(hists):
            return any(traits_of(hist.op.body).asserts for hist in hists)
    return False
