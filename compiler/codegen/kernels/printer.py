"""The kernel IR as text: IMP's, and launches with what each thread runs; `parser.py` reads it back.

entry main (n_1: i64, xs_mem_2: mem(f32)) -> (s_9: f32) {
..
let blocks_0, chunk_0 = ranges(1, n_1, 1024)
let x_4_part: mem(f32) = part(1 * blocks_0)
launch sum_5_first (blocks_0: i64, xs_mem_2: mem(f32)) in 1 * blocks_0 blocks {
indices (%segment < 1, %range < blocks_0) of %block
let %x_4_all: mem(f32, shared) = alloc(32)
for %i_6: i64 from %thread to n_1 by + %threads {
..
}
shuffle %x_4_left <- x_4 of %thread - %step
..
%x_4_all[%warp] <- x_4
barrier
..
}
"""

from __future__ import annotations

from functools import partial

from compiler.base.names import Name
from compiler.codegen.imp import printer
from compiler.codegen.imp.printer import Out, Prints, cell_text
from compiler.codegen.kernels import nodes as k
from compiler.ir.nodes import SE, Mem
from compiler.ir.show_scalar import show_se, show_type
from compiler.ir.syntax import name_text


def _fetch(out: Out, indent: int, s: k.Fetch) -> None:
    out.line(indent, f"{name_text(s.name)} <- {cell_text(s.block, s.at)}")


def _indices(out: Out, indent: int, s: k.Indices) -> None:
    dims = ", ".join(f"{name_text(i)} < {_number(size)}" for i, size in s.dims)
    out.line(indent, f"indices ({dims}) of {_number(s.flat)}")


def _stride(out: Out, indent: int, s: k.Stride) -> None:
    steps = f"from {show_se(s.start)} to {show_se(s.end)} by {s.op} {show_se(s.by)}"
    out.nested(indent, f"for {name_text(s.index)}: {s.prim} {steps}", s.body)


def _scope(out: Out, indent: int, s: k.Scope) -> None:
    out.nested(indent, "point" if s.point else "scope", s.body)


def _exit(out: Out, indent: int, s: k.Exit) -> None:
    out.line(indent, f"exit if {show_se(s.cond)}")


def _barrier(out: Out, indent: int, s: k.Barrier) -> None:
    out.line(indent, "barrier asking" if s.asks else "barrier")


def _shuffle(out: Out, indent: int, s: k.Shuffle) -> None:
    out.line(indent, f"shuffle {name_text(s.name)} <- {show_se(s.value)} of {show_se(s.lane)}")


def _atomic(out: Out, indent: int, s: k.Atomic) -> None:
    out.line(indent, f"atomic {s.op} {cell_text(s.block, s.at)} <- {show_se(s.value)}")


def _exchange(out: Out, indent: int, s: k.Exchange) -> None:
    cell = cell_text(s.block, s.at)
    out.nested(indent, f"exchange {name_text(s.name)}: {s.prim} = {cell}", s.body)


def _locked(out: Out, indent: int, s: k.Locked) -> None:
    out.nested(indent, f"locked {cell_text(s.locks, s.at)}", s.body)


def _ticket(out: Out, indent: int, s: k.Ticket) -> None:
    out.line(indent, f"ticket {name_text(s.name)} of {cell_text(s.block, s.at)}")


def _publish(out: Out, indent: int, s: k.Publish) -> None:
    out.line(indent, f"publish {cell_text(s.block, s.at)} <- {show_se(s.value)}")


def _await(out: Out, indent: int, s: k.Await) -> None:
    out.line(indent, f"await {name_text(s.name)} of {cell_text(s.block, s.at)}")


def _launch(out: Out, indent: int, s: k.Launch) -> None:
    params = ", ".join(
        f"{name_text(p.name)}: {show_type(Mem(p.prim)) if p.block else p.prim}"
        for p in s.kernel.params
    )
    head = f"launch {name_text(s.kernel.name)} ({params}) in {_times(s.count, s.times)} {s.unit}"
    of = f" of {s.kernel.threads}" if s.kernel.threads else ""
    busy = "" if s.busy is None else f" for {_number(s.busy)}"
    out.nested(indent, head + of + busy, s.kernel.body)


def _ranges(out: Out, indent: int, s: k.Ranges) -> None:
    names = f"{name_text(s.blocks)}, {name_text(s.chunk)}"
    given = ", ".join(map(_number, (s.segments, s.size, s.least)))
    out.line(indent, f"let {names} = ranges({given})")


def _part(out: Out, indent: int, s: k.Part) -> None:
    out.line(indent, _block(s.name, Mem(s.prim), f"part({_times(s.count, s.times)})"))


def _zeros(out: Out, indent: int, s: k.Zeros) -> None:
    out.line(indent, _block(s.name, Mem(s.prim), f"zeros({_number(s.count)})"))


def _block(name: Name, kind: Mem, made: str) -> str:
    return f"let {name_text(name)}: {show_type(kind)} = {made}"


def _number(se: SE) -> str:
    """An expression that is i64 wherever it stands."""
    return show_se(se, suffix=False)


def _times(count: SE, factor: Name) -> str:
    """A number of blocks of threads, or of cells for them."""
    shown = _number(count)
    return f"{shown} times {name_text(factor)}" if factor else shown


PRINTS: Prints = {
    **printer.PRINTS,
    k.Fetch: _fetch,
    k.Indices: _indices,
    k.Stride: _stride,
    k.Scope: _scope,
    k.Exit: _exit,
    k.Barrier: _barrier,
    k.Shuffle: _shuffle,
    k.Atomic: _atomic,
    k.Exchange: _exchange,
    k.Locked: _locked,
    k.Ticket: _ticket,
    k.Publish: _publish,
    k.Await: _await,
    k.Launch: _launch,
    k.Ranges: _ranges,
    k.Part: _part,
    k.Zeros: _zeros,
}

show = partial(printer.show, prints=PRINTS)
show_stm = partial(printer.show_stm, prints=PRINTS)
