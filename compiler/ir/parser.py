"""Parse the text form of the core language (see `printer.py`).

Errors are `SyntaxError_` with the position. Provenance is not part of the text.
"""

from __future__ import annotations

from typing import cast, get_args

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.dialect.parsing import FormatParser, heads
from compiler.ir import nodes as ir
from compiler.ir.parse_scalar import ScalarParser


def parse(text: str) -> ir.Prog:
    """Parse a program; `parse(show_text(p)) == p` up to provenance."""
    return Parser(text).prog()


class Parser(ScalarParser):
    """Parses functions, bodies, statements and fields; `FORMS` parses nodes with a format line."""

    def prog(self) -> ir.Prog:
        """Parse functions up to the end of the text."""
        funs: list[ir.Function] = []
        while self.tokens.kind != "end":
            funs.append(self._function())
        return ir.Prog(tuple(funs))

    def _function(self) -> ir.Function:
        t = self.tokens
        entry = t.take("entry")
        if not entry and not t.take("fun"):
            t.fail("expected `entry` or `fun`")
        name = self.function_name()
        sizes = self.params("[", "]") if t.text == "[" else ()
        params = self.params()
        t.expect(":")
        results = self.params()
        t.expect("=")
        return ir.Function(name, sizes + params, results, self.body(), entry, len(sizes))

    def body(self) -> ir.Body:
        """Parse statements and `in (results)`, or just `(results)`."""
        stms = self._stms()
        return ir.Body(stms, self.operands())

    def _stms(self) -> tuple[ir.Stm, ...]:
        """Parse statements up to and including `in`; none before a parenthesis."""
        t = self.tokens
        stms: list[ir.Stm] = []
        if t.text == "(" and t.kind == "op":
            return ()
        while not t.take("in"):
            pat: tuple[ir.Param, ...] = ()
            if t.word not in _BARE:
                t.expect("let")
                pat = self.params()
                t.expect("=")
            stms.append(ir.Stm(pat, self.exp()))
        return tuple(stms)

    def exp(self) -> ir.Exp:
        """Parse any expression."""
        found: ir.Exp | None = FORMS.form(self)
        return self.se() if found is None else found

    # --- fields --------------------------------------------------------------------------------

    def dim(self) -> ir.DimIndex:
        """Parse a position or a slice."""
        t = self.tokens
        start = self.se()
        if not t.take(":+"):
            return ir.DimFix(start)
        if t.take("("):
            return self._lmad_dim(start)
        count = self.poly()
        return ir.DimSlice(start, count, self.se() if t.take(":") else ir.ONE)

    def _lmad_dim(self, start: ir.SE) -> ir.DimLmad:
        t = self.tokens
        counts: list[Poly] = []
        strides: list[ir.SE] = []
        while not t.take(")"):
            counts.append(self.poly())
            t.expect(":")
            strides.append(self.se())
            if t.text != ")":
                t.expect(",")
        return ir.DimLmad(start, tuple(counts), tuple(strides))

    def rank(self) -> int:
        """Parse a rank, written as that many `_`."""
        t = self.tokens
        rank = 0
        while t.text != "]":
            t.name("`_`")
            rank += 1
            if t.text != "]":
                t.expect(",")
        return rank

    def point(self) -> tuple[Name, Poly]:
        """Parse an index of a kernel and its bound."""
        index = self.tokens.name("an index")
        self.types[index] = ir.Scalar("i64")
        self.tokens.expect("<")
        return index, self.poly()

    def lambda_(self) -> ir.Lambda:
        """Parse an anonymous function."""
        t = self.tokens
        t.expect("\\")
        params = self.params()
        t.expect(":")
        returns = self.types_in_parentheses()
        t.expect("->")
        return ir.Lambda(params, self.body(), returns)

    def kernel(self) -> ir.KernelBody:
        """Parse the body of a kernel."""
        t = self.tokens
        t.expect(":")
        returns = self.types_in_parentheses()
        t.expect("->")
        stms = self._stms()
        t.expect("(")
        results: list[ir.KernelResult] = []
        while not t.take(")"):
            results.append(self._result())
            if t.text != ")":
                t.expect(",")
        return ir.KernelBody(stms, tuple(results), returns)

    def _result(self) -> ir.KernelResult:
        t = self.tokens
        if t.kind != "name" or t.peek().text != "with":
            return self.operand()
        return cast(ir.Write, FORMS.read(self, ir.Write))

    def write(self) -> tuple[tuple[ir.SE, ...], ir.Operand]:
        """Parse indices and the value written there."""
        t = self.tokens
        t.expect("[")
        at: list[ir.SE] = []
        while not t.take("]"):
            at.append(self.se())
            if t.text != "]":
                t.expect(",")
        t.expect("=")
        return tuple(at), self.operand()


FORMS = FormatParser(
    ir.CORE,
    reads={
        "Name": lambda p: p.tokens.name("an array"),
        "function": Parser.function_name,
        "string": lambda p: p.tokens.string(),
        "int": lambda p: p.tokens.integer(),
        "Prim": Parser.prim,
        "Level": Parser.level,
        "Space": Parser.space,
        "Poly": Parser.poly,
        "SE": Parser.se,
        "index": Parser.se,
        "Operand": Parser.operand,
        "DimIndex": Parser.dim,
        "dim": Parser.point,
        "write": Parser.write,
        "Body": Parser.body,
        "Lambda": Parser.lambda_,
        "KernelBody": Parser.kernel,
    },
    wholes={
        "shape": Parser.shape,
        "params": Parser.params,
        "message": Parser.message,
        "rank": Parser.rank,
    },
    by_hand={},
    forms=(cls for cls in get_args(ir.Exp) if ir.CORE.nodes[cls].rows),
)
_BARE = {head for node in ir.CORE.nodes.values() if node.traits.bare for head in heads(node)}
