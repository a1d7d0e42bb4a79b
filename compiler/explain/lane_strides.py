"""How far apart the cells of neighbouring lanes lie, as a formula, and where that stands in texts.

Neighbours are in one row of the threads' numbers: where a row of indices ends, the next one begins
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.text import Text
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
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
"""A dimension of an index function, as stages write it."""
Places = list[list[int]]
"""Parts of a line: the first character of each, from 0, and the one behind its last."""


@dataclass(frozen=True, slots=True)
class Apart:
    """How many elements the next lane's cell is behind a lane's, and what in the cell says so."""

    elements: Poly
    """in names of the kernel's program"""
    factors: Places
    """of `cell`, as text"""


@dataclass(slots=True)
class _Neighbours:
    """`more`: what the next lane has more, of those numbers of which that is known."""

    more: dict[Name, Poly]
    means: dict[Name, Poly] = field(default_factory=dict)
    """Numbers as polynomials of others."""
    found: dict[int, Apart] = field(default_factory=dict)
    """By an access's first line."""

    def run(self, body: Sequence[Place]) -> None:
        """Go through a kernel's statements in order."""
        for place in body:
            self.stm(place)
            for inner in place.bodies:
                self.run(inner)

    def stm(self, place: Place) -> None:
        """A statement, but for those in it."""
        match place.stm:
            case imp.Define(name, _, value):
                self.set(name, self.of(value))
                poly = _poly(value)
                if poly is not None:
                    self.means[name] = poly.put_in(self.means)
            case imp.Apply(names, _, _, args):
                alike = all(self.of(arg) == ZERO for arg in args)
                for name in names:
                    self.set(name, ZERO if alike else None)
            case imp.Declare(name) | imp.Assign(name) | k.Shuffle(name):
                self.set(name, None)
            case k.Ticket(name):
                self.set(name, ZERO)
            case k.Await(name):
                self.set(name, None)
            case k.Indices(dims, flat):
                self.indices(dims, self.of(flat))
            case imp.For(index):
                self.set(index, ZERO)
            case k.Stride(index=index, start=start, by=by):
                self.set(index, self.of(start) if self.of(by) == ZERO else None)
            case imp.Load(name, at=at) | k.Fetch(name, at=at):
                self.access(place, at)
                # Lanes that read the same cell have the same number.
                self.set(name, ZERO if self.of(at) == ZERO else None)
            case imp.Store(at=at) | k.Atomic(at=at):
                self.access(place, at)
            case k.Exchange(name, at=at):
                self.access(place, at)
                self.set(name, None)

    def access(self, place: Place, at: ir.SE) -> None:
        """A cell that a statement touches."""
        more = self.of(at)
        if more is not None and place.lines:
            self.found[place.lines[0]] = Apart(more.subst(self.means), self.marked(at))

    def set(self, name: Name, more: Poly | None) -> None:
        """What is known of a number, or that nothing is."""
        self.more.pop(name, None)
        self.means.pop(name, None)
        if more is not None:
            self.more[name] = more

    def indices(self, dims: Sequence[tuple[Name, ir.SE]], more: Poly | None) -> None:
        """The last index counts lanes, but one that is always 0."""
        for name, size in reversed(dims):
            known = more if more in (ZERO, ONE) else None
            here = ZERO if _poly(size) == ONE else known
            self.set(name, here)
            more = ZERO if here == ONE else known

    def of(self, se: ir.SE) -> Poly | None:
        """What the next lane has more of an expression."""
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
        """An operation, of whose operands the next lane has so much more."""
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
        """Where the factors stand by which the cell counts lanes."""
        whole = shown(at)
        found: Places = []
        for holed in self.holes(at, lambda part: part):
            before, behind = shown(holed).split(_HOLE)
            found.append([len(before), len(whole) - len(behind)])
        return sorted(found)

    def holes(self, se: ir.SE, within: Callable[[ir.SE], ir.SE]) -> Iterator[ir.SE]:
        """The whole expression with a hole for each of these factors."""
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
    """An index, in the names of the CUDA text."""
    return show_se(at, suffix=False, spell=spelt)


def spelt(name: Name) -> str:
    """A name of a kernel as CUDA has it: those that the compiler made bear no mark there."""
    return name if name == _HOLE else name_text(name.removeprefix(k.OWN))


def _poly(se: ir.SE) -> Poly | None:
    """A whole number as a polynomial, as if no arithmetic wrapped around."""
    match se:
        case ir.Conv(src, dst, arg) if "f" not in (src[0], dst[0]):
            return _poly(arg)
        case ir.Var(name, prim) if prim[0] in "iu":
            return Poly.var(name)
        case ir.Lit(int() as value, prim) if prim[0] in "iu":
            return Poly.const(value)
    return poly_of(se)


def apart(kernel: k.Kernel, body: Sequence[Place]) -> Mapping[int, Apart]:
    """The accesses of a kernel for which it is known, by their first lines in the text."""
    walk = _Neighbours({**_START, **{p.name: ZERO for p in kernel.params if not p.block}})
    walk.run(body)
    return walk.found


def underlined(texts: Mapping[str, Text], block: Name, elements: Poly) -> Iterator[Underlined]:
    """Where stages with memory have that stride in an index function of a block's arrays."""
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
