"""CUDA kernels: what the threads of a grid do, one `__global__` function per piece of work.

A map has a thread per point, or a block of threads if inner operators need one. Reductions and
scans are in `folds.py`, updates of histograms' bins in `atomics.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.base.errors import Limitation
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import NOWHERE, Prov
from compiler.base.text import Line
from compiler.codegen.c.stms import Statements
from compiler.codegen.c.types import C_TYPE, c_name
from compiler.codegen.free_names import uses_of
from compiler.codegen.imp.nodes import (
    Alloc,
    Assert,
    Copy,
    Fold,
    HistWork,
    Kernel,
    MapWork,
    ReduceWork,
    ScanWork,
    Stm,
    Stms,
    Store,
)
from compiler.codegen.index import product
from compiler.codegen.sequential import copy_body, copy_dims, sequential
from compiler.codegen.traits import traits_of
from compiler.ir.nodes import SE, Lit
from compiler.ir.sizes import prim_of


@dataclass(frozen=True, slots=True)
class KernelParam:
    """A kernel's parameter: a scalar, or a block if `block`."""

    name: Name
    prim: Prim
    block: bool


@dataclass(frozen=True, slots=True)
class Launchable:
    """A `__global__` function with its parameters, in order; `checks` if it may fail."""

    name: str
    arguments: tuple[KernelParam, ...]
    checks: bool


