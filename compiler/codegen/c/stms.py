"""Print statements in C and CUDA: the code of one thread.

`Writer` keeps lines with their provenance; `Statements` prints what both languages share. They
differ in how a check fails, how kernels run and where scratch memory comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import Prov
from compiler.base.text import Line
from compiler.codegen.c.scalar import Scalars
from compiler.codegen.c.types import C_TYPE, c_name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels.threads import is_local
from compiler.codegen.sequential import copy_body, copy_dims, loops, sequential
from compiler.dialect.visiting import NodeRules
from compiler.ir.nodes import SE, Lit, Mem, Un, Var
from compiler.ir.sizes import prim_of

Sites = list[tuple[Prov, tuple[str | SE, ...]]]
"""Checks of a program by number: provenance and message."""


class Writer:
    """Lines of text with indentation, each with the statement that it came from.

    Writers of one text share `numbers`, so that statement numbers are unique.
    """

    def __init__(self, numbers: Iterator[int]) -> None:
        self.lines: list[Line] = []
        self.indent = ""
        self.src: Prov = ()
        self.node = -1
        self.numbers = numbers

    def line(self, text: str) -> None:
        """Add a line; an empty one has no provenance."""
        self.lines.append(Line(self.indent + text, self.src, self.node) if text else Line(""))

    def open(self, text: str) -> None:
        """Add a line ending in a brace, and indent."""
        self.line(text)
        self.indent += "    "

    def close(self, text: str = "}") -> None:
        """End the block begun by `open`."""
        self.indent = self.indent[:-4]
        self.line(text)


class Statements(Writer, NodeRules):
    """Prints statement lists; `sites` are the checks, by number."""

    language = imp.IMP
    qualified = "static inline"

    def __init__(
        self,
        scalars: Scalars,
        sites: Sites,
        numbers: Iterator[int],
    ) -> None:
        super().__init__(numbers)
        self.scalars = scalars
        self.sites = sites
        self.show = scalars.show
        self.scratch: list[str] = []
        self.reached: set[str | None] = set()
        """Labels that failed checks jump to."""
        self.types: dict[Name, Prim] = {}

    # --- defined by each language ------------------------------------------------------------

    def type(self, prim: Prim) -> str:
        """Return the type of a scalar variable."""
        return C_TYPE[prim]

    def kind(self, name: Name, prim: Prim) -> str:
        """Return the type of a named scalar; usually that of variables."""
        return self.type(prim)

    def cell_type(self, prim: Prim) -> str:
        """Return the type of a block's elements."""
        return C_TYPE[prim]

    def fail(self, call: str) -> None:
        """Report a failed check and leave."""
        raise NotImplementedError

    def run_kernel(self, kernel: imp.Kernel) -> None:
        """Print a nested kernel."""
        self.stms(sequential(kernel))

    def run_copy(self, copy: imp.Copy) -> None:
        """Print a bulk copy."""
        self.stms(loops(copy_dims(copy), copy_body(copy), copy.prov))

    def run_alloc(self, alloc: imp.Alloc) -> None:
        """Print an allocation."""
        raise NotImplementedError

    def loop_pragma(self, stm: imp.For) -> str:
        """Return the directive before a loop."""
        return ""

    # --- shared ------------------------------------------------------------------------------

    def stms(self, stms: Sequence[imp.Stm]) -> None:
        """Print statements, each with its provenance."""
        src, node = self.src, self.node
        for stm in stms:
            self.src = stm.prov or src
            self.node = next(self.numbers)
            self.rules[type(stm)](self, stm)
        self.src, self.node = src, node

    def nested(self, head: str, stms: imp.Stms, tail: str = "}") -> None:
        """Print statements in braces."""
        self.open(head)
        self.stms(stms)
        self.close(tail)

    def define(self, stm: imp.Define) -> None:
        """Print a constant."""
        name = self.scalars.names.get(stm.name)
        if name is None:
            kind = self.kind(stm.name, stm.prim)
            self.line(f"const {kind} {c_name(stm.name)} = {self.show(stm.value)};")
        else:
            self.line(f"{name} = {self.show(stm.value)};")

    def apply(self, stm: imp.Apply) -> None:
        """Print a scalar call: one result as value, several through pointers."""
        args = [self.show(arg) for arg in stm.args]
        names = [self.scalars.names.get(name) for name in stm.names]
        shown = [name or c_name(own) for name, own in zip(names, stm.names, strict=True)]
        if len(shown) == 1:
            start = "" if names[0] else f"const {self.type(stm.prims[0])} "
            self.line(f"{start}{shown[0]} = {c_name(stm.fun)}({', '.join(args)});")
            return
        for name, prim, text in zip(names, stm.prims, shown, strict=True):
            if name is None:
                self.line(f"{self.type(prim)} {text};")
        args += [f"&{text}" for text in shown]
        self.line(f"{c_name(stm.fun)}({', '.join(args)});")

    def scalar_function(self, fun: imp.ScalarFun) -> None:
        """Print a scalar function, as `apply` calls it."""
        self.src = fun.prov
        several = len(fun.results) > 1
        params = [f"const {self.type(p.type.prim)} {c_name(p.name)}" for p in fun.params]
        params += [f"{self.type(r.type.prim)} *{c_name(r.name)}" for r in fun.results if several]
        gives = "void" if several else self.type(fun.results[0].type.prim)
        self.line("")
        self.open(f"{self.qualified} {gives} {c_name(fun.name)}({', '.join(params)}) {{")
        self.stms(fun.body)
        for result, value in zip(fun.results, fun.values, strict=True):
            text = self.show(value)
            self.line(f"*{c_name(result.name)} = {text};" if several else f"return {text};")
        self.close()

    def declare(self, stm: imp.Declare) -> None:
        """Print a variable."""
        if isinstance(stm.type, Mem):
            self.declare_block(stm, stm.type)
            return
        start = "" if stm.value is None else f" = {self.operand(stm.value)}"
        name = self.scalars.names.get(stm.name)
        if name is None:
            self.line(f"{self.type(stm.type.prim)} {c_name(stm.name)}{start};")
        elif start:
            self.line(f"{name}{start};")

    def declare_block(self, stm: imp.Declare, kind: Mem) -> None:
        """Print a variable that holds a block."""
        start = "0" if stm.value is None else self.operand(stm.value)
        self.line(f"{self.cell_type(kind.prim)} *{c_name(stm.name)} = {start};")

    def operand(self, value: SE | Name) -> str:
        """Print a scalar expression or a block's name."""
        return c_name(value) if isinstance(value, str) else self.show(value)

    def assign(self, stm: imp.Assign) -> None:
        """Print an assignment."""
        name = self.scalars.names.get(stm.name) or c_name(stm.name)
        self.line(f"{name} = {self.operand(stm.value)};")

    def load(self, stm: imp.Load) -> None:
        """Print a load."""
        name = self.scalars.names.get(stm.name)
        text = self.read(stm.prim, f"{c_name(stm.block)}[{self.show(stm.at)}]")
        self.line(f"{name or f'const {self.type(stm.prim)} {c_name(stm.name)}'} = {text};")

    def read(self, prim: Prim, cell: str) -> str:
        """Print the value of a cell."""
        return cell

    def store(self, stm: imp.Store) -> None:
        """Print a store."""
        cell = f"{c_name(stm.block)}[{self.show(stm.at)}]"
        self.line(f"{cell} = {self.written(stm.prim, self.show(stm.value))};")

    def written(self, prim: Prim, value: str) -> str:
        """Print a value in the form that a cell stores."""
        return value

    def branch(self, stm: imp.If) -> None:
        """Print a branch."""
        if stm.then or not stm.orelse:
            self.nested(
                f"if ({self.tested(stm.cond)}) {{", stm.then, "} else {" if stm.orelse else "}"
            )
            if stm.orelse:
                self.indent += "    "
                self.stms(stm.orelse)
                self.close()
        else:
            self.nested(f"if ({self.tested(Un('not', 'bool', stm.cond))}) {{", stm.orelse)

    def tested(self, cond: SE) -> str:
        """Print the condition of a branch."""
        return self.show(cond)

    def count_loop(self, stm: imp.For) -> None:
        """Print a counting loop."""
        kind = self.kind(stm.index, stm.prim)
        self.counted(stm, self.once(stm.bound, f"{c_name(stm.index)}_end", kind))

    def counted(self, stm: imp.For, end: str) -> None:
        """Print a counting loop up to `end`."""
        pragma = self.loop_pragma(stm)
        if pragma:
            self.line(pragma)
        self.plain_loop(stm, end)

    def plain_loop(self, stm: imp.For, end: str) -> None:
        """Print the loop without directives."""
        index, kind = c_name(stm.index), self.kind(stm.index, stm.prim)
        self.nested(f"for ({kind} {index} = 0; {index} < {end}; {index}++) {{", stm.body)

    def once(self, se: SE, name: str, kind: str = "int64_t") -> str:
        """Return the text of an invariant value; binds a name if it takes computing."""
        if type(se) is Lit or type(se) is Var:
            return self.show(se)
        self.line(f"const {kind} {name} = {self.show(se)};")
        return name

    def while_loop(self, stm: imp.While) -> None:
        """Print a loop with a condition."""
        cond = self.scalars.names.get(stm.cond) or c_name(stm.cond)
        self.nested(f"while ({cond}) {{", stm.body)

    def check(self, stm: imp.Assert) -> None:
        """Print an assertion."""
        self.open(f"if ({self.negated(stm.cond)}) {{")
        self.fail(self.site(stm.prov, stm.message))
        self.close()

    def negated(self, cond: SE) -> str:
        """Print the negation of a condition."""
        return f"!{self.scalars.atom(cond)}"

    def site(self, prov: Prov, message: tuple[str | SE, ...]) -> str:
        """Register a check; return the arguments that report its failure."""
        number = len(self.sites)
        self.sites.append((prov, message))
        values = [self.bits(part) for part in message if not isinstance(part, str)]
        if not values:
            return f"{number}, 0, 0"
        return f"{number}, {len(values)}, (const int64_t[]){{{', '.join(values)}}}"

    def bits(self, value: SE) -> str:
        """Print a value as 64 bits."""
        prim = prim_of(value)
        if prim[0] == "f":
            return f"ss_bits({self.show(value)})"
        return f"(int64_t){self.scalars.atom(value)}" if prim != "i64" else self.show(value)

    def free(self, stm: imp.Free) -> None:
        """Ignore frees: only the host frees."""

    def alloc(self, stm: imp.Alloc) -> None:
        """Print an allocation."""
        self.run_alloc(stm)

    def kernel(self, stm: imp.Kernel) -> None:
        """Print a kernel."""
        self.run_kernel(stm)

    def copy(self, stm: imp.Copy) -> None:
        """Print a bulk copy."""
        self.run_copy(stm)

    def local_array(self, stm: imp.Alloc) -> bool:
        """Print a block of constant, small size as an array on the stack; False for others."""
        if not is_local(stm):
            return False
        assert isinstance(stm.count, Lit)
        size = max(1, int(stm.count.value))
        self.line(f"{self.cell_type(stm.prim)} {c_name(stm.name)}[{size}];")
        return True
