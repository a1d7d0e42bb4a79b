"""IMP to kernels: the host's statements launch what threads run (`nodes.py`).

Takes IMP for a target with blocks of threads. What it makes has no kernels of IMP any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.base.context import Ctx
from compiler.base.errors import Limitation
from compiler.base.prim import Prim
from compiler.base.rules import Pass
from compiler.base.spans import NOWHERE
from compiler.base.target import Target
from compiler.codegen.c.types import c_name
from compiler.codegen.imp.nodes import (
    Copy,
    Fold,
    For,
    HistWork,
    If,
    ImpProg,
    Kernel,
    MapWork,
    ReduceWork,
    ScanWork,
    Stm,
    Stms,
    While,
)
from compiler.codegen.index import product
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.bins import COUNT, LOCKS, needs_lock, update_bin
from compiler.codegen.kernels.blocks import map_code
from compiler.codegen.kernels.folds import (
    BLOCKS,
    CHUNK,
    components,
    first_stage,
    part,
    result_cell,
    second_stage,
    third_stage,
)
from compiler.codegen.kernels.threads import own_point, thread_code
from compiler.codegen.kernels.walk import free_names, shared_bytes
from compiler.codegen.sequential import copy_body, copy_dims, sequential
from compiler.ir.nodes import ONE, ZERO, Bin, Lit

SMALL_SEGMENT = 32
"""Segments up to this size are reduced or scanned by one thread each."""


def lower(prog: ImpProg, ctx: Ctx) -> ImpProg:
    """The program with launches in place of kernels."""
    lowering = _Lowering(ctx.target)
    return ImpProg(tuple(replace(f, body=lowering.host(f.body)) for f in prog.funs))


KERNELS = Pass("kernels", "Makes kernels of threads, barriers and shared memory.", lower)


class _Lowering:
    """Translates the host's statements; copies that are kernels are numbered."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.copies = 0

    def host(self, stms: Stms) -> Stms:
        """Statements of the host."""
        out: list[Stm] = []
        for stm in stms:
            match stm:
                case Kernel():
                    out.extend(self.kernel(stm))
                case Copy(_, _, to, _, come) if not (to.is_row_major() and come.is_row_major()):
                    out.append(self.copy(stm))
                case If(_, then, orelse):
                    out.append(replace(stm, then=self.host(then), orelse=self.host(orelse)))
                case For() | While():
                    out.append(replace(stm, body=self.host(stm.body)))
                case _:
                    out.append(stm)
        return tuple(out)

    def copy(self, stm: Copy) -> k.Launch:
        """A copy of cells that do not lie together: a map."""
        self.copies += 1
        dims, body = copy_dims(stm), copy_body(stm)
        name = f"copy_{self.copies}"
        return self.map(Kernel(name, "grid", dims, body, MapWork(), prov=stm.prov), name)

    def kernel(self, kernel: Kernel) -> Stms:
        """The launches that do a kernel's work."""
        name = c_name(kernel.name)
        match kernel.work:
            case MapWork():
                return (self.map(kernel, name),)
            case HistWork():
                return self.hist(kernel, kernel.work, name)
            case ReduceWork(folds) | ScanWork(folds):
                return self.staged(kernel, folds, name)

    def function(self, name: str, body: Stms, source: Kernel) -> k.Kernel:
        """A kernel whose parameters are what its body uses and does not define.

        Raises Limitation if it needs more shared memory than a block of threads has.
        """
        names = free_names(body)
        params = [k.Param(n, p, False) for n, p in names.free_scalars().items() if n not in k.IDS]
        params += [k.Param(n, p, True) for n, p in names.free_blocks().items()]
        made = k.Kernel(name, tuple(params), body, source.prov)
        need, there = shared_bytes(made, self.target), self.target.shared_bytes
        if need > there:
            raise Limitation(
                f"A block of threads needs {need} bytes of shared memory here, and has {there}.",
                source.prov[0] if source.prov else NOWHERE,
                "Combine fewer values at once, or run the program with the C back end.",
            )
        return made

    def map(self, kernel: Kernel, name: str) -> k.Launch:
        """A thread, or a block of threads, for each point."""
        made = self.function(name, map_code(kernel), kernel)
        points = product([size for _, size in kernel.dims])
        return k.Launch(made, "blocks" if kernel.per_block else "points", points, prov=kernel.prov)

    def hist(self, kernel: Kernel, work: HistWork, name: str) -> Stms:
        """A thread for each point, which updates bins."""
        prov = kernel.prov
        locks: Stms = ()
        if any(map(needs_lock, work.hists)):
            locks = (k.Zeros(LOCKS, "i32", COUNT, prov),)
        updates = tuple(update_bin(hist, self.target, prov) for hist in work.hists)
        body = own_point(kernel) + thread_code(kernel.body) + updates
        points = product([size for _, size in kernel.dims])
        return (*locks, k.Launch(self.function(name, body, kernel), "points", points, prov=prov))

    def staged(self, kernel: Kernel, folds: tuple[Fold, ...], name: str) -> Stms:
        """Two or three stages; short segments have a thread each."""
        stages = self.stages(kernel, folds, name)
        *outer, last = kernel.dims
        if not outer:
            return stages
        inner = sequential(replace(kernel, dims=(last,)))
        small = replace(kernel, dims=tuple(outer), body=inner, work=MapWork())
        short = Bin("<=", "i64", last[1], Lit(SMALL_SEGMENT, "i64"))
        return (If(short, (self.map(small, f"{name}_short"),), stages, kernel.prov),)

    def stages(self, kernel: Kernel, folds: tuple[Fold, ...], name: str) -> Stms:
        """Ranges, then their outcomes; for a scan the ranges again."""
        prov, scan = kernel.prov, isinstance(kernel.work, ScanWork)
        segments = product([size for _, size in kernel.dims[:-1]])
        out: list[Stm] = [k.Ranges(BLOCKS, CHUNK, segments, kernel.dims[-1][1], prov)]
        for lhs, prim, _ in components(folds):
            out.append(k.Part(part(lhs), prim, segments, BLOCKS, prov))
        cells = [] if scan else _variables(folds)
        out += [k.Part(result_cell(name_), prim, ONE, prov=prov) for name_, prim in cells]
        codes = {"first": first_stage, "second": second_stage}
        codes |= {"third": third_stage} if scan else {}
        for stage, code in codes.items():
            made = self.function(f"{name}_{stage}", code(kernel, folds), kernel)
            times = "" if stage == "second" else BLOCKS
            out.append(k.Launch(made, "blocks", segments, times, prov))
        out += [k.Fetch(name_, prim, result_cell(name_), ZERO, prov) for name_, prim in cells]
        return tuple(out)


def _variables(folds: Sequence[Fold]) -> list[tuple[str, Prim]]:
    """The variables of the host that a reduction gives values to."""
    return [
        (into, prim)
        for fold in folds
        for into, prim in zip(fold.into, fold.op.prims, strict=True)
        if isinstance(into, str)
    ]
