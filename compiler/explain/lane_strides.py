"""Find the stride between neighbouring lanes as a formula, and its place in stages.

Neighbours are in one row of indices: where a row ends, the next one begins
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from compiler.algebra.divide import exact
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.text import Text
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
from compiler.codegen.stm_uses import StmUses, cell_access
from compiler.explain.warps import Place
from compiler.ir import nodes as ir
from compiler.ir.show_scalar import show_se
from compiler.ir.sizes import poly_of
from compiler.ir.syntax import name_text
from compiler.ir.walk import free
from compiler.protocol.accesses import Underlined

ZERO, ONE = Poly.const(0), Poly.const(1)
_HOLE = "\0"
_START: Mapping[Name, Poly] = {k.THREAD: ONE, k.PLACE: ONE, k.BLOCK: ZERO, k.THREADS: ZERO}
_DIM = re.compile(r"\(([^():{}]*): ([^():{}]*)\)")
"""A dimension of an index function, in a stage's notation."""
Places = list[list[int]]
"""Ranges of a line: index of the first character, from 0, and the one behind the last."""


@dataclass(frozen=True, slots=True)
class Apart:
    """The distance in elements to the next lane's cell, and its cause in the cell's text."""

    elements: Poly
    """in names of the kernel's program"""
    factors: Places
    """of `cell`, as text"""


@dataclass(slots=True)
class _Neighbours:
    """Finds strides. `more`: the increment of each known number from a lane to the next."""

    more: dict[Name, Poly]
    means: dict[Name, Poly] = field(default_factory=dict)
    """Numbers as polynomials of others."""
    found: dict[int, Apart] = field(default_factory=dict)
    """By an access's first line."""

    def run(self, body: Sequence[Place]) -> None:
        """Walk a kernel's statements in order."""
        for place in body:
            self.stm(place)
            for inner in place.bodies:
                self.run(inner)

    def stm(self, place: Place) -> None:
        """Update the increments by a statement, without nested ones."""
        stm, alike = place.stm, False
        cells = cell_access(stm)
        if cells and not cells.is_flag:
            self.access(place, cells.at, cells.number)
            # Lanes that read the same cell have the same number.
            alike = cells.how == "reads" and self.of(cells.at) == ZERO
        match stm:
            case imp.Define(name, _, value):
                self.set(name, self.of(value))
                poly = _poly(value)
                if poly is not None:
                    self.means[name] = poly.put_in(self.means)
            case k.Indices(dims, flat):
                self.indices(dims, self.of(flat))
            case k.Stride(index=index, start=start, by=by):
                self.set(index, self.of(start) if self.of(by) == ZERO else None)
            case _:
                uses = StmUses(stm)
                if isinstance(stm, imp.Apply):
                    alike = all(self.of(arg) == ZERO for arg in stm.args)
                for name in uses.bound:
                    self.set(name, ZERO if alike or isinstance(stm, imp.For | k.Ticket) else None)

    def access(self, place: Place, at: ir.SE, number: int = 1) -> None:
        """Record the stride of an access, in elements or in `number` of them at once."""
        more = self.of(at)
        if more is not None and number > 1:
            more = exact(more, Poly.const(number))
        if more is not None and place.lines:
            self.found[place.lines[0]] = Apart(more.subst(self.means), self.marked(at))

    def set(self, name: Name, more: Poly | None) -> None:
        """Set the increment of a number, or forget it."""
        self.more.pop(name, None)
        self.means.pop(name, None)
        if more is not None:
            self.more[name] = more

    def indices(self, dims: Sequence[tuple[Name, ir.SE]], more: Poly | None) -> None:
        """Set the increments of indices: the last one counts lanes, unless it is always 0."""
        for name, size in reversed(dims):
            known = more if more in (ZERO, ONE) else None
            here = ZERO if _poly(size) == ONE else known
            self.set(name, here)
            more = ZERO if here == ONE else known

    def of(self, se: ir.SE) -> Poly | None:
        """Return the increment of an expression, or None."""
        if all(self.more.get(name) == ZERO for name in free(se)):
            return ZERO
        match se:
            case ir.Var(name):
                return self.more.get(name)
            case ir.Conv(src, dst, arg) if "f" not in (src[0], dst[0]):
                return self.of(arg)
            case ir.Bin(op, _, lhs, rhs):
                a, b = self.of(lhs), self.of(rhs)
                return None if a is None or b is None else self.joined(op, se, a, b)
        return None

    def joined(self, op: str, se: ir.Bin, a: Poly, b: Poly) -> Poly | None:
        """Return the increment of an operation from those of its operands."""
        if op in ("+", "-"):
            return a + b if op == "+" else a - b
        if op == "*":
            total = a * b
            for more, other in ((a, se.rhs), (b, se.lhs)):
                times = _poly(other)
                if more != ZERO and times is None:
                    return None
                total += ZERO if times is None else more * times
            return total
        if (a, b) == (ONE, ZERO) and _poly(se.rhs) != ONE:
            # Neighbours in one row: its number is the same, the place in it one more.
            return {"//": ZERO, "/": ZERO, "%": ONE, "%%": ONE, "&": ONE}.get(op)
        return None

    def marked(self, at: ir.SE) -> Places:
        """Return the ranges of the factors that multiply the lane in the cell's text."""
        whole = shown(at)
        found: Places = []
        for holed in self.holes(at, lambda part: part):
            before, behind = shown(holed).split(_HOLE)
            found.append([len(before), len(whole) - len(behind)])
        return sorted(found)

    def holes(self, se: ir.SE, within: Callable[[ir.SE], ir.SE]) -> Iterator[ir.SE]:
        """Yield the whole expression with a hole in place of each such factor."""
        match se:
            case ir.Conv(src, dst, arg):
                yield from self.holes(arg, lambda part: within(ir.Conv(src, dst, part)))
            case ir.Bin("+" | "-" | "*" as op, prim, lhs, rhs):
                left, right = (self.of(side) != ZERO for side in (lhs, rhs))
                hole = ir.Var(_HOLE, prim)
                if op == "*" and left != right:
                    yield within(ir.Bin(op, prim, *((lhs, hole) if left else (hole, rhs))))
                if left:
                    yield from self.holes(lhs, lambda part: within(ir.Bin(op, prim, part, rhs)))
                if right:
                    yield from self.holes(rhs, lambda part: within(ir.Bin(op, prim, lhs, part)))


