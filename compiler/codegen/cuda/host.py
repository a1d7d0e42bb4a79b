"""The host's part of a CUDA program, as Python text over `device`, which is CuPy in disguise.

`cuda_device.py` has what the text calls. Scalars are exact as in `py_runtime.py`; a kernel's launch
names its points and parameters, so that the text reads like the imperative program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from compiler.base.prim import Prim
from compiler.base.spans import Prov
from compiler.codegen.c.stms import Writer
from compiler.codegen.cuda.atomics import LOCKS, needs_lock
from compiler.codegen.cuda.folds import CudaKernels
from compiler.codegen.cuda.kernels import KernelParam, Launchable
from compiler.codegen.imp.nodes import (
    Alloc,
    Assert,
    Assign,
    Copy,
    Declare,
    Define,
    Fold,
    For,
    Free,
    HistWork,
    If,
    ImpFun,
    Kernel,
    Load,
    MapWork,
    ReduceWork,
    ScanWork,
    Stm,
    Stms,
    Store,
    While,
)
from compiler.codegen.index import poly_exp, product
from compiler.codegen.py_scalar import py_name, show, show_count
from compiler.codegen.sequential import copy_body, copy_dims, sequential
from compiler.ir.nodes import SE, Operand

SMALL_SEGMENT = 32
"""Segments up to this size are reduced or scanned by one thread each."""


class Host(Writer):
    """Prints host statements, and has the kernels printed by `kernels`."""

    def __init__(self, kernels: CudaKernels) -> None:
        super().__init__(kernels.numbers)
        self.kernels = kernels
        self.copies = 0

    def function(self, fun: ImpFun) -> None:
        """An entry point."""
        self.src = fun.prov
        self.line("")
        names = ", ".join(["device", *(py_name(p.name) for p in fun.params)])
        self.open(f"def {py_name(f'{fun.name}_0')[:-2]}({names}):")
        self.stms(fun.body)
        self.line("device.check()")
        self.line(f"return ({''.join(f'{_operand(v)}, ' for v in fun.values)})")
        self.indent = ""

    def stms(self, stms: Sequence[Stm]) -> None:
        """Statements with their provenance."""
        src, node = self.src, self.node
        if not stms:
            self.line("pass")
        for stm in stms:
            self.src = stm.prov or src
            self.node = next(self.numbers)
            _PRINT[type(stm)](self, stm)
        self.src, self.node = src, node

    def nested(self, head: str, stms: Stms) -> None:
        """A head and its block."""
        self.open(head)
        self.stms(stms)
        self.indent = self.indent[:-4]

    def define(self, s: Define) -> None:
        """A scalar."""
        self.line(f"{py_name(s.name)} = {show(s.value)}")

    def declare(self, s: Declare) -> None:
        """A variable."""
        start = "None" if s.value is None else _operand(s.value)
        self.line(f"{py_name(s.name)} = {start}")

    def assign(self, s: Assign) -> None:
        """A variable's next value."""
        self.line(f"{py_name(s.name)} = {_operand(s.value)}")

    def alloc(self, s: Alloc) -> None:
        """A block on the device."""
        place = self.site(
            s.prov, ("There is not enough memory on the device for ", s.count, " elements.")
        )
        self.line(f'{py_name(s.name)} = device.alloc({show_count(s.count)}, "{s.prim}", {place})')

    def free(self, s: Free) -> None:
        """CuPy counts its blocks."""
        self.line(f"{py_name(s.name)} = None")

    def load(self, s: Load) -> None:
        """A cell, after all kernels."""
        self.line(f"{py_name(s.name)} = device.read({py_name(s.block)}, {show(s.at)})")

    def store(self, s: Store) -> None:
        """A cell."""
        self.line(f"device.write({py_name(s.block)}, {show(s.at)}, {show(s.value)})")

    def copy(self, s: Copy) -> None:
        """One copy of the device where both are dense, else a kernel."""
        if s.dest_lmad.is_row_major() and s.source_lmad.is_row_major():
            count = show(product([poly_exp(d.size) for d in s.dest_lmad.dims]))
            dest = f"{py_name(s.dest)}, {show(poly_exp(s.dest_lmad.offset))}"
            source = f"{py_name(s.source)}, {show(poly_exp(s.source_lmad.offset))}"
            self.line(f"device.copy({dest}, {source}, {count})")
            return
        self.copies += 1
        name = f"copy_{self.copies}"
        self.kernel(Kernel(name, "grid", copy_dims(s), copy_body(s), MapWork(), prov=s.prov))

    def branch(self, s: If) -> None:
        """Both arms."""
        self.nested(f"if {show(s.cond)}:", s.then)
        if s.orelse:
            self.nested("else:", s.orelse)

    def count_loop(self, s: For) -> None:
        """A loop of the host."""
        self.nested(f"for {py_name(s.index)} in range({show(s.bound)}):", s.body)

    def while_loop(self, s: While) -> None:
        """A loop of the host."""
        self.nested(f"while {py_name(s.cond)}:", s.body)

    def check(self, s: Assert) -> None:
        """A check of the host."""
        values = "".join(f"{show(p)}, " for p in s.message if not isinstance(p, str))
        self.line(f"if not ({show(s.cond)}):")
        self.line(f"    device.fail({self.site(s.prov, s.message)}, ({values}))")

    def site(self, prov: Prov, message: tuple[str | SE, ...]) -> int:
        """The number of a check."""
        self.kernels.sites.append((prov, message))
        return len(self.kernels.sites) - 1

    # --- kernels -----------------------------------------------------------------------------

    def kernel(self, s: Kernel) -> None:
        """The kernel's functions, and their launches."""
        out = self.kernels
        out.src, out.node = self.src, self.node
        name = py_name(s.name)
        match s.work:
            case MapWork():
                self.launch(out.map(s, name), s.dims, per_block=s.per_block)
            case ReduceWork(folds):
                self.staged(s, folds, name)
            case ScanWork(folds):
                self.staged(s, folds, name)
            case HistWork(hists):
                if any(needs_lock(hist) for hist in hists):
                    self.line(f'locks_0 = device.zeros({LOCKS}, "i32")')
                self.launch(out.hist(s, s.work, name), s.dims)

    def launch(
        self, made: Launchable, dims: Sequence[tuple[str, SE]], per_block: bool = False
    ) -> None:
        """Launch with a thread, or a block of threads, per point."""
        points = show(product([size for _, size in dims]))
        self.launch_text(made, "blocks" if per_block else "points", points)

    def launch_text(self, made: Launchable, unit: str, count: str) -> None:
        """The launch of a function for so many points or blocks of threads."""
        arguments = "".join(f", {_argument(a)}" for a in made.arguments)
        self.line(f'device.launch("{made.name}", {unit}={count})({arguments[2:]})')

    def staged(self, s: Kernel, folds: tuple[Fold, ...], name: str) -> None:
        """Two or three stages; short segments have a thread each."""
        size = s.dims[-1][1]
        if len(s.dims) > 1:
            inner = sequential(replace(s, dims=s.dims[-1:]))
            small = replace(s, dims=s.dims[:-1], body=inner, work=MapWork())
            made = self.kernels.map(small, f"{name}_short")
            self.open(f"if {show(size)} <= {SMALL_SEGMENT}:")
            self.launch(made, small.dims)
            self.indent = self.indent[:-4]
            self.open("else:")
        self.stages(s, folds, name)
        if len(s.dims) > 1:
            self.indent = self.indent[:-4]

    def stages(self, s: Kernel, folds: tuple[Fold, ...], name: str) -> None:
        """Ranges, then their outcomes; for a scan the ranges again."""
        scan = isinstance(s.work, ScanWork)
        segments = show(product([size for _, size in s.dims[:-1]]))
        self.line(f"blocks_0, chunk_0 = device.ranges({segments}, {show(s.dims[-1][1])})")
        parts = self.kernels.parts(folds)
        cells = [] if scan else self.kernels.cells(folds)
        for part in parts:
            self.line(f'{py_name(part.name)} = device.part({segments} * blocks_0, "{part.prim}")')
        for target in cells:
            self.line(f'{py_name(target.name)} = device.part(1, "{target.prim}")')
        first = self.kernels.first_stage(s, folds, f"{name}_first")
        self.launch_text(first, "blocks", f"{segments} * blocks_0")
        second = self.kernels.second_stage(s, folds, f"{name}_second")
        self.launch_text(second, "blocks", segments)
        if scan:
            third = self.kernels.third_stage(s, folds, f"{name}_third")
            self.launch_text(third, "blocks", f"{segments} * blocks_0")
        for target in cells:
            variable = py_name(target.name.removesuffix("_cell"))
            self.line(f"{variable} = device.read({py_name(target.name)}, 0)")


def _operand(value: Operand) -> str:
    return py_name(value) if isinstance(value, str) else show(value)


_NUMPY: dict[Prim, str] = {
    "bool": "bool_",
    **{p: f"{'int' if p[0] == 'i' else 'uint'}{p[1:]}" for p in ("i8", "i16", "i32", "i64")},
    **{p: f"uint{p[1:]}" for p in ("u8", "u16", "u32", "u64")},
    **{p: f"float{p[1:]}" for p in ("f16", "f32", "f64")},
}


def _argument(a: KernelParam) -> str:
    if a.block:
        return py_name(a.name)
    return f"np.{_NUMPY[a.prim]}({py_name(a.name)})"


_PRINT: dict[type[Stm], Callable[[Host, Any], None]] = {
    Define: Host.define,
    Declare: Host.declare,
    Assign: Host.assign,
    Alloc: Host.alloc,
    Free: Host.free,
    Load: Host.load,
    Store: Host.store,
    Copy: Host.copy,
    If: Host.branch,
    For: Host.count_loop,
    While: Host.while_loop,
    Assert: Host.check,
    Kernel: Host.kernel,
}
