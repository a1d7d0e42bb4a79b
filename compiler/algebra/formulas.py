"""Translate premises of certificates into formulas about integers for other provers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from compiler.algebra.checker import RANGES, WORD, Given, Inequalities, Leaf, Polynomial, in_range

Formula = tuple[Any, ...]
"""`("and", ..)`, `("or", ..)`, `(">=", p)` for `p >= 0`, `("=", p)` for `p = 0`."""
_TURNS: dict[str, Polynomial] = {
    side: {(f"\0{side}",): 1} for side in ("left", "right", "quotient", "cut")
}
"""Existential variables: how often a value wraps around, and the quotient of a remainder. They
clash with no name of a certificate."""


def meaning(given: Given) -> Formula:
    """Return the meaning of a premise over the integers: arithmetic in a type wraps there.

    The formula is vacuous where a value that it reads is out of range.
    """
    if not given.op:
        return ("and",)
    unread = [(">=", minus(-1, p)) for poly, prim in given.reads for p in in_range(poly, prim)]
    left, right, prim = given.left, given.right, given.type
    cuts: list[Formula] = []
    if given.kind in ("compare", "product", "choice"):
        left, right = _cut(left, prim, "left", cuts), _cut(right, prim, "right", cuts)
    said = _statement(given._replace(left=left, right=right))
    return ("and", *cuts, ("or", *unread, said) if unread else said)


def _cut(poly: Polynomial, prim: str, turns: str, cuts: list[Formula]) -> Polynomial:
    """Return the representative of a polynomial in a type; appends its constraints to `cuts`."""
    if all(p.keys() <= {()} and p.get((), 0) >= 0 for p in in_range(poly, prim)):
        return poly
    low, high = RANGES[prim]
    found = minus(poly, _times({(): high - low + 1}, _TURNS[turns]))
    cuts += [(">=", end) for end in in_range(found, prim)]
    return found


def _statement(given: Given) -> Formula:
    """Translate a premise whose sides already are machine values."""
    _, op, prim, _, x, a, b, _ = given
    low, high = RANGES[prim or WORD]
    match op:
        case "<" | "<=" | ">" | ">=" | "==":
            gap = minus(b, a) if op in ("<", "<=", "==") else minus(a, b)
            if op == "==":
                return ("=", gap)
            return (">=", gap if "=" in op else minus(gap, 1))
        case "!=":
            return ("or", *((">=", minus(minus(*two), 1)) for two in ((a, b), (b, a))))
        case "*":
            product = _times(a, b)
            return ("and", (">=", product), (">=", minus(high - low, product)))
        case "either":
            return ("or", ("=", minus(x, a)), ("=", minus(x, b)))
        case "min" | "max":
            sides = [minus(side, x) if op == "min" else minus(x, side) for side in (a, b)]
            one = ("or", *(("=", side) for side in sides))
            return ("and", *((">=", side) for side in sides), one)
        case "/" | "//":
            divided = _divided(op == "/", a, b, minus(a, _times(b, x)))
            wraps = ("and", ("=", minus(a, low)), ("=", minus(b, -1)), ("=", minus(x, low)))
            if not (prim and low):
                return divided
            exact = ("or", (">=", minus(minus(a, low), 1)), (">=", b), (">=", minus(-2, b)))
            return ("or", ("and", exact, divided), wraps)
        case "%" | "%%":
            whole = minus(minus(a, _times(b, _TURNS["quotient"])), x)
            return ("and", ("=", whole), _divided(op == "%", a, b, x))
    cuts: list[Formula] = []  # truncations to a type
    return ("and", ("=", minus(_cut(a, prim, "cut", cuts), x)), *cuts)


def _divided(down: bool, a: Polynomial, b: Polynomial, rest: Polynomial) -> Formula:
    """State that `a` divided by `b` leaves `rest`, rounded down or towards zero."""
    back, under = minus(0, rest), [minus(minus(side, 1), rest) for side in (b, minus(0, b))]
    over = [minus(minus(side, 1), back) for side in (b, minus(0, b))]
    if down:
        positive = ("and", (">=", rest), (">=", under[0]))
        return ("or", positive, ("and", (">=", back), (">=", over[1])))
    natural = ("and", (">=", a), (">=", rest), ("or", *((">=", p) for p in under)))
    other = ("and", (">=", minus(0, a)), (">=", back), ("or", *((">=", p) for p in over)))
    return ("or", natural, other)


def minus(one: Polynomial | int, other: Polynomial | int) -> Polynomial:
    """Return the difference."""
    found: Polynomial = {}
    for sign, side in ((1, one), (-1, other)):
        for monomial, number in ({(): side} if isinstance(side, int) else side).items():
            found[monomial] = found.get(monomial, 0) + sign * number
    return {monomial: number for monomial, number in found.items() if number}


def _times(one: Polynomial, other: Polynomial) -> Polynomial:
    return Inequalities().times(one, other)


def polynomials(formula: Formula) -> Iterator[Polynomial]:
    """Yield the polynomials of a formula."""
    kind, *parts = formula
    for part in parts:
        if kind in ("and", "or"):
            yield from polynomials(part)
        else:
            yield part


class Symbols:
    """Names of polynomials mapped to symbols of another prover, in order of occurrence."""

    def __init__(self, polys: Sequence[Polynomial], call: Callable[[str, int], str]) -> None:
        found = dict.fromkeys(name for poly in polys for monomial in poly for name in monomial)
        self._called = {name: call(name, k) for k, name in enumerate(found, 1)}

    def of(self, name: str) -> str:
        """Return the symbol of a name."""
        return self._called[name]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each name with its symbol."""
        yield from self._called.items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._called.values())

    def __bool__(self) -> bool:
        return bool(self._called)


def rounded(leaf: Leaf) -> int:
    """Return by how much `scale` times the claim is less than the sum: less than `scale`."""
    _, claim, scale, terms = leaf
    at_zero = sum(c * prod(f.get((), 0) for f in factors) for c, factors in terms)
    return at_zero - scale * claim.get((), 0)


def facts_of(leaf: Leaf) -> list[Polynomial]:
    """Return the facts of a leaf, each once."""
    found: list[Polynomial] = []
    for _, factors in leaf[3]:
        found += [fact for fact in factors if fact not in found]
    return found


def on_one_line(text: str) -> str:
    """Escape text for a one-line comment."""
    return text.replace("\0", "").encode("ascii", "backslashreplace").decode()