def shown(at: ir.SE) -> str:
    """Print an index in the names of the CUDA text."""
    return show_se(at, suffix=False, spell=spelt)


def spelt(name: Name) -> str:
    """Return a kernel's name as CUDA spells it, without the compiler's mark."""
    return name if name == _HOLE else name_text(name.removeprefix(k.OWN))


def _poly(se: ir.SE) -> Poly | None:
    """Convert an integer expression to a polynomial, ignoring wrap-around."""
    match se:
        case ir.Conv(src, dst, arg) if "f" not in (src[0], dst[0]):
            return _poly(arg)
        case ir.Var(name, prim) if prim[0] in "iu":
            return Poly.var(name)
        case ir.Lit(int() as value, prim) if prim[0] in "iu":
            return Poly.const(value)
    return poly_of(se)


def apart(kernel: k.Kernel, body: Sequence[Place]) -> Mapping[int, Apart]:
    """Return the known strides of a kernel's accesses, by first line in the text."""
    walk = _Neighbours({**_START, **{p.name: ZERO for p in kernel.params if not p.block}})
    walk.run(body)
    return walk.found


def underlined(texts: Mapping[str, Text], block: Name, elements: Poly) -> Iterator[Underlined]:
    """Find that stride in index functions of a block's arrays, in the stages with memory."""
    head, stride = f"@ {name_text(block)} -> ", {str(elements), str(-elements)}
    for stage, text in texts.items():
        for number, line in enumerate(text, 1):
            at: Places = []
            start = line.text.find(head)
            while start >= 0:
                end = line.text.find("}", start)
                dims = _DIM.finditer(line.text, start, end)
                at += [list(dim.span(2)) for dim in dims if dim[2] in stride]
                start = line.text.find(head, end)
            if at:
                yield {"stage": stage, "line": number, "text": line.text, "at": at}
