"""From the text form of IMP (see `printer.py`) back to a program.

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
from compiler.ir.nodes import SE, Array, Level, Mem, Operand, Scalar, Type
from compiler.ir.parse_scalar import ScalarParser
from compiler.ir.syntax import PRECEDENCE

_T = TypeVar("_T")


def parse(text: str) -> imp.ImpProg:
    """Read a program; `parse(plain(show(p))) == p` but for provenance."""
    return ImpParser(text).prog()


class ImpParser(ScalarParser):
    """A recursive descent over tokens, one method per form; `forms` has them by their words."""

    forms: Mapping[str, Callable[[Any], imp.Stm]]

    def prog(self) -> imp.ImpProg:
        """Functions and entry points up to the end of the text."""
        applied: list[imp.ScalarFun] = []
        funs: list[imp.ImpFun] = []
        while self.word("fun"):
            applied.append(self.applied())
        while self.tokens.kind != "end":
            funs.append(self.function())
        return imp.ImpProg(tuple(funs), tuple(applied))

    def applied(self) -> imp.ScalarFun:
        """A function of scalars."""
        t = self.tokens
        name = t.name("a function's name")
        params = self.formals()
        t.expect("->")
        results = self.formals()
        t.expect("{")
        body: list[imp.Stm] = []
        while not self.word("return"):
            body.append(self.stm())
        values = self.scalars()
        t.expect("}")
        return imp.ScalarFun(name, params, results, tuple(body), values)

    def function(self) -> imp.ImpFun:
        """One entry point, or function of the host."""
        t = self.tokens
        entry = not self.word("host")
        self.need("entry" if entry else "fun")
        name = t.name("a function's name")
        params = self.formals()
        t.expect("->")
        results = self.formals()
        t.expect("{")
        implicit = 0
        if self.word("sizes"):
            implicit = 1
            t.name()
            while t.take(","):
                t.name()
                implicit += 1
        takes = self.externals("takes")
        gives = self.externals("gives")
        body: list[imp.Stm] = []
        while not self.word("return"):
            body.append(self.stm())
        values = self.operands()
        t.expect("}")
        stms = tuple(body)
        return imp.ImpFun(name, params, results, stms, values, takes, gives, implicit, entry=entry)

    def formals(self) -> tuple[imp.Formal, ...]:
        """Parameters or results."""
        return tuple(imp.Formal(p.name, _flat(p.type)) for p in self.params())

    def externals(self, word: str) -> tuple[imp.External, ...]:
        """What callers give or get."""
        t = self.tokens
        found: list[imp.External] = []
        while self.word(word):
            name = t.name()
            t.expect(":")
            unique = t.take("*")
            kind = self.type()
            if isinstance(kind, Array):
                t.expect("in")
                found.append(imp.External(name, kind, t.name("a block"), unique))
            else:
                found.append(imp.External(name, cast(Scalar, kind), "", unique))
        return tuple(found)

    # --- statements --------------------------------------------------------------------------

    def block(self) -> imp.Stms:
        """Statements in braces."""
        t = self.tokens
        t.expect("{")
        stms: list[imp.Stm] = []
        while not t.take("}"):
            stms.append(self.stm())
        return tuple(stms)

    def stm(self) -> imp.Stm:
        """One statement."""
        t = self.tokens
        form = self.forms.get(t.text)
        if form is not None:
            t.next()
            return form(self)
        name = t.name("a statement")
        if t.take("["):
            at = self.se()
            t.expect("]")
            self.arrow()
            return imp.Store(name, self.element(name), at, self.se())
        self.arrow()
        return self.assigned(name)

    def assigned(self, name: Name) -> imp.Stm:
        """A variable's next value."""
        return imp.Assign(name, self.operand())

    def at_cell(self) -> bool:
        """Whether a cell is what comes next."""
        after = self.tokens.peek()
        return self.tokens.kind == "name" and after.kind == "op" and after.text == "["

    def word(self, text: str) -> bool:
        """Step over a word of ours, if it is the next one."""
        found = self.tokens.text == text
        if found:
            self.tokens.next()
        return found

    def need(self, text: str) -> None:
        """Step over a word of ours."""
        if not self.word(text):
            self.tokens.fail(f"expected `{text}`")

    def arrow(self) -> None:
        """`<-`."""
        self.tokens.expect("<")
        self.tokens.expect("-")

    def element(self, block: Name) -> Prim:
        """The element type of a block."""
        kind = self.types.get(block)
        if not isinstance(kind, Mem):
            self.tokens.fail(f"expected a block, and `{block}` is none")
        return kind.prim

    def let(self) -> imp.Stm:
        """A scalar, a cell or a fresh block."""
        t = self.tokens
        name = t.name()
        t.expect(":")
        kind = self.type()
        t.expect("=")
        if isinstance(kind, Mem):
            self.types[name] = kind
            return self.fresh(name, kind)
        prim = _flat(kind).prim
        if self.at_cell():
            block = t.next()
            at = self.index()
            self.types[name] = kind
            return imp.Load(name, prim, block, at)
        value = self.se()
        self.types[name] = kind
        return imp.Define(name, prim, value)

    def apply(self) -> imp.Stm:
        """What a function gives."""
        results = self.params()
        self.tokens.expect("=")
        fun = self.tokens.name("a function's name")
        names = tuple(p.name for p in results)
        return imp.Apply(names, tuple(_flat(p.type).prim for p in results), fun, self.scalars())

    def call(self) -> imp.Stm:
        """What a function of the host gives."""
        results = self.formals()
        self.tokens.expect("=")
        fun = self.tokens.name("a function's name")
        args = self.operands()
        gone = self.listed(self.tokens.name) if self.word("frees") else ()
        return imp.Call(results, fun, args, tuple(gone))

    def fresh(self, name: Name, kind: Mem) -> imp.Stm:
        """What makes a block."""
        self.tokens.expect("alloc")
        return imp.Alloc(name, self.parenthesised(self.se), kind.prim, kind.space)

    def parenthesised(self, item: Callable[[], _T]) -> _T:
        """One item in parentheses."""
        self.tokens.expect("(")
        found = item()
        self.tokens.expect(")")
        return found

    def index(self) -> SE:
        """A cell's number in brackets."""
        self.tokens.expect("[")
        at = self.se()
        self.tokens.expect("]")
        return at

    def var(self) -> imp.Stm:
        """A variable."""
        t = self.tokens
        name = t.name()
        t.expect(":")
        kind = self.type()
        value = self.operand() if t.take("=") else None
        self.types[name] = kind
        return imp.Declare(name, _flat(kind), value)

    def free(self) -> imp.Stm:
        """A block that is done with."""
        return imp.Free(self.tokens.name("a block"))

    def copy(self) -> imp.Stm:
        """A bulk copy."""
        prim = self.prim()
        dest, dest_lmad = self.lmad()
        self.arrow()
        source, source_lmad = self.lmad()
        return imp.Copy(prim, dest, dest_lmad, source, source_lmad)

    def lmad(self) -> tuple[Name, Lmad[Poly]]:
        """A block with an LMAD."""
        place = self._binding()
        return place.block, place.lmad

    def branch(self) -> imp.Stm:
        """One arm or two."""
        cond = self.se()
        then = self.block()
        return imp.If(cond, then, self.block() if self.tokens.take("else") else ())

    def count_loop(self) -> imp.Stm:
        """A loop that counts."""
        t = self.tokens
        index = t.name()
        t.expect(":")
        self.types[index] = Scalar(prim := self.prim())
        return self.counts(index, prim)

    def counts(self, index: Name, prim: Prim) -> imp.Stm:
        """Up to where it counts, and what it does."""
        self.tokens.expect("<")
        bound = self.se()
        return imp.For(index, prim, bound, self.block())

    def while_loop(self) -> imp.Stm:
        """A loop with a condition."""
        cond = self.tokens.name("a variable")
        return imp.While(cond, self.block())

    def check(self) -> imp.Stm:
        """An assertion."""
        t = self.tokens
        t.expect("(")
        cond = self.se()
        message: list[str | SE] = []
        while t.take(","):
            message.append(t.string() if t.kind == "string" else self.se())
        t.expect(")")
        return imp.Assert(cond, tuple(message))

    # --- kernels -----------------------------------------------------------------------------

    def kernel(self, word: str) -> imp.Stm:
        """A kernel of that kind."""
        t = self.tokens
        name = t.name("a kernel's name")
        t.expect("@")
        if t.text not in ("grid", "block", "thread"):
            t.fail("expected `grid`, `block` or `thread`")
        level = cast(Level, t.next())
        dims = tuple(self.listed(self.dimension))
        for index, _ in dims:
            self.types[index] = Scalar("i64")
        per_block = t.take("per_block")
        t.expect("{")
        body: list[imp.Stm] = []
        while t.text not in ("}", "fold", "bins"):
            body.append(self.stm())
        work: imp.Work = imp.MapWork()
        if word == "hist":
            work = imp.HistWork(tuple(self.each("bins", self.histogram)))
        elif word != "map":
            folds = tuple(self.each("fold", self.fold))
            work = imp.ScanWork(folds) if word == "scan" else imp.ReduceWork(folds)
        t.expect("}")
        return imp.Kernel(name, level, dims, tuple(body), work, per_block)

    def listed(self, item: Callable[[], _T]) -> list[_T]:
        """Items with commas in between, in parentheses."""
        t = self.tokens
        t.expect("(")
        found: list[_T] = []
        while not t.take(")"):
            found.append(item())
            if t.text != ")":
                t.expect(",")
        return found

    def each(self, word: str, item: Callable[[], _T]) -> list[_T]:
        """Items that each begin with `word`."""
        found: list[_T] = []
        while self.word(word):
            found.append(item())
        return found

    def dimension(self) -> tuple[Name, SE]:
        """`index < bound`."""
        name = self.tokens.name("an index")
        self.tokens.expect("<")
        return name, self.se()

    def fold(self) -> imp.Fold:
        """An operator with its inputs and indices."""
        inputs = self.scalars()
        self.tokens.expect("into")
        into = tuple(self.listed(self.target))
        return imp.Fold(self.combine(), inputs, into)

    def target(self) -> imp.Cell | Name:
        """A cell, or a variable of the host."""
        name = self.tokens.name("a block or variable")
        return imp.Cell(name, self.index()) if self.tokens.text == "[" else name

    def histogram(self) -> imp.Histogram:
        """A histogram."""
        t = self.tokens
        indices = self.listed(self.bin_index)
        t.expect("in")
        dests = tuple(self.listed(self.lmad))
        self.need("get")
        values = self.scalars()
        op = self.combine()
        return imp.Histogram(
            op, tuple(n for _, n in indices), tuple(i for i, _ in indices), values, dests
        )

    def bin_index(self) -> tuple[SE, SE]:
        """`bin < size`."""
        at = self.se(_ABOVE_COMPARISON)
        self.tokens.expect("<")
        return at, self.se(_ABOVE_COMPARISON)

    def combine(self) -> imp.Combine:
        """An operator on scalars."""
        t = self.tokens
        t.expect("op")
        params = self.params()
        half = len(params) // 2
        self.need("neutral")
        neutral = self.scalars()
        commutative = t.take("comm")
        t.expect("{")
        body: list[imp.Stm] = []
        while not t.take("in"):
            body.append(self.stm())
        results = self.scalars()
        t.expect("}")
        return imp.Combine(
            tuple(p.type.prim for p in params[:half]),
            tuple(p.name for p in params[:half]),
            tuple(p.name for p in params[half:]),
            tuple(body),
            results,
            neutral,
            commutative,
        )

    def scalars(self) -> tuple[SE, ...]:
        """Scalar expressions in parentheses."""
        found: list[Operand] = list(self.operands())
        for operand in found:
            if isinstance(operand, str):
                self.tokens.fail("expected scalars")
        return tuple(cast(list[SE], found))


_ABOVE_COMPARISON = PRECEDENCE["<"] + 1


def _flat(kind: Type) -> Scalar | Mem:
    assert not isinstance(kind, Array)
    return kind


ImpParser.forms = {
    "let": ImpParser.let,
    "apply": ImpParser.apply,
    "call": ImpParser.call,
    "var": ImpParser.var,
    "free": ImpParser.free,
    "copy": ImpParser.copy,
    "if": ImpParser.branch,
    "for": ImpParser.count_loop,
    "while": ImpParser.while_loop,
    "assert": ImpParser.check,
    "push": lambda p: imp.Push(p.histogram()),
    "map": lambda p: p.kernel("map"),
    "reduce": lambda p: p.kernel("reduce"),
    "scan": lambda p: p.kernel("scan"),
    "hist": lambda p: p.kernel("hist"),
}