class CudaMaps(Statements):
    """Prints device code. `mode` is `thread` in a thread's own code, `block` in a block's."""

    mode = "thread"
    label = ""
    labels = 0
    checks = False
    pool = 0
    pool_line = 0

    # --- single statements -------------------------------------------------------------------

    def type(self, prim: Prim) -> str:
        """Halves are floats in registers."""
        return "float" if prim == "f16" else C_TYPE[prim]

    def cell_type(self, prim: Prim) -> str:
        """Halves are 16 bits in memory."""
        return "uint16_t" if prim == "f16" else C_TYPE[prim]

    def read(self, prim: Prim, place: str) -> str:
        """The value of a cell."""
        return f"half_to_float({place})" if prim == "f16" else place

    def written(self, prim: Prim, value: str) -> str:
        """A value as it is put in a cell."""
        return f"float_to_half({value})" if prim == "f16" else value

    def fail(self, call: str) -> None:
        """Report, then leave the point."""
        self.checks = True
        self.line(f"ss_fail(failure, {call});")
        self.line(f"goto {self.label};" if self.label else "return;")

    def site(self, prov: Prov, message: tuple[str | SE, ...]) -> str:
        """The number of a check and the values it shows."""
        self.sites.append((prov, message))
        values = [self.bits(p) for p in message if not isinstance(p, str)][:8]
        return ", ".join([str(len(self.sites) - 1), *values])

    def bits(self, value: SE) -> str:
        """A value as 64 bits."""
        if prim_of(value)[0] == "f":
            return f"ss_bits({self.show(value)})"
        return f"(int64_t){self.scalars.atom(value)}"

    def check(self, stm: Assert) -> None:
        """Jumps may not pass declarations, which end with the braces."""
        super().check(stm)

    def run_alloc(self, stm: Alloc) -> None:
        """A thread's own array, or one that a block of threads shares."""
        name, kind = c_name(stm.name), self.cell_type(stm.prim)
        if self.mode == "block" or stm.space == "shared":
            if type(stm.count) is not Lit:
                raise Limitation(
                    "a shared array whose size is not a constant is not supported on the GPU yet",
                    stm.prov[0] if stm.prov else NOWHERE,
                )
            self.line(f"__shared__ {kind} {name}[{max(1, int(stm.count.value))}];")
        elif not self.local_array(stm):
            raise Limitation(
                "a thread's own array whose size is not a small constant is not supported on the"
                " GPU yet",
                stm.prov[0] if stm.prov else NOWHERE,
            )

    def store(self, stm: Store) -> None:
        """In a block's code one thread writes for all."""
        if self.mode == "thread":
            super().store(stm)
            return
        self.line("__syncthreads();")
        self.open("if (threadIdx.x == 0) {")
        super().store(stm)
        self.close()
        self.line("__syncthreads();")

    def run_copy(self, stm: Copy) -> None:
        """A loop, or all threads of a block together."""
        self.open("{")
        if self.mode == "block":
            body = copy_body(stm)
            self.block_map(Kernel("copy", "block", copy_dims(stm), body, MapWork(), prov=stm.prov))
        else:
            super().run_copy(stm)
        self.close()

    def run_kernel(self, kernel: Kernel) -> None:
        """An inner kernel: of a block, or in sequence."""
        if self.mode == "thread":
            self.stms(sequential(kernel))
            return
        self.line("__syncthreads();")
        match kernel.work:
            case MapWork():
                self.open("{")
                self.block_map(kernel)
                self.close()
            case ReduceWork(folds) | ScanWork(folds):
                self.block_fold(kernel, folds, scan=isinstance(kernel.work, ScanWork))
            case HistWork():
                self.open("if (threadIdx.x == 0) {")
                self.point(sequential(kernel), ())
                self.close()
        self.line("__syncthreads();")

    def block_fold(self, kernel: Kernel, folds: tuple[Fold, ...], scan: bool) -> None:
        """An inner reduction or scan."""
        raise NotImplementedError

    # --- heads -------------------------------------------------------------------------------

    def kernel_head(
        self, name: str, kernel: Kernel, extra: Sequence[KernelParam] = ()
    ) -> tuple[KernelParam, ...]:
        """`extern "C" __global__ void name(parameters) {`; answers the parameters."""
        uses = uses_of(kernel)
        own = {a.name for a in extra}
        targets = _targets(kernel)
        arguments = [
            KernelParam(n, p, False)
            for n, p in uses.free_scalars().items()
            if n not in own and n not in targets
        ]
        arguments += [
            KernelParam(n, p, True) for n, p in uses.free_blocks().items() if n not in own
        ]
        arguments += extra
        shown = [
            f"{self.cell_type(a.prim)} *{c_name(a.name)}"
            if a.block
            else f"const {self.cell_type(a.prim)} {self.parameter(a)}"
            for a in arguments
        ]
        self.line("")
        self.open(
            f'extern "C" __global__ void {name}({", ".join([*shown, "int64_t *failure"])}) {{'
        )
        for a in arguments:
            if not a.block and a.prim == "f16":
                self.line(f"const float {c_name(a.name)} = half_to_float({self.parameter(a)});")
        self.checks = False
        self.pool, self.pool_line = 0, len(self.lines)
        return tuple(arguments)

    def parameter(self, a: KernelParam) -> str:
        """The name of a scalar parameter."""
        return f"{c_name(a.name)}_bits" if a.prim == "f16" else c_name(a.name)

    def launchable(self, name: str, arguments: tuple[KernelParam, ...]) -> Launchable:
        """Close the function that `kernel_head` began."""
        if self.pool:
            text = f"{self.indent}__shared__ __align__(8) char pool[{self.pool} * THREADS];"
            self.lines.insert(self.pool_line, Line(text, self.src, self.node))
        self.close()
        return Launchable(name, arguments, self.checks)

    def indices(self, dims: Sequence[tuple[Name, SE]], flat: str) -> None:
        """Indices from the number of a point, row-major."""
        if len(dims) == 1:
            self.line(f"const int64_t {c_name(dims[0][0])} = {flat};")
            return
        rest = flat
        for k in range(len(dims) - 1, 0, -1):
            index, size = c_name(dims[k][0]), self.scalars.within(dims[k][1], 11)
            self.line(f"const int64_t {index} = {rest} % {size};")
            rest = f"{flat} / ({self.show(product([s for _, s in dims[k:]]))})"
        self.line(f"const int64_t {c_name(dims[0][0])} = {rest};")

    def point(self, stms: Stms, after: Sequence[Stm]) -> None:
        """A point's statements in braces; failed checks jump behind them."""
        kept = self.label, self.mode
        self.labels += 1
        self.label, self.mode = f"next_{self.labels}", "thread"
        checked = traits_of(stms).asserts or traits_of(tuple(after)).asserts
        if checked:
            self.open("{")
        self.stms(stms)
        self.stms(after)
        if checked:
            self.close()
            self.line(f"{self.label}:;")
        self.label, self.mode = kept

    # --- maps --------------------------------------------------------------------------------

    def plain(self, stms: Stms) -> None:
        """Statements of a thread."""
        kept, self.mode = self.mode, "thread"
        self.stms(stms)
        self.mode = kept

    def map(self, kernel: Kernel, name: str) -> Launchable:
        """A thread per point, or a block of threads per point."""
        arguments = self.kernel_head(name, kernel)
        total = self.show(product([size for _, size in kernel.dims]))
        if kernel.per_block:
            self.line("const int64_t point = blockIdx.x;")
            self.indices(kernel.dims, "point")
            self.mode = "block"
            self.stms(kernel.body)
            self.mode = "thread"
        else:
            self.line("const int64_t point = (int64_t)blockIdx.x * THREADS + threadIdx.x;")
            self.line(f"if (point >= {total}) return;")
            if kernel.dims:
                self.indices(kernel.dims, "point")
            self.stms(kernel.body)
        return self.launchable(name, arguments)

    def block_map(self, kernel: Kernel) -> None:
        """The points of an inner map over the threads of a block."""
        total = self.show(product([size for _, size in kernel.dims]))
        self.open(f"for (int64_t point = threadIdx.x; point < {total}; point += THREADS) {{")
        self.indices(kernel.dims, "point")
        self.point(kernel.body, ())
        self.close()


def _targets(kernel: Kernel) -> set[Name]:
    """Host variables that a reduction assigns: no parameters."""
    if not isinstance(kernel.work, ReduceWork):
        return set()
    return {i for fold in kernel.work.folds for i in fold.into if isinstance(i, str)}
