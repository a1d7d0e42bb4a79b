"""What is known about integers at a place of a program, and what follows from it.

Facts are bounds of names (indices, sizes, what assertions and branches say), ranges of sums and
products, and the truth of whole conditions. Every fact carries the depth of the scope that
established it, so that a statement about to be moved out can be judged by what holds there. Scopes
undo their facts when they end.

Note [Proofs hold in 64 bits]
A program's arithmetic wraps around at 2**64, proofs are about integers. The polynomial of an
expression always equals its value modulo 2**64, since `+`, `-` and `*` are those of a ring, however
its definitions are unfolded; it *is* the value only where it lies between -2**63 and 2**63 - 1. So
- equal polynomials mean equal values, without any proof;
- `fits` asks whether a polynomial is the value. Where that is not known, the expression stands for
  an *atom*, a name of its own with the range of its type. That holds for claims and for facts:
  `x + y < n` says something about the sum as the machine has it;
- a polynomial p with `0 <= p < s`, where s is a value, needs no other proof that it fits: the one
  value that is equal to p modulo 2**64 is p. `within` uses that;
- if an expression's value is known to lie in a range which no other integer equal to it modulo
  2**64 can have, its polynomial is the value: after the check `0 <= x + y`, for non-negative x and
  y, the sum did not wrap.
The values of names need no proof: a name stands for what the machine has.

Note [Sizes of arrays]
The outermost size of an array is neither negative nor above `LARGEST_SIZE`: whatever makes an array
checks that (`lower`), also if the array is fused away later, and such input is refused. So a sum of
a few sizes fits. Inner sizes are checked where a row is made, and where `transpose` makes an inner
dimension the outermost one: of an array without rows, they may be anything. Passes make an inner
dimension the outermost one where the author does (`transpose_map`), or where an array of that size
is there already, the neutral element of a reduction (`_turned`). A product of sizes fits where a
check says so (`flatten`), or where an array of that shape is handed in, and so in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.analysis.ranges import EITHER, EVERYWHERE, Bounds, Ends, Ranges, Span
from compiler.base.names import Name
from compiler.base.prim import INTS, Prim, int_range
from compiler.ir.nodes import SE, Bin, Conv, Fun, Lit, Select, Un, Var
from compiler.ir.poly import Poly
from compiler.ir.sizes import LARGEST_INPUT, LARGEST_SIZE

_MOST_BOUNDS = 6
_MOST_ALTERNATIVES = 16
_MOST_TERMS = 12
_FEW = 5
"""The effort to show that a condition is false: most are there because they hold."""
_ZERO = Lit(0, "i64")
_NOUGHT = Poly.const(0)
_ONE = Poly.const(1)
_LARGEST_INPUT = Poly.const(LARGEST_INPUT)
_LARGEST = Poly.const(LARGEST_SIZE)
_OPPOSITE = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}
_INTS = frozenset(INTS)
_SIZE: Span = (0, LARGEST_SIZE)
_INPUT: Span = (0, LARGEST_INPUT)


class Facts(Ranges):
    """Bounds by name, and conditions by expression, with an undo log per scope."""

    __slots__ = ()

    # --- learning ----------------------------------------------------------------------------

    def bound(
        self, name: Name, low: Poly | None, high: Poly | None, depth: int, known: int | None = None
    ) -> None:
        """Learn `low <= name <= high`, of values; `known`: the depth of the facts about them."""
        before = self.bounds.get(name, ())
        if len(before) >= _MOST_BOUNDS or any(b.low == low and b.high == high for b in before):
            return
        limit = depth if known is None else known
        least = None if low is None else self.span(low, limit)[0]
        most = None if high is None else self.span(high, limit)[1]
        if least == 0 and self._is_not_zero(name, depth):
            low, least = _ONE, 1
        self._put(self.bounds, name, (*before, Bounds(low, high, depth, (least, most))))
        self.order.setdefault(name, len(self.order))
        if least is not None and least > 0 and name in self._cases:
            self._positive(*self._cases[name][:3], depth)

    def _is_not_zero(self, name: Name, depth: int) -> bool:
        truth = self.truths.get(Bin("!=", "i64", Var(name, "i64"), _ZERO))
        return truth is not None and truth[0] and truth[1] <= depth

    def _positive(self, kind: str, one: Poly, other: Poly, depth: int) -> None:
        """Learn what a positive quotient of something natural says: `1 <= other <= one`.

        A positive choice is not the side that is not positive.
        """
        if kind == EITHER:
            for side, left in ((one, other), (other, one)):
                if self.span(side, depth)[1] <= 0:
                    self._learn_gap(left - 1, depth)
        natural = self._natural(one, depth) or self._natural(other - 1, depth)
        if kind in ("/", "//") and other.constant is None and natural:
            self._learn_gap(other - 1, depth)
            self._learn_gap(one - other, depth)

    def index(self, name: Name, extent: Poly) -> None:
        """Learn `0 <= name < extent`, wherever the name is."""
        self.bound(name, _NOUGHT, self.exact(extent) - 1, 0, EVERYWHERE)

    def runs(self, extent: Poly, depth: int | None = None) -> None:
        """Learn `extent >= 1`, inside of what runs that often."""
        depth = self.depth if depth is None else depth
        self._entered(self.exact(extent.subst(self._equal), depth), depth)

    def _entered(self, trips: Poly, depth: int) -> None:
        """Learn `trips >= 1`, and what checks said for that case."""
        self._learn_gap(trips - 1, depth)
        names = trips.names()
        for name in names:
            for lhs, rhs, since in self._alternatives.get(name, ()):
                if since <= depth and self._refuted(lhs, depth):
                    self.learn(rhs, True, depth)
        for name in names:
            case = self._cases.get(name)
            if case is not None and self._name_span(name, depth)[0] > 0:
                self._positive(*case[:3], depth)

    def _refuted(self, cond: SE, depth: int) -> bool:
        if type(cond) is not Bin or cond.op not in _OPPOSITE:
            return False
        return self.decide(cond.op, cond.lhs, cond.rhs, depth) is False

    def counts(self, name: Name, start: SE, step: SE, width: Poly) -> None:
        """Learn that a name is `start + step * i` for some `0 <= i < width`."""
        first, by, last = self.poly(start), self.poly(step).constant, self.exact(width) - 1
        if by is not None and by >= 0 and self.fits(first + by * last):
            self.bound(name, first, first + by * last, 0, EVERYWHERE)

    def counter(self, name: Name, prim: Prim, bound: SE) -> None:
        """Learn what a loop's index is: `0 <= name < bound`, wherever the name is."""
        if prim != "i64":
            self._typed(name, prim)
        trips = self.value(bound, prim)
        self.bound(name, _NOUGHT, trips - 1, 0, EVERYWHERE)
        self._entered(trips, self.depth)

    def array(self, shape: Sequence[Poly], depth: int | None = None) -> None:
        """Learn that there is an array of this shape; see Note [Sizes of arrays]."""
        if shape[0].constant is None:
            depth = self.depth if depth is None else depth
            value = self.exact(shape[0].subst(self._equal), depth)
            name = value.as_name
            if name is None:
                self._learn_span(value, _SIZE, depth)
            else:
                self.bound(name, _NOUGHT, _LARGEST, depth)

    def given(self, shape: Sequence[Poly]) -> None:
        """Learn that an array of this shape was handed in from outside.

        Its sizes have been compared without wrapping, and it is in memory.
        """
        for size in (*shape, Poly.product(shape)):
            name = size.as_name
            if name is None:
                self._learn_span(size, _INPUT, 0)
            else:
                self.bound(name, _NOUGHT, _LARGEST_INPUT, 0)

    def in_memory(self, count: Poly) -> None:
        """Learn that a block of so many elements is in memory: its size did not wrap."""
        name = count.as_name
        if name is None:
            whole = count.subst(self._equal)
            self._learn_span(whole if self.fits(whole) else count, _SIZE, self.depth)
        else:
            self.bound(name, _NOUGHT, _LARGEST, self.depth)

    def learn(self, cond: SE, truth: bool, depth: int | None = None) -> None:
        """Learn that a condition is true, or false."""
        depth = self.depth if depth is None else depth
        if type(cond) is Lit or cond in self.truths:
            return
        self._put(self.truths, cond, (truth, depth))
        if type(cond) is Un and cond.op == "not":
            self.learn(cond.arg, not truth, depth)
        if type(cond) is not Bin:
            return
        if cond.op == ("&&" if truth else "||"):
            self.learn(cond.lhs, truth, depth)
            self.learn(cond.rhs, truth, depth)
        elif cond.op == "||" and type(cond.lhs) is Bin and cond.lhs.at == "i64":
            alternative = (cond.lhs, cond.rhs, depth)
            for name in self.ring(cond.lhs.lhs).names() | self.ring(cond.lhs.rhs).names():
                known = self._alternatives.get(name, ())
                if len(known) < _MOST_ALTERNATIVES:
                    self._put(self._alternatives, name, (*known, alternative))
        elif cond.op in _OPPOSITE and cond.at in _INTS:
            self._learn_comparison(cond, truth, depth)

    def _learn_comparison(self, cond: Bin, truth: bool, depth: int) -> None:
        op = cond.op if truth else _OPPOSITE[cond.op]
        if type(cond.lhs) is Fun and cond.lhs.fun == "mul_hi" and cond.at == "i64":
            if op == "==" and cond.rhs == _ZERO:
                left, right = (self.poly(arg, depth) for arg in cond.lhs.args)
                self._learn_span(left * right, (0, (1 << 64) - 1), depth)
            return
        left, right = self.value(cond.lhs, cond.at, depth), self.value(cond.rhs, cond.at, depth)
        if op in (">", ">="):
            left, right, op = right, left, "<" if op == ">" else "<="
        if op == "!=":
            self._differ(left, right, depth)
            return
        gap = right - left - (1 if op == "<" else 0)
        self._learn_gap(gap, depth)
        if op == "==":
            self._learn_gap(-gap, depth)

    def _learn_gap(self, gap: Poly, depth: int) -> None:
        """Learn `gap >= 0`, a polynomial of values: a bound of each name that it is linear in."""
        if len(gap.terms) > _MOST_TERMS:
            return
        for mono, coeff in gap.terms.items():
            if len(mono) != 1 or mono[0][1] != 1 or abs(coeff) != 1:
                continue
            name = mono[0][0]
            if gap.degree(name) != 1 or gap.coefficient(name).constant is None:
                continue
            rest = (Poly.var(name) - gap) if coeff == 1 else gap + Poly.var(name)
            before = self.bounds.get(name)
            if coeff == 1:
                self.bound(name, rest, None, depth)
            else:
                self.bound(name, None, rest, depth)
            if name in self._wrapped and self.bounds.get(name) is not before:
                self._unwrap(name, depth)
        if len(gap.terms) <= 2 and all(c > 0 for m, c in gap.terms.items() if m):
            least = -gap.terms.get((), 0)
            self._learn_span(gap + least, (least, None), depth)
        elif len(gap.terms) <= 2 and all(c < 0 for m, c in gap.terms.items() if m):
            most = gap.terms.get((), 0)
            self._learn_span(most - gap, (None, most), depth)

    def _learn_span(self, poly: Poly, ends: Ends, depth: int) -> None:
        """Learn in what range a sum or product lies."""
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
        if known is not None and known[1] <= depth:
            ends = _closer(ends, known[0])
            if ends == known[0]:
                return
        self._summed.update(poly.terms)
        self._put(self._spans, poly, (ends, depth))
        if len(poly.terms) > 1 and ends[1] is not None:
            self._share(poly, ends[1], depth)

    def _share(self, poly: Poly, most: int, depth: int) -> None:
        """Learn what the greatest value of a sum says about each of its products."""
        for mono, coeff in poly.terms.items():
            if coeff > 0 and (len(mono) > 1 or mono[0][1] > 1):
                rest = self.span(poly - Poly({mono: coeff}), depth)[0]
                self._learn_span(Poly({mono: 1}), (None, (most - rest) // coeff), depth)

    def _differ(self, left: Poly, right: Poly, depth: int) -> None:
        """Learn that two values differ: one that is at a bound of the other is beyond it."""
        for one, other in ((left, right), (right, left)):
            name = one.as_name
            if name is None or name in other.names():
                continue
            known = [b for b in self.bounds.get(name, ()) if b.depth <= depth]
            if any(b.low == other for b in known):
                self.bound(name, other + 1, None, depth)
            if any(b.high == other for b in known):
                self.bound(name, None, other - 1, depth)

    def is_true(self, cond: SE) -> bool:
        """Whether this very condition is known to hold."""
        return cond in self.truths and self.truths[cond][0]

    def defined(self, name: Name, value: SE, depth: int) -> None:
        """Learn what a name bound at `depth` is: a minimum, maximum, choice or quotient."""
        match value:
            case Bin("min" | "max" | "/" | "//" | "%" | "%%", "i64", _, _) | Select(_, _, _):
                self._case(name, value, depth)
            case Conv(_, "i64", _):
                found = self.poly(value, depth)
                if name not in found.names():
                    self.bound(name, found, found, depth)

    # --- expressions as polynomials ----------------------------------------------------------

    def ring(self, se: SE, limit: int = EVERYWHERE) -> Poly:
        """An i64 expression as a polynomial that equals it modulo 2**64."""
        match se:
            case Lit(value, _):
                return Poly.const(int(value))
            case Var(name, "i64"):
                found = self._equal.get(name)
                return Poly.var(name) if found is None else found.subst(self._equal)
            case Bin("+", "i64", lhs, rhs):
                return self.ring(lhs, limit) + self.ring(rhs, limit)
            case Bin("-", "i64", lhs, rhs):
                return self.ring(lhs, limit) - self.ring(rhs, limit)
            case Bin("*", "i64", lhs, rhs):
                return self.ring(lhs, limit) * self.ring(rhs, limit)
            case Un("neg", "i64", arg):
                return -self.ring(arg, limit)
        return self._of_other(se, limit)

    def poly(self, se: SE, limit: int = EVERYWHERE) -> Poly:
        """An i64 expression as a polynomial that is its value; of atoms where it may wrap."""
        return self.exact(self.ring(se, limit), limit)

    def exact(self, ring: Poly, limit: int = EVERYWHERE) -> Poly:
        """The value that equals `ring` modulo 2**64: `ring` itself, or an atom."""
        return ring if self.fits(ring, limit) else self._wrap(ring, "i64")

    def _atom_of(self, ring: Poly, limit: int) -> Poly:
        """The same, where something may be known about the atom; else `ring`."""
        return self.exact(ring, limit) if ("i64", ring) in self._atoms else ring

    def size(self, size: Poly, limit: int = EVERYWHERE) -> Poly:
        """The value of the size of an array that exists at depth `limit`."""
        value = self.exact(size.subst(self._equal), limit)
        name = value.as_name
        if name in self._wrapped:
            self.bound(name, _NOUGHT, _LARGEST, min(limit, self.depth))
        return value

    def value(self, se: SE, prim: Prim, limit: int = EVERYWHERE) -> Poly:
        """An integer expression of any type as a polynomial that is its value."""
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
            case Un("neg", _, arg):
                return self._narrow(-self.value(arg, prim, limit), prim, limit)
            case Conv(src, _, arg) if src in _INTS:
                return self._narrow(self.value(arg, src, limit), prim, limit)
        return self._opaque(se, prim)

    def _of_other(self, se: SE, limit: int) -> Poly:
        match se:
            case Conv(src, "i64", arg) if src in _INTS:
                return self._narrow(self.value(arg, src, limit), "i64", limit)
            case Bin("min" | "max" | "/" | "//" | "%" | "%%" as op, "i64", lhs, rhs):
                key: object = (op, self.poly(lhs, limit), self.poly(rhs, limit))
            case Select(cond, then, orelse):
                key = (cond, self.poly(then, limit), self.poly(orelse, limit))
            case _:
                return self._opaque(se, "i64")
        name = self._atoms.get(key)
        if name is None:
            name = self._atom(key)
            self._case(name, se, limit)
        return Poly.var(name)

    def _narrow(self, value: Poly, prim: Prim, limit: int) -> Poly:
        """An integer cut to a type's bits."""
        low, high = int_range(prim)
        least, most = self.span(value, limit)
        if (low <= least and most <= high) or (prim == "i64" and self.fits(value, limit)):
            return value
        found = self._wrap(value, prim)
        name = found.as_name
        if name is not None and least >= 0:
            self.bound(name, None, value, min(limit, self.depth))
        return found

    def _typed(self, name: Name, prim: Prim) -> None:
        """Note the range of a name's type."""
        if name not in self.bounds:
            ends = int_range(prim)
            low, high = map(Poly.const, ends)
            self.bounds[name] = (Bounds(low, high, 0, ends),)
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
        """The atom for what equals `value` modulo 2 to the width of a type."""
        key = (prim, value)
        name = self._atoms.get(key)
        if name is None:
            name = self._atom(key)
            self._wrapped[name] = (value, prim)
            self._typed(name, prim)
        return Poly.var(name)

    def _unwrap(self, name: Name, depth: int) -> None:
        """Look whether what is known of an atom's value tells that its polynomial did not wrap."""
        whole, prim = self._wrapped[name]
        low, high = int_range(prim)
        modulus = high - low + 1
        least, most = self._name_span(name, depth)
        below, above = whole - (most - modulus + 1), least + modulus - 1 - whole
        if self.non_negative(below, depth) and self.non_negative(above, depth):
            self._learn_span(whole, (least, most), depth)
            for b in self.bounds[name]:
                if b.low is not None and b.depth <= depth:
                    self._learn_gap(whole - b.low, depth)
                if b.high is not None and b.depth <= depth:
                    self._learn_gap(b.high - whole, depth)

    def _case(self, name: Name, value: SE, limit: int) -> None:
        """Take note of what a minimum, maximum, choice, quotient or remainder is."""
        match value:
            case Select(_, lhs, rhs):
                kind = EITHER
            case Bin(kind, _, lhs, rhs):
                pass
            case _:
                return
        one, other = self.poly(lhs, limit), self.poly(rhs, limit)
        ends: Ends = (None, None)
        if name[0] != "?":
            ends = self._case_span(kind, one, other, limit)
        self._forget()
        self._cases[name] = (kind, one, other, ends)
        self.order.setdefault(name, len(self.order))

    # --- proofs ------------------------------------------------------------------------------

    def decide(self, op: str, lhs: SE, rhs: SE, limit: int = EVERYWHERE) -> bool | None:
        """The truth of an i64 comparison, if it is known."""
        left, right = self.ring(lhs, limit), self.ring(rhs, limit)
        if left == right:
            return op in ("==", "<=", ">=")
        known = self._decide(op, left, right, limit)
        if known is not None:
            return known
        one, other = self._atom_of(left, limit), self._atom_of(right, limit)
        if one is left and other is right:
            return None
        return self._decide(op, one, other, limit)

    def _decide(self, op: str, left: Poly, right: Poly, limit: int) -> bool | None:
        """The same for polynomials, of values, that equal both sides modulo 2**64."""
        gap = right - left
        if op in ("==", "!="):
            if (constant := gap.constant) is not None and constant % (1 << 64):
                return op == "!="
            for one, other, more in ((left, right, gap), (right, left, -gap)):
                if self.non_negative(more - 1, limit, _FEW) and self._ordered(one, other, limit):
                    return op == "!="
            return None
        if op in (">", ">="):
            left, right, gap, op = right, left, -gap, "<" if op == ">" else "<="
        slack = 1 if op == "<" else 0
        if self.non_negative(gap - slack, limit) and self._ordered(left, right, limit):
            return True
        if self.non_negative(slack - 1 - gap, limit, _FEW) and self._ordered(right, left, limit):
            return False
        return None

    def _ordered(self, low: Poly, high: Poly, limit: int) -> bool:
        """Whether `low` and `high`, of which the first is known to be smaller, both fit."""
        return self._is_above(low, limit) and self._is_below(high, limit)

    def is_at_least(self, large: Poly, small: Poly) -> bool:
        """Whether of two i64 given by polynomials the first is known not to be smaller."""
        one, other = self.exact(large.subst(self._equal)), self.exact(small.subst(self._equal))
        return self.non_negative(one - other)

    def is_positive(self, poly: Poly, limit: int = EVERYWHERE) -> bool:
        """Whether an i64 given by a polynomial is known to be at least 1."""
        return self.non_negative(self.exact(poly, limit) - 1, limit)

    def within(self, at: SE, extent: Poly, limit: int = EVERYWHERE) -> bool:
        """Whether `0 <= at < extent` is known, for the size of an array."""
        ring, size = self.ring(at, limit), self.size(extent, limit)
        if self.non_negative(ring, limit) and self.non_negative(size - 1 - ring, limit):
            return True
        value = self._atom_of(ring, limit)
        if value is ring:
            return False
        return self.non_negative(value, limit) and self.non_negative(size - 1 - value, limit)

    def rising(self, first: Poly, last: Poly, size: Poly) -> bool:
        """Whether `0 <= first <= last <= size` is known, for the size of an array."""
        ring = first.subst(self._equal), last.subst(self._equal)
        ends = (ring[0], ring[1] - ring[0], self.size(size) - ring[1])
        return all(self.non_negative(end) for end in ends)

    def slice_within(
        self, start: SE, count: Poly, stride: SE, extent: Poly, limit: int = EVERYWHERE
    ) -> bool:
        """Whether a slice is known to have elements, all of them inside."""
        number, size = self.size(count, limit), self.size(extent, limit)
        first = self.poly(start, limit)
        last = first + (number - 1) * self.poly(stride, limit)
        if not self.non_negative(number - 1, limit):
            return False
        ends = (end for at in (first, last) for end in (at, size - 1 - at))
        return all(self.non_negative(end, limit) for end in ends)

    def is_size(self, size: Poly, limit: int = EVERYWHERE) -> bool:
        """Whether a size is known to lie between 0 and `LARGEST_SIZE`."""
        ring = size.subst(self._equal)
        if self.non_negative(ring, limit) and self.non_negative(LARGEST_SIZE - ring, limit):
            return True
        value = self._atom_of(ring, limit)
        if value is ring:
            return False
        return self.non_negative(value, limit) and self.non_negative(LARGEST_SIZE - value, limit)


def _closer(one: Ends, other: Ends) -> Ends:
    """What both say."""
    (low1, high1), (low2, high2) = one, other
    least = low1 if low2 is None else low2 if low1 is None else max(low1, low2)
    most = high1 if high2 is None else high2 if high1 is None else min(high1, high2)
    return least, most
