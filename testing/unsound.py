"""Search for false claims that the checker accepts, on a machine with words of 6 bits.

Each rule is tried about many small things that may be given. What it asks for is told that it is
known, so that it accepts as much as it ever does; then all values of the names are looked at.

Steps are tried on equations of numbers: a proof is made up while the checker follows it, and counts
if each inequality that is asked for holds. Whether the equation has a solution is counted out. What
holds of polynomials holds of the numbers that they are, so nothing else needs to be tried. A line
among the steps is about something that is given, and holds for some values; what it asks for is
granted if it is so for these.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from testing import meaning
from testing.meaning import SIX_BITS, Json

Polynomial = dict[tuple[str, ...], int]
Checker = Any
"""The checker's module, or one that differs from it."""

PLACES = 300
"""So many things that are given are drawn for the lines among steps."""
EDGES = (-32, -31, 31, 32, 63)
"""Where words of 6 bits end."""
VALUES = np.arange(-40, 70, dtype=np.int32)
"""All of a word, signed or not, and some on either side."""
POINT = {"n": VALUES.reshape(-1, 1), "k": VALUES.reshape(1, -1)}


def polynomial(*terms: tuple[int, str]) -> Polynomial:
    """`(2, "nk")` is `2*n*k`."""
    return {tuple(names): number for number, names in terms if number}


SIDES = [
    polynomial(*terms)
    for terms in (
        [(1, "n")], [(1, "k")], [(1, "n"), (1, "")], [(1, "n"), (1, "k")], [(2, "n")], [(-1, "n")],
        [(1, "kn")], [], [(1, "")], [(2, "")], [(-1, "")], [(-3, "")],
    )
]  # fmt: skip
PAIRS = [(left, right) for left, right in product(SIDES, SIDES) if left or right]
NUMBERS: dict[int, list[tuple[int, ...]]] = {
    0: [()],
    1: [(-1,), (0,), (1,), (2,), (5,)],
    2: [(1, 0), (2, 1), (3, 2), (2, 2), (3, -1), (0, 0), (-2, 1), (0, 3), (-4, 3), (3, 7), (-1, 8)],
    4: [
        (1, 9, 2, 4), (-9, 9, 2, 4), (-9, 9, -3, 2), (-32, 31, -1, 1), (-9, -2, 2, 5), (0, 9, 0, 3),
        (3, 5, -2, -1), (-32, -32, -1, -1), (0, 0, 1, 2), (-1, 9, 1, 1), (9, 2, 3, 1), (2, 7, 0, 0),
        (-1, 1, 2, 4), (-5, -1, -3, 2), (8, 9, 2, 4), (-9, -8, 2, 4), (0, 9, -1, 0),
    ],
}  # fmt: skip
CLAIMS = [
    polynomial(*terms)
    for terms in (
        [(1, "x")], [(1, "x"), (-1, "")], [(2, ""), (-1, "x")], [(1, "n"), (-1, "x")],
        [(1, "kx"), (-2, "")], [(1, "n"), (-1, "")], [(1, "n")], [(1, "n"), (-1, "k"), (-1, "")],
        [(1, "k"), (-1, "n"), (-1, "")],
    )
]  # fmt: skip
"""Claims to try besides those that a rule offers."""


# --- rules ---


class Asked:
    """Facts that are known because they are asked for, but for the one with number `but`."""

    def __init__(self, but: int = -1) -> None:
        self.known: dict[Any, None] = {}
        self._others: set[Any] = set()
        self._but = but

    def __contains__(self, key: Any) -> bool:
        if len(self.known) + len(self._others) == self._but:
            self._others.add(key)
        if key not in self._others:
            self.known[key] = None
        return key not in self._others


def given(checker: Checker, kinds: Iterator[str] | None = None) -> Iterator[Any]:
    """Small things that may be given: all kinds, operations, types and pairs of sides."""
    for kind, (fields, ops) in checker.GIVEN.items():
        types = sorted(SIX_BITS) if "type" in fields.split() else [""]
        for op, prim, (left, right) in product(ops, types, PAIRS):
            if kind == "wrap" and right != PAIRS[0][1]:
                continue
            name = "x" if "name" in fields.split() else ""
            itself = {("x",): 1} if name else {}
            for reads in _reads(left, right)[: 3 if "reads" in fields.split() else 1]:
                yield checker.Given(kind, op, prim, name, itself, left, right, reads)


