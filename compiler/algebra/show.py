"""Verdicts and proofs as plain data and as text: what the page draws and the command line prints.

A step has `rule` (its kind), `says` (a sentence), `offset` and `dims` (the problem that it leaves:
stride, low, high as text), `needs` (inequalities, each with the facts that it is made of) and
`parts` (the steps below it).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

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
)
from compiler.algebra.disjoint import Disjoint, Overlap, Verdict, divided, extremes
from compiler.algebra.poly import Poly
from compiler.algebra.problem import Problem, flipped, joined, normalised
from compiler.base.names import Name

Json = dict[str, Any]
_SLASH = ")/("
_ELIMINATIONS = 2
_MOST_CLAIMS = 6


def verdict_json(verdict: Verdict) -> Json:
    """The answer of the operation `prove`, but for the time."""
    answer: Json = {
        "verdict": type(verdict).__name__.lower(),
        "checked": isinstance(verdict, Disjoint),
        "witness": None,
        "reason": "",
        "missing": None,
        "enough": [],
        "facts": [],
        "steps": [],
        "text": [],
    }
    match verdict:
        case Disjoint(problem, facts, proof):
            answer["facts"] = [f"{bound} >= 0" for bound in facts.bounds]
            answer["steps"] = [step_json(proof, problem)]
            answer["text"] = list(_lines(answer["steps"], ""))
        case Overlap(point, cell, first, second):
            answer["checked"] = True
            answer["witness"] = {
                "values": {name: point[name] for name in sorted(point)},
                "cell": cell,
                "a": list(first),
                "b": list(second),
            }
            values = ", ".join(f"{name} = {point[name]}" for name in sorted(point))
            answer["reason"] = f"Both hold cell {cell}" + (f" for {values}." if values else ".")
        case unknown:
            answer["reason"] = unknown.reason
            answer["missing"] = None if unknown.missing is None else f"{unknown.missing} >= 0"
            if unknown.facts is not None:
                answer["facts"] = [f"{bound} >= 0" for bound in unknown.facts.bounds]
                if unknown.missing is not None:
                    found = enough(unknown.missing, unknown.facts.bounds)
                    answer["enough"] = [f"{claim} >= 0" for claim in found]
    return answer


def unambiguous(data: Any) -> Any:
    """The same data, where quotients in polynomials stand in parentheses: `2*((n)/(b))`.

    A quotient is a name to the prover, which its text does not show.
    """
    match data:
        case str():
            return _parenthesised(data) if _SLASH in data else data
        case list():
            return [unambiguous(one) for one in data]
        case dict():
            return {unambiguous(key): unambiguous(value) for key, value in data.items()}
    return data


def _parenthesised(text: str) -> str:
    at = text.find(_SLASH)
    while at >= 0:
        start, end = _opening(text, at), _ending(text, at + 2)
        if (text[start - 1 : start], text[end : end + 1]) != ("(", ")"):
            text = f"{text[:start]}({text[start:end]}){text[end:]}"
            at += 1
        at = text.find(_SLASH, at + 1)
    return text


def _opening(text: str, at: int) -> int:
    """Where the parenthesis that is closed at `at` is opened."""
    depth = 0
    for k in range(at, -1, -1):
        depth += {")": 1, "(": -1}.get(text[k], 0)
        if not depth:
            return k
    return 0


def _ending(text: str, at: int) -> int:
    """Behind where the parenthesis that is opened at `at` is closed."""
    depth = 0
    for k in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[k], 0)
        if not depth:
            return k + 1
    return len(text)


def enough(missing: Poly, bounds: Sequence[Poly]) -> list[Poly]:
    """Claims that imply what is missing, without a name or two: bounds stand in for them."""
    found: dict[Poly, None] = {}
    level = [missing]
    for _ in range(_ELIMINATIONS):
        level = [
            claim
            for before in level
            for name in sorted(before.names())
            for claim in _without(name, before, bounds)
            if claim not in found and claim.constant is None
        ][:_MOST_CLAIMS]
        found.update(dict.fromkeys(level))
    return list(found)


def _without(name: Name, claim: Poly, bounds: Sequence[Poly]) -> Iterator[Poly]:
    """The claim with bounds for a name that it is linear in, which make it smaller."""
    slope = claim.coefficient(name).constant if claim.degree(name) == 1 else None
    if not slope:
        return
    for bound in bounds:
        known = bound.coefficient(name).constant if bound.degree(name) == 1 else None
        if known in (1, -1) and slope * known > 0:
            rest = bound - known * Poly.var(name)
            yield claim.subst({name: -known * rest})


def step_json(proof: Proof, problem: Problem) -> Json:
    """One step with the problem that it is about, and the steps below it."""
    match proof:
        case Absurd(because):
            return _step("absurd", problem, "The assumptions contradict each other.", [because])
        case DisjointRanges(side, signs, because):
            low, high = extremes(problem.dims, signs)
            end = problem.offset + (low if side == 1 else high)
            says = (
                f"The smallest value of the sum is {end}, which is positive."
                if side == 1
                else f"The largest value of the sum is {end}, which is negative."
            )
            return _step("apart", problem, says, [because, *_signs(signs)])
        case Normalise(rest):
            after = normalised(problem)
            if after == problem:
                return step_json(rest, problem)
            says = "Dimensions of equal stride are added, fixed ones go into the offset."
            return _step("normalised", problem, says, [], [step_json(rest, after)])
        case Flip(k, rest):
            dims = list(problem.dims)
            dims[k] = flipped(dims[k])
            after = Problem(problem.offset, tuple(dims))
            says = f"The dimension of stride {problem.dims[k].stride} is turned round."
            return _step("flip", problem, says, [], [step_json(rest, after)])
        case Join(outer, inner, factor, positive, covers, rest):
            far, near = problem.dims[outer].stride, problem.dims[inner].stride
            says = f"The strides {far} and {near} make one dimension without gaps."
            after = joined(problem, outer, inner, factor)
            return _step("join", problem, says, [positive, covers], [step_json(rest, after)])
        case Numbers():
            return _step("numbers", problem, "None of these sums of numbers is 0.", [])
        case Pivot():
            return _pivot(proof, problem)
        case Split(term, yes, no):
            says = f"Either {term} >= 0 or {term} <= -1."
            return _step("split", problem, says, [], [step_json(p, problem) for p in (yes, no)])
        case Relax(k, first, second, rest):
            dim = problem.dims[k]
            dims = list(problem.dims)
            dims[k : k + 1] = [Summand(stride, dim.low, dim.high) for stride in (first, second)]
            says = f"Stride {dim.stride} is counted as {first} and {second} independently."
            after = Problem(problem.offset, tuple(dims))
            return _step("relax", problem, says, [], [step_json(rest, after)])
    raise AssertionError(proof)


def _pivot(proof: Pivot, problem: Problem) -> Json:
    inside = tuple(divided(problem.dims[k], proof.divisor) for k in proof.members)
    outside = tuple(d for k, d in enumerate(problem.dims) if k not in proof.members)
    says = f"Divided by {proof.divisor}, the multiple w can only be "
    if proof.first > proof.last:
        says = f"Divided by {proof.divisor}, no multiple is left: what remains cannot be made up."
    elif proof.first == proof.last:
        says += f"{proof.first}."
    else:
        says += f"{proof.first} to {proof.last}."
    parts = [_case(case, proof, inside, outside) for case in proof.cases]
    needs = [proof.positive, proof.from_below, proof.from_above, *_signs(proof.signs)]
    return _step("pivot", problem, says, needs, parts)


def _case(
    case: Case, proof: Pivot, inside: tuple[Summand, ...], outside: tuple[Summand, ...]
) -> Json:
    if case.members:
        after = Problem(proof.quotient - case.value, inside)
        says = f"w = {case.value}: the multiple itself cannot be {case.value}."
    else:
        after = Problem(proof.divisor * case.value + proof.remainder, outside)
        says = f"w = {case.value}: what is left cannot make up for it."
    return _step("case", after, says, _signs(case.signs), [step_json(case.rest, after)])


def _signs(signs: Signs) -> list[Sum]:
    return [shown for _, shown in signs.signs]


def _step(
    rule: str, problem: Problem, says: str, needs: Sequence[Sum], parts: Sequence[Json] = ()
) -> Json:
    shown = {need.claim: need for need in needs if need.claim.constant is None}
    return {
        "rule": rule,
        "says": says,
        "offset": str(problem.offset),
        "dims": [[str(d.stride), str(d.low), str(d.high)] for d in problem.dims],
        "needs": [_need(need) for need in shown.values()],
        "parts": list(parts),
    }


def _need(need: Sum) -> Json:
    products = [
        {"coefficient": c, "factors": [str(f) for f in factors]} for c, factors in need.terms
    ]
    return {"claim": f"{need.claim} >= 0", "scale": need.scale, "sum": products, "text": _sum(need)}


def _sum(need: Sum) -> str:
    """The identity, such as `2*n - 1 = 2*(n - 1) + 1`."""
    terms = []
    for coefficient, factors in need.terms:
        shown = [str(f) if _is_atom(f) else f"({f})" for f in factors]
        if coefficient != 1 or not shown:
            shown.insert(0, str(coefficient))
        terms.append("*".join(shown))
    left = str(need.claim) if need.scale == 1 else f"{need.scale}*({need.claim})"
    return f"{left} = {' + '.join(terms) or '0'}"


def _is_atom(poly: Poly) -> bool:
    return poly.as_name is not None


def _lines(steps: Sequence[Json], indent: str) -> Iterator[str]:
    for step in steps:
        yield f"{indent}{step['says']}"
        for need in step["needs"]:
            yield f"{indent}  since {need['text']}"
        yield from _lines(step["parts"], indent + "  ")
