"""Parse the text form of the kernel IR (see `printer.py`)."""

from __future__ import annotations

from typing import Literal, cast

from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp.nodes import ImpProg, Stm
from compiler.codegen.imp.parser import ImpParser, forms_of
from compiler.codegen.kernels import nodes as k
from compiler.ir.nodes import SE, Mem, Scalar, Type, Var
from compiler.ir.sizes import prim_of


def parse(text: str) -> ImpProg:
    """Parse a program; `parse(plain(show(p))) == p` up to provenance."""
    return KernelParser(text).prog()


class KernelParser(ImpParser):
    """Parses launches, and thread code."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.types |= {name: Scalar("i64") for name in k.IDS}

    def infix(self, op: str, left: SE, right: SE) -> SE:
        """Build an operation; a thread's number has the width of the other operand."""
        return super().infix(op, self.wide(left, prim_of(right)), self.wide(right, prim_of(left)))

    def wide(self, se: SE, prim: Prim) -> SE:
        """Adapt the width of a thread's number to that of the other operand."""
        return Var(se.name, prim) if isinstance(se, Var) and se.name in k.IDS else se

    def as_lane(self, se: SE) -> SE:
        """Return the number of a lane."""
        return self.wide(se, "i32")

    def prim_of_name(self, name: Name) -> Prim:
        """Return the type of a variable. Errors: it is no scalar."""
        kind = self.types.get(name)
        if not isinstance(kind, Scalar):
            self.tokens.fail(f"expected a scalar, and `{name}` is none")
        return kind.prim

    def i64(self) -> Type:
        """Return the type of host numbers."""
        return Scalar("i64")

    def i32(self) -> Type:
        """Return the type of flags."""
        return Scalar("i32")

    def launch(self) -> Stm:
        """Parse a kernel and its launch."""
        t = self.tokens
        t.need("launch")
        name = t.name("a kernel's name")
        outside = dict(self.types)
        params = tuple(k.Param(p.name, p.type.prim, isinstance(p.type, Mem)) for p in self.params())
        t.expect("in")
        count, times = self.se(), self.name() if t.take_word("times") else ""
        if t.text not in ("blocks", "points"):
            t.fail("expected `blocks` or `points`")
        unit = cast(Literal["blocks", "points"], t.next())
        threads = t.integer() if t.take_word("of") else 0
        busy = self.se() if t.take_word("for") else None
        t.committed = t.place
        kernel = k.Kernel(name, params, self.braces(), threads=threads)
        self.types = outside
        return k.Launch(kernel, unit, count, times, busy=busy)


_OWN = tuple(cls for cls in k.KERNELS.own if issubclass(cls, Stm))
KernelParser.forms = forms_of(k.KERNELS, {k.Launch: KernelParser.launch}, first=_OWN)
