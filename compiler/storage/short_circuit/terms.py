"""Express index arithmetic as polynomials over names and atoms, with facts about atoms.

Scalar definitions are unfolded, so that equal values have equal polynomials. A quotient, minimum or
conversion becomes an atom, shared by equal ones, and `facts` describes it: `b*q <= a <= b*q + b -
1` for `q = a / b` and a positive `b`. Remainders are expressed by quotients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Monomial, Poly
from compiler.analysis.no_wrap import Exact, Reading, best, exactness
from compiler.analysis.roots import facts_of_root, root_of
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.show_scalar import show_se
from compiler.ir.slices import sliced
from compiler.ir.source_names import Meaning, as_factor
from compiler.ir.walk import free, se_uses
from compiler.protocol.polynomials import Factor
from compiler.storage.short_circuit.edit_state import Edited
from compiler.storage.short_circuit.tree import Item, TreeBody, all_items

ONE = Poly.const(1)
ZERO = Poly.const(0)
_LARGEST = 24
"""Maximum terms of an unfolded definition."""
_NARROW = ("i8", "i16", "i32", "u8", "u16", "u32")
"""Integer types whose values all fit in i64."""
Where = Literal["places", "conditions"]
_OPAQUE = "?"
"""Operation of an atom about which nothing is known."""
_ROOT = "root"
"""Operation of the rounded-down root of an input size."""


@dataclass(frozen=True, slots=True)
class Atom:
    """The operation and operands that an atom stands for."""

    op: str
    args: tuple[Poly, ...]
    what: Meaning


class Atoms(dict[Name, Atom]):
    """Atoms by name."""

    def factor(self, name: Name) -> Factor:
        """Return the form of a name in answers: itself, or the operation that it stands for."""
        atom = self.get(name)
        return name if atom is None else as_factor(atom.what, self.factor)

    def facts(self, names: Iterable[Name]) -> dict[Poly, Name]:
        """Return polynomials `>= 0` about atoms, each with its atom."""
        found: dict[Poly, Name] = {}
        for name in names:
            atom = self.get(name)
            if atom is None or len(atom.args) != 2:
                continue
            x = Poly.var(name)
            a, b = atom.args
            match atom.op:
                case "min":
                    facts: tuple[Poly, ...] = (a - x, b - x)
                case "max":
                    facts = (x - a, x - b)
                case "/" if (b.constant or 0) > 0:
                    facts = divided(name, a, b)
                case _:
                    continue
            for fact in facts:
                found.setdefault(fact, name)
        return found

    def roots(self, names: Iterable[Name]) -> Iterator[Poly]:
        """Yield polynomials `>= 0` about atoms that are roots."""
        for name in sorted(names):
            atom = self.get(name)
            if atom is not None and atom.op == _ROOT:
                yield from facts_of_root(Poly.var(name), atom.args[0])

    def quotients(self, names: Iterable[Name]) -> list[tuple[Name, Poly, Poly]]:
        """Return the names that are quotients, with dividend and divisor."""
        found: list[tuple[Name, Poly, Poly]] = []
        for name in sorted(names):
            atom = self.get(name)
            if atom is not None and atom.op == "/":
                a, b = atom.args
                found.append((name, a, b))
        return found


class Terms:
    """Scalars of one function as polynomials."""

    def __init__(self, now: Edited) -> None:
        self.now = now
        self.defs: dict[Name, ir.SE] = {}
        self._named: dict[ir.SE, list[Name]] = {}
        self.atoms = Atoms()
        self._innermost: dict[Name, TreeBody] = {}
        """Innermost scope of each atom's operands."""
        self._values: dict[Name, Poly] = {}
        self._normal: dict[Lmad[Poly], Lmad[Poly]] = {}
        self._given = _sizes_given(now.tree.fun)
        for item in all_items(now.tree.root):
            if isinstance(item.stm.exp, ir.SE_NODES):
                self._define(item.stm.pat[0].name, item.stm.exp)

    @cached_property
    def exact(self) -> Exact:
        """Readings of the function's arithmetic; computed on demand."""
        return exactness(self.now.tree.fun)

    def _define(self, name: Name, se: ir.SE) -> None:
        self.defs[name] = se
        self._named.setdefault(se, []).append(name)

    def define(self, name: Name, se: ir.SE, before: Item) -> Item:
        """Return a new statement directly before another one that names an expression."""
        self._define(name, se)
        self._innermost[name] = before.scope
        self._values[name] = self.poly(se)
        self.now.spell.stands_for(name, se)
        stm = ir.Stm((ir.Param(name, ir.I64),), se, before.stm.prov)
        return Item(stm, before.scope, self.now.at(before), frozenset(free(stm)))

    def named(self, se: ir.SE, item: Item) -> Name | None:
        """Return a name that a statement before `item` binds to the expression."""
        names = self._named.get(se, ())
        return next((name for name in names if self.now.visible(name, item)), None)

    # --- polynomials ---

    def value(self, name: Name) -> Poly:
        """Return an i64 name in terms of others, modulo 2**64."""
        found = self._values.get(name)
        if found is None:
            se = self.defs.get(name)
            found = Poly.var(name)
            self._values[name] = found
            if se is not None:
                unfolded = self._ring(se, "places") if self._fits(name) else self.poly(se)
                if len(unfolded.terms) <= _LARGEST:
                    found = self._values[name] = unfolded
        return found

    def _fits(self, name: Name) -> bool:
        """True if a name's definition may be unfolded; polynomials are checked beforehand."""
        return name in self.exact.defined or self.exact.unfolds(name)

    def normal(self, poly: Poly) -> Poly:
        """Unfold definitions in a size or part of an index function, where that fits."""
        names = poly.names()
        if not names or (poly.as_name is not None and names.isdisjoint(self.defs)):
            return poly
        ways = self.exact.sizes.get(poly)
        if ways == () or (ways is None and not self._wrapping.isdisjoint(poly.terms)):
            return self._unknown(f"({poly})", names, poly)
        mapping = {}
        for name in names:
            is_exact = self.exact.unfolds(name) if ways is None else best(ways) == "unfolded"
            value = self.value(name) if is_exact else self._kept(name)
            if value.as_name != name:
                mapping[name] = value
        return poly.subst(mapping) if mapping else poly

    @cached_property
    def _wrapping(self) -> frozenset[Monomial]:
        """Monomials of sizes and parts of index functions that may wrap.

        A polynomial that contains one of these is not read as a sum.
        """
        opaque = (poly for poly, ways in self.exact.sizes.items() if not ways)
        return frozenset(mono for poly in opaque for mono in poly.terms if mono)

    def is_read_so(self, poly: Poly, se: ir.SE) -> bool:
        """True if an expression's polynomial is its value as part of an index function.

        Index functions are read by their names, without a check that a sum does not wrap.
        """
        return self.normal(poly) == self.poly(se)

    def normal_lmad(self, lmad: Lmad[Poly]) -> Lmad[Poly]:
        """Unfold all definitions in an LMAD."""
        found = self._normal.get(lmad)
        if found is None:
            dims = tuple(Dim(self.normal(d.size), self.normal(d.stride)) for d in lmad.dims)
            found = self._normal[lmad] = Lmad(self.normal(lmad.offset), dims)
        return found

    def poly(self, se: ir.SE) -> Poly:
        """Return a polynomial equal to an i64 expression, with atoms where it may wrap."""
        return self._poly(se, "places")

    def compared(self, se: ir.SE) -> Poly:
        """Return a polynomial equal to an operand of a condition, valid after it."""
        return self._poly(se, "conditions")

    def _poly(self, se: ir.SE, where: Where) -> Poly:
        match se:
            case ir.Bin("+" | "-" | "*", "i64", _, _) | ir.Un("neg", "i64", _):
                reading = self._reading(se, where) or "opaque"
            case ir.Var(name, "i64"):
                reading = "unfolded"
                if self._is_sum(name):
                    reading = self._reading(se, where) or "named"
            case _:
                reading = "unfolded"
        if reading == "opaque":
            return self._opaque(se, se)
        found = self._ring(se, where, reading == "named")
        return found + self._splitting(se) if reading == "split" else found

    def _splitting(self, se: ir.SE) -> Poly:
        """Return the difference that replaces possibly wrapping products of a sum by atoms."""
        found = Poly({})
        for mono, coeff in self.exact.products[se].terms.items():
            product = Poly({mono: 1})
            atom = self._unknown(f"({product})", product.names(), product)
            found += (atom - product) * coeff
        return found

    def _reading(self, se: ir.SE, where: Where) -> Reading | None:
        exact = self.exact
        ways = (exact.places if where == "places" else exact.conditions).get(se)
        return None if ways is None else best(ways)

    def wrapping(self, name: Name) -> Poly | None:
        """Return the possibly wrapping sum or product that an atom stands for."""
        what = self.atoms[name].what if name in self.atoms else None
        if isinstance(what, Poly):
            defined = self.defs.get(what.as_name or "")
            return what if defined is None else self._ring(defined, "places")
        if isinstance(what, ir.Bin | ir.Un) and what.op in ("+", "-", "*", "neg"):
            return self._ring(what, "places")
        return None

    def _is_sum(self, name: Name) -> bool:
        """True if a name is defined by a sum or product, which may wrap."""
        return name in self.defs and name in self.exact.defined

    def _ring(self, se: ir.SE, where: Where, named: bool = False) -> Poly:
        """Return an expression's polynomial modulo 2**64; `named`: do not unfold its names."""
        match se:
            case ir.Lit(value, _):
                return Poly.const(int(value))
            case ir.Var(name, _):
                return self._kept(name) if named else self.value(name)
            case ir.Bin("+", "i64", a, b):
                return self._ring(a, where, named) + self._ring(b, where, named)
            case ir.Bin("-", "i64", a, b):
                return self._ring(a, where, named) - self._ring(b, where, named)
            case ir.Bin("*", "i64", a, b):
                return self._ring(a, where, named) * self._ring(b, where, named)
            case ir.Un("neg", "i64", a):
                return -self._ring(a, where, named)
            case ir.Bin("/" | "min" | "max" as op, "i64", a, b):
                return self._atom(op, self._poly(a, where), self._poly(b, where))
            case ir.Bin("%", "i64", a, b):
                left, right = self._poly(a, where), self._poly(b, where)
                return left - right * self._atom("/", left, right)
            case ir.Conv(src, "i64", ir.Lit(number, _)) if src in _NARROW:
                return Poly.const(int(number))
            case ir.Conv(_, "i64", arg):
                return self._opaque(se, arg)
        return self._opaque(se, se)

    def _kept(self, name: Name) -> Poly:
        """Return a name as an opaque atom if its definition may wrap, else its value."""
        if not self._is_sum(name):
            return self.value(name)
        return self._unknown(f"({name})", (name,), Poly.var(name))

    def quotient(self, a: Poly, b: Poly) -> Poly:
        """Return the atom for `a / b`, rounded down."""
        return self._atom("/", a, b)

    def _atom(self, op: str, a: Poly, b: Poly) -> Poly:
        x, y = a.constant, b.constant
        if x is not None and y is not None and (op != "/" or y != 0):
            return Poly.const(x // y if op == "/" else min(x, y) if op == "min" else max(x, y))
        if op != "/" and str(b) < str(a):
            a, b = b, a
        name = f"({a})/({b})" if op == "/" else f"{op}({a}, {b})"
        if name not in self.atoms:
            self.atoms[name] = Atom(op, (a, b), (op, a, b))
            self._innermost[name] = self.deepest(a.names() | b.names())
            self.now.spell.stands_for(name, (op, a, b))
            self._values[name] = Poly.var(name)
        return Poly.var(name)

    def _opaque(self, se: ir.SE, inside: ir.SE) -> Poly:
        """Return an opaque atom for an expression: equal only to itself."""
        while isinstance(inside, ir.Var) and inside.prim != "i64" and inside.name in self.defs:
            inside = self.defs[inside.name]
        if isinstance(se, ir.Conv):
            se = ir.Conv(se.src, se.dst, inside)
        names: set[Name] = set()
        se_uses(se, names.add)
        of = root_of(se)
        if isinstance(of, ir.Var) and of.name in self._given:
            return self._unknown(show_se(se), names, se, Atom(_ROOT, (Poly.var(of.name),), se))
        return self._unknown(show_se(se), names, se)

    def _unknown(
        self, name: Name, names: Iterable[Name], what: ir.SE | Poly, atom: Atom | None = None
    ) -> Poly:
        """Return the atom called `name`, with operands `names`; `atom` may describe it."""
        if name not in self.atoms:
            self.atoms[name] = atom or Atom(_OPAQUE, (), what)
            self._innermost[name] = self.deepest(names)
            self.now.spell.stands_for(name, what)
            self._values[name] = Poly.var(name)
        return Poly.var(name)

    def deepest(self, names: Iterable[Name]) -> TreeBody:
        """Return the innermost scope in which names are bound."""
        found = self.now.tree.root
        for name in names:
            scope = self.scope(name)
            if scope is not None and scope.depth > found.depth:
                found = scope
        return found

    def scope(self, name: Name) -> TreeBody | None:
        """Return the scope of a name, or of an atom's innermost operand."""
        return self._innermost.get(name) or self.now.tree.scope_of.get(name)

    # --- index functions ---

    def chosen(self, at: Sequence[ir.SE]) -> Iterator[Sequence[ir.SE]]:
        """Yield the alternatives of an index with a part that is a `Select`."""
        for k, part in enumerate(at):
            found = self.defs.get(part.name) if isinstance(part, ir.Var) else part
            if isinstance(found, ir.Select):
                for side in (found.then, found.orelse):
                    yield (*at[:k], side, *at[k + 1 :])
                return
        yield at

    def choice(self, name: Name) -> tuple[tuple[Poly, ir.SE, bool], ...]:
        """Return value, condition and truth for both alternatives of a `Select`, or ()."""
        atom = self.atoms.get(name)
        what = None if atom is None else atom.what
        if not isinstance(what, ir.Select):
            return ()
        return (self.poly(what.then), what.cond, True), (self.poly(what.orelse), what.cond, False)

    def sliced(self, lmad: Lmad[Poly], dims: tuple[ir.DimIndex, ...]) -> Lmad[Poly]:
        """Slice an index function, for proofs."""
        return sliced(lmad, dims, self.poly, self.normal)


def divided(quotient: Name, a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """Return polynomials `>= 0` about `a / b` for a positive `b`."""
    x = Poly.var(quotient)
    return a - b * x, b * x + b - 1 - a


def _sizes_given(fun: ir.Function) -> frozenset[Name]:
    """Return the sizes of an entry point's array parameters, which are natural and bounded."""
    arrays = [p.type for p in fun.params if isinstance(p.type, ir.Array)] if fun.entry else []
    sizes = (size.as_name for array in arrays for size in array.shape)
    return frozenset(name for name in sizes if name is not None)
