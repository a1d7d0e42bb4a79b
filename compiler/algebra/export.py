"""What a certificate comes down to, for provers of others: SMT-LIB 2 and Lean 4.

A certificate is a tree of steps over inequalities (and equations of numbers). Each of these is
written as a question or theorem of its own, about the facts that its sum is made of, or about what
is given and what its rule needs; the steps between them are the checker's, and are not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from compiler.algebra import checker
from compiler.algebra.checker import (
    RANGES,
    Given,
    Inequalities,
    Inference,
    Leaf,
    Polynomial,
    Theorem,
)
from compiler.protocol.kinds import Json

FORMATS = ("smtlib", "lean")
_SMTLIB = """\
; What the proofs of {count} come down to: every answer must be unsat.
(set-logic QF_NIA)
"""
_LEAN = """\
-- What the proofs of {count} come down to. Needs Lean 4.22 or later, and no library.

private theorem unscaled {{s c : Int}} (hs : 0 < s) (h : 0 ≤ s * c) : 0 ≤ c :=
  Int.not_lt.mp fun hc => absurd h (Int.not_le.mpr (Int.mul_neg_of_pos_of_neg hs hc))
"""


def exported(certificate: Json, to: str) -> str:
    """All claims of a certificate in one of the formats. Raises `checker.Refused`."""
    sentences = list(checker.verify(certificate))
    parts = [
        {"smtlib": _SMTLIB, "lean": _LEAN}[to].format(
            count=f"{len(sentences)} claim{'s' * (len(sentences) != 1)}"
        )
    ]
    for number, (sentence, data) in enumerate(
        zip(sentences, certificate["claims"], strict=True), 1
    ):
        theorem = Theorem(data)
        theorem.check()
        comment = {"smtlib": ";", "lean": "--"}[to]
        parts.append(f"{comment} Claim {number}: {_ascii(sentence)}\n")
        parts += smtlib(theorem) if to == "smtlib" else lean(theorem, number)
    return "\n".join(parts)


# --- SMT-LIB ---


def smtlib(theorem: Theorem) -> Iterator[str]:
    """A question for each leaf: whether its facts can hold, and its claim not."""
    for leaf in theorem.leaves:
        at, claim, _, _ = leaf
        facts = _facts(leaf)
        names = _Names([claim, *facts], _smt_name)
        asserted = [f"(>= {_prefix(fact, names)} 0)" for fact in facts]
        yield _question(at, names, [*asserted, f"(< {_prefix(claim, names)} 0)"])
    for at, step, needs in theorem.rules:
        said = meaning(step.given)
        names = _Names([step.claim, *needs, *_polys(said)], _smt_name)
        asserted = [f"(>= {_prefix(need, names)} 0)" for need in needs] + [_smt(said, names)]
        yield _question(at, names, [*asserted, f"(< {_prefix(step.claim, names)} 0)"])
    for at, offset, dims in theorem.equations:
        unknowns = [f"z{k}" for k in range(len(dims))]
        bounds = [
            f"(<= {_number(low)} {z} {_number(high)})"
            for z, (_, low, high) in zip(unknowns, dims, strict=True)
        ]
        products = [
            f"(* {_number(stride)} {z})" for z, (stride, _, _) in zip(unknowns, dims, strict=True)
        ]
        equation = f"(= (+ {_number(offset)} 0 {' '.join(products)}) 0)"
        yield _question(at, unknowns, [*bounds, equation])


def _question(at: str, names: Sequence[str] | _Names, asserted: Sequence[str]) -> str:
    lines = [f"; {at}", "(push 1)"]
    lines += [f"(declare-const {name} Int)" for name in names]
    lines += [f"(assert {formula})" for formula in asserted]
    return "\n".join([*lines, "(check-sat)", "(pop 1)", ""])


def _smt(formula: Formula, names: _Names) -> str:
    kind, *parts = formula
    if kind in ("and", "or"):
        return f"({kind} {' '.join(_smt(part, names) for part in parts)})" if parts else "true"
    return f"({kind} {_prefix(parts[0], names)} 0)"


def _prefix(poly: Polynomial, names: _Names) -> str:
    terms = [
        f"(* {_number(c)} {' '.join(map(names.of, monomial))})" if monomial else _number(c)
        for monomial, c in poly.items()
    ]
    return f"(+ {' '.join(terms)})" if len(terms) > 1 else (terms or ["0"])[0]


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


def _smt_name(name: str, number: int) -> str:
    fits = name.isascii() and "|" not in name and "\\" not in name
    return f"|{name}|" if fits else f"x{number}"


# --- Lean ---


def lean(theorem: Theorem, number: int) -> Iterator[str]:
    """Theorems for its leaves, its other steps, and its equations of numbers."""
    for k, leaf in enumerate(theorem.leaves, 1):
        yield _lean_sum(leaf, f"claim{number}_leaf{k}")
    for k, (at, step, needs) in enumerate(theorem.rules, 1):
        yield _lean_step(at, step, needs, f"claim{number}_step{k}")
    for k, (at, offset, dims) in enumerate(theorem.equations, 1):
        yield _lean_equation(at, offset, dims, f"claim{number}_sums{k}")


def _lean_sum(leaf: Leaf, called: str) -> str:
    """An identity of polynomials, and that its right side is natural."""
    at, claim, scale, terms = leaf
    facts = _facts(leaf)
    names = _lean_names(claim, *facts)
    products = [
        (
            " * ".join([f"({c} : Int)", *(f"({_infix(f, names)})" for f in factors)]),
            _natural(c, [facts.index(f) + 1 for f in factors]),
        )
        for c, factors in terms
    ] or [("(0 : Int)", "(by decide : (0 : Int) ≤ 0)")]
    total, shown = products[0]
    for text, proof in products[1:]:
        total, shown = f"{total} + {text}", f"(Int.add_nonneg {shown} {proof})"
    said = _infix(claim, names)
    return "\n".join(
        [
            _lean_comment(at, names),
            " ".join([f"theorem {called}", *_given(facts, names), f": 0 ≤ {said} := by"]),
            f"  have identity : ({scale} : Int) * ({said}) = {total} := by grind",
            f"  have sum : 0 ≤ {total} := {shown}",
            f"  exact unscaled (by decide : (0 : Int) < {scale})",
            "    (Int.le_trans sum (Int.le_of_eq identity.symm))",
            "",
        ]
    )


def _lean_step(at: str, step: Inference, needs: Sequence[Polynomial], called: str) -> str:
    """What a step that is no sum claims, from what is given and what its rule needs."""
    formula = meaning(step.given)
    names = _lean_names(step.claim, *needs, *_polys(formula))
    parts = [*_given(needs, names), f"(given : {_lean(formula, names)})"]
    return "\n".join(
        [
            _lean_comment(at, names),
            f"theorem {called} {' '.join(parts)} :",
            f"    0 ≤ {_infix(step.claim, names)} := by first | omega | grind",
            "",
        ]
    )


def _lean_equation(at: str, offset: int, dims: Sequence[Sequence[int]], called: str) -> str:
    """That no numbers within their bounds add up to 0."""
    unknowns = [f"z{j}" for j in range(len(dims))]
    bounds = [
        f"(l{j} : ({low} : Int) ≤ {z}) (u{j} : {z} ≤ ({high} : Int))"
        for j, (z, (_, low, high)) in enumerate(zip(unknowns, dims, strict=True))
    ]
    products = [f"({s}) * {z}" for z, (s, _, _) in zip(unknowns, dims, strict=True)]
    total = " + ".join([f"({offset} : Int)", *products])
    variables = [f"({' '.join(unknowns)} : Int)"] if unknowns else []
    return "\n".join(
        [
            f"-- {at}",
            f"theorem {called} {' '.join([*variables, *bounds])} :",
            f"    {total} ≠ 0 := by omega",
            "",
        ]
    )


def _lean_names(*polys: Polynomial) -> _Names:
    return _Names(polys, lambda _, at: f"x{at}")


def _lean_comment(at: str, names: _Names) -> str:
    return f"-- {at}" + "".join(f"; {new} is {_ascii(old)}" for old, new in names.pairs())


def _given(facts: Sequence[Polynomial], names: _Names) -> list[str]:
    """Variables, and hypotheses `h1`, `h2`, .. about them."""
    given = [f"(h{j} : 0 ≤ {_infix(fact, names)})" for j, fact in enumerate(facts, 1)]
    return [f"({' '.join(names)} : Int)", *given] if names else given


def _natural(coefficient: int, facts: Sequence[int]) -> str:
    """That `c * f * g * ..` is not negative, associated to the left as Lean reads it."""
    shown = f"(by decide : (0 : Int) ≤ {coefficient})"
    for fact in facts:
        shown = f"(Int.mul_nonneg {shown} h{fact})"
    return shown


def _lean(formula: Formula, names: _Names) -> str:
    kind, *parts = formula
    if kind in ("and", "or"):
        joined = f" {'∧' if kind == 'and' else '∨'} ".join(_lean(part, names) for part in parts)
        return f"({joined})" if parts else "True"
    said = _infix(parts[0], names)
    return f"0 ≤ {said}" if kind == ">=" else f"{said} = 0"


def _infix(poly: Polynomial, names: _Names) -> str:
    terms = [" * ".join([f"({c} : Int)", *map(names.of, monomial)]) for monomial, c in poly.items()]
    return " + ".join(terms) or "(0 : Int)"


# --- what is given ---

Formula = tuple[Any, ...]
"""`("and", ..)`, `("or", ..)`, `(">=", p)` for `p >= 0`, `("=", p)` for `p = 0`."""
_OTHER = "other"
"""A number that there is: the quotient of a remainder, how often a type is wrapped around."""


def meaning(given: Given) -> Formula:
    """What is given says of integers, once all that it reads is shown to be in range."""
    _, op, _, x, a, b, _ = given
    low, high = RANGES["i64"]
    match op:
        case "":
            return ("and",)
        case "<" | "<=" | ">" | ">=" | "==":
            gap = _minus(b, a) if op in ("<", "<=", "==") else _minus(a, b)
            if op == "==":
                return ("=", gap)
            return (">=", gap if "=" in op else _minus(gap, 1))
        case "!=":
            return ("or", *((">=", _minus(gap, 1)) for gap in (_minus(a, b), _minus(b, a))))
        case "*":
            product = _times(a, b)
            return ("and", (">=", product), (">=", _minus((1 << 64) - 1, product)))
        case "either":
            return ("or", ("=", _minus(x, a)), ("=", _minus(x, b)))
        case "min" | "max":
            sides = [_minus(side, x) if op == "min" else _minus(x, side) for side in (a, b)]
            one = ("or", *(("=", side) for side in sides))
            return ("and", *((">=", side) for side in sides), one)
        case "/" | "//":
            wraps = ("and", ("=", _minus(a, low)), ("=", _minus(b, -1)), ("=", _minus(x, low)))
            return ("or", _divided(op == "/", a, b, _minus(a, _times(b, x))), wraps)
        case "%" | "%%":
            whole = _minus(_minus(a, _times(b, {(_OTHER,): 1})), x)
            return ("and", ("=", whole), _divided(op == "%", a, b, x))
    low, high = RANGES[op]
    multiples: Polynomial = {(_OTHER,): high - low + 1}
    same = ("=", _minus(_minus(a, x), multiples))
    return ("and", same, (">=", _minus(x, low)), (">=", _minus(high, x)))


def _divided(down: bool, a: Polynomial, b: Polynomial, rest: Polynomial) -> Formula:
    """That `a` leaves `rest` when it is divided by `b`, rounded down or towards zero."""
    back, under = _minus(0, rest), [_minus(_minus(side, 1), rest) for side in (b, _minus(0, b))]
    over = [_minus(_minus(side, 1), back) for side in (b, _minus(0, b))]
    if down:
        positive = ("and", (">=", rest), (">=", under[0]))
        return ("or", positive, ("and", (">=", back), (">=", over[1])))
    natural = ("and", (">=", a), (">=", rest), ("or", *((">=", p) for p in under)))
    other = ("and", (">=", _minus(0, a)), (">=", back), ("or", *((">=", p) for p in over)))
    return ("or", natural, other)


def _minus(one: Polynomial | int, other: Polynomial | int) -> Polynomial:
    found: Polynomial = {}
    for sign, side in ((1, one), (-1, other)):
        for monomial, number in ({(): side} if isinstance(side, int) else side).items():
            found[monomial] = found.get(monomial, 0) + sign * number
    return {monomial: number for monomial, number in found.items() if number}


def _times(one: Polynomial, other: Polynomial) -> Polynomial:
    return Inequalities().times(one, other)


def _polys(formula: Formula) -> Iterator[Polynomial]:
    kind, *parts = formula
    for part in parts:
        if kind in ("and", "or"):
            yield from _polys(part)
        else:
            yield part


# --- both ---


class _Names:
    """What the names of some polynomials are called there, in order."""

    def __init__(self, polys: Sequence[Polynomial], call: Callable[[str, int], str]) -> None:
        found = dict.fromkeys(name for poly in polys for monomial in poly for name in monomial)
        self._called = {name: call(name, k) for k, name in enumerate(found, 1)}

    def of(self, name: str) -> str:
        """What a name is called."""
        return self._called[name]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Each name with what it is called."""
        yield from self._called.items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._called.values())

    def __bool__(self) -> bool:
        return bool(self._called)


def _facts(leaf: Leaf) -> list[Polynomial]:
    """The facts that a leaf is made of, each once."""
    found: list[Polynomial] = []
    for _, factors in leaf[3]:
        found += [fact for fact in factors if fact not in found]
    return found


def _ascii(text: str) -> str:
    """On one line, and without what a comment could be ended by."""
    return text.encode("ascii", "backslashreplace").decode()
