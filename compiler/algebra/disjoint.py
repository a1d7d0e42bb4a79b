"""Decide whether two LMADs ever share a cell: by a proof, a counterexample, or neither.

After lossless rewriting, pivot on a divisor `g` of some strides: `g*w + rest = 0`, where the bounds
of the rest leave few values to `w`; for each of them, either the multiple cannot be that value, or
the rest cannot compensate for it. Both are smaller problems.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import combinations

from compiler.algebra import constant, encode
from compiler.algebra.certificate import (
    Absurd,
    Case,
    DisjointRanges,
    Flip,
    Join,
    Normalise,
    Numbers,
    Pivot,
    Proof,
    Relax,
    Signs,
    Split,
    Sum,
    Summand,
    factors,
)
from compiler.algebra.divide import divide, exact, pivots
from compiler.algebra.facts import Facts, Point
from compiler.algebra.inequality import Prover
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.algebra.problem import Problem, difference, flipped, joined, normalised
from compiler.algebra.tighten import roundings
from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Json

NODES = 160
"""Number of subproblems of one pair before the search is abandoned."""
DEPTH = 7
WIDEST = 4
"""Maximum number of values of a pivot's multiple."""
QUICK = 2000
"""Search limit, in states, for a shared cell at one sample point."""
GLANCE = 4
"""Number of sample points tried before a proof: most pairs that overlap do so at each of them."""
SOON = 100
"""Limit, in inequalities, within which most proofs are found; the other points are tried next."""
THOROUGH = 600
"""Limit, in inequalities, of the last search, which tries more of everything."""
SPLITS = 4
"""Maximum number of name differences to split cases on."""


@dataclass(frozen=True, slots=True)
class Disjoint:
    """No cell is shared; the checker has accepted `proof`. The facts have no points."""

    problem: Problem
    facts: Facts
    proof: Proof
    first: Lmad[Poly]
    second: Lmad[Poly]
    assumed: Facts
    """The facts without the assumptions that the sets are non-empty, which are among `facts`."""
    steps: int = field(default=0, compare=False)
    """Number of inequalities attempted."""

    def theorem(self, about: str = "") -> Json:
        """Return the claim with its proof, in the format of `docs/certificates.md`."""
        return encode.theorem(self.first, self.second, self.assumed, self.proof, about)


