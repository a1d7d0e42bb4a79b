"""Updating a bin of a histogram on the GPU: atomic instruction, exchange, or lock."""

from __future__ import annotations

from compiler.base.prim import BYTES, Prim
from compiler.base.spans import Prov
from compiler.codegen.c.types import c_name
from compiler.codegen.cuda.kernels import CudaMaps
from compiler.codegen.imp.nodes import Histogram
from compiler.codegen.index import cell, row_major
from compiler.codegen.sequential import combine
from compiler.codegen.traits import builtin
from compiler.ir.build import inside
from compiler.ir.nodes import Var

_ATOMIC = {"+": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "&": "atomicAnd"}
_ATOMIC |= {"|": "atomicOr", "^": "atomicXor"}
LOCKS = 1 << 16
"""Locks of a histogram whose bins are no single words; bins share them by number."""


def update_bin(out: CudaMaps, hist: Histogram, prov: Prov) -> None:
    """Combine one bin with a point's values, unless the place is outside."""
    out.open(f"if ({out.show(inside(hist.bins, hist.shape))}) {{")
    for rhs, prim, value in zip(hist.op.rhs, hist.op.prims, hist.values, strict=True):
        out.line(f"const {out.type(prim)} {c_name(rhs)} = {out.show(value)};")
    kind = builtin(hist.op)
    prim = hist.op.prims[0]
    if kind in _ATOMIC and _has_atomic(kind, prim):
        _instruction(out, hist, kind, prim)
    elif not needs_lock(hist):
        _exchange(out, hist, prim, prov)
    else:
        _locked(out, hist, prov)
    out.close()


def needs_lock(hist: Histogram) -> bool:
    """Whether a bin is no single word that the GPU can exchange."""
    prim = hist.op.prims[0]
    return len(hist.dests) != 1 or BYTES[prim] not in (4, 8)


def _has_atomic(kind: str, prim: Prim) -> bool:
    if prim in ("f32", "f64"):
        return kind == "+"
    return BYTES[prim] in (4, 8) and prim != "bool" and prim[0] != "f"


def _cell(hist: Histogram, k: int, out: CudaMaps) -> str:
    block, lmad = hist.dests[k]
    return f"{c_name(block)}[{out.show(cell(lmad, hist.bins))}]"


def _instruction(out: CudaMaps, hist: Histogram, kind: str, prim: Prim) -> None:
    cast, value = "", c_name(hist.op.rhs[0])
    if prim == "u64" or (prim == "i64" and kind == "+"):
        cast, value = "(unsigned long long *)", f"(unsigned long long){value}"
    out.line(f"{_ATOMIC[kind]}({cast}&{_cell(hist, 0, out)}, {value});")


def _exchange(out: CudaMaps, hist: Histogram, prim: Prim, prov: Prov) -> None:
    """Read, combine, and write back if nobody has written in between."""
    word = "unsigned int" if BYTES[prim] == 4 else "unsigned long long"
    name, kind = c_name(hist.op.lhs[0]), out.type(prim)
    out.line(f"{word} *place = ({word} *)&{_cell(hist, 0, out)};")
    out.line(f"{word} seen = *place, before;")
    out.open("do {")
    out.line("before = seen;")
    out.line(f"{kind} {name} = *({kind} *)&before;")
    _combine(out, hist, prov)
    out.line(f"seen = atomicCAS(place, before, *({word} *)&{name});")
    out.close("} while (seen != before);")


def _locked(out: CudaMaps, hist: Histogram, prov: Prov) -> None:
    """One thread at a time per bin."""
    flat = out.scalars.within(row_major(hist.bins, hist.shape), 11)
    out.line(f"int32_t *lock = locks_0 + {flat} % {LOCKS};")
    out.open("for (bool done = false; !done;) {")
    out.open("if (atomicCAS(lock, 0, 1) == 0) {")
    out.line("__threadfence();")
    for k, (lhs, prim) in enumerate(zip(hist.op.lhs, hist.op.prims, strict=True)):
        kind = out.cell_type(prim)
        place = f"*(volatile {kind} *)&{_cell(hist, k, out)}"
        out.line(f"{out.type(prim)} {c_name(lhs)} = {out.read(prim, place)};")
    _combine(out, hist, prov)
    for k, (lhs, prim) in enumerate(zip(hist.op.lhs, hist.op.prims, strict=True)):
        place = f"*(volatile {out.cell_type(prim)} *)&{_cell(hist, k, out)}"
        out.line(f"{place} = {out.written(prim, c_name(lhs))};")
    out.line("__threadfence();")
    out.line("atomicExch(lock, 0);")
    out.line("done = true;")
    out.close()
    out.close()


def _combine(out: CudaMaps, hist: Histogram, prov: Prov) -> None:
    """`lhs := lhs op rhs` with right operands that are defined already."""
    op = hist.op
    inputs = [Var(rhs, prim) for rhs, prim in zip(op.rhs, op.prims, strict=True)]
    steps = [s for s in combine(op, inputs, prov) if getattr(s, "name", "") not in op.rhs]
    out.plain(tuple(steps))
