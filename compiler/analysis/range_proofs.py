"""Turn answers of the search in `ranges.py` into arguments that the checker can follow.

The search answers yes or no, many times; only where yes changes the program is it replayed here,
and each step (range or elimination) leaves a line. A fact is argued for in the state of the time
when it was learned (`snapshots.py`), so that no fact supports itself. Nothing here is trusted
either: the checker rejects a wrong answer of the search and a wrong line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.algebra.argument import Deduction, Lemma, Source
from compiler.algebra.certificate import Sum
from compiler.algebra.poly import Monomial, Poly
from compiler.analysis.proof_lines import (
    Lines,
    Read,
    Terms,
    added,
    corners_of,
    distance_to_bound,
    line_of,
    ratio_of,
)
from compiler.analysis.ranges import BoundFact, Ranges, SpanFact, split_at
from compiler.analysis.snapshots import Snapshot
from compiler.base.names import Name
from compiler.base.prim import Prim, int_range
from compiler.ir.sizes import LOW

_EFFORT = 16


class Arguer:
    """Produces proof lines from current facts, and caches them until the scope ends."""

    __slots__ = ("_known", "_lines", "_now", "_open")

    def __init__(self, now: Ranges, lines: Lines) -> None:
        self._now = now
        self._lines = lines
        self._known = lines.known
        self._open: set[tuple[Poly, int]] = set()
        """Claims being proved, with the depth of facts: a claim cannot rest on itself."""

    def show(self, claims: Iterable[Poly], limit: int) -> list[Lemma] | None:
        """Prove each claim that is not a constant; None if one has no proof."""
        lines = []
        for claim in claims:
            value = claim.constant
            if value is None:
                line = self._show(claim, limit, self._now)
                if line is None:
                    return None
                lines.append(line)
            elif value < 0:
                return None
        return lines

    def fits(self, read: Sequence[Read]) -> list[Poly]:
        """Return the range claims of polynomials that were read as values."""
        found: list[Poly] = []
        for key in read:
            claims = self._lines.claims.get(key)
            if claims is None:
                poly, prim, _ = key
                low, high = int_range(prim) if prim else (0, 0)
                claims = (poly - low, high - poly) if prim else (poly,)
                self._lines.claims[key] = claims
            found += claims
        return found

    def _keep(self, line: Lemma | None) -> Lemma | None:
        if line is not None:
            self._lines.keep(line)
        return line

    def _before(self, since: int) -> Ranges:
        return Snapshot(self._now, since)

    def _show(self, claim: Poly, limit: int, at: Ranges, effort: int = _EFFORT) -> Lemma | None:
        known = self._known.get(claim)
        if known is not None and known.depth <= limit:
            return known
        key = (claim, id(at))
        if key in self._open:
            return None
        self._open.add(key)
        found = (
            self._read_off(claim, limit, at)
            or self._by_ranges(claim, limit, at)
            or self._by_elimination(claim, limit, at, effort)
        )
        self._open.remove(key)
        return self._keep(found)

    def _shown(self, claims: Iterable[Poly], limit: int, at: Ranges) -> list[Lemma] | None:
        """Prove each claim that is not a constant; None if one has no proof."""
        found = []
        for claim in claims:
            value = claim.constant
            if value is not None and value >= 0:
                continue
            line = self._show(claim, limit, at)
            if line is None:
                return None
            found.append(line)
        return found

    def _read_off(self, claim: Poly, limit: int, at: Ranges) -> Lemma | None:
        """Prove a claim by a bound of a name, with a constant to spare."""
        if len(claim.terms) < 2:
            return None
        for mono, coeff in claim.terms.items():
            if len(mono) != 1 or mono[0][1] != 1 or abs(coeff) != 1:
                continue
            name = mono[0][0]
            for bound in at.bounds.get(name, ()):
                end = bound.low if coeff == 1 else bound.high
                if end is None or bound.depth > limit or len(end.terms) + 2 < len(claim.terms):
                    continue
                rest = claim + end if coeff == 1 else claim - end
                if len(rest.terms) > 2:
                    continue
                more = (rest - Poly.var(name) if coeff == 1 else rest + Poly.var(name)).constant
                if more is not None and more >= 0:
                    line = self._of(bound, name, 0 if coeff == 1 else 1)
                    if line is not None:
                        return added(claim, [(1, line)], more)
        return None

    # --- ranges ------------------------------------------------------------------------------

    def _by_ranges(self, claim: Poly, limit: int, at: Ranges) -> Lemma | None:
        total = 0
        parts: list[tuple[Monomial, int, int]] = []
        for mono, coeff in claim.terms.items():
            if mono:
                end = at.range_of(mono, limit)[0 if coeff > 0 else 1]
                parts.append((mono, coeff, end))
                total += coeff * end
            else:
                total += coeff
        if total >= 0:
            return self._added_up(claim, parts, total, limit, at)
        return self._by_sums(claim, limit, at)

    def _added_up(
        self,
        claim: Poly,
        parts: Sequence[tuple[Monomial, int, int]],
        total: int,
        limit: int,
        at: Ranges,
    ) -> Lemma | None:
        lines: list[tuple[int, Lemma]] = []
        for mono, coeff, end in parts:
            line = self._end(mono, coeff > 0, end, limit, at)
            if line is None:
                return None
            lines.append((abs(coeff), line))
        return added(claim, lines, total)

    def _by_sums(self, claim: Poly, limit: int, at: Ranges) -> Lemma | None:
        """Prove a claim by the known range of the whole sum."""
        constant = claim.terms.get((), 0)
        whole = claim - constant if constant else claim
        for poly, side in ((whole, 0), (-whole, 1)):
            known = at._spans.get(poly)
            end = None if known is None or known.depth > limit else known.ends[side]
            if end is None or (constant + end if side == 0 else constant - end) < 0:
                continue
            line = self._span_end(poly, side, end, known)
            if line is not None:
                return added(claim, [(1, line)], constant + end if side == 0 else constant - end)
        return None

    def _span_end(self, poly: Poly, side: int, end: int, known: SpanFact | None) -> Lemma | None:
        if known is None:
            return None
        return self._from(known.sources[side], distance_to_bound(poly, side, end), known.depth)

    def _end(self, mono: Monomial, low: bool, end: int, limit: int, at: Ranges) -> Lemma | None:
        """Prove a numeric lower or upper bound of a product of names."""
        claim = distance_to_bound(Poly({mono: 1}), 0 if low else 1, end)
        known = self._known.get(claim)
        if known is not None and known.depth <= limit:
            return known
        if len(mono) == 1 and mono[0][1] == 1:
            found = self._name_end(mono[0][0], low, end, claim, limit, at)
        else:
            found = self._product_end(mono, low, end, claim, limit, at)
        return self._keep(found)

    def _name_end(
        self, name: Name, low: bool, end: int, claim: Poly, limit: int, at: Ranges
    ) -> Lemma | None:
        side = 0 if low else 1
        for bound in at.bounds.get(name, ()):
            if bound.depth <= limit and bound.ends[side] == end:
                found = self._bound_end(bound, name, side, end, claim)
                if found is not None:
                    return found
        prim: Prim = "u64" if name in at._unsigned else "i64"
        if int_range(prim)[side] == end:
            return Lemma(claim, Source("type", (name, prim)), (), 0)
        return self._choice_end(name, claim, limit, at)

    def _bound_end(
        self, bound: BoundFact, name: Name, side: int, end: int, claim: Poly
    ) -> Lemma | None:
        """Prove the numeric form of a bound, by the ranges of its names when it was learned."""
        line = self._of(bound, name, side)
        if line is None or line.claim == claim:
            return line
        rest = claim - line.claim
        more = self._by_ranges(rest, bound.reach, self._before(bound.since))
        if more is None:
            return None
        found = added(claim, [(1, line), (1, more)], 0)
        found.depth = bound.depth
        return found

    def _choice_end(self, name: Name, claim: Poly, limit: int, at: Ranges) -> Lemma | None:
        case = at._cases.get(name)
        if case is None:
            return None
        source = self._now.choices[name]
        if name[0] != "?":
            at, limit = self._before(source.since), source.reach
        one, other = case[1], case[2]
        ends = (*at.span(one, limit), *at.span(other, limit))
        claims = (one - ends[0], ends[1] - one, other - ends[2], ends[3] - other)
        lines = self._shown(claims, limit, at)
        read = self._read(source)
        if lines is None or read is None:
            return None
        return line_of(claim, Deduction("range", (source, *ends)), [*lines, *read])

    def _product_end(
        self, mono: Monomial, low: bool, end: int, claim: Poly, limit: int, at: Ranges
    ) -> Lemma | None:
        poly = Poly({mono: 1})
        known = at._spans.get(poly)
        side = 0 if low else 1
        if known is not None and known.depth <= limit and known.ends[side] == end:
            found = self._span_end(poly, side, end, known)
            if found is not None:
                return found
        factors = [name for name, power in mono for _ in range(power)]
        found = self._product(factors, low, limit, at)
        if found is not None and found.claim == claim:
            return found
        if not low:
            found = self._part_end(mono, end, claim, limit, at)
            if found is not None:
                return found
        return self._nearby(mono, claim, limit, at)

    def _part_end(
        self, mono: Monomial, end: int, claim: Poly, limit: int, at: Ranges
    ) -> Lemma | None:
        """Bound a natural product by a larger one whose other factors are at least 1."""
        found = at.whole_of(mono, limit)
        if found is None or found[0] != end:
            return None
        whole = Poly({found[1]: 1})
        line = self._span_end(whole, 1, end, at._spans.get(whole))
        part, more = Poly({mono: 1}), Poly({found[2]: 1}) - 1
        lines = self._shown((part, more), limit, at)
        if line is None or lines is None:
            return None
        terms: Terms = ((1, (line.claim,)), (1, (part, more)))
        return line_of(claim, Sum(claim, 1, terms), [line, *lines])

    def _product(self, factors: Sequence[Name], low: bool, limit: int, at: Ranges) -> Lemma | None:
        """Prove a bound of a product by the corners of its factors' ranges."""
        first = ((factors[0], 1),)
        done = Poly.var(factors[0])
        ends = at.range_of(first, limit)
        lines = [
            self._end(first, side, ends[0 if side else 1], limit, at) for side in (True, False)
        ]
        for k, name in enumerate(factors[1:], 2):
            mono = ((name, 1),)
            more = at.range_of(mono, limit)
            other = [
                self._end(mono, side, more[0 if side else 1], limit, at) for side in (True, False)
            ]
            if None in lines or None in other:
                return None
            sides = (low,) if k == len(factors) else (True, False)
            corners = [a * b for a in ends for b in more]
            lines = [
                corners_of(done, ends, lines, Poly.var(name), more, other, side)  # type: ignore[arg-type]
                for side in sides
            ]
            done, ends = done * Poly.var(name), (min(corners), max(corners))
        return lines[0]

    def _nearby(self, mono: Monomial, claim: Poly, limit: int, at: Ranges) -> Lemma | None:
        """Bound `a / b * b` by `a` and the remainder."""
        if len(mono) != 2 or mono[0][1] != 1 or mono[1][1] != 1:
            return None
        for (quotient, _), (by, _) in (mono, mono[::-1]):
            case = at._cases.get(quotient)
            if case is None or case[0] not in ("/", "//") or case[2].as_name != by:
                continue
            source = self._now.choices[quotient]
            low, high = at.range_of(((by, 1),), limit)
            far = max(abs(low), abs(high))
            read = self._read(source)
            lines = self._shown((far - case[2], case[2] + far), limit, at)
            no_wrap = self._shown((case[2],), limit, at)
            if no_wrap is None:
                no_wrap = self._shown((case[1] - LOW - 1,), limit, at)
            if lines is None or no_wrap is None or read is None:
                continue
            left = case[1] - case[2] * Poly.var(quotient)
            for near in (left + far, far - left):
                rest = claim - near
                if mono in rest.terms:
                    continue
                line = line_of(near, Deduction("nearby", (source, far)), [*lines, *no_wrap, *read])
                more = self._by_ranges(rest, limit, at)
                if more is not None:
                    return added(claim, [(1, line), (1, more)], 0)
        return None

    # --- elimination -------------------------------------------------------------------------

    def _by_elimination(self, poly: Poly, limit: int, at: Ranges, effort: int) -> Lemma | None:
        """Replay `Ranges._search` and keep its steps."""
        if effort <= 0 or poly.constant is not None:
            return None
        known = [name for name in poly.names() if name in at.order]
        known.sort(key=at.order.__getitem__, reverse=True)
        for name in known:
            every, choices = at._eliminated(poly, name, limit, max(1, effort // 8))
            if not choices:
                continue
            effort = (effort - 1) // len(choices)
            lines = []
            for choice in choices:
                value = choice.constant
                several = not every and len(choices) > 1
                if several and not at.non_negative(choice, limit, effort):
                    continue
                if value is not None and value < 0:
                    continue
                line = None if value is not None else self._show(choice, limit, at, effort)
                if value is None and line is None:
                    if every:
                        return None
                    continue
                lines.append(line)
                if not every:
                    return self._put_in(poly, name, choice, line, limit, at, effort)
            return self._in_cases(poly, name, lines) if every else None
        return None

    def _in_cases(self, poly: Poly, name: Name, lines: Sequence[Lemma | None]) -> Lemma | None:
        source = self._now.choices[name]
        read = self._read(source)
        if read is None or len(lines) != 2:
            return None
        given = [line for line in lines if line is not None]
        return line_of(poly, Deduction("cases", (source,)), [*given, *read])

    def _put_in(
        self,
        poly: Poly,
        name: Name,
        choice: Poly,
        line: Lemma | None,
        limit: int,
        at: Ranges,
        effort: int,
    ) -> Lemma | None:
        """Prove `factor * name + rest >= 0` from its value with a bound in place of the name."""
        factor, rest = split_at(poly, name)
        rises = self._sign(factor, limit, at, effort)
        if rises is None:
            return None
        up, sign = rises
        growth = factor if up else -factor
        for fact in self._facts_about(name, factor, rest, choice, up, limit, at):
            scale, by = 1, growth
            if fact.claim.degree(name) == 1:
                slope = fact.claim.coefficient(name)
                ratio = ratio_of(growth, slope if up else -slope)
                if ratio is None:
                    continue
                scale, by = ratio
            premises = [fact, *([line] if line is not None else [])]
            if by.constant is None:
                share = sign if by == growth else self._show(by, limit, at, effort)
                if share is None:
                    continue
                premises.append(share)
                terms: Terms = ((1, (by, fact.claim)),)
            else:
                terms = ((by.constant, (fact.claim,)),)
            if line is not None:
                terms = (*terms, (1, (choice,)))
            elif choice.constant:
                terms = (*terms, (choice.constant, ()))
            return line_of(poly, Sum(poly, scale, terms), premises)
        return None

    def _sign(
        self, factor: Poly, limit: int, at: Ranges, effort: int
    ) -> tuple[bool, Lemma | None] | None:
        """Prove a factor not negative (True) or not positive (False), with the line."""
        value = factor.constant
        if value is not None:
            return value >= 0, None
        for up, claim in ((True, factor), (False, -factor)):
            line = self._show(claim, limit, at, max(1, effort // 8))
            if line is not None:
                return up, line
        return None

    def _facts_about(
        self,
        name: Name,
        factor: Poly,
        rest: Poly,
        choice: Poly,
        up: bool,
        limit: int,
        at: Ranges,
    ) -> Iterable[Lemma]:
        """Yield bounds of a name, from below or above, whose substitution gives `choice`."""
        for bound in at.bounds.get(name, ()):
            end = bound.low if up else bound.high
            if end is not None and bound.depth <= limit and factor * end + rest == choice:
                line = self._of(bound, name, 0 if up else 1)
                if line is not None:
                    yield line
        case = at._cases.get(name)
        if case is None:
            return
        source = self._now.choices[name]
        read = self._read(source)
        if read is None:
            return
        kind, one, other = case[:3]
        itself = Poly.var(name)
        if kind in ("min", "max"):
            for end in (one, other):
                if factor * end + rest == choice:
                    yield line_of(itself - end if up else end - itself, source, read)
        elif kind in ("/", "//"):
            needs = [other - 1, *([one] if kind == "//" else [])]
            lines = self._shown(needs, limit, at)
            if lines is not None:
                left = one - other * itself
                claim = other - 1 - left if up else left
                yield line_of(claim, Deduction("quotient", (source,)), [*lines, *read])
        elif kind in ("%", "%%") and not up:
            lines = self._shown((other,), limit, at)
            natural = self._shown((one,), limit, at)
            if lines is not None and (natural is not None or kind == "%"):
                for end in (other - 1, one):
                    if factor * end + rest == choice:
                        about = [*lines, *(natural or ()), *read]
                        yield line_of(end - itself, Deduction("remainder", (source,)), about)

    # --- what was learned --------------------------------------------------------------------

    def _of(self, bound: BoundFact, name: Name, side: int) -> Lemma | None:
        """Return the line of a bound as it was learned."""
        end = bound.low if side == 0 else bound.high
        assert end is not None
        itself = Poly.var(name)
        return self._from(bound.source, itself - end if side == 0 else end - itself, bound.depth)

    def _from(self, source: Source, claim: Poly, depth: int) -> Lemma | None:
        """Prove a claim from its source."""
        known = self._known.get(claim)
        if known is not None and known.depth <= depth:
            return known
        if source.kind == "derived":
            found = _DERIVED[source.about[0]](self, source, claim)
        else:
            read = self._read(source)
            found = None if read is None else line_of(claim, source, read)
        if found is not None:
            found.depth = depth
        return self._keep(found)

    def _read(self, source: Source) -> list[Lemma] | None:
        """Prove that every reading of a source is exact; None if one is not."""
        if not source.fits:
            return []
        at: Ranges | None = None
        found: list[Lemma] = []
        for key in source.fits:
            limit = key[2]
            for claim in self.fits((key,)):
                line = self._known.get(claim)
                if line is None or line.depth > limit:
                    value = claim.constant
                    if value is not None and value >= 0:
                        continue
                    at = at or self._before(source.since)
                    line = self._show(claim, limit, at)
                if line is None:
                    return None
                found.append(line)
        return found

    def _unlike(self, source: Source, claim: Poly) -> Lemma | None:
        _, differs, base, base_claim, depth, reach = source.about
        line = self._from(base, base_claim, depth)
        read = self._read(differs)
        if line is None or read is None:
            return None
        rest = claim + 1 - base_claim
        if rest.terms:
            more = self._shown((rest,), reach, self._before(source.since))
            if more is None:
                return None
            line = added(claim + 1, [(1, line), *((1, m) for m in more)], rest.constant or 0)
        return line_of(claim, Deduction("unlike", (differs,)), [line, *read])

    def _divides(self, source: Source, claim: Poly) -> Lemma | None:
        _, name, depth = source.about
        at = self._before(source.since)
        choice = self._now.choices[name]
        _, _, one, other, _ = choice.about
        positive = self._shown((Poly.var(name) - 1,), depth, at)
        natural = self._shown((one,), depth, at) or self._shown((other - 1,), depth, at)
        read = self._read(choice)
        plain = any(p.constant is not None and p.constant >= 0 for p in (one, other - 1))
        if positive is None or read is None or (natural is None and not plain):
            return None
        return line_of(claim, Deduction("divides", (choice,)), [*positive, *(natural or ()), *read])

    def _chosen(self, source: Source, claim: Poly) -> Lemma | None:
        _, name, side, depth = source.about
        at = self._before(source.since)
        choice = self._now.choices[name]
        lines = self._shown((Poly.var(name) - 1, -side), depth, at)
        read = self._read(choice)
        if lines is None or read is None:
            return None
        return line_of(claim, Deduction("chosen", (choice,)), [*lines, *read])

    def _share(self, source: Source, claim: Poly) -> Lemma | None:
        _, poly, most, whole, coeff, mono, depth = source.about
        at = self._before(source.since)
        line = self._from(whole, most - poly, depth)
        others = poly - Poly({mono: coeff})
        least = at.span(others, depth)[0]
        more = self._shown((others - least,), depth, at)
        if line is None or more is None:
            return None
        both = most - least - Poly({mono: coeff})
        found = added(both, [(1, line), *((1, m) for m in more)], 0)
        rest = (both - claim * coeff).constant
        if rest is None:
            return None
        return found if coeff == 1 else line_of(claim, Deduction("round", (coeff, rest)), [found])

    def _unwrap(self, source: Source, claim: Poly) -> Lemma | None:
        _, name, whole, prim, ends, depth, base = source.about
        least, most = ends
        low, high = int_range(prim)
        modulus = high - low + 1
        at = self._before(source.since)
        itself = Poly.var(name)
        claims = (
            itself - least,
            most - itself,
            whole - (most - modulus + 1),
            least + modulus - 1 - whole,
        )
        lines = self._shown(claims, depth, at)
        if lines is None:
            return None
        same = min(whole - itself, itself - whole, key=lambda same: len((claim - same).terms))
        wanted = claim - same
        more = self._show(wanted, depth, at) if base is None else self._from(base, wanted, depth)
        if more is None:
            return None
        equal = line_of(same, Deduction("unwrap", (name, whole, prim, least, most)), lines)
        return added(claim, [(1, equal), (1, more)], 0)

    def _cut(self, source: Source, claim: Poly) -> Lemma | None:
        _, name, whole, prim, limit = source.about
        lines = self._shown((whole,), limit, self._before(source.since))
        return (
            None if lines is None else line_of(claim, Deduction("cut", (name, whole, prim)), lines)
        )


_DERIVED = {
    "unlike": Arguer._unlike,
    "divides": Arguer._divides,
    "chosen": Arguer._chosen,
    "share": Arguer._share,
    "unwrap": Arguer._unwrap,
    "cut": Arguer._cut,
}
