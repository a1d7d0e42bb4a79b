"""Format the kernel IR: IMP, and launches with their thread code; `parser.py` reads it back.

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

from compiler.base.spans import Prov
from compiler.codegen.imp.printer import ImpPrinter
from compiler.codegen.kernels import nodes as k
from compiler.dialect.printing import TextLines
from compiler.ir.nodes import Mem
from compiler.ir.printer import show_index
from compiler.ir.show_scalar import show_type
from compiler.ir.syntax import name_text


def _launch(out: TextLines, at: int, head: str, s: k.Launch, src: Prov) -> None:
    params = ", ".join(
        f"{name_text(p.name)}: {show_type(Mem(p.prim)) if p.block else p.prim}"
        for p in s.kernel.params
    )
    times = f" times {name_text(s.times)}" if s.times else ""
    of = f" of {s.kernel.threads}" if s.kernel.threads else ""
    busy = "" if s.busy is None else f" for {show_index(s.busy)}"
    count = f"in {show_index(s.count)}{times} {s.unit}{of}{busy}"
    text = f"launch {name_text(s.kernel.name)} ({params}) {count} "
    out.line(at, PRINTER.braces(out, at, text, s.kernel.body, src))


PRINTER = ImpPrinter(k.KERNELS, {k.Launch: _launch})
show = PRINTER.show
show_stm = PRINTER.show_stm