@dataclass(frozen=True, slots=True)
class Overlap:
    """Both sets hold `cell` at this point, at these indices."""

    point: Point
    cell: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    steps: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither was found; `missing >= 0`, if given, could not be proved."""

    reason: str
    missing: Poly | None
    facts: Facts | None = None
    steps: int = field(default=0, compare=False)


Verdict = Disjoint | Overlap | Unknown
SignOf = Callable[[Poly], "tuple[int, Sum] | None"]


def disjoint(first: Lmad[Poly], second: Lmad[Poly], facts: Facts) -> Verdict:
    """Return the verdict for two LMADs under assumptions."""
    provers: list[Prover] = []
    found = _verdict(first, second, facts, provers)
    return replace(found, steps=sum(prover.steps for prover in provers))


def quick_verdict(first: Lmad[Poly], second: Lmad[Poly], facts: Facts, work: int) -> Verdict:
    """Return the verdict found within `work` inequalities, with the existing sample points."""
    problem, known = difference(first, second, facts, sampled=bool(facts.points))
    found = _overlap(first, second, known, known.points, QUICK)
    if found is not None:
        return found
    prover = Prover(known, work=work)
    proof = _Search().solve(problem, prover, 0)
    if proof is None or encode.refusal(first, second, facts, proof):
        return Unknown("No proof was found soon.", None, known, prover.steps)
    bare, assumed = (replace(some, points=()) for some in (known, facts))
    return Disjoint(problem, bare, proof, first, second, assumed, prover.steps)


def _verdict(first: Lmad[Poly], second: Lmad[Poly], facts: Facts, provers: list[Prover]) -> Verdict:
    """Return the verdict; appends each prover to `provers`, which count the steps."""
    problem, known = difference(first, second, facts)
    found = _overlap(first, second, known, known.points[:GLANCE], QUICK)
    if found is not None:
        return found
    search = _Search()
    provers.append(Prover(known, work=SOON))
    proof = search.under(known.bounds, problem, provers[-1], 0)
    if proof is None:
        found = _overlap(first, second, known, known.points[GLANCE:], QUICK)
        if found is not None:
            return found
        if provers[-1].steps > SOON:
            search = _Search()
            provers.append(Prover(known, alike=provers[-1]))
            proof = search.under(known.bounds, problem, provers[-1], 0)
    if proof is None:
        wider = _Search(tuple(dict.fromkeys(d.stride for d in problem.dims)), wide=True)
        provers.append(Prover(known, alike=provers[-1], work=THOROUGH))
        proof = wider.under(known.bounds, problem, provers[-1], 0)
    if proof is not None:
        why = encode.refusal(first, second, facts, proof)
        if not why:
            bare, assumed = (replace(some, points=()) for some in (known, facts))
            return Disjoint(problem, bare, proof, first, second, assumed)
        return Unknown(f"The checker does not accept the proof that was found: {why}", None, known)
    found = _overlap(first, second, known, known.points, constant.NODES)
    if found is not None:
        return found
    missing = search.missing
    if missing is not None:
        return Unknown(one_inequality_missing(missing), missing, known)
    if not known.points:
        return Unknown("No values were found that meet the assumptions.", None, known)
    return Unknown("No way to tell the two sets apart was found.", None, known)


def one_inequality_missing(missing: Poly) -> str:
    """Say that a single inequality is missing."""
    return f"Could not prove {missing} >= 0."


def prove_beyond(first: Lmad[Poly], second: Lmad[Poly]) -> Disjoint | None:
    """Return the proof that one set lies entirely beyond the other, if sizes alone imply it.

    Fast whether it succeeds or not.
    """
    nothing = Facts(())
    problem, known = difference(first, second, nothing, sampled=False)
    problem, prover = normalised(problem), Prover(known)
    known_signs: list[tuple[int, Sum]] = []
    for dim in problem.dims:
        way = -1 if (dim.stride.constant or 0) < 0 else 1
        because = prover.plainly(dim.stride * way)
        if because is None:
            return None
        known_signs.append((way, because))
    signs = Signs(tuple(known_signs))
    low, high = extremes(problem.dims, signs)
    for side, claim in ((1, problem.offset + low - 1), (-1, -(problem.offset + high) - 1)):
        because = prover.plainly(claim)
        if because is not None:
            proof = Normalise(DisjointRanges(side, signs, because))
            if not encode.refusal(first, second, nothing, proof):
                return Disjoint(problem, known, proof, first, second, nothing)
    return None


def _overlap(
    first: Lmad[Poly], second: Lmad[Poly], facts: Facts, points: Sequence[Point], nodes: int
) -> Overlap | None:
    """Return a shared cell at one of these points; points that take too long are skipped."""
    names = first.names() | second.names()
    for point in points:
        full = facts.complete(point)
        if not names <= full.keys():
            return None
        left, right = first.evaluate(full), second.evaluate(full)
        try:
            met = constant.meet(
                (left.offset, [(d.size, d.stride) for d in left.dims]),
                (right.offset, [(d.size, d.stride) for d in right.dims]),
                nodes,
            )
        except constant.TooHard:
            continue
        if met is not None:
            return Overlap(full, met[0], tuple(met[1]), tuple(met[2]))
    return None


def find_overlap(first: Lmad[Poly], second: Lmad[Poly], facts: Facts) -> Overlap | None:
    """Return a shared cell at points chosen so that the ranges of both sets meet."""
    problem, known = difference(first, second, facts, sampled=False)
    signs = [_sign(dim.stride, Prover(known)) for dim in problem.dims]
    ends: tuple[Poly, ...] = ()
    if all(sign is not None for sign in signs):
        shown = Signs(tuple(sign for sign in signs if sign is not None))
        ends = hypotheses(problem.offset, problem.dims, shown)
    names = first.names() | second.names()
    near = Facts.of((*known.bounds, *ends), known.equalities, names)
    return _overlap(first, second, known, near.points, QUICK)


def missing_for(first: Lmad[Poly], second: Lmad[Poly], facts: Facts) -> list[Poly]:
    """Return inequalities each of which might complete a proof, even where the sets overlap.

    These are: the sum is always positive, it is always negative, and the last failure of the
    search.
    """
    problem, known = difference(first, second, facts)
    prover = Prover(known)
    found: list[Poly] = []
    signs = [_sign(dim.stride, prover) for dim in problem.dims]
    if all(sign is not None for sign in signs):
        shown = Signs(tuple(sign for sign in signs if sign is not None))
        low, high = extremes(problem.dims, shown)
        found = [problem.offset + low - 1, -(problem.offset + high) - 1]
    search = _Search()
    search.solve(problem, Prover(Facts(known.bounds, known.equalities)), 0)
    if search.missing is not None and search.missing not in found:
        found.append(search.missing)
    return found


@dataclass(frozen=True, slots=True)
class _Parts:
    """A problem after a pivot: `divisor*(quotient + inside) + remainder + outside = 0`."""

    divisor: Poly
    quotient: Poly
    inside: tuple[Summand, ...]
    """Summands with divided strides."""
    remainder: Poly
    outside: tuple[Summand, ...]
    signs: Signs
    """Signs of the strides outside."""


class _Search:
    """Proof search for one pair."""

    def __init__(self, strides: tuple[Poly, ...] = (), *, wide: bool = False) -> None:
        """`strides`: more pivots to try. `wide`: try many pivots, slow where there is no proof."""
        self.nodes = 0
        self.missing: Poly | None = None
        self.strides = strides
        self.wide = wide

    def solve(self, problem: Problem, prover: Prover, depth: int) -> Proof | None:
        """Return a proof that the equation has no solution, or None."""
        self.nodes += 1
        numbers = _numbers(problem)
        if numbers is not None:
            return self._counted(problem, numbers, prover, depth)
        if self.nodes > NODES or depth > DEPTH:
            return None
        return self._search(problem, prover, depth)

    def under(
        self, facts: Sequence[Poly], problem: Problem, prover: Prover, depth: int
    ) -> Proof | None:
        """Solve under more facts, whose multiples are rounded."""
        more = _extended(prover, facts)
        found = [one for fact in facts for one in roundings(fact, more if self.wide else None)]
        proof = self.solve(problem, _extended(more, [claim for claim, _ in found]), depth)
        used = set(factors(proof)) if proof is not None and found else set()
        for claim, step in reversed(found):
            if proof is not None and claim in used:
                proof = step(proof)
                used |= set(factors(proof))
        return proof

    def _counted(
        self, problem: Problem, numbers: _Numbers, prover: Prover, depth: int
    ) -> Proof | None:
        """Decide an equation of constants; prefers a proof by search, which is easier to read."""
        try:
            solvable = constant.solvable(*numbers)
        except constant.TooHard:
            solvable = True
        if solvable and prover.facts.points:
            return None
        found = self._search(problem, prover, depth) if self.nodes < NODES // 2 else None
        return found or (None if solvable else Numbers())

    def _search(self, problem: Problem, prover: Prover, depth: int) -> Proof | None:
        if not prover.facts.points:
            absurd = _prove_contradiction(prover, thorough=self.wide or depth == 0)
            if absurd is not None:
                return Absurd(absurd)
        return self._rewritten(normalised(problem), prover, depth)

    def _rewritten(self, problem: Problem, prover: Prover, depth: int) -> Proof | None:
        """Flip and join while possible, then compare ranges, then pivot. Normalises the result."""
        steps: list[Callable[[Proof], Proof]] = [Normalise]
        signs: dict[Poly, tuple[int, Sum] | None] = {}

        def sign(stride: Poly) -> tuple[int, Sum] | None:
            if stride not in signs:
                signs[stride] = _sign(stride, prover)
            return signs[stride]

        changed = True
        while changed:
            changed = False
            for k, dim in enumerate(problem.dims):
                found = sign(dim.stride)
                if found is not None and found[0] < 0:
                    dims = list(problem.dims)
                    dims[k] = flipped(dim)
                    problem = Problem(problem.offset, tuple(dims))
                    steps.append(partial(Flip, k))
                    changed = True
            step = self._join(problem, prover)
            if step is not None:
                problem = normalised(joined(problem, *step[:3]))
                steps += [partial(Join, *step), Normalise]
                changed = True
        core = self._core(problem, prover, sign, depth)
        if core is None:
            return None
        for step_of in reversed(steps):
            core = step_of(core)
        return core

    def _join(self, problem: Problem, prover: Prover) -> tuple[int, int, Poly, Sum, Sum] | None:
        for outer, far in enumerate(problem.dims):
            for inner, near in enumerate(problem.dims):
                if outer == inner or len(near.stride.terms) > len(far.stride.terms) + 2:
                    continue
                factor = exact(far.stride, near.stride)
                if factor is None or not factor.terms:
                    continue
                covers = prover.nonnegative(near.high - near.low + 1 - factor)
                if covers is None:
                    continue
                positive = prover.nonnegative(factor)
                if positive is not None:
                    return outer, inner, factor, positive, covers
        return None

    def _core(self, problem: Problem, prover: Prover, sign: SignOf, depth: int) -> Proof | None:
        signs = [sign(d.stride) for d in problem.dims]
        if all(s is not None for s in signs):
            known = Signs(tuple(s for s in signs if s is not None))
            low, high = extremes(problem.dims, known)
            above = prover.nonnegative(problem.offset + low - 1)
            if above is not None:
                return DisjointRanges(1, known, above)
            below = prover.nonnegative(-(problem.offset + high) - 1)
            if below is not None:
                return DisjointRanges(-1, known, below)
            if prover.missing is not None and depth == 0:
                self.missing = prover.missing
        for divisor in pivots(problem, self.strides, wide=self.wide):
            proof = self._pivot(problem, divisor, prover, sign, depth)
            if proof is not None:
                return proof
        return self._relax(problem, prover, depth) or self._split(problem, prover, depth)

    def _pivot(
        self, problem: Problem, divisor: Poly, prover: Prover, sign: SignOf, depth: int
    ) -> Proof | None:
        positive = prover.nonnegative(divisor - 1)
        if positive is None:
            return None
        quotients = [exact(d.stride, divisor) for d in problem.dims]
        members = tuple(k for k, q in enumerate(quotients) if q is not None)
        others = tuple(d for d, q in zip(problem.dims, quotients, strict=True) if q is None)
        found = [sign(d.stride) for d in others]
        if any(s is None for s in found):
            return None
        signs = Signs(tuple(s for s in found if s is not None))
        inside = tuple(divided(problem.dims[k], divisor) for k in members)
        quotient, remainder = divide(problem.offset, divisor)
        for shift in (0, 1, -1):
            parts = _Parts(
                divisor, quotient + shift, inside, remainder - divisor * shift, others, signs
            )
            ends = self._range(parts, prover)
            if ends is not None:
                cases = self._cases(parts, ends, prover, depth)
                if cases is not None:
                    return Pivot(
                        divisor, positive, members, tuple(d.stride for d in inside),
                        parts.quotient, parts.remainder, signs, *ends, cases,
                    )  # fmt: skip
                break
        return None

    def _range(self, parts: _Parts, prover: Prover) -> tuple[int, int, Sum, Sum] | None:
        """Return the first and last value of `w = quotient + inside`, with proofs."""
        divisor, remainder = parts.divisor, parts.remainder
        low, high = extremes(parts.outside, parts.signs)
        last = None
        for value in (0, -1, 1, -2, 2, 3):
            # w <= value, since w = value + 1 already makes the sum positive
            above = prover.nonnegative(divisor * (value + 1) + remainder + low - 1)
            if above is not None and (last is None or value < last[0]):
                last = (value, above)
                if value <= 0:
                    lower = prover.nonnegative(divisor * value + remainder + low - 1)
                    if lower is None:
                        break
        if last is None:
            return None
        first = None
        for value in (0, 1, -1, 2, -2, -3):
            below = prover.nonnegative(-(divisor * (value - 1)) - remainder - high - 1)
            if below is not None and (first is None or value > first[0]):
                first = (value, below)
                if value >= 0:
                    upper = prover.nonnegative(-(divisor * value) - remainder - high - 1)
                    if upper is None:
                        break
        if first is None or last[0] - first[0] >= WIDEST:
            return None
        return first[0], last[0], first[1], last[1]

    def _cases(
        self, parts: _Parts, ends: tuple[int, int, Sum, Sum], prover: Prover, depth: int
    ) -> tuple[Case, ...] | None:
        cases: list[Case] = []
        for value in range(ends[0], ends[1] + 1):
            case = self._case(value, parts, prover, depth)
            if case is None:
                return None
            cases.append(case)
        return tuple(cases)

    def _case(self, value: int, parts: _Parts, prover: Prover, depth: int) -> Case | None:
        """Prove that `w` is not this value, or that the rest cannot compensate for it."""
        left_over = parts.divisor * value + parts.remainder
        multiple = Problem(parts.quotient - value, parts.inside)
        of_rest = hypotheses(left_over, parts.outside, parts.signs)
        proof = self.under(of_rest, multiple, prover, depth + 1)
        if proof is not None:
            return Case(value, True, parts.signs, proof)
        found = [_sign(d.stride, prover) for d in parts.inside]
        known = Signs(tuple(s for s in found if s is not None))
        facts: tuple[Poly, ...] = ()
        if len(known.signs) == len(found):
            facts = hypotheses(multiple.offset, parts.inside, known)
        else:
            known = Signs(())
        proof = self.under(facts, Problem(left_over, parts.outside), prover, depth + 1)
        return None if proof is None else Case(value, False, known, proof)

    def _relax(self, problem: Problem, prover: Prover, depth: int) -> Proof | None:
        """Split a stride that is nearly a multiple of another into two independent parts."""
        for k, dim in enumerate(problem.dims):
            for other in problem.dims:
                if other.stride == dim.stride or not other.stride.names():
                    continue
                quotient, remainder = divide(dim.stride, other.stride)
                if not quotient.terms or not remainder.terms:
                    continue
                first, second = dim.stride - remainder, remainder
                dims = list(problem.dims)
                dims[k : k + 1] = [
                    Summand(first, dim.low, dim.high),
                    Summand(second, dim.low, dim.high),
                ]
                relaxed = Problem(problem.offset, tuple(dims))
                proof = self.solve(relaxed, prover, depth + 2)
                if proof is not None:
                    return Relax(k, first, second, proof)
        return None

    def _split(self, problem: Problem, prover: Prover, depth: int) -> Proof | None:
        """Split cases by the sign of a term of the offset."""
        if depth > 3:
            return None
        for term in _split_terms(problem, prover):
            yes = self.under((term,), problem, prover, depth + 2)
            if yes is None:
                continue
            no = self.under((-term - 1,), problem, prover, depth + 2)
            if no is not None:
                return Split(term, yes, no)
        return None


_Numbers = tuple[int, list[tuple[int, int, int]]]


def _numbers(problem: Problem) -> _Numbers | None:
    """Return offset, strides and bounds if all are constants."""
    offset = problem.offset.constant
    if offset is None:
        return None
    dims: list[tuple[int, int, int]] = []
    for dim in problem.dims:
        stride, low, high = dim.stride.constant, dim.low.constant, dim.high.constant
        if stride is None or low is None or high is None:
            return None
        dims.append((stride, low, high))
    return offset, dims


def extremes(dims: Sequence[Summand], signs: Signs) -> tuple[Poly, Poly]:
    """Return the smallest and the largest value of a sum of dimensions."""
    low, high = Poly.const(0), Poly.const(0)
    for dim, (sign, _) in zip(dims, signs.signs, strict=True):
        ends = dim.stride * dim.low, dim.stride * dim.high
        low, high = low + ends[sign < 0], high + ends[sign > 0]
    return low, high


def hypotheses(offset: Poly, dims: Sequence[Summand], signs: Signs) -> tuple[Poly, ...]:
    """Return consequences of `offset + sum of dims = 0` being solvable: the range holds 0."""
    low, high = extremes(dims, signs)
    return -(offset + low), offset + high


def divided(dim: Summand, divisor: Poly) -> Summand:
    """Divide the stride of a dimension exactly."""
    quotient = exact(dim.stride, divisor)
    assert quotient is not None
    return Summand(quotient, dim.low, dim.high)


def _extended(prover: Prover, facts: Sequence[Poly]) -> Prover:
    more = prover.facts.with_bounds(*facts)
    return prover if more is prover.facts else Prover(more, prover)


def _sign(stride: Poly, prover: Prover) -> tuple[int, Sum] | None:
    up = prover.nonnegative(stride)
    if up is not None:
        return 1, up
    down = prover.nonnegative(-stride)
    return None if down is None else (-1, down)


def _prove_contradiction(prover: Prover, *, thorough: bool) -> Sum | None:
    """Prove that a fact contradicts the others: one of the last three, or with `thorough` any.

    Of the facts before the last three, only contradictions that `plainly` finds are noticed.
    """
    bounds = prover.facts.bounds
    for fact in bounds if thorough else ():
        against = prover.plainly(-fact - 1)
        if against is not None:
            return _contradiction(fact, against)
    for fact in bounds[-3:]:
        others = Facts(tuple(b for b in bounds if b != fact), prover.facts.equalities)
        against = Prover(others, prover).nonnegative(-fact - 1)
        if against is not None:
            return _contradiction(fact, against)
    return None


def _contradiction(fact: Poly, against: Sum) -> Sum:
    """Combine a fact and its negation into `-1 >= 0`."""
    return Sum(Poly.const(-1), against.scale, (*against.terms, (against.scale, (fact,))))


def _split_terms(problem: Problem, prover: Prover) -> list[Poly]:
    """Return differences of unordered names from the offset.

    Differences that occur in it, multiplied or not, come first.
    """
    found: list[Poly] = []
    offset = problem.offset
    pairs = list(combinations(sorted(offset.names()), 2))
    slopes = {name: offset.coefficient(name) for name in offset.names()}
    for left, right in sorted(pairs, key=lambda pair: slopes[pair[0]] != -slopes[pair[1]]):
        term = Poly.var(left) - Poly.var(right)
        if prover.nonnegative(term) is None and prover.nonnegative(-term - 1) is None:
            found.append(term)
            if len(found) == SPLITS:
                break
    return found
