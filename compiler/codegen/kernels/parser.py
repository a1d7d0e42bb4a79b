"""From the text form of the kernel IR (see `printer.py`) back to a program."""

from __future__ import annotations

from typing import Literal, cast

from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp.nodes import ImpProg, Load, Stm
from compiler.codegen.imp.parser import ImpParser
from compiler.codegen.kernels import nodes as k
from compiler.ir.nodes import SE, Mem, Scalar, Var
from compiler.ir.sizes import prim_of


def parse(text: str) -> ImpProg:
    """Read a program; `parse(plain(show(p))) == p` but for provenance."""
    return _Parser(text).prog()


class _Parser(ImpParser):
    """With launches, and what threads run."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.types |= {name: Scalar("i64") for name in k.IDS}

    # --- scalars and cells -------------------------------------------------------------------

    def infix(self, op: str, left: SE, right: SE) -> SE:
        """An operator; the number of a thread is as wide as what it is combined with."""
        return super().infix(op, _wide(left, prim_of(right)), _wide(right, prim_of(left)))

    def assigned(self, name: Name) -> Stm:
        """A variable's next value, which may be that of a cell."""
        if not self.at_cell():
            return super().assigned(name)
        kind = self.types[name]
        assert isinstance(kind, Scalar)
        return k.Fetch(name, kind.prim, *self.cell())

    def cell(self) -> tuple[Name, SE]:
        """A block and a cell's number."""
        return self.tokens.name("a block"), self.index()

    def let(self) -> Stm:
        """Two numbers of the host, or one name as in IMP."""
        return self.ranges() if self.tokens.peek().text == "," else super().let()

    def ranges(self) -> Stm:
        """How segments are cut."""
        t = self.tokens
        blocks = t.name()
        t.expect(",")
        chunk = t.name()
        t.expect("=")
        self.need("ranges")
        self.types |= {blocks: Scalar("i64"), chunk: Scalar("i64")}
        segments, size, least = self.scalars()
        return k.Ranges(blocks, chunk, segments, size, least)

    def fresh(self, name: Name, kind: Mem) -> Stm:
        """What makes a block."""
        if self.word("part"):
            return k.Part(name, kind.prim, *self.parenthesised(self.times))
        if self.word("zeros"):
            return k.Zeros(name, kind.prim, self.parenthesised(self.se))
        return super().fresh(name, kind)

    def times(self) -> tuple[SE, Name]:
        """A number, and what it is multiplied with."""
        return self.se(), self.tokens.name() if self.word("times") else ""

    # --- statements --------------------------------------------------------------------------

    def launch(self) -> Stm:
        """A kernel, and how many run it."""
        t = self.tokens
        name = t.name("a kernel's name")
        outside = dict(self.types)
        params = tuple(k.Param(p.name, p.type.prim, isinstance(p.type, Mem)) for p in self.params())
        t.expect("in")
        count, times = self.times()
        if t.text not in ("blocks", "points"):
            t.fail("expected `blocks` or `points`")
        unit = cast(Literal["blocks", "points"], t.next())
        threads = t.integer() if self.word("of") else 0
        busy = self.se() if self.word("for") else None
        kernel = k.Kernel(name, params, self.block(), threads=threads)
        self.types = outside
        return k.Launch(kernel, unit, count, times, busy=busy)

    def indices(self) -> Stm:
        """Indices and sizes, and a number."""
        dims = tuple(self.listed(self.dimension))
        self.need("of")
        self.types |= {index: Scalar("i64") for index, _ in dims}
        return k.Indices(dims, self.se())

    def counts(self, index: Name, prim: Prim) -> Stm:
        """A loop that counts, or one with a stride."""
        if not self.word("from"):
            return super().counts(index, prim)
        start = _wide(self.se(), prim)
        self.need("to")
        end = _wide(self.se(), prim)
        self.need("by")
        op = self.tokens.next()
        if op not in ("+", "*"):
            self.tokens.fail("expected `+` or `*`")
        by = _wide(self.se(), prim)
        return k.Stride(index, prim, start, end, cast(Literal["+", "*"], op), by, self.block())

    def exit(self) -> Stm:
        """Who has nothing to do."""
        self.need("if")
        return k.Exit(self.se())

    def shuffle(self) -> Stm:
        """A variable, and whose value it becomes."""
        name = self.tokens.name("a variable")
        kind = self.types[name]
        assert isinstance(kind, Scalar)
        self.arrow()
        value = self.se()
        self.need("of")
        return k.Shuffle(name, kind.prim, value, _wide(self.se(), "i32"))

    def atomic(self) -> Stm:
        """An operation on a cell."""
        op = self.tokens.next()
        block, at = self.cell()
        self.arrow()
        return k.Atomic(op, self.element(block), block, at, self.se())

    def exchange(self) -> Stm:
        """A cell's value, and what becomes of it."""
        load = self.let()
        assert isinstance(load, Load)
        return k.Exchange(load.name, load.prim, load.block, load.at, self.block())

    def locked(self) -> Stm:
        """What is done under a lock."""
        locks, at = self.cell()
        return k.Locked(locks, at, self.block())

    def ticket(self) -> Stm:
        """The number of a block of threads."""
        name = self.tokens.name("a number")
        self.types[name] = Scalar("i64")
        self.need("of")
        return k.Ticket(name, *self.cell())

    def publish(self) -> Stm:
        """A flag, and what it becomes."""
        block, at = self.cell()
        self.arrow()
        return k.Publish(block, at, self.se())

    def await_(self) -> Stm:
        """A flag that is waited for."""
        name = self.tokens.name("a number")
        self.types[name] = Scalar("i32")
        self.need("of")
        return k.Await(name, *self.cell())


def _wide(se: SE, prim: Prim) -> SE:
    """An expression as it is beside one of that type; the number of a thread has either width."""
    return Var(se.name, prim) if isinstance(se, Var) and se.name in k.IDS else se


_Parser.forms = {
    **ImpParser.forms,
    "let": _Parser.let,
    "launch": _Parser.launch,
    "indices": _Parser.indices,
    "point": lambda p: k.Scope(p.block(), point=True),
    "scope": lambda p: k.Scope(p.block()),
    "exit": _Parser.exit,
    "barrier": lambda p: k.Barrier(asks=p.word("asking")),
    "shuffle": _Parser.shuffle,
    "atomic": _Parser.atomic,
    "exchange": _Parser.exchange,
    "locked": _Parser.locked,
    "ticket": _Parser.ticket,
    "publish": _Parser.publish,
    "await": _Parser.await_,
}
