"""Format verdicts and proofs as plain data for the page, and as text for the command line.

A step has `rule` (its kind), `says` (a sentence, with polynomials in it), `offset` and `dims` (the
problem that it leaves: stride, low, high), `needs` (inequalities, each with the facts that it is
made of) and `parts` (the steps below it).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from compiler.algebra import certificate as cert
from compiler.algebra.as_data import FactorOf, itself, plain
from compiler.algebra.disjoint import Disjoint, Overlap, Verdict, divided, extremes
from compiler.algebra.facts import Facts
from compiler.algebra.poly import Poly
from compiler.algebra.problem import Problem, flipped, joined, normalised
from compiler.base.names import Name
from compiler.protocol.kinds import Json
from compiler.protocol.polynomials import Polynomial, Sentence

_ELIMINATIONS = 2
_MOST_CLAIMS = 6


def verdict_json(verdict: Verdict, factor: FactorOf = itself) -> Json:
    """Return the answer of the operation `prove`, except the time; `factor` expands names."""
    known = None if isinstance(verdict, Overlap) else verdict.facts
    factor = factor if known is None else _by_name(factor, known)

    def data(polys: Iterable[Poly]) -> list[Polynomial]:
        return [plain(poly, factor) for poly in polys]

    answer: Json = {
        "verdict": type(verdict).__name__.lower(),
        "checked": isinstance(verdict, Disjoint),
        "witness": None,
        "reason": "",
        "missing": None,
        "enough": [],
        "facts": [],
        "steps": [],
    }
    match verdict:
        case Disjoint(problem, facts, proof):
            answer["facts"] = data(facts.bounds)
            answer["steps"] = [_Steps(factor).of(proof, problem)]
        case Overlap(point, cell, first, second):
            answer["checked"] = True
            answer["witness"] = {
                "values": {name: point[name] for name in sorted(point) if factor(name) == name},
                "cell": cell,
                "a": list(first),
                "b": list(second),
            }
            values = ", ".join(f"{name} = {point[name]}" for name in sorted(point))
            answer["reason"] = f"Both hold cell {cell}" + (f" for {values}." if values else ".")
        case unknown:
            answer["reason"] = unknown.reason
            if unknown.missing is not None:
                answer["missing"] = plain(unknown.missing, factor)
            if unknown.facts is not None:
                answer["facts"] = data(unknown.facts.bounds)
                if unknown.missing is not None:
                    answer["enough"] = data(
                        sufficient_claims(unknown.missing, unknown.facts.bounds)
                    )
    return answer


def _by_name(factor: FactorOf, facts: Facts) -> FactorOf:
    """Show an operation that equals a name of the program as that name."""
    named: dict[Name, Name] = {}
    for name, poly in facts.equalities.items():
        atom = poly.as_name
        if atom is not None and factor(name) == name and factor(atom) != atom:
            named.setdefault(atom, name)
    return lambda name: named[name] if name in named else factor(name)


def sufficient_claims(missing: Poly, bounds: Sequence[Poly]) -> list[Poly]:
    """Return claims that imply the missing one, with a name or two replaced by bounds."""
    found: dict[Poly, None] = {}
    level = [missing]
    for _ in range(_ELIMINATIONS):
        level = [
            claim
            for before in level
            for name in sorted(before.names())
            for claim in _substituted_claims(name, before, bounds)
            if claim not in found and claim.constant is None
        ][:_MOST_CLAIMS]
        found.update(dict.fromkeys(level))
    return list(found)


def _substituted_claims(name: Name, claim: Poly, bounds: Sequence[Poly]) -> Iterator[Poly]:
    """Yield smaller claims with a bound substituted for a name that is linear in them."""
    slope = claim.coefficient(name).constant if claim.degree(name) == 1 else None
    if not slope:
        return
    for bound in bounds:
        known = bound.coefficient(name).constant if bound.degree(name) == 1 else None
        if known in (1, -1) and slope * known > 0:
            rest = bound - known * Poly.var(name)
            yield claim.subst({name: -known * rest})


class _Steps:
    """Formats steps; expands names that stand for operations."""

    def __init__(self, factor: FactorOf) -> None:
        self._plain = partial(plain, factor=factor)

    def of(self, proof: cert.Proof, problem: Problem) -> Json:
        """Format one step with its problem and the steps below it."""
        says: Sentence
        match proof:
            case cert.Absurd(because):
                return self._step(
                    "absurd", problem, ["The assumptions contradict each other."], [because]
                )
            case cert.DisjointRanges(side, signs, because):
                return self._step(
                    "apart", problem, self._outside(side, signs, problem), [because, *_sums(signs)]
                )
            case cert.Normalise(rest):
                after = normalised(problem)
                if after == problem:
                    return self.of(rest, problem)
                says = ["Dimensions of equal stride are added, fixed ones go into the offset."]
                return self._step("tidy", problem, says, [], [self.of(rest, after)])
            case cert.Flip(k, rest):
                dims = list(problem.dims)
                dims[k] = flipped(dims[k])
                after = Problem(problem.offset, tuple(dims))
                says = self._says("The dimension of stride ", problem.dims[k].stride)
                return self._step(
                    "flip", problem, [*says, " is turned round."], [], [self.of(rest, after)]
                )
            case cert.Join(outer, inner, factor, positive, covers, rest):
                far, near = problem.dims[outer].stride, problem.dims[inner].stride
                says = self._says("The strides ", far, " and ", near)
                says.append(" make one dimension without gaps.")
                parts = [self.of(rest, joined(problem, outer, inner, factor))]
                return self._step("join", problem, says, [positive, covers], parts)
            case cert.Inferred(line, rest):
                says = self._says("It follows that ", line.claim, " >= 0.")
                return self._step("line", problem, says, [line], [self.of(rest, problem)])
            case cert.Numbers():
                return self._step("numbers", problem, ["None of these sums of numbers is 0."], [])
            case cert.Pivot():
                return self._pivot(proof, problem)
            case cert.Split(term, yes, no):
                says = self._says("Either ", term, " >= 0 or ", term, " <= -1.")
                parts = [self.of(part, problem) for part in (yes, no)]
                return self._step("split", problem, says, [], parts)
            case cert.Relax(k, first, second, rest):
                dim = problem.dims[k]
                dims = list(problem.dims)
                dims[k : k + 1] = [
                    cert.Summand(stride, dim.low, dim.high) for stride in (first, second)
                ]
                says = self._says("Stride ", dim.stride, " is counted as ", first, " and ", second)
                after = Problem(problem.offset, tuple(dims))
                says.append(" independently.")
                return self._step("relax", problem, says, [], [self.of(rest, after)])
        raise AssertionError(proof)

    def _outside(self, side: int, signs: cert.Signs, problem: Problem) -> Sentence:
        low, high = extremes(problem.dims, signs)
        if side == 1:
            smallest = self._says("The smallest value of the sum is ", problem.offset + low)
            return [*smallest, ", which is positive."]
        largest = self._says("The largest value of the sum is ", problem.offset + high)
        return [*largest, ", which is negative."]

    def _pivot(self, proof: cert.Pivot, problem: Problem) -> Json:
        inside = tuple(divided(problem.dims[k], proof.divisor) for k in proof.members)
        outside = tuple(d for k, d in enumerate(problem.dims) if k not in proof.members)
        ends = f"{proof.first}." if proof.first == proof.last else f"{proof.first} to {proof.last}."
        means = f", the multiple w can only be {ends}"
        if proof.first > proof.last:
            means = ", no multiple is left: what remains cannot be made up."
        says = [*self._says("Divided by ", proof.divisor), means]
        parts = [self._case(case, proof, inside, outside) for case in proof.cases]
        needs = [proof.positive, proof.from_below, proof.from_above, *_sums(proof.signs)]
        return self._step("pivot", problem, says, needs, parts)

    def _case(
        self,
        case: cert.Case,
        proof: cert.Pivot,
        inside: tuple[cert.Summand, ...],
        outside: tuple[cert.Summand, ...],
    ) -> Json:
        if case.members:
            after = Problem(proof.quotient - case.value, inside)
            says = f"w = {case.value}: the multiple itself cannot be {case.value}."
        else:
            after = Problem(proof.divisor * case.value + proof.remainder, outside)
            says = f"w = {case.value}: what is left cannot make up for it."
        return self._step("case", after, [says], _sums(case.signs), [self.of(case.rest, after)])

    def _says(self, *parts: str | Poly) -> Sentence:
        return [part if isinstance(part, str) else self._plain(part) for part in parts]

    def _step(
        self,
        rule: str,
        problem: Problem,
        says: Sentence,
        needs: Sequence[cert.Sum],
        parts: Sequence[Json] = (),
    ) -> Json:
        seen = {need.claim: need for need in needs if need.claim.constant is None}
        return {
            "rule": rule,
            "says": says,
            "offset": self._plain(problem.offset),
            "dims": [[self._plain(p) for p in (d.stride, d.low, d.high)] for d in problem.dims],
            "needs": [self._need(need) for need in seen.values()],
            "parts": list(parts),
        }

    def _need(self, need: cert.Sum) -> Json:
        products = [
            {"coefficient": c, "factors": [self._plain(f) for f in factors]}
            for c, factors in need.terms
        ]
        if need.rounded:
            products.append({"coefficient": -need.rounded, "factors": []})
        return {"claim": self._plain(need.claim), "scale": need.scale, "sum": products}


def _sums(signs: cert.Signs) -> list[cert.Sum]:
    return [shown for _, shown in signs.signs]
