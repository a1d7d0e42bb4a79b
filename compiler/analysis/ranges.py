"""Compute ranges of integers at a place of a program, and prove `p >= 0` by elimination.

Bounds of names are polynomials over other names; ranges of sums and products are numbers. All are
about machine values (Note [Proofs hold in 64 bits] in `facts.py`). A scope undoes its facts when it
ends.

Note [Lessons wait]. Facts told by a walk over a program are processed when something is asked: most
bodies end before that, and their lessons are dropped unread. Lessons are processed in the order in
which they were told, each in its scope, and every read of the facts processes them first, so the
delay cannot be observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from compiler.algebra.argument import Source
from compiler.algebra.divide import divide_monomials
from compiler.algebra.poly import Monomial, Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim, int_range
from compiler.ir.nodes import SE
from compiler.ir.sizes import HIGH, LOW

EVERYWHERE = 1_000
"""A depth beyond any scope: all facts count."""
EITHER: Any = "either"
MUCH = 16
"""Default effort of a proof search."""
_MOST_TERMS = 12
_FAR = 1 << 32
"""Larger bounds come from types and sizes; they are not substituted for a name."""

Span = tuple[int, int]
"""Least and greatest value of an integer."""
Ends = tuple[int | None, int | None]
"""A span either end of which may be unknown."""
_VALUE: Span = (LOW, HIGH)
_UNSIGNED: Span = int_range("u64")


@dataclass(frozen=True, slots=True)
class BoundFact:
    """`low <= x <= high`, both inclusive, at `depth` and deeper; None: unknown.

    `ends` are the numeric bounds, by the facts at depth `reach` when it was learned.
    """

    low: Poly | None
    high: Poly | None
    depth: int
    ends: Ends
    source: Source
    reach: int
    since: int


class SpanFact(NamedTuple):
    """The known range of a sum or product at `depth`, with its sources."""

    ends: Ends
    depth: int
    sources: tuple[Source, Source]
    since: int
    before: SpanFact | None
    """The previous fact about the same polynomial."""


Undo = tuple[dict[Any, Any], Any, Any]
Lesson = tuple[Callable[..., None], tuple[Any, ...]]
"""A pending fact: the method that learns it, and its arguments."""


class Ranges:
    """Facts about integers, and the search for proofs from them."""

    __slots__ = (
        "_alternatives",
        "_atoms",
        "_cases",
        "_equal",
        "_later",
        "_log",
        "_ranges",
        "_spans",
        "_summed",
        "_tried",
        "_truths",
        "_unsigned",
        "_waiting",
        "_wholes",
        "_wrapped",
        "bounds",
        "choices",
        "order",
    )

    def __init__(self, equal: Mapping[Name, Poly]) -> None:
        """`equal`: i64 names whose definition is a polynomial of others; may grow later."""
        self._equal = equal
        self._cases: dict[Name, tuple[str, Poly, Poly, Ends]] = {}
        self.choices: dict[Name, Source] = {}
        """Sources of the cases."""
        self._spans: dict[Poly, SpanFact] = {}
        self._summed: set[Monomial] = set()
        """Monomials of the sums in `_spans`: others need no lookup."""
        self._wholes: dict[Name, tuple[Monomial, ...]] = {}
        """Bounded products of three factors or more, by the names in them."""
        self._alternatives: dict[Name, tuple[tuple[SE, SE, int], ...]] = {}
        """Disjunctions of two conditions, by the names in the first."""
        self._atoms: dict[object, Name] = {}
        self._wrapped: dict[Name, tuple[Poly, Prim]] = {}
        self._ranges: dict[int, dict[Name, Span]] = {}
        """Cached ranges of names by depth, until facts change."""
        self._tried: dict[tuple[Poly, int], int] = {}
        """Failed claims with the effort spent, until a fact is learned. Kept when a scope ends:
        a proof not found with more facts is not searched for with fewer."""
        self._unsigned: set[Name] = set()
        """Names of type u64, whose values may exceed i64."""
        self.bounds: dict[Name, tuple[BoundFact, ...]] = {}
        self._truths: dict[SE, tuple[bool, int]] = {}
        self.order: dict[Name, int] = {}
        self._log: list[list[Undo]] = [[]]
        self._later: list[list[Lesson]] = [[]]
        """Pending lessons of each scope."""
        self._waiting = 0
        """Number of pending lessons."""

    # --- scopes ------------------------------------------------------------------------------

    def enter(self) -> None:
        """Begin a scope."""
        self._log.append([])
        self._later.append([])

    def leave(self) -> None:
        """End a scope and forget its facts."""
        self._waiting -= len(self._later.pop())
        log = self._log.pop()
        if log:
            self._ranges.clear()
        for table, key, before in reversed(log):
            if before is None:
                del table[key]
            else:
                table[key] = before

    def tell(self, lesson: Callable[..., None], *about: Any) -> None:
        """Queue a lesson for this scope, processed when anything is asked."""
        self._later[-1].append((lesson, about))
        self._waiting += 1

    def catch_up(self) -> None:
        """Process all pending lessons; see Note [Lessons wait]."""
        later, log = self._later, self._log
        self._later, self._waiting = [[] for _ in later], 0
        for depth, lessons in enumerate(later):
            self._log = log[: depth + 1]
            for lesson, about in lessons:
                lesson(*about)
        self._log = log

    @property
    def truths(self) -> Mapping[SE, tuple[bool, int]]:
        """Conditions known to be true or false, with the depth of that fact."""
        if self._waiting:
            self.catch_up()
        return self._truths

    @property
    def depth(self) -> int:
        """Number of open scopes."""
        return len(self._log) - 1

    def _forget(self) -> None:
        """Invalidate caches after facts changed."""
        self._tried.clear()
        self._ranges.clear()

    def _put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        self._forget()
        self._log[-1].append((table, key, table.get(key)))
        table[key] = value

    def oldest(self, names: Iterable[Name]) -> None:
        """Append names to the elimination order; younger names are eliminated first."""
        if self._waiting:
            self.catch_up()
        for name in names:
            self.order.setdefault(name, len(self.order))

    # --- ranges ------------------------------------------------------------------------------

    def span(self, poly: Poly, limit: int = EVERYWHERE) -> Span:
        """Return the range of a polynomial by the ranges of its terms."""
        if self._waiting:
            self.catch_up()
        least = most = constant = 0
        summed = self._summed
        known_sum = bool(summed)
        ranges = self._ranges.get(limit)
        if ranges is None:
            ranges = self._ranges[limit] = {}
        for mono, coeff in poly.terms.items():
            if not mono:
                least += coeff
                most += coeff
                constant = coeff
                continue
            if len(mono) == 1 and mono[0][1] == 1:
                name = mono[0][0]
                found = ranges.get(name)
                if found is None:
                    found = ranges[name] = self._range_of(name, limit)
                low, high = found
            else:
                low, high = self._mono_span(mono, limit)
            if coeff < 0:
                low, high = high, low
            least += low * coeff
            most += high * coeff
            known_sum = known_sum and mono in summed
        if not known_sum:
            return least, most
        known = self._spans.get(poly - constant if constant else poly)
        if known is None or known[1] > limit:
            return least, most
        low_end, high_end = known[0]
        return (
            least if low_end is None else max(least, low_end + constant),
            most if high_end is None else min(most, high_end + constant),
        )

    def range_of(self, mono: Monomial, limit: int = EVERYWHERE) -> Span:
        """Return the range of a product of names."""
        if self._waiting:
            self.catch_up()
        if len(mono) == 1 and mono[0][1] == 1:
            return self._name_span(mono[0][0], limit)
        return self._mono_span(mono, limit)

    def _mono_span(self, mono: Monomial, limit: int) -> Span:
        low, high = 1, 1
        for name, power in mono:
            least, most = self._name_span(name, limit)
            for _ in range(power):
                ends = (low * least, low * most, high * least, high * most)
                low, high = min(ends), max(ends)
        if len(mono) == 2 and mono[0][1] == mono[1][1] == 1:
            low, high = _narrowed(low, high, self._divided_span(mono, limit))
        if mono in self._summed:
            known = self._spans.get(Poly({mono: 1}))
            if known is not None and known[1] <= limit:
                low, high = _narrowed(low, high, known[0])
        if low >= 0 and mono[0][0] in self._wholes:
            whole = self.whole_of(mono, limit)
            high = high if whole is None else min(high, whole[0])
        return low, high

    def whole_of(self, mono: Monomial, limit: int) -> tuple[int, Monomial, Monomial] | None:
        """Return the least bound of a natural product as a divisor of a larger, bounded one.

        Also returns the larger product and the remaining factors, each at least 1.
        """
        found: tuple[int, Monomial, Monomial] | None = None
        for whole in self._wholes.get(mono[0][0], ()):
            known = self._spans.get(Poly({whole: 1}))
            end = None if known is None or known.depth > limit else known.ends[1]
            if end is None or (found is not None and found[0] <= end):
                continue
            others = divide_monomials(whole, mono)
            if others and all(self._name_span(name, limit)[0] >= 1 for name, _ in others):
                found = end, whole, others
        return found

    def _divided_span(self, mono: Monomial, limit: int) -> Ends:
        """Return the range of `a / b * b`, which differs from `a` by less than `b`."""
        for (quotient, _), (by, _) in (mono, mono[::-1]):
            case = self._cases.get(quotient)
            if case is not None and case[0] in ("/", "//") and case[2].as_name == by:
                low, high = self.span(case[1], limit)
                least, most = self._name_span(by, limit)
                if least >= 0 or low > LOW:  # otherwise division by -1 may wrap
                    far = max(-least, most)
                    return low - far, high + far
        return None, None

    def _name_span(self, name: Name, limit: int) -> Span:
        ranges = self._ranges.get(limit)
        if ranges is None:
            ranges = self._ranges[limit] = {}
        found = ranges.get(name)
        if found is None:
            found = ranges[name] = self._range_of(name, limit)
        return found

    def _range_of(self, name: Name, limit: int) -> Span:
        least, most = _UNSIGNED if name in self._unsigned else _VALUE
        for b in self.bounds.get(name, ()):
            if b.depth <= limit:
                low, high = b.ends
                if low is not None and low > least:
                    least = low
                if high is not None and high < most:
                    most = high
        case = self._cases.get(name)
        if case is None:
            return least, most
        if name[0] == "?":
            return _narrowed(least, most, self._case_span(*case[:3], limit))
        return _narrowed(least, most, case[3])

    def _case_span(self, kind: str, one: Poly, other: Poly, limit: int) -> Ends:
        low1, high1 = self.span(one, limit)
        low2, high2 = self.span(other, limit)
        match kind:
            case "min":
                return min(low1, low2), min(high1, high2)
            case "max":
                return max(low1, low2), max(high1, high2)
            case "either":
                return min(low1, low2), max(high1, high2)
            case "/" | "//" if 0 < low2 <= high2 and (kind == "/" or low1 >= 0):
                return low1 // (low2 if low1 < 0 else high2), high1 // (
                    low2 if high1 >= 0 else high2
                )
            case "/" | "//":
                far = max(abs(low1), abs(high1))
                return -far, far
            case "%" | "%%":
                if low2 >= 0 and (kind == "%" or low1 >= 0):
                    return 0, min(high2 - 1, high1) if low1 >= 0 else high2 - 1
        return None, None

    def fits(self, poly: Poly, limit: int = EVERYWHERE) -> bool:
        """True if a polynomial of values lies in the range of i64."""
        name = poly.as_name
        if name is not None and name not in self._unsigned:
            return True
        least, most = self.span(poly, limit)
        if least < LOW and (most < LOW or not self.non_negative(poly - LOW, limit)):
            return False
        return most <= HIGH or (least <= HIGH and self.non_negative(HIGH - poly, limit))

    def _is_above(self, poly: Poly, limit: int) -> bool:
        return self.span(poly, limit)[0] >= LOW or self.non_negative(poly - LOW, limit)

    def _is_below(self, poly: Poly, limit: int) -> bool:
        return self.span(poly, limit)[1] <= HIGH or self.non_negative(HIGH - poly, limit)

    def non_negative(self, poly: Poly, limit: int = EVERYWHERE, effort: int = MUCH) -> bool:
        """True if `poly >= 0` follows from the facts at depth `limit` or above.

        Eliminates the youngest name possible: a minimum, maximum or choice by its cases, others by
        a lower or upper bound, whichever makes the polynomial smaller, until ranges decide the
        rest.
        """
        if not poly.terms:
            return True
        least, most = self.span(poly, limit)
        if least >= 0:
            return True
        if most < 0 or effort <= 0 or len(poly.terms) > _MOST_TERMS:
            return False
        key = (poly, limit)
        if self._tried.get(key, 0) >= effort:
            return False
        if self._search(poly, limit, effort):
            return True
        self._tried[key] = effort
        return False

    def _search(self, poly: Poly, limit: int, effort: int) -> bool:
        known = [name for name in poly.names() if name in self.order]
        known.sort(key=self.order.__getitem__, reverse=True)
        for name in known:
            every, choices = self._eliminated(poly, name, limit, max(1, effort // 8))
            if choices:
                effort = (effort - 1) // len(choices)
                proved = (self.non_negative(choice, limit, effort) for choice in choices)
                return all(proved) if every else any(proved)
        return False

    def _eliminated(
        self, poly: Poly, name: Name, limit: int, effort: int
    ) -> tuple[bool, list[Poly]]:
        """Eliminate `name`; `poly >= 0` if all results are (True) or any is (False)."""
        factor, rest = split_at(poly, name)
        slope = factor.constant
        least, most = self.span(factor, limit) if slope is None else (slope, slope)
        rises, falls = least >= 0, most <= 0
        if not rises and not falls and len(factor.terms) > 1:
            rises = self.non_negative(factor, limit, effort)
            falls = not rises and self.non_negative(-factor, limit, effort)
        case = self._cases.get(name)
        if case is not None and case[0] not in ("%", "%%") and name not in factor.names():
            kind, one, other, _ = case
            if kind in ("/", "//"):
                return False, self._quotient_ends(case, factor, rest, rises, falls, limit)
            every = not (rises if kind == "max" else falls if kind == "min" else False)
            return every, [factor * one + rest, factor * other + rest]
        if not rises and not falls:
            return False, []
        ends = self._ends(name, rises, limit)
        if case is not None and falls:
            ends += self._remainder_ends(*case[:3], limit)
        return False, [factor * end + rest for end in ends if name not in end.names()]

    def _ends(self, name: Name, low: bool, limit: int) -> list[Poly]:
        """Return the lower or upper bounds of a name; of constants only the closest useful one."""
        found: list[Poly] = []
        number: int | None = None
        for b in self.bounds.get(name, ()):
            end = b.low if low else b.high
            if end is None or b.depth > limit:
                continue
            constant = end.constant
            if constant is None:
                found.append(end)
            elif abs(constant) > _FAR:
                continue
            elif number is None or (constant > number if low else constant < number):
                number = constant
        if number is not None:
            found.append(Poly.const(number))
        return found

    def _quotient_ends(
        self,
        case: tuple[str, Poly, Poly, Ends],
        factor: Poly,
        rest: Poly,
        rises: bool,
        falls: bool,
        limit: int,
    ) -> list[Poly]:
        """Return polynomials that, if natural, prove `factor * (one / other) + rest >= 0`."""
        kind, one, other, _ = case
        if (kind == "//" and not self._natural(one, limit)) or not self._natural(other - 1, limit):
            return []
        if other.constant is not None:
            if rises:
                return [factor * (one - other + 1) + other * rest]
            return [factor * one + other * rest] if falls else []
        share = share_of(factor, other)
        if share is None:
            return []
        if rises:
            return [share * (one - other + 1) + rest]
        return [share * one + rest] if falls else []

    def _remainder_ends(self, kind: str, one: Poly, other: Poly, limit: int) -> list[Poly]:
        """Return upper bounds of a remainder."""
        natural = self._natural(one, limit)
        if not self._natural(other, limit) or not (natural or kind == "%"):
            return []
        return [other - 1, one] if natural else [other - 1]

    def _natural(self, poly: Poly, limit: int) -> bool:
        """True if a polynomial is not negative by ranges alone."""
        return self.span(poly, limit)[0] >= 0


def split_at(poly: Poly, name: Name) -> tuple[Poly, Poly]:
    """Return `factor` and `rest` with `poly = factor * name + rest`; `rest` lacks `name`."""
    factor: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for mono, coeff in poly.terms.items():
        for k, (other, power) in enumerate(mono):
            if other == name:
                left = ((name, power - 1),) if power > 1 else ()
                factor[mono[:k] + left + mono[k + 1 :]] = coeff
                break
        else:
            rest[mono] = coeff
    return Poly(factor), Poly(rest)


def share_of(factor: Poly, by: Poly) -> Poly | None:
    """Return `factor / by` for a name `by`; None if there is a remainder."""
    name = by.as_name
    if name is None:
        return None
    share, rest = split_at(factor, name)
    return None if rest.terms else share


def _narrowed(least: int, most: int, ends: Ends) -> Span:
    """Intersect a range with optional bounds."""
    low, high = ends
    return least if low is None else max(least, low), most if high is None else min(most, high)


def intersect_ends(one: Ends, other: Ends) -> Ends:
    """Intersect two ranges with optional ends."""
    (low1, high1), (low2, high2) = one, other
    least = low1 if low2 is None else low2 if low1 is None else max(low1, low2)
    most = high1 if high2 is None else high2 if high1 is None else min(high1, high2)
    return least, most
