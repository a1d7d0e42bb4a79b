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

How a statement looks says its format line, beside its class.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.base.text import Line, Text
from compiler.codegen.imp import nodes as imp
from compiler.dialect.printing import Block, Printer, Show, TextLines
from compiler.dialect.table import Dialect
from compiler.ir.nodes import SE
from compiler.ir.printer import message_text, show_index
from compiler.ir.show_scalar import show_lmad, show_operand, show_operands, show_se, show_type
from compiler.ir.syntax import name_text

WORDS = imp.IMP.trait("called")


class ImpPrinter(Printer):
    """Prints programs of IMP, or of an extension."""

    def __init__(self, dialect: Dialect, by_hand: Mapping[type, Block] | None = None) -> None:
        """`by_hand` prints statements without a format line."""
        blocks: dict[str, Block] = {"Stms": self.braces, "Combine": self._combine}
        hand = {imp.Kernel: self._kernel, **(by_hand or {})}
        super().__init__(dialect, _SHOWS, {"message": message_text}, blocks, hand, {})

    def show(self, prog: imp.ImpProg) -> Text:
        """Format the program as lines with provenance."""
        out = TextLines()
        for applied in prog.applied:
            self._applied(out, applied)
            out.lines.append(Line(""))
        for k, fun in enumerate(prog.funs):
            if k:
                out.lines.append(Line(""))
            self._function(out, fun)
        return tuple(out.lines)

    def show_stm(self, stm: imp.Stm) -> str:
        """Format a statement on one line: its head, if it has statements inside."""
        out = TextLines()
        self.nested[type(stm)](out, 0, "", stm, ())
        return out.lines[0].text

    def stms(self, out: TextLines, indent: int, stms: imp.Stms) -> None:
        """Print statements; one without provenance inherits its context's."""
        src, node = out.src, out.node
        for stm in stms:
            out.begin(stm, stm.prov or src)
            self.nested[type(stm)](out, indent, "", stm, ())
        out.src, out.node = src, node

    def braces(self, out: TextLines, at: int, head: str, stms: imp.Stms, src: Prov) -> str:
        """Print statements in braces after `head`; the last brace begins another line."""
        out.line(at, f"{head}{{", src)
        self.stms(out, at + 2, stms)
        return "}"

    def _function(self, out: TextLines, fun: imp.ImpFun) -> None:
        out.src, out.node = fun.prov, -1
        word = "entry" if fun.entry else "host fun"
        out.line(0, f"{word} {self._signature(fun)} {{")
        if fun.implicit:
            names = ", ".join(name_text(p.name) for p in fun.params[: fun.implicit])
            out.line(2, f"sizes {names}")
        for taken in fun.inputs:
            out.line(2, f"takes {self.text(taken)}")
        for given in fun.outputs:
            out.line(2, f"gives {self.text(given)}")
        self._inside(out, fun)

    def _applied(self, out: TextLines, fun: imp.ScalarFun) -> None:
        out.src, out.node = fun.prov, -1
        out.line(0, f"fun {self._signature(fun)} {{")
        self._inside(out, fun)

    def _signature(self, fun: imp.ImpFun | imp.ScalarFun) -> str:
        params, results = (", ".join(map(self.text, side)) for side in (fun.params, fun.results))
        return f"{name_text(fun.name)} ({params}) -> ({results})"

    def _inside(self, out: TextLines, fun: imp.ImpFun | imp.ScalarFun) -> None:
        self.stms(out, 2, fun.body)
        out.line(2, f"return {show_operands(fun.values)}")
        out.line(0, "}")

    def _kernel(self, out: TextLines, at: int, head: str, s: imp.Kernel, src: Prov) -> None:
        dims = ", ".join(map(show_point, s.dims))
        per_block = " per_block" if s.per_block else ""
        word = WORDS[type(s.work)]
        out.line(at, f"{word} {name_text(s.name)} @{s.level} ({dims}){per_block} {{")
        self.stms(out, at + 2, s.body)
        self.nested[type(s.work)](out, at + 2, "", s.work, ())
        out.line(at, "}")

    def _combine(self, out: TextLines, at: int, head: str, op: imp.Combine, src: Prov) -> None:
        names = zip((*op.lhs, *op.rhs), op.prims + op.prims, strict=True)
        params = ", ".join(f"{name_text(n)}: {p}" for n, p in names)
        comm = " comm" if op.commutative else ""
        out.line(at, f"{head}op ({params}) neutral {show_operands(op.neutral)}{comm} {{", src)
        self.stms(out, at + 2, op.body)
        out.line(at + 2, f"in {show_operands(op.results)}", op.prov)
        out.line(at, "}")


def show_point(dim: tuple[Name, SE]) -> str:
    """Format an index of a kernel and its bound."""
    return f"{name_text(dim[0])} < {show_index(dim[1])}"


def _place(place: imp.Cell | Name) -> str:
    return name_text(place) if isinstance(place, str) else PRINTER.text(place)


def _dest(dest: tuple[Name, Lmad[Poly]]) -> str:
    return f"{name_text(dest[0])} -> {show_lmad(dest[1])}"


_SHOWS: dict[str, Show] = {
    "Name": name_text,
    "function": name_text,
    "Prim": str,
    "Space": str,
    "step": str,
    "SE": show_se,
    "index": show_index,
    "bin": show_se,
    "Operand": show_operand,
    "Scalar | Mem": show_type,
    "Scalar | Array": show_type,
    "lmad": show_lmad,
    "point": show_point,
    "place": _place,
    "dest": _dest,
}
PRINTER = ImpPrinter(imp.IMP)
show = PRINTER.show
show_stm = PRINTER.show_stm