def _reads(left: Polynomial, right: Polynomial) -> list[tuple[Any, ...]]:
    return [(), ((left, "natural"),), ((right, "u64"), (left, "i8"))]


def false_inferences(checker: Checker, rule: str, rng: random.Random, most: int) -> Iterator[str]:
    """Yield false claims that a rule accepts, with `most` random facts of all possible ones."""
    count, ops = checker.RULES[rule]
    about = [one for one in given(checker) if one.op in ops] or [checker.NOTHING]
    for one in rng.sample(about, min(most, len(about))):
        seen = Seen(one)
        for numbers in NUMBERS[count]:
            for claim in _claims(checker, rule, one, numbers):
                step = checker.Inference(rule, claim, one, numbers)
                for facts in _accepted(checker, step):
                    if seen.is_false(facts, claim):
                        yield f"{step} under {[dict(fact) for fact in facts]}"


def _claims(checker: Checker, rule: str, one: Any, numbers: tuple[int, ...]) -> list[Polynomial]:
    """Return the claims that a rule offers, and others that may be asked for."""
    step = checker.Inference(rule, {}, one, numbers)
    _, offered = checker.Inequalities()._needs(step, Asked())
    named = {name for claim in CLAIMS for monomial in claim for name in monomial}
    known = named if one.name else named - {"x"}
    return [
        *(claim for claim in offered if claim),
        *(claim for claim in CLAIMS if {name for mono in claim for name in mono} <= known),
    ]


def _accepted(checker: Checker, step: Any) -> Iterator[list[Any]]:
    """Facts under which a step is accepted: all that it asks for, or all but the first.

    By that rules choose between two things that they may ask for.
    """
    for but in (-1, 0):
        facts = Asked(but)
        try:
            checker.Inequalities().conclude(step, facts, "")
        except checker.Refused:
            continue
        yield list(facts.known)


class Seen:
    """All values for which something that is given holds."""

    def __init__(self, one: Any) -> None:
        given = {
            "given": one.kind, "op": one.op, "type": one.type, "name": one.name,
            "left": _data(one.left), "right": _data(one.right),
            "reads": [(_data(poly), prim) for poly, prim in one.reads],
        }  # fmt: skip
        self.points: list[tuple[dict[str, Any], Any]] = []
        for x in self.named(one, given) if one.name else [VALUES[0]]:
            env = {**POINT, "x": x}
            holds = meaning.holds(given, env, SIX_BITS) if one.kind else True
            self.points.append((env, np.broadcast_to(holds, (len(VALUES), len(VALUES)))))

    @staticmethod
    def named(one: Any, given: Json, env: meaning.Env = POINT) -> list[Any]:
        """Return possible values of the name.

        Arbitrary ones too if the fact has reads, which may be out of range.
        """
        left, right = (meaning.value(given.get(side, ()), env) for side in ("left", "right"))
        found = [left]
        if one.kind != "wrap":
            sides = [meaning.cut(s, one.type, SIX_BITS) if one.type else s for s in (left, right)]
            found = [result for _, result in meaning.results(one.op, *sides)]
        cut = [meaning.cut(x, one.type, SIX_BITS) if one.type else x for x in found]
        return [*cut, *([-7, 0, 9, 50] if one.reads else [])]

    def is_false(self, facts: list[Any], claim: Polynomial) -> bool:
        """Return True if for one of the values the facts hold and the claim does not."""
        for env, holds in self.points:
            found = holds & (_value(claim.items(), env) < 0)
            for fact in facts:
                if not found.any():
                    break
                found = found & (_value(fact, env) >= 0)
            if found.any():
                return True
        return False


def _value(terms: Any, env: dict[str, Any]) -> Any:
    return meaning.value(([number, *names] for names, number in terms), env)


def _data(poly: Polynomial) -> list[Any]:
    return [[number, *names] for names, number in poly.items()]


# --- sums ---


