"""Collect facts about integers during a walk over a program, and read expressions as polynomials.

Each fact carries its source and the expressions that were read as exact values for it; those
readings must be proved before anything may rest on the fact (`range_proofs.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from compiler.algebra.argument import Argument, Kind, Source
from compiler.algebra.divide import products
from compiler.algebra.limits import LARGEST_SIZE
from compiler.algebra.poly import MOST_UNFOLDED, Monomial, Poly
from compiler.analysis.comparisons import OPPOSITE, in_order, parts, true_claims
from compiler.analysis.proof_lines import Lines
from compiler.analysis.ranges import (
    EITHER,
    EVERYWHERE,
    MUCH,
    BoundFact,
    Ends,
    Ranges,
    Span,
    SpanFact,
    intersect_ends,
)
from compiler.base.names import Name
from compiler.base.prim import BYTES, INTS, Prim, int_range
from compiler.ir.nodes import SE, ZERO, Bin, Conv, Fun, Lit, Select, Un, Var

_MOST_BOUNDS = 6
_MOST_ALTERNATIVES = 16
_MOST_WHOLES = 8
_MOST_TERMS = 12
FEW = 5
"""Effort to refute a condition: most conditions in a program hold."""
_MODULUS = 1 << 64
NOUGHT = Poly.const(0)
_ONE = Poly.const(1)
LARGEST = Poly.const(LARGEST_SIZE)
_INTS = frozenset(INTS)
_SIZE: Span = (0, LARGEST_SIZE)


class ScopedRanges(Ranges):
    """Bounds by name and truth values by condition, with an undo log per scope."""

    __slots__ = ("_clock", "_lines", "_noted", "_told", "shown")

    def __init__(self, equal: Mapping[Name, Poly], shown: list[Argument] | None = None) -> None:
        """`equal`: polynomial definitions of i64 names, may grow; `shown` collects arguments."""
        super().__init__(equal)
        self._clock = 0
        self._noted: list[tuple[Poly, Prim | Literal[""], int]] = []
        """Polynomials read as values since the last query, or lesson, began."""
        self._lines = Lines()
        self._told: set[SE] = set()
        """All recorded conditions and their operands, also of ended scopes."""
        self.shown: list[Argument] = [] if shown is None else shown
        """Arguments that the checker accepted."""

    def catch_up(self) -> None:
        """Process pending lessons in the middle of a query."""
        asked = self._noted
        super().catch_up()
        self._noted = asked

    def enter(self) -> None:
        """Begin a scope."""
        super().enter()
        self._lines.enter()

    def leave(self) -> None:
        """End a scope and forget its facts."""
        super().leave()
        self._lines.leave()

    # --- learning ----------------------------------------------------------------------------

    def _source(
        self, kind: Kind | Literal["derived"], about: tuple[Any, ...], text: Any = ""
    ) -> Source:
        """Return a new source with the current time and the readings noted so far."""
        self._clock += 1
        source = Source(kind, about, tuple(self._noted), text)
        source.since = self._clock
        return source

    def bound(
        self,
        name: Name,
        low: Poly | None,
        high: Poly | None,
        depth: int,
        known: int | None = None,
        source: Source | None = None,
    ) -> None:
        """Record `low <= name <= high`; `known`: the depth of the facts that bound them."""
        if self._waiting:
            self.catch_up()
        before = self.bounds.get(name, ())
        if len(before) >= _MOST_BOUNDS:
            return
        for b in before:
            if b.low == low and b.high == high:
                return
        limit = depth if known is None else known
        least = None if low is None else self.span(low, limit)[0]
        most = None if high is None else self.span(high, limit)[1]
        if source is None:
            source = self._source("between", (name, low, high, "i64"))
        if least == 0 and self._is_not_zero(name, depth):
            assert low is not None
            differs = self._source("condition", ("!=", Poly.var(name), NOUGHT, "i64"))
            about = ("unlike", differs, source, Poly.var(name) - low, depth, limit)
            if high is not None:
                self.bound(name, None, high, depth, known, source)
                before, high, most = self.bounds[name], None, None
            source, low, least = self._source("derived", about), _ONE, 1
        self._clock += 1
        found = BoundFact(low, high, depth, (least, most), source, limit, self._clock)
        self._put(self.bounds, name, (*before, found))
        self.order.setdefault(name, len(self.order))
        if least is not None and least > 0 and name in self._cases:
            self._positive(name, depth)

    def _is_not_zero(self, name: Name, depth: int) -> bool:
        truth = self._truths.get(Bin("!=", "i64", Var(name, "i64"), ZERO))
        return truth is not None and truth[0] and truth[1] <= depth

    def _positive(self, name: Name, depth: int) -> None:
        """Learn from a positive quotient of a natural number that `1 <= other <= one`.

        A positive choice with an alternative that is not positive is the other one.
        """
        kind, one, other = self._cases[name][:3]
        if kind == EITHER:
            for side, left in ((one, other), (other, one)):
                if self.span(side, depth)[1] <= 0:
                    why = self._source("derived", ("chosen", name, side, depth))
                    self._learn_gap(left - 1, depth, why)
        natural = self._natural(one, depth) or self._natural(other - 1, depth)
        if kind in ("/", "//") and other.constant is None and natural:
            for gap in (other - 1, one - other):
                self._learn_gap(gap, depth, self._source("derived", ("divides", name, depth)))

    def _refuted(self, cond: SE, depth: int) -> bool:
        if type(cond) is not Bin or cond.op not in OPPOSITE:
            return False
        left, right = self.ring(cond.lhs, depth), self.ring(cond.rhs, depth)
        if cond.op in ("==", "!="):
            if self._decide(cond.op, left, right, depth) is False:
                return True
            return cond.op == "==" and self._apart(left, right, depth) is not None
        low, high, slack = in_order(cond.op, left, right)
        return self._below(high, low, 1 - slack, depth, FEW)

    def _apart(self, left: Poly, right: Poly, depth: int) -> tuple[Poly, ...] | None:
        """Return claims, found by the search, that imply that two values differ.

        The polynomials equal the values modulo 2**64; their difference must not be a multiple of
        that.
        """
        for gap in (right - left, left - right):
            claims = (gap - 1, _MODULUS - 1 - gap)
            if all(self.non_negative(claim, depth, FEW) for claim in claims):
                return claims
        return None

    def _is_sized(self, value: Poly, depth: int, kind: Kind = "size") -> None:
        """Learn that a value lies between 0 and the largest size."""
        source = self._source(kind, (value,))
        name = value.as_name
        if name is None:
            self._learn_span(value, _SIZE, depth, source)
        else:
            self.bound(name, NOUGHT, LARGEST, depth, None, source)

    def learn(self, cond: SE, truth: bool, depth: int | None = None) -> None:
        """Learn that a condition is true, or false."""
        if type(cond) is not Lit:
            self._told.update(parts(cond))
            self.tell(self._learn, cond, truth, depth)

    def truth(self, cond: SE) -> bool | None:
        """Return the recorded truth value of this very condition, or None.

        A condition that was never recorded needs no pending lessons.
        """
        found = self.truths.get(cond) if cond in self._told else None
        return None if found is None else found[0]

    def _learn(self, cond: SE, truth: bool, depth: int | None, unless: SE | None = None) -> None:
        """Learn that a condition is true or false; `unless`: an alternative that is false."""
        depth = self.depth if depth is None else depth
        before = len(self._truths)
        if type(cond) is Lit:
            return
        self._truths.setdefault(cond, (truth, depth))
        if len(self._truths) == before:
            return
        self._log[-1].append((self._truths, cond, None))
        if type(cond) is Un and cond.op == "not":
            self._learn(cond.arg, not truth, depth, unless)
        if type(cond) is not Bin:
            return
        if cond.op == ("&&" if truth else "||"):
            self._learn(cond.lhs, truth, depth, unless)
            self._learn(cond.rhs, truth, depth, unless)
        elif cond.op == "||" and type(cond.lhs) is Bin and cond.lhs.at == "i64":
            alternative = (cond.lhs, cond.rhs, depth)
            for name in self.ring(cond.lhs.lhs).names() | self.ring(cond.lhs.rhs).names():
                known = self._alternatives.get(name, ())
                if len(known) < _MOST_ALTERNATIVES:
                    self._put(self._alternatives, name, (*known, alternative))
        elif cond.op in OPPOSITE and cond.at in _INTS:
            self._learn_comparison(cond, truth, depth, unless)

    def _learn_comparison(self, cond: Bin, truth: bool, depth: int, unless: SE | None) -> None:
        self._noted = []
        if type(unless) is Bin:
            left, right = self.ring(unless.lhs, depth), self.ring(unless.rhs, depth)
            contrary = OPPOSITE[unless.op]
            claims = self._apart(left, right, depth) if contrary == "!=" else None
            if contrary == "!=":
                contrary = "<" if self.non_negative(right - left - 1, depth, FEW) else ">"
            claims = claims or true_claims(contrary, left, right)
            self._noted += [(claim, "", depth) for claim in claims]
        op = cond.op if truth else OPPOSITE[cond.op]
        if type(cond.lhs) is Fun and cond.lhs.fun == "mul_hi" and cond.at == "i64":
            if op == "==" and cond.rhs == ZERO:
                left, right = (self.poly(arg, depth) for arg in cond.lhs.args)
                source = self._source("product", (left, right), cond)
                self._learn_span(left * right, (0, _MODULUS - 1), depth, source)
            return
        left, right = self.value(cond.lhs, cond.at, depth), self.value(cond.rhs, cond.at, depth)
        source = self._source("condition", (op, left, right, cond.at), (cond, truth))
        if op in (">", ">="):
            left, right, op = right, left, "<" if op == ">" else "<="
        if op == "!=":
            self._differ(left, right, depth, source)
            return
        gap = right - left - (1 if op == "<" else 0)
        self._learn_gap(gap, depth, source)
        if op == "==":
            self._learn_gap(-gap, depth, self._source("condition", source.about, source.text))

    def _learn_gap(self, gap: Poly, depth: int, source: Source) -> None:
        """Learn `gap >= 0`, a polynomial of values: a bound of each name that it is linear in."""
        terms = gap.terms
        if len(terms) > _MOST_TERMS:
            return
        sums = all(len(mono) <= 1 and (not mono or mono[0][1] == 1) for mono in terms)
        for mono, coeff in terms.items():
            if len(mono) != 1 or mono[0][1] != 1 or abs(coeff) != 1:
                continue
            name = mono[0][0]
            if not sums and _occurs_besides(name, mono, terms):
                continue
            rest = (Poly.var(name) - gap) if coeff == 1 else gap + Poly.var(name)
            before = self.bounds.get(name)
            if coeff == 1:
                self.bound(name, rest, None, depth, None, source)
            else:
                self.bound(name, None, rest, depth, None, source)
            if name in self._wrapped and self.bounds.get(name) is not before:
                self._unwrap(name, depth)
        if len(terms) > 2 or gap.as_name is not None:
            return
        signs = {coeff > 0 for mono, coeff in terms.items() if mono}
        constant = terms.get((), 0)
        if signs == {True}:
            self._learn_span(gap - constant, (-constant, None), depth, source)
        elif signs == {False}:
            self._learn_span(constant - gap, (None, constant), depth, source)

    def _learn_span(self, poly: Poly, ends: Ends, depth: int, source: Source) -> None:
        """Learn the range of a sum or product."""
        if poly.constant is not None or poly.as_name is not None:
            return
        constant = poly.terms.get((), 0)
        if constant:
            least, most = ends
            poly = poly - constant
            ends = (
                None if least is None else least - constant,
                None if most is None else most - constant,
            )
        known = self._spans.get(poly)
        sources = (source, source)
        if known is not None and known.depth <= depth:
            ends = intersect_ends(ends, known.ends)
            if ends == known.ends:
                return
            low, high = (new == old for new, old in zip(ends, known.ends, strict=True))
            sources = (known.sources[0] if low else source, known.sources[1] if high else source)
        self._summed.update(poly.terms)
        if ends[1] is not None:
            self._note_whole(poly)
        self._clock += 1
        self._put(self._spans, poly, SpanFact(ends, depth, sources, self._clock, known))
        if ends[1] is not None and (len(poly.terms) > 1 or 1 not in poly.terms.values()):
            self._share(poly, ends[1], depth, sources[1])

    def _note_whole(self, poly: Poly) -> None:
        """Index a bounded product by its factors: its divisors may share the bound."""
        for mono, coeff in poly.terms.items() if len(poly.terms) == 1 else ():
            if coeff == 1 and sum(power for _, power in mono) > 2:
                for name, _ in mono:
                    known = self._wholes.get(name, ())
                    if mono not in known and len(known) < _MOST_WHOLES:
                        self._wholes[name] = (*known, mono)

    def _share(self, poly: Poly, most: int, depth: int, source: Source) -> None:
        """Bound each product of a sum by the greatest value of the sum."""
        for mono, coeff in poly.terms.items():
            if coeff > 0 and (len(mono) > 1 or mono[0][1] > 1):
                rest = self.span(poly - Poly({mono: coeff}), depth)[0]
                why = self._source("derived", ("share", poly, most, source, coeff, mono, depth))
                self._learn_span(Poly({mono: 1}), (None, (most - rest) // coeff), depth, why)

    def _differ(self, left: Poly, right: Poly, depth: int, source: Source) -> None:
        """Learn that two values differ: a value at a bound of the other lies beyond it."""
        for one, other in ((left, right), (right, left)):
            name = one.as_name
            if name is None or name in other.names():
                continue
            known = [b for b in self.bounds.get(name, ()) if b.depth <= depth]
            gap = Poly.var(name) - other
            for b in known:
                if b.low == other:
                    about = ("unlike", source, b.source, gap, b.depth, depth)
                    self.bound(name, other + 1, None, depth, None, self._source("derived", about))
                if b.high == other:
                    about = ("unlike", source, b.source, -gap, b.depth, depth)
                    self.bound(name, None, other - 1, depth, None, self._source("derived", about))

    def is_true(self, cond: SE) -> bool:
        """True if this very condition is known to hold."""
        return self.truth(cond) is True

    def defined(self, name: Name, value: SE, depth: int, prim: Prim = "i64") -> None:
        """Learn what an integer bound at `depth` is, unless `equal` has it."""
        match in_division(value):
            case (Bin("min" | "max" | "/" | "//" | "%" | "%%") | Select(_, _, _)) as plain if (
                prim == "i64"
            ):
                self.tell(self._case, name, plain, depth)
                return
            case Bin("&" | "|" | "^" | ">>" | "**", _, _, _):
                return
            case Bin(_, _, _, _) | Un("neg", _, _) | Conv(_, _, _):
                pass
            case _:
                return
        if name not in self._equal:
            self.tell(self._is_value, name, value, prim, depth)

    def _is_value(self, name: Name, value: SE, prim: Prim, depth: int) -> None:
        self._noted = []
        found = self.value(value, prim, depth)
        if prim != "i64":
            self._typed(name, prim)
        if name not in found.names():
            source = self._source("between", (name, found, found, prim))
            self.bound(name, found, found, depth, None, source)

    # --- expressions as polynomials ----------------------------------------------------------

    def ring(self, se: SE, limit: int = EVERYWHERE) -> Poly:
        """Return a polynomial equal to an i64 expression modulo 2**64."""
        match se:
            case Lit(value, _):
                return Poly.const(int(value))
            case Var(name, "i64"):
                found = self._equal.get(name)
                return Poly.var(name) if found is None else found.put_in(self._equal, MOST_UNFOLDED)
            case Bin("+" | "-", "i64"):
                terms: list[tuple[str, SE]] = []
                while type(se) is Bin and se.op in ("+", "-") and se.at == "i64":
                    terms.append((se.op, se.rhs))
                    se = se.lhs
                first = self.ring(se, limit)
                rest = ((op, self.ring(term, limit)) for op, term in reversed(terms))
                return first.plus(p if op == "+" else -p for op, p in rest)
            case Bin("*", "i64", lhs, rhs):
                first, other = self.ring(lhs, limit), self.ring(rhs, limit)
                if len(first.terms) * len(other.terms) > MOST_UNFOLDED:
                    first, other = self._wrap(first, "i64"), self._wrap(other, "i64")
                return first * other
            case Un("neg", "i64", arg):
                return -self.ring(arg, limit)
        return self._of_other(se, limit)

    def poly(self, se: SE, limit: int = EVERYWHERE) -> Poly:
        """Return a polynomial equal to the value of an i64 expression; atoms where it may wrap."""
        return self.exact(self.ring(se, limit), limit)

    def exact(self, ring: Poly, limit: int = EVERYWHERE) -> Poly:
        """Return the value equal to `ring` modulo 2**64: `ring` itself, or an atom."""
        if ring.as_name is None and ring.constant is None:
            if not self.fits(ring, limit):
                return self._wrap(ring, "i64")
            self._noted.append((ring, "i64", limit))
            return ring
        return ring if self.fits(ring, limit) else self._wrap(ring, "i64")

    def _atom_of(self, ring: Poly, limit: int) -> Poly:
        """Return the atom for `ring` if there is one, else `ring`."""
        return self.exact(ring, limit) if ("i64", ring) in self._atoms else ring

    def size(self, size: Poly, limit: int = EVERYWHERE) -> Poly:
        """Return the value of the size of an array that exists at depth `limit`."""
        value = self.exact(size.put_in(self._equal, MOST_UNFOLDED), limit)
        name = value.as_name
        if name in self._wrapped:
            self._is_sized(value, min(limit, self.depth))
        return value

    def value(self, se: SE, prim: Prim, limit: int = EVERYWHERE) -> Poly:
        """Return a polynomial equal to the value of an integer expression of any type."""
        if self._waiting:
            self.catch_up()
        if prim == "i64":
            return self.poly(se, limit)
        match se:
            case Lit(value, _):
                return Poly.const(int(value))
            case Var(name, _):
                self._typed(name, prim)
                return Poly.var(name)
            case Bin("+" | "-" | "*" as op, _, lhs, rhs):
                left, right = self.value(lhs, prim, limit), self.value(rhs, prim, limit)
                total = left + right if op == "+" else left - right if op == "-" else left * right
                return self._narrow(total, prim, limit)
            case Bin("<<", _, lhs, Lit(by)) if 0 <= by < BYTES[prim] * 8:
                return self._narrow(self.value(lhs, prim, limit) * (1 << int(by)), prim, limit)
            case Un("neg", _, arg):
                return self._narrow(-self.value(arg, prim, limit), prim, limit)
            case Conv(src, _, arg) if src in _INTS:
                return self._narrow(self.value(arg, src, limit), prim, limit)
        return self._of_operation(se, prim, limit)

    def _of_other(self, se: SE, limit: int) -> Poly:
        if self._waiting:
            self.catch_up()
        match se:
            case Conv(src, "i64", arg) if src in _INTS:
                return self._narrow(self.value(arg, src, limit), "i64", limit)
            case Bin("<<", _, lhs, Lit(by)) if 0 <= by < 64:
                return self.ring(lhs, limit) * (1 << int(by))
        return self._of_operation(se, "i64", limit)

    def _of_operation(self, se: SE, prim: Prim, limit: int) -> Poly:
        """Return the atom of a division, minimum or choice in a type; records its operands."""
        plain = in_division(se)
        match plain:
            case Bin("min" | "max" | "/" | "//" | "%" | "%%" as op, _, lhs, rhs) if (
                prim == "i64" or op in ("min", "max") or prim[0] == "u" or _is_positive(rhs)
            ):
                key: tuple[object, ...] = (
                    op,
                    self.value(lhs, prim, limit),
                    self.value(rhs, prim, limit),
                )
            case Select(cond, then, orelse):
                key = (cond, self.value(then, prim, limit), self.value(orelse, prim, limit))
            case _:
                return self._opaque(se, prim)
        if prim != "i64":
            key = (*key, prim)
        name = self._atoms.get(key)
        if name is None:
            name = self._atom(key)
            if prim != "i64":
                self._typed(name, prim)
            self._case(name, plain, limit, prim)
        return Poly.var(name)

    def _narrow(self, value: Poly, prim: Prim, limit: int) -> Poly:
        """Return an integer truncated to the bits of a type."""
        low, high = int_range(prim)
        least, most = self.span(value, limit)
        if (low <= least and most <= high) or (prim == "i64" and self.fits(value, limit)):
            if value.constant is None:
                self._noted.append((value, prim, limit))
            return value
        found = self._wrap(value, prim)
        name = found.as_name
        if name is not None and least >= 0:
            source = self._source("derived", ("cut", name, value, prim, limit))
            self.bound(name, None, value, min(limit, self.depth), None, source)
        return found

    def _typed(self, name: Name, prim: Prim) -> None:
        """Record the range of a name's type."""
        if name not in self.bounds:
            ends = int_range(prim)
            low, high = map(Poly.const, ends)
            source = Source("type", (name, prim))
            self.bounds[name] = (BoundFact(low, high, 0, ends, source, 0, 0),)
            self.order.setdefault(name, len(self.order))
            if prim == "u64":
                self._unsigned.add(name)

    def _atom(self, key: object) -> Name:
        name = f"?{len(self._atoms)}"
        self._atoms[key] = name
        self.order[name] = len(self.order)
        return name

    def _opaque(self, se: SE, prim: Prim) -> Poly:
        name = self._atoms.get(se) or self._atom(se)
        self._typed(name, prim)
        return Poly.var(name)

    def _wrap(self, value: Poly, prim: Prim) -> Poly:
        """Return the atom equal to `value` modulo 2**width of a type."""
        key = (prim, value)
        name = self._atoms.get(key)
        if name is None:
            name = self._atom(key)
            self._wrapped[name] = (value, prim)
            self._typed(name, prim)
        return Poly.var(name)

    def split(self, ring: Poly) -> Poly:
        """Return a polynomial equal modulo 2**64, with an atom for each product."""
        names = ((mono, self._wrap(Poly({mono: 1}), "i64")) for mono in products(ring))
        return ring.plus((name - Poly({mono: 1})) * ring.terms[mono] for mono, name in names)

    def _unwrap(self, name: Name, depth: int) -> None:
        """Unwrap an atom's polynomial where the bounds of the atom prove that it did not wrap.

        The sum may not have wrapped although a product in it may have.
        """
        whole, prim = self._wrapped[name]
        is_whole = self._unwrap_as(name, whole, prim, depth)
        if not is_whole and prim == "i64" and len(whole.terms) > 1 and products(whole):
            self._unwrap_as(name, self.split(whole), prim, depth)

    def _unwrap_as(self, name: Name, whole: Poly, prim: Prim, depth: int) -> bool:
        """Unwrap one polynomial that equals an atom modulo the size of its type."""
        low, high = int_range(prim)
        modulus = high - low + 1
        least, most = self._name_span(name, depth)
        if least < 0 and self.non_negative(Poly.var(name), depth, FEW):
            least = 0
        below, above = whole - (most - modulus + 1), least + modulus - 1 - whole
        if not (self.non_negative(below, depth) and self.non_negative(above, depth)):
            return False
        about = ("unwrap", name, whole, prim, (least, most), depth)
        why = self._source("derived", (*about, None))
        self._learn_span(whole, (least, most), depth, why)
        for b in self.bounds[name]:
            if b.low is not None and b.depth <= depth:
                why = self._source("derived", (*about, b.source))
                self._learn_gap(whole - b.low, depth, why)
            if b.high is not None and b.depth <= depth:
                why = self._source("derived", (*about, b.source))
                self._learn_gap(b.high - whole, depth, why)
        return True

    def _case(self, name: Name, value: SE, limit: int, prim: Prim = "i64") -> None:
        """Record the operands of a minimum, maximum, choice, quotient or remainder in a type."""
        match value:
            case Select(_, lhs, rhs):
                kind = EITHER
            case Bin(kind, _, lhs, rhs):
                pass
            case _:
                return
        asked, self._noted = self._noted, []
        one, other = self.value(lhs, prim, limit), self.value(rhs, prim, limit)
        source = self._source("choice", (name, kind, one, other, prim))
        source.reach = limit
        self.choices[name] = source
        self._noted += asked
        ends: Ends = (None, None)
        if name[0] != "?":
            ends = self._case_span(kind, one, other, limit)
        self._forget()
        self._cases[name] = (kind, one, other, ends)
        self.order.setdefault(name, len(self.order))

    # --- comparisons -------------------------------------------------------------------------

    def _decide(self, op: str, left: Poly, right: Poly, limit: int) -> bool | None:
        """Decide a comparison, given polynomials of values equal to both sides modulo 2**64."""
        gap = right - left
        if op in ("==", "!="):
            if (constant := gap.constant) is not None and constant % _MODULUS:
                return op == "!="
            for one, other, more in ((left, right, gap), (right, left, -gap)):
                if self.non_negative(more - 1, limit, FEW) and self._ordered(one, other, limit):
                    return op == "!="
            return None
        low, high, slack = in_order(op, left, right)
        if self._below(low, high, slack, limit):
            return True
        return False if self._below(high, low, 1 - slack, limit, FEW) else None

    def _below(self, low: Poly, high: Poly, by: int, limit: int, effort: int = MUCH) -> bool:
        """True if `low + by <= high` is known and both fit."""
        return self.non_negative(high - low - by, limit, effort) and self._ordered(low, high, limit)

    def _ordered(self, low: Poly, high: Poly, limit: int) -> bool:
        """True if `low` and `high`, known to be in this order, both fit."""
        return self._is_above(low, limit) and self._is_below(high, limit)


def in_division(se: SE) -> SE:
    """Return a shift to the right, a mask or a truth as the division or choice that it is.

    `x >> k` rounds `x / 2**k` down, `x & (2**k - 1)` is `x % 2**k`: of numbers below 0 as well.
    """
    match se:
        case Bin(">>", at, lhs, Lit(by)) if 0 <= by < BYTES[at] * 8 - (at[0] == "i"):
            return Bin("/", at, lhs, Lit(1 << int(by), at))
        case Bin("&", at, lhs, Lit(mask)) | Bin("&", at, Lit(mask), lhs) if at != "bool":
            over = int(mask) + 1
            if mask >= 0 and not over & int(mask) and over <= int_range(at)[1]:
                return Bin("%", at, lhs, Lit(over, at))
        case Conv("bool", at, arg) if at in _INTS:
            return Select(arg, Lit(1, at), Lit(0, at))
    return se


def _is_positive(se: SE) -> bool:
    return type(se) is Lit and se.value > 0


def _occurs_besides(name: Name, mono: Monomial, terms: Iterable[Monomial]) -> bool:
    """True if a name occurs in a product other than `mono`."""
    return any(other is not mono and any(n == name for n, _ in other) for other in terms)
