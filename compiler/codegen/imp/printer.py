"""IMP as text; `parser.py` reads it back.

entry main (n_1: i64, xs_mem_2: mem(f32)) -> (s_9: f32) {
sizes n_1
takes xs_3: [n_1]f32 in xs_mem_2
gives s_9: f32
var s_4: f32
reduce sum_5 @grid (i_6 < n_1) {
let x_7: f32 = xs_mem_2[i_6]
fold (x_7) into (s_4) op (a_10: f32, b_11: f32) neutral (0.0f32) comm {
in (a_10 + b_11)
}
}
return (s_4)
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from compiler.base.spans import Prov
from compiler.base.text import Line, Text
from compiler.codegen.imp import nodes as imp
from compiler.ir.nodes import SE, Array, Mem
from compiler.ir.show_scalar import show_lmad, show_operand, show_operands, show_se, show_type
from compiler.ir.syntax import name_text, string_text

WORDS: dict[type, str] = {
    imp.MapWork: "map",
    imp.ReduceWork: "reduce",
    imp.ScanWork: "scan",
    imp.HistWork: "hist",
}


def show(prog: imp.ImpProg, prints: Prints | None = None) -> Text:
    """The program as lines with provenance; `prints` says how its statements look."""
    out = Out(prints or PRINTS)
    for applied in prog.applied:
        _applied(out, applied)
        out.lines.append(Line(""))
    for k, fun in enumerate(prog.funs):
        if k:
            out.lines.append(Line(""))
        _function(out, fun)
    return tuple(out.lines)


def show_stm(stm: imp.Stm, prints: Prints | None = None) -> str:
    """A statement on one line: what begins it, if it has statements inside."""
    out = Out(prints or PRINTS)
    out.prints[type(stm)](out, 0, stm)
    return out.lines[0].text


class Out:
    """The lines so far."""

    __slots__ = ("count", "lines", "node", "prints", "src")

    def __init__(self, prints: Prints) -> None:
        self.prints = prints
        self.lines: list[Line] = []
        self.count = 0
        self.node = -1
        self.src: Prov = ()

    def line(self, indent: int, text: str, src: Prov = ()) -> None:
        """A line of the statement that is printed; `src` is what it came from, if told."""
        self.lines.append(Line(" " * indent + text, src or self.src, self.node))

    def stms(self, indent: int, stms: imp.Stms) -> None:
        """Statements; one that says nothing of where it comes from came with what it stands in."""
        src, node = self.src, self.node
        for stm in stms:
            self.src, self.node = stm.prov or src, self.count
            self.count += 1
            self.prints[type(stm)](self, indent, stm)
        self.src, self.node = src, node

    def nested(self, indent: int, head: str, stms: imp.Stms) -> None:
        """Statements in braces behind what they belong to."""
        self.line(indent, f"{head} {{")
        self.stms(indent + 2, stms)
        self.line(indent, "}")


Prints = Mapping[type[imp.Stm], Callable[[Out, int, Any], None]]


def _function(out: Out, fun: imp.ImpFun) -> None:
    out.src, out.node = fun.prov, -1
    word = "entry" if fun.entry else "host fun"
    head = f"{word} {name_text(fun.name)} {_formals(fun.params)} -> {_formals(fun.results)} {{"
    out.line(0, head)
    if fun.implicit:
        names = ", ".join(name_text(p.name) for p in fun.params[: fun.implicit])
        out.line(2, f"sizes {names}")
    for taken in fun.inputs:
        out.line(2, f"takes {_external(taken)}")
    for given in fun.outputs:
        out.line(2, f"gives {_external(given)}")
    out.stms(2, fun.body)
    out.line(2, f"return {show_operands(fun.values)}")
    out.line(0, "}")


def _applied(out: Out, fun: imp.ScalarFun) -> None:
    out.src, out.node = fun.prov, -1
    out.line(0, f"fun {name_text(fun.name)} {_formals(fun.params)} -> {_formals(fun.results)} {{")
    out.stms(2, fun.body)
    out.line(2, f"return {show_operands(fun.values)}")
    out.line(0, "}")


def _formals(formals: Iterable[imp.Formal]) -> str:
    return f"({', '.join(f'{name_text(f.name)}: {show_type(f.type)}' for f in formals)})"


def _external(e: imp.External) -> str:
    star = "*" if e.unique else ""
    block = f" in {name_text(e.block)}" if isinstance(e.type, Array) else ""
    return f"{name_text(e.name)}: {star}{show_type(e.type)}{block}"


def cell_text(block: str, at: SE) -> str:
    """A cell of a block."""
    return f"{name_text(block)}[{show_se(at, suffix=False)}]"


def _define(out: Out, indent: int, s: imp.Define) -> None:
    out.line(indent, f"let {name_text(s.name)}: {s.prim} = {show_se(s.value)}")


def _apply(out: Out, indent: int, s: imp.Apply) -> None:
    names = ", ".join(f"{name_text(n)}: {p}" for n, p in zip(s.names, s.prims, strict=True))
    out.line(indent, f"apply ({names}) = {name_text(s.fun)}{show_operands(s.args)}")


def _call(out: Out, indent: int, s: imp.Call) -> None:
    given = f"{name_text(s.fun)}{show_operands(s.args)}"
    gone = f" frees ({', '.join(map(name_text, s.gone))})" if s.gone else ""
    out.line(indent, f"call {_formals(s.results)} = {given}{gone}")


def _declare(out: Out, indent: int, s: imp.Declare) -> None:
    start = "" if s.value is None else f" = {show_operand(s.value)}"
    out.line(indent, f"var {name_text(s.name)}: {show_type(s.type)}{start}")


def _assign(out: Out, indent: int, s: imp.Assign) -> None:
    out.line(indent, f"{name_text(s.name)} <- {show_operand(s.value)}")


def _alloc(out: Out, indent: int, s: imp.Alloc) -> None:
    kind = show_type(Mem(s.prim, s.space))
    out.line(indent, f"let {name_text(s.name)}: {kind} = alloc({show_se(s.count, suffix=False)})")


def _free(out: Out, indent: int, s: imp.Free) -> None:
    out.line(indent, f"free {name_text(s.name)}")


def _load(out: Out, indent: int, s: imp.Load) -> None:
    out.line(indent, f"let {name_text(s.name)}: {s.prim} = {cell_text(s.block, s.at)}")


def _store(out: Out, indent: int, s: imp.Store) -> None:
    out.line(indent, f"{cell_text(s.block, s.at)} <- {show_se(s.value)}")


def _copy(out: Out, indent: int, s: imp.Copy) -> None:
    source = f"{name_text(s.source)} -> {show_lmad(s.source_lmad)}"
    dest = f"{name_text(s.dest)} -> {show_lmad(s.dest_lmad)}"
    out.line(indent, f"copy {s.prim} {dest} <- {source}")


def _if(out: Out, indent: int, s: imp.If) -> None:
    out.line(indent, f"if {show_se(s.cond)} {{")
    out.stms(indent + 2, s.then)
    if s.orelse:
        out.line(indent, "} else {")
        out.stms(indent + 2, s.orelse)
    out.line(indent, "}")


def _for(out: Out, indent: int, s: imp.For) -> None:
    out.nested(indent, f"for {name_text(s.index)}: {s.prim} < {show_se(s.bound)}", s.body)


def _while(out: Out, indent: int, s: imp.While) -> None:
    out.nested(indent, f"while {name_text(s.cond)}", s.body)


def _assert(out: Out, indent: int, s: imp.Assert) -> None:
    parts = (string_text(m) if isinstance(m, str) else show_se(m) for m in s.message)
    out.line(indent, f"assert({', '.join((show_se(s.cond), *parts))})")


def _push(out: Out, indent: int, s: imp.Push) -> None:
    _histogram(out, indent, s.hist, "push")


def _kernel(out: Out, indent: int, s: imp.Kernel) -> None:
    dims = ", ".join(f"{name_text(i)} < {show_se(bound, suffix=False)}" for i, bound in s.dims)
    per_block = " per_block" if s.per_block else ""
    word = WORDS[type(s.work)]
    out.line(indent, f"{word} {name_text(s.name)} @{s.level} ({dims}){per_block} {{")
    out.stms(indent + 2, s.body)
    match s.work:
        case imp.ReduceWork(folds) | imp.ScanWork(folds):
            for fold in folds:
                _fold(out, indent + 2, fold)
        case imp.HistWork(hists):
            for hist in hists:
                _histogram(out, indent + 2, hist)
    out.line(indent, "}")


def _fold(out: Out, indent: int, fold: imp.Fold) -> None:
    into = ", ".join(
        cell_text(i.block, i.at) if isinstance(i, imp.Cell) else name_text(i) for i in fold.into
    )
    head = f"fold {show_operands(fold.inputs)} into ({into})"
    _combine(out, indent, head, fold.op, fold.prov)


def _histogram(out: Out, indent: int, hist: imp.Histogram, word: str = "bins") -> None:
    at = ", ".join(
        f"{show_se(i)} < {show_se(n)}" for i, n in zip(hist.bins, hist.shape, strict=True)
    )
    dests = ", ".join(f"{name_text(block)} -> {show_lmad(lmad)}" for block, lmad in hist.dests)
    head = f"{word} ({at}) in ({dests}) get {show_operands(hist.values)}"
    _combine(out, indent, head, hist.op, hist.prov)


def _combine(out: Out, indent: int, head: str, op: imp.Combine, prov: Prov) -> None:
    names = (*op.lhs, *op.rhs)
    params = ", ".join(
        f"{name_text(n)}: {p}" for n, p in zip(names, op.prims + op.prims, strict=True)
    )
    comm = " comm" if op.commutative else ""
    out.line(indent, f"{head} op ({params}) neutral {show_operands(op.neutral)}{comm} {{", prov)
    out.stms(indent + 2, op.body)
    out.line(indent + 2, f"in {show_operands(op.results)}", op.prov)
    out.line(indent, "}")


PRINTS: Prints = {
    imp.Define: _define,
    imp.Apply: _apply,
    imp.Call: _call,
    imp.Declare: _declare,
    imp.Assign: _assign,
    imp.Alloc: _alloc,
    imp.Free: _free,
    imp.Load: _load,
    imp.Store: _store,
    imp.Copy: _copy,
    imp.If: _if,
    imp.For: _for,
    imp.While: _while,
    imp.Assert: _assert,
    imp.Push: _push,
    imp.Kernel: _kernel,
}
