"""Parse the text form of IMP (see `printer.py`).

Errors are `SyntaxError_` with the position. Provenance is not part of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp import nodes as imp
from compiler.dialect.parsing import FormatParser, Read
from compiler.dialect.table import Dialect
from compiler.ir.nodes import SE, Array, Mem, Operand, Scalar, Space, Type
from compiler.ir.parse_scalar import ScalarParser
from compiler.ir.syntax import PRECEDENCE

_T = TypeVar("_T")


def parse(text: str) -> imp.ImpProg:
    """Parse a program; `parse(plain(show(p))) == p` up to provenance."""
    return ImpParser(text).prog()


class ImpParser(ScalarParser):
    """Parses functions, kernels, operators and fields; `forms` parses nodes with a format line."""

    forms: FormatParser

    def prog(self) -> imp.ImpProg:
        """Parse functions and entry points up to the end of the text."""
        applied: list[imp.ScalarFun] = []
        funs: list[imp.ImpFun] = []
        while self.tokens.take_word("fun"):
            applied.append(self._applied())
        while self.tokens.kind != "end":
            funs.append(self._function())
        return imp.ImpProg(tuple(funs), tuple(applied))

    def _signature(self) -> tuple[str, tuple[imp.Formal, ...], tuple[imp.Formal, ...]]:
        t = self.tokens
        name = self.function_name()
        params = self._formals()
        t.expect("->")
        results = self._formals()
        t.expect("{")
        return name, params, results

    def _formals(self) -> tuple[imp.Formal, ...]:
        return tuple(self.listed(lambda: cast(imp.Formal, self.forms.read(self, imp.Formal))))

    def _applied(self) -> imp.ScalarFun:
        signature = self._signature()
        body = self.stms_up_to("return")
        values = self.scalars()
        self.tokens.expect("}")
        return imp.ScalarFun(*signature, body, values)

    def _function(self) -> imp.ImpFun:
        t = self.tokens
        entry = not t.take_word("host")
        t.need("entry" if entry else "fun")
        signature = self._signature()
        implicit = 0
        if t.take_word("sizes"):
            implicit = 1
            t.name()
            while t.take(","):
                t.name()
                implicit += 1
        takes = self._externals("takes")
        gives = self._externals("gives")
        stms = self.stms_up_to("return")
        values = self.operands()
        t.expect("}")
        return imp.ImpFun(*signature, stms, values, takes, gives, implicit, entry=entry)

    def _externals(self, word: str) -> tuple[imp.External, ...]:
        """Parse external values."""
        found: list[imp.External] = []
        while self.tokens.take_word(word):
            found.append(self.forms.read(self, imp.External))
        return tuple(found)

    # --- statements --------------------------------------------------------------------------

    def braces(self) -> imp.Stms:
        """Parse statements in braces."""
        self.tokens.expect("{")
        stms = self.stms_before("}")
        self.tokens.expect("}")
        return stms

    def stms_before(self, *ends: str) -> imp.Stms:
        """Parse statements up to one of several words."""
        stms: list[imp.Stm] = []
        while self.tokens.word not in ends:
            found = self.forms.form(self)
            if found is None:
                self.tokens.fail("expected a statement")
            stms.append(found)
        return tuple(stms)

    def stms_up_to(self, end: str) -> imp.Stms:
        """Parse statements up to and including a word."""
        stms = self.stms_before(end)
        self.tokens.need(end)
        return stms

    def element(self, block: Name) -> Prim:
        """Return the element type of a block."""
        kind = self.types.get(block)
        if not isinstance(kind, Mem):
            self.tokens.fail(f"expected a block, and `{block}` is none")
        return kind.prim

    def typed(self, kind: Type) -> Type:
        """Return the type unchanged."""
        return kind

    def mem(self, prim: Prim, space: Space = "device") -> Type:
        """Return the type of blocks with such elements."""
        return Mem(prim, space)

    def held(self, block: Name, kind: Type) -> Name:
        """Return the block of an external value, required for arrays. Errors: it is missing."""
        if isinstance(kind, Array) and not block:
            self.tokens.fail("expected `in`")
        return block

    # --- fields ------------------------------------------------------------------------------

    def name(self) -> Name:
        """Parse a name."""
        return self.tokens.name("a name, of a block or a variable")

    def flat(self) -> Scalar | Mem:
        """Parse the type of a scalar or a block."""
        kind = self.type()
        if isinstance(kind, Array):
            self.tokens.fail("expected the type of a scalar or a block")
        return kind

    def dest(self) -> tuple[Name, Lmad[Poly]]:
        """Parse a block with an LMAD."""
        block = self.name()
        self.tokens.expect("->")
        return block, self.lmad()

    def listed(self, item: Callable[[], _T]) -> list[_T]:
        """Parse comma-separated items in parentheses."""
        t = self.tokens
        t.expect("(")
        found: list[_T] = []
        while not t.take(")"):
            found.append(item())
            if t.text != ")":
                t.expect(",")
        return found

    def point(self) -> tuple[Name, SE]:
        """Parse an index of a kernel and its bound."""
        name = self.tokens.name("an index")
        self.types[name] = Scalar("i64")
        self.tokens.expect("<")
        return name, self.se()

    def place(self) -> imp.Cell | Name:
        """Parse a cell, or a variable of the host."""
        if self.tokens.peek().text == "[":
            return cast(imp.Cell, self.forms.read(self, imp.Cell))
        return self.name()

    def step(self) -> str:
        """Parse an operator."""
        return self.tokens.next()

    def bin(self) -> SE:
        """Parse a bin, or a number of bins."""
        return self.se(_ABOVE_COMPARISON)

    def scalars(self) -> tuple[SE, ...]:
        """Parse scalar expressions in parentheses."""
        found: list[Operand] = list(self.operands())
        for operand in found:
            if isinstance(operand, str):
                self.tokens.fail("expected scalars")
        return tuple(cast(list[SE], found))

    # --- kernels -----------------------------------------------------------------------------

    def kernel(self) -> imp.Stm:
        """Parse a kernel, whose first word is the kind of work."""
        t = self.tokens
        word = t.next()
        name = t.name("a kernel's name")
        t.expect("@")
        level = self.level()
        dims = tuple(self.listed(self.point))
        per_block = t.take("per_block")
        t.expect("{")
        t.committed = t.place
        body = self.stms_before("}", "fold", "bins")
        work = self.forms.read(self, _WORKS[word])
        t.expect("}")
        return imp.Kernel(name, level, dims, body, work, per_block)

    def combine(self) -> imp.Combine:
        """Parse an operator on scalars."""
        t = self.tokens
        t.expect("op")
        params = self.params()
        half = len(params) // 2
        t.need("neutral")
        neutral = self.scalars()
        commutative = t.take("comm")
        t.expect("{")
        body = self.stms_up_to("in")
        results = self.scalars()
        t.expect("}")
        return imp.Combine(
            tuple(p.type.prim for p in params[:half]),
            tuple(p.name for p in params[:half]),
            tuple(p.name for p in params[half:]),
            body,
            results,
            neutral,
            commutative,
        )


_ABOVE_COMPARISON = PRECEDENCE["<"] + 1
_WORKS: dict[str, type] = {
    "map": imp.MapWork,
    "reduce": imp.ReduceWork,
    "scan": imp.ScanWork,
    "hist": imp.HistWork,
}
_READS: dict[str, Read] = {
    "Name": ImpParser.name,
    "function": ImpParser.function_name,
    "Prim": ImpParser.prim,
    "Space": ImpParser.space,
    "step": ImpParser.step,
    "SE": ImpParser.se,
    "index": ImpParser.se,
    "bin": ImpParser.bin,
    "Operand": ImpParser.operand,
    "Scalar | Mem": ImpParser.flat,
    "Scalar | Array": ImpParser.type,
    "lmad": ImpParser.lmad,
    "point": ImpParser.point,
    "place": ImpParser.place,
    "dest": ImpParser.dest,
    "Stms": ImpParser.braces,
    "Combine": ImpParser.combine,
}


def forms_of(
    dialect: Dialect, by_hand: Mapping[type, Read] | None = None, first: tuple[type, ...] = ()
) -> FormatParser:
    """Return the parser of statements of IMP or of an extension; those of `first` are tried first.

    `by_hand` parses statements without a format line.
    """
    hand: dict[type, Any] = {
        imp.Kernel: ImpParser.kernel,
        imp.MapWork: lambda p: imp.MapWork(),
        **(by_hand or {}),
    }
    stms = (*first, *(cls for cls in imp.IMP.own if issubclass(cls, imp.Stm)))
    return FormatParser(dialect, _READS, {"message": ImpParser.message}, hand, stms)


ImpParser.forms = forms_of(imp.IMP)
