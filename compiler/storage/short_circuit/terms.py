"""Index arithmetic as polynomials, whatever it is made of, with facts about what is no polynomial.

Definitions of scalars are unfolded, so that equal things look equal. A quotient, a minimum, a
conversion becomes a name of its own, the same for equal ones, and `facts` says what is known of it:
`b*q <= a <= b*q + b - 1` for `q = a / b` and a positive `b`. Remainders are told by quotients.
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
"""Terms up to which a definition is unfolded."""
_NARROW = ("i8", "i16", "i32", "u8", "u16", "u32")
"""Integer types whose values all are an i64."""
Where = Literal["places", "conditions"]
_OPAQUE = "?"
"""The operation of an atom of which nothing is known."""
_ROOT = "root"
"""That of the root, rounded down, of a size of an array that is handed in."""


@dataclass(frozen=True, slots=True)
class Atom:
    """What a name that stands for an expression is: the operation and its operands."""

    op: str
    args: tuple[Poly, ...]
    what: Meaning


class Atoms(dict[Name, Atom]):
    """What names stand for that are no variables."""

    def factor(self, name: Name) -> Factor:
        """A name as the data of answers: itself, or the operation that it stands for."""
        atom = self.get(name)
        return name if atom is None else as_factor(atom.what, self.factor)

    def facts(self, names: Iterable[Name]) -> dict[Poly, Name]:
        """What is known of atoms: polynomials that are not negative, and of which atom each is."""
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
        """What is known of atoms that are roots: polynomials that are not negative."""
        for name in sorted(names):
            atom = self.get(name)
            if atom is not None and atom.op == _ROOT:
                yield from facts_of_root(Poly.var(name), atom.args[0])

    def quotients(self, names: Iterable[Name]) -> list[tuple[Name, Poly, Poly]]:
        """Of the names those that are quotients, with what is divided and by what."""
        found: list[tuple[Name, Poly, Poly]] = []
        for name in sorted(names):
            atom = self.get(name)
            if atom is not None and atom.op == "/":
                a, b = atom.args
                found.append((name, a, b))
        return found


class Terms:
    """The scalars of one function."""

    def __init__(self, now: Edited) -> None:
        self.now = now
        self.defs: dict[Name, ir.SE] = {}
        self._named: dict[ir.SE, list[Name]] = {}
        self.atoms = Atoms()
        self._innermost: dict[Name, TreeBody] = {}
        """For atoms the scope of what they are made of."""
        self._values: dict[Name, Poly] = {}
        self._normal: dict[Lmad[Poly], Lmad[Poly]] = {}
        self._given = _sizes_given(now.tree.fun)
        for item in all_items(now.tree.root):
            if isinstance(item.stm.exp, ir.SE_NODES):
                self._define(item.stm.pat[0].name, item.stm.exp)

    @cached_property
    def exact(self) -> Exact:
        """What may be read as polynomials; most functions never ask."""
        return exactness(self.now.tree.fun)

    def _define(self, name: Name, se: ir.SE) -> None:
        self.defs[name] = se
        self._named.setdefault(se, []).append(name)

    def define(self, name: Name, se: ir.SE, before: Item) -> Item:
        """A statement that is new, right in front of another one: it gives an expression a name."""
        self._define(name, se)
        self._innermost[name] = before.scope
        self._values[name] = self.poly(se)
        self.now.spell.stands_for(name, se)
        stm = ir.Stm((ir.Param(name, ir.I64),), se, before.stm.prov)
        return Item(stm, before.scope, self.now.at(before), frozenset(free(stm)))

    def named(self, se: ir.SE, item: Item) -> Name | None:
        """A name for an expression that a statement in front of `item` gives it."""
        names = self._named.get(se, ())
        return next((name for name in names if self.now.visible(name, item)), None)

    # --- polynomials ---

    def value(self, name: Name) -> Poly:
        """What an i64 name is in terms of others, modulo 2**64."""
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
        """Whether a name's definition may be unfolded; who unfolds polynomials asks beforehand."""
        return name in self.exact.defined or self.exact.unfolds(name)

    def normal(self, poly: Poly) -> Poly:
        """A size or a part of an index function with definitions unfolded, where that fits."""
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
        """The monomials of sizes and parts of index functions that may wrap.

        One that is put together from these is no sum of them.
        """
        opaque = (poly for poly, ways in self.exact.sizes.items() if not ways)
        return frozenset(mono for poly in opaque for mono in poly.terms if mono)

    def is_read_so(self, poly: Poly, se: ir.SE) -> bool:
        """Whether the polynomial of an expression is its value, as part of an index function.

        That is read by its names, which says nothing of a sum that wraps.
        """
        return self.normal(poly) == self.poly(se)

    def normal_lmad(self, lmad: Lmad[Poly]) -> Lmad[Poly]:
        """The LMAD with all definitions unfolded."""
        found = self._normal.get(lmad)
        if found is None:
            dims = tuple(Dim(self.normal(d.size), self.normal(d.stride)) for d in lmad.dims)
            found = self._normal[lmad] = Lmad(self.normal(lmad.offset), dims)
        return found

    def poly(self, se: ir.SE) -> Poly:
        """An i64 expression as a polynomial that is its value: of atoms where it may be none."""
        return self._poly(se, "places")

    def compared(self, se: ir.SE) -> Poly:
        """The same for a part of a condition, from there on."""
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
        """What is added to a sum to have names for its products that may wrap."""
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
        """The sum or product that a name stands for, as it is not known to fit in 64 bits."""
        what = self.atoms[name].what if name in self.atoms else None
        if isinstance(what, Poly):
            defined = self.defs.get(what.as_name or "")
            return what if defined is None else self._ring(defined, "places")
        if isinstance(what, ir.Bin | ir.Un) and what.op in ("+", "-", "*", "neg"):
            return self._ring(what, "places")
        return None

    def _is_sum(self, name: Name) -> bool:
        """Whether a name is defined by a sum or product, which may wrap."""
        return name in self.defs and name in self.exact.defined

    def _ring(self, se: ir.SE, where: Where, named: bool = False) -> Poly:
        """The polynomial of an expression, modulo 2**64; `named`: do not unfold its names."""
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
        """A name whose definition may wrap, as one whose definition is not known."""
        if not self._is_sum(name):
            return self.value(name)
        return self._unknown(f"({name})", (name,), Poly.var(name))

    def quotient(self, a: Poly, b: Poly) -> Poly:
        """`a / b`, rounded down."""
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
        """An expression of which nothing is known but that it is always the same."""
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
        """The atom of that name, made of `names`; nothing is known of it but what `atom` says."""
        if name not in self.atoms:
            self.atoms[name] = atom or Atom(_OPAQUE, (), what)
            self._innermost[name] = self.deepest(names)
            self.now.spell.stands_for(name, what)
            self._values[name] = Poly.var(name)
        return Poly.var(name)

    def deepest(self, names: Iterable[Name]) -> TreeBody:
        """The innermost of the scopes in which names are bound."""
        found = self.now.tree.root
        for name in names:
            scope = self.scope(name)
            if scope is not None and scope.depth > found.depth:
                found = scope
        return found

    def scope(self, name: Name) -> TreeBody | None:
        """Where a name, or an atom's innermost name, is bound."""
        return self._innermost.get(name) or self.now.tree.scope_of.get(name)

    # --- index functions ---

    def chosen(self, at: Sequence[ir.SE]) -> Iterator[Sequence[ir.SE]]:
        """What an index may be, of which one part is chosen by a condition: either."""
        for k, part in enumerate(at):
            found = self.defs.get(part.name) if isinstance(part, ir.Var) else part
            if isinstance(found, ir.Select):
                for side in (found.then, found.orelse):
                    yield (*at[:k], side, *at[k + 1 :])
                return
        yield at

    def choice(self, name: Name) -> tuple[tuple[Poly, ir.SE, bool], ...]:
        """What a name is on either side of a condition that chooses it; () if none does."""
        atom = self.atoms.get(name)
        what = None if atom is None else atom.what
        if not isinstance(what, ir.Select):
            return ()
        return (self.poly(what.then), what.cond, True), (self.poly(what.orelse), what.cond, False)

    def sliced(self, lmad: Lmad[Poly], dims: tuple[ir.DimIndex, ...]) -> Lmad[Poly]:
        """The part of an index function that a slice selects, for proofs."""
        return sliced(lmad, dims, self.poly, self.normal)


def divided(quotient: Name, a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """What is known of `a / b` if `b` is positive: polynomials that are not negative."""
    x = Poly.var(quotient)
    return a - b * x, b * x + b - 1 - a


def _sizes_given(fun: ir.Function) -> frozenset[Name]:
    """The sizes of arrays that an entry point is handed: none is negative, nor above a limit."""
    arrays = [p.type for p in fun.params if isinstance(p.type, ir.Array)] if fun.entry else []
    sizes = (size.as_name for array in arrays for size in array.shape)
    return frozenset(name for name in sizes if name is not None)