def false_sums(checker: Checker, rng: random.Random, tries: int) -> Iterator[str]:
    """Sums of facts, or what is nearly one, that are accepted, and false."""
    for _ in range(tries):
        facts = rng.sample([poly for poly in SIDES if poly], 2)
        terms: list[tuple[int, list[Polynomial]]] = [
            (rng.choice((1, 1, 2, 3, 0, -1)), rng.sample(facts, rng.randrange(3)))
            for _ in range(rng.randrange(3))
        ]
        scale = rng.choice((1, 1, 2, 3, 0, -1))
        total: Polynomial = {}
        for coefficient, factors in terms:
            found: Polynomial = {(): coefficient}
            for factor in factors:
                found = checker.Inequalities().times(found, factor)
            for monomial, number in found.items():
                total[monomial] = total.get(monomial, 0) + number
        claim = {names: number // (scale or 1) for names, number in total.items()}
        if rng.random() < 0.5:
            claim[()] = claim.get((), 0) + rng.choice((-1, 1))
        claim = {names: number for names, number in claim.items() if number}
        known = facts if rng.random() < 0.8 else facts[:1]
        data = {
            "claim": _data(claim),
            "scale": scale,
            "terms": [[number, [_data(factor) for factor in factors]] for number, factors in terms],
        }
        theorem = checker.Theorem(_claim(nonnegative=[_data(fact) for fact in known], lines=[data]))
        theorem.wanted = [claim]
        try:
            theorem.check()
        except checker.Refused:
            continue
        if Seen(checker.NOTHING).is_false([fact.items() for fact in known], claim):
            yield f"{data} under {known}"


def _claim(**parts: Any) -> Json:
    common = {"claim": "nonnegative", "about": "", "types": [], "nonnegative": [], "equal": []}
    return {**common, "given": [], "lines": [], "polynomials": [], **parts}


# --- steps ---


def false_steps(checker: Checker, rng: random.Random, tries: int) -> Iterator[str]:
    """Proofs of numbers that are accepted, if all that they ask for holds, and false."""
    for _ in range(tries):
        yield from _false_proof(checker, rng, None)


def false_lines(checker: Checker, rng: random.Random, tries: int) -> Iterator[str]:
    """The same of proofs with lines about what is given."""
    places = [place for _ in range(PLACES) for place in _place(checker, rng)]
    for _ in range(tries):
        yield from _false_proof(checker, rng, rng.choice(places))


def _false_proof(checker: Checker, rng: random.Random, place: Place | None) -> Iterator[str]:
    sides = [_cells(rng, most) for most in (2, 1)]
    given = [] if place is None else [place.given]
    data = _claim(claim="disjoint", a=sides[0], b=sides[1], proof={}, given=given)
    del data["polynomials"]
    probe = _probe(checker, rng, place)(data)
    try:
        probe.check()
    except checker.Refused:
        return
    one, other = (meaning.cells(side, {}) for side in sides)
    if probe.asked and one & other:
        yield f"{sides} by {probe.made}"


def false_numbers(checker: Checker, rng: random.Random, tries: int) -> Iterator[str]:
    """Equations of numbers that have a solution, and are said to have none."""
    for _ in range(tries):
        sides = [
            {"offset": _number(rng.randint(-30, 30)), "dims": [_wide(rng) for _ in range(count)]}
            for count in (rng.randint(1, 3), rng.randint(0, 1))
        ]
        numbers = {"step": "numbers"}
        data = _claim(claim="disjoint", a=sides[0], b=sides[1], proof=numbers)
        del data["polynomials"]
        try:
            checker.Theorem(data).check()
        except checker.Refused:
            continue
        one, other = (meaning.cells(side, {}) for side in sides)
        if one & other:
            yield f"{sides}"


def _wide(rng: random.Random) -> list[Any]:
    """A dimension whose stride may have no divisor in common with others."""
    return [_number(rng.randint(1, 9)), _number(rng.choice((1, -1)) * rng.randint(1, 12))]


class Place(NamedTuple):
    """Something that is given, and values of its names for which it holds."""

    one: Any
    given: Json
    env: dict[str, int]


def _place(checker: Checker, rng: random.Random) -> Iterator[Place]:
    """One that is drawn; none if no value of its name is found for which it holds."""
    kind, (fields, ops) = rng.choice(list(checker.GIVEN.items()))
    left, right = rng.choice(PAIRS)
    parts: Json = {"op": rng.choice(ops), "type": rng.choice(sorted(SIX_BITS)), "name": "x"}
    reads = rng.choice(_reads(left, right))
    parts |= {"left": _data(left), "right": _data(right)}
    parts["reads"] = [[_data(poly), prim] for poly, prim in reads]
    given = {"given": kind, **{field: parts[field] for field in fields.split()}}
    one = checker.Theorem(_claim())._given(given)
    env = {"n": rng.randint(-9, 9), "k": rng.choice((rng.randint(-4, 4), rng.choice(EDGES)))}
    named = Seen.named(one, given, env) if one.name == "x" and "name" in fields else [0]
    for x in rng.sample(named, len(named)):
        if meaning.holds(given, {**env, "x": x}, SIX_BITS):
            yield Place(one, given, {**env, "x": int(x)})
            return


def _cells(rng: random.Random, most: int) -> Json:
    dims = [
        [
            _number(rng.choice((0, 1, 2, 2, 3, 3, 4))),
            _number(rng.choice((-3, -2, -1, -1, 1, 1, 2, 4, 6, 0))),
        ]
        for _ in range(rng.randint(0, most))
    ]
    return {"offset": _number(rng.randint(-7, 7)), "dims": dims}


def _number(value: int) -> list[Any]:
    return [[value]] if value else []


class Granted:
    """All that is so at a place, with what facts say; everything if they contradict that."""

    def __init__(self, facts: Any, env: dict[str, int]) -> None:
        self._env = env
        self._absurd = any(_value(fact, env) < 0 for fact in facts)

    def __contains__(self, key: Any) -> bool:
        return self._absurd or bool(_value(key, self._env) >= 0)


def _probe(checker: Checker, rng: random.Random, place: Place | None) -> type[Any]:
    """The checker's reader of a proof, with a proof that is made up where it is to be read.

    What it asks for is granted if it is so, or if the facts at its place contradict each other.
    """
    env = {} if place is None else place.env

    class Probe(checker.Theorem):  # type: ignore[misc]
        asked = True
        made = ""

        def _follow(self, data: Any, offset: Any, dims: Any, facts: Any, at: str) -> None:
            if self.asked:
                numbers = _value(offset.items(), {}), [_numbers(d) for d in dims]
                if place is None:
                    step = _step(rng, at.count("."), *numbers)
                elif "line" not in at or rng.random() < 0.3:
                    step = {"step": "line", "line": _inference(checker, rng, place), "rest": None}
                else:
                    step = _step(rng, 9, *numbers)
                self.made += f"{step} of {offset} {dims}; "
                super()._follow(step, offset, dims, facts, at)

        def _shown(self, data: Any, claim: Any, facts: Any, at: str) -> Any:
            said = {(): rng.choice((-1, -1, 1))} if claim is None else claim
            self.asked = self.asked and said.items() in Granted(facts, env)
            return said

        def _line(self, data: Any, facts: Any, at: str) -> Any:
            return super()._line(data, Granted(facts, env) if data else facts, at)

    return Probe


def _inference(checker: Checker, rng: random.Random, place: Place) -> Json:
    """A line about what is given there, or about nothing."""
    rules = [rule for rule, (_, ops) in checker.RULES.items() if place.one.op in ops]
    rule = rng.choice([*rules, *rules, "round"])
    one = checker.NOTHING if rule == "round" else place.one
    numbers = rng.choice(NUMBERS[checker.RULES[rule][0]])
    claim = rng.choice(_claims(checker, rule, one, numbers) or CLAIMS[-1:])
    of = None if rule == "round" else 0
    return {"rule": rule, "of": of, "numbers": list(numbers), "claim": _data(claim)}


def _numbers(dim: Any) -> tuple[int, ...]:
    return tuple(_value(part.items(), {}) for part in dim)


def _step(rng: random.Random, depth: int, offset: int, dims: list[tuple[int, ...]]) -> Json:
    """A step for an equation, which often can be taken."""
    signs = [[1 if stride >= 0 else -1, None] for stride, _, _ in dims]
    if rng.random() < 0.1:
        signs = [[rng.choice((1, -1)), None] for _ in dims]
    ks = list(range(len(dims)))
    kinds = ["apart", "apart", "numbers"] + ["absurd"] * (rng.random() < 0.2)
    if depth < 6:
        kinds += ["tidy", "tidy", "line", "split", "pivot", "pivot"] + (
            ["flip", "relax"] if dims else []
        )
        kinds += ["join", "join", "join"] * (len(dims) > 1)
    kind = rng.choice(kinds)
    rest = {"rest": None}
    k = rng.choice(ks) if ks else 0
    match kind:
        case "apart":
            return {"step": kind, "side": rng.choice((1, -1)), "signs": signs, "because": None}
        case "absurd":
            return {"step": kind, "because": None}
        case "tidy":
            return {"step": kind, **rest}
        case "line":
            return {"step": kind, "line": {}, **rest}
        case "flip":
            return {"step": kind, "k": k, **rest}
        case "split":
            return {"step": kind, "term": _number(rng.randint(-2, 2)), "yes": None, "no": None}
        case "relax":
            first = rng.randint(-3, 3)
            second = dims[k][0] - first + rng.choice((0, 0, 0, 5, -7))
            return {
                "step": kind,
                "k": k,
                "first": _number(first),
                "second": _number(second),
                **rest,
            }
        case "join":
            pairs = [(j, k) for j in ks for k in ks if dims[k][0] and dims[j][0] % dims[k][0] == 0]
            wide = [(j, k) for j, k in pairs if j != k and dims[j][0] // dims[k][0] >= 0]
            outer, inner = rng.choice(wide or [rng.sample(ks, 2)])
            factor = dims[outer][0] // (dims[inner][0] or 1) + rng.choice((0, 0, 0, 1, -1))
            both = {"outer": outer, "inner": rng.choice((inner, inner, inner, outer))}
            return {
                "step": kind,
                **both,
                "factor": _number(factor),
                "positive": None,
                "covers": None,
            } | rest
        case "pivot":
            return _pivot(rng, offset, dims)
    return {"step": "numbers"}


def _pivot(rng: random.Random, offset: int, dims: list[tuple[int, ...]]) -> Json:
    divisor = rng.choice((-1, 0, 1, 2, 2, 3, 4, 6))
    members = [k for k, (stride, _, _) in enumerate(dims) if divisor and stride % divisor == 0]
    members = rng.choice((members, members, members[:1], rng.sample(members, len(members)), [0, 0]))
    quotient = offset // (divisor or 1) + rng.choice((0, 0, 1, -1))
    others = [dim for k, dim in enumerate(dims) if k not in members]
    low, high = quotient - 3, quotient + 3
    reach = [sorted((s * a, s * b)) for s, a, b in others]
    remainder = offset - divisor * quotient
    if divisor > 0:  # the multiples that what is left can make up for
        low = -((remainder + sum(b for _, b in reach)) // divisor)
        high = -(remainder + sum(a for a, _ in reach)) // divisor
    first, last = low + rng.choice((0, 0, 0, 1, -1)), high + rng.choice((0, 0, 0, 1, -1))
    if divisor < 0:
        first, last = 9, -9
    quotients = [dims[k][0] // (divisor or 1) for k in members if k < len(dims)]
    signs = [[1 if s >= 0 else -1, None] for s, _, _ in others]
    cases = []
    for value in range(first, last + 1):
        looks = rng.random() < 0.5
        lends = [dims[k] for k in members if k < len(dims)] if not looks else others
        sure = [[1 if s >= 0 else -1, None] for s, _, _ in lends]
        cases.append(
            {"value": value, "members": looks, "signs": rng.choice((sure, [])), "rest": None}
        )
    return {
        "step": "pivot", "divisor": _number(divisor), "positive": None, "members": members,
        "quotients": [_number(q + (rng.random() < 0.3)) for q in quotients], "signs": signs,
        "quotient": _number(quotient), "remainder": _number(remainder + (rng.random() < 0.1)),
        "first": first, "last": last, "from_below": None, "from_above": None, "cases": cases,
    }  # fmt: skip
