"""Verify certificates: claims with their proofs, in the format of `docs/certificates.md`.

    python checker.py certificate.json

The compiler rewrites nothing on a proof that has not passed here, and `stridescope verify` runs the
same code. It trusts nothing of the compiler: it imports Python's standard library alone, reads
plain data of exact types (no floats, no subclasses, nothing twice, nothing left over), and follows
each step on an equation of its own. A polynomial is a dictionary from monomials (sorted tuples of
names, with repetition) to nonzero integers; as a `Key` it can be a member of a set.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from math import gcd
from typing import Any, NamedTuple

FORMAT, VERSION = "stridescope-certificate", 3
BYTES, BITS, DEGREE, DEPTH = 1 << 24, 4096, 64, 100
"""The largest file, number, monomial, and height of a proof that are read."""
WORK, STATES, EQUATIONS = 2_000_000, 200_000, 1000
"""Products of terms for one claim, and sums looked at for one equation of numbers, of which there
may be so many."""

Monomial = tuple[str, ...]
Polynomial = dict[Monomial, int]
Key = frozenset[tuple[Monomial, int]]
Facts = frozenset[Key]
Dim = tuple[Polynomial, Polynomial, Polynomial]
"""The summand `stride * z` with `low <= z <= high`."""
Terms = list[tuple[int, list[Polynomial]]]
Leaf = tuple[str, Polynomial, int, Terms]
"""An inequality: its place, its claim, its scale, and the products that make up the sum."""


class Given(NamedTuple):
    """A premise about a program's integers; holds if each of `reads` lies in its type's range."""

    kind: str
    op: str
    type: str  # type of the operands; "" for unbounded integers
    name: str
    itself: Polynomial
    left: Polynomial
    right: Polynomial
    reads: tuple[tuple[Polynomial, str], ...]


class Inference(NamedTuple):
    """A step that is no sum: its rule, claim, premise and numbers."""

    rule: str
    claim: Polynomial
    given: Given
    numbers: tuple[int, ...]


ZERO: Polynomial = {}
ONE: Polynomial = {(): 1}
NOTHING = Given("", "", "", "", ZERO, ZERO, ZERO, ())
NATURAL, WORD = "natural", "i64"
"""Stands for a type where something must not be negative."""
RANGES = {f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)}
RANGES |= {f"i{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)}
_SIDES = ("left", "right")
_READ = ("compare", "product", "choice")
"""Kinds that are about what a program computes in a type, and not about integers."""

_CLAIMS = {"disjoint": ("a", "b", "proof"), "nonnegative": ("polynomials",)}
_ORDERS, _CHOICES = ("<", "<=", ">", ">=", "=="), ("min", "max", "either")
_QUOTIENTS, _DIVISIONS = ("/", "//"), ("/", "//", "%", "%%")
GIVEN: dict[str, tuple[str, Sequence[str]]] = {
    "compare": ("type op left right reads", (*_ORDERS, "!=")),
    "product": ("type op left right reads", ("*",)),
    "choice": ("name type op left right reads", (*_CHOICES, *_DIVISIONS)),
    "atom": ("name op left right reads", (*_CHOICES, *_DIVISIONS)),
    "wrap": ("name type op left", ("cut",)),
}
"""Kinds of premises, with their fields and permitted operations."""
RULES: dict[str, tuple[int, Sequence[str]]] = {
    "given": (0, (*_ORDERS, "*", "min", "max")), "unlike": (0, ("!=",)), "round": (2, ("",)),
    "range": (4, (*_CHOICES, *_DIVISIONS)), "cases": (0, _CHOICES), "chosen": (0, _CHOICES),
    "quotient": (0, _QUOTIENTS), "divides": (0, _QUOTIENTS), "nearby": (1, _QUOTIENTS),
    "floor": (1, _QUOTIENTS), "divisor": (0, _DIVISIONS), "remainder": (0, ("%", "%%")),
    "unwrap": (2, ("cut",)), "cut": (0, ("cut",)),
}  # fmt: skip
"""Number of numbers that each step other than a sum takes, and the operations it applies to."""
_STEPS = {
    "absurd": "because", "apart": "side signs because", "tidy": "rest", "flip": "k rest",
    "join": "outer inner factor positive covers rest", "split": "term yes no", "numbers": "",
    "pivot": "divisor positive members quotients quotient remainder signs first last from_below"
    " from_above cases", "relax": "k first second rest", "line": "line rest",
}  # fmt: skip
"""Fields of each step."""


class Refused(Exception):
    """Reason why a certificate is rejected, and the place in it."""


def read(file: bytes) -> object:
    """Parse the JSON of a file; duplicate keys are an error. Raises Refused."""
    if len(file) > BYTES:
        raise Refused(f"The file has more than {BYTES} bytes, and no more are read.")
    try:
        return json.loads(file.decode("utf-8"), object_pairs_hook=_once)
    except RecursionError:
        raise Refused("The file is nested too deeply.") from None
    except ValueError as error:
        raise Refused(f"The file is not JSON: {error}") from None


def verify(data: object) -> Iterator[str]:
    """Yield each claim of a file as a sentence, once it is proved. Raises Refused."""
    yield from map(str, theorems(data, Theorem.check))


def theorems(data: object, ask: Callable[[Theorem], None]) -> Iterator[Theorem]:
    """Yield the claims of a file, each after `ask` was called with it. Raises Refused."""
    given = _fields(data, "The file", "format", "version", "sha256", "claims")
    if _string(given["format"]) != FORMAT:
        raise Refused(f"This is not of the format {FORMAT}.")
    if (version := _whole(given["version"], "`version`")) != VERSION:
        anew = "make the file anew by `--certificate` of `prove`, `show`, `run` or `attempts`"
        raise Refused(f"This is version {version} of the format, not {VERSION}: {anew}.")
    if _string(given["sha256"]) != digest(given["claims"]):
        raise Refused("The claims are not those that the file was written with.")
    for number, one in enumerate(_items(given["claims"], "`claims`")):
        try:
            theorem = Theorem(one)
            ask(theorem)
            yield theorem
        except Refused as why:
            raise Refused(f"Claim {number + 1} is not shown. {why}") from None
        except RecursionError:
            raise Refused(f"Claim {number + 1} is nested too deeply.") from None


def digest(claims: object) -> str:
    """Return the hash that detects accidental changes of the claims. Raises Refused."""
    try:
        text = json.dumps(claims, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError):
        raise Refused("The claims are not plain data, or nested too deeply.") from None
    return hashlib.sha256(text.encode()).hexdigest()


class Inequalities:
    """Verifies lines, each of which claims that a polynomial is not negative.

    `leaves` are the sums and `rules` the other steps accepted so far.
    """

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self.rules: list[tuple[str, Inference, list[Polynomial]]] = []
        self._work = WORK

    def add_up(
        self, said: Polynomial, scale: int, terms: Terms, facts: Container[Key], at: str
    ) -> None:
        """Verify that `scale * claim` is a sum of products of facts, or less by under `scale`.

        An integer is not negative if `scale` times it is above `-scale`. Raises Refused.
        """
        left = {monomial: -coefficient * scale for monomial, coefficient in said.items()}
        for coefficient, factors in terms:
            product: Polynomial = {(): coefficient}
            for factor in factors:
                if _key(factor) not in facts:
                    raise Refused(f"{at}: {_text(factor)} >= 0 is not known there.")
                product = self.times(product, factor)
            for monomial, value in product.items():
                left[monomial] = left.get(monomial, 0) + value
        rounded = left.pop((), 0)
        if any(left.values()) or not 0 <= rounded < scale:
            raise Refused(f"{at}: {_text(said)} >= 0 is not shown.")
        self.leaves.append((at, said, scale, terms))

    def conclude(self, step: Inference, facts: Container[Key], at: str) -> None:
        """Verify a line derived by a step other than a sum. Raises Refused.

        A computed value equals the integer only if that lies in the range of its type.
        """
        rule, claim, given, numbers = step
        count, ops = RULES[rule]
        if len(numbers) != count or given.op not in ops:
            raise Refused(f"{at}: `{rule}` is about something else.")
        needs, follows = self._needs(step, facts)
        for poly, prim in given.reads:
            needs += in_range(poly, prim)
        for poly in (given.left, given.right) if given.kind in _READ else ():
            needs += in_range(poly, given.type)
        missing = [poly for poly in needs if not _is_known(poly, facts)]
        if missing or claim not in follows:
            lacks = f" ({_text(missing[0])} >= 0 is not known there)" if missing else ""
            raise Refused(f"{at}: {_text(claim)} >= 0 does not follow{lacks}.")
        self.rules.append((at, step, needs))

    def _needs(
        self, step: Inference, facts: Container[Key]
    ) -> tuple[list[Polynomial], tuple[Polynomial, ...]]:
        """Return the side conditions of a step and its conclusions, all polynomials `>= 0`."""
        _, claim, (_, op, prim, name, x, left, right, _), numbers = step
        low, high = RANGES[prim or WORD]
        gap, before = _plus(right, left, -1), _plus(right, ONE, -1)
        match step.rule:
            case "given":  # the premise itself
                if op == "*":  # the upper half of the product is 0
                    product = self.times(left, right)
                    return [], tuple(_within(product, 0, high - low))
                if op in _CHOICES:
                    sides = [_plus(side, x, -1) for side in (left, right)]
                    return [], tuple(map(_negative, sides) if op == "max" else sides)
                gap = _negative(gap) if op in (">", ">=") else gap
                less = gap if "=" in op else _plus(gap, ONE, -1)
                return [], (less, _negative(gap)) if op == "==" else (less,)
            case "cases":  # a claim that holds for both choices
                both = [self._put({name: side}, claim) for side in (left, right)]
                return both, (claim,) if x == {(name,): 1} else ()
            case "range":  # interval arithmetic on the operands' ranges
                ends = _result(op, *numbers)
                needs = _within(left, *numbers[:2]) + _within(right, *numbers[2:])
                return needs, tuple(_within(x, *ends) if ends else ())
            case "quotient":  # a positive divisor: 0 <= remainder < divisor
                rest = _plus(left, self.times(right, x), -1)
                natural = op == "//" or claim == x
                return [before, *[left] * natural], (rest, _plus(before, rest, -1), x)
            case "floor":  # claim*right <= left, or the next multiple > left
                (side,) = numbers
                multiple = self.times(right, _plus(x, claim, -side))
                needs = [before, _plus(left, multiple, -1)]
                if side == -1:
                    needs = [before, _plus(_plus(multiple, before), left, -1)]
                    needs += [left] * (op == "//")
                return needs, (claim,) if side in (1, -1) else ()
            case "divisor":  # the divisor is not 0
                back = _negative(right)
                return [right if claim == before else back], (before, _plus(back, ONE, -1))
            case "remainder":  # the divisor is not 0, as the program goes on
                natural = op == "%%" or claim == _plus(left, x, -1)
                follows = x, _plus(before, x, -1), _plus(left, x, -1)
                return [right, *[left] * natural], follows
            case "nearby":  # |remainder| < |divisor|, unless the quotient wraps
                far = numbers[0]
                rest = _plus(left, self.times(right, x), -1)
                exact = right if _is_known(right, facts) else _plus(left, ONE, -low - 1)
                return [exact, *_within(right, -far, far)], tuple(_within(rest, -far, far))
            case "unlike":  # a != b and a >= b imply a > b
                sides = [_plus(side, ONE, -1) for side in (gap, _negative(gap))]
                return [_plus(claim, ONE)], tuple(sides)
            case "round":  # by*claim + more >= 0 with more < by implies claim >= 0
                by, more = numbers
                return [_plus(_constant(more), claim, by)], (claim,) if 0 <= more < by else ()
            case "divides":  # a positive quotient: 1 <= divisor <= dividend
                natural = _is_known(left, facts)
                return [_plus(x, ONE, -1), left if natural else before], (before, _negative(gap))
            case "chosen":  # a positive choice is not a side <= 0
                first, second = _plus(left, ONE, -1), before
                other = right if claim == first else left
                return [_plus(x, ONE, -1), _negative(other)], (first, second)
            case "unwrap":  # congruent modulo the type's size, and nearer than that
                (least, most), span = numbers, high - low
                needs = _within(x, least, most) + _within(left, most - span, least + span)
                return needs, (_plus(left, x, -1), _plus(x, left, -1))
        return [left], (_plus(left, x, -1),)  # cut: truncation does not enlarge a natural number

    def times(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the product. Raises Refused if it is too large, or the work is used up."""
        self._spend(len(left) * len(right))
        found: Polynomial = {}
        for mine, first in left.items():
            for yours, second in right.items():
                monomial = tuple(sorted(mine + yours)) if mine and yours else mine or yours
                found[monomial] = found.get(monomial, 0) + first * second
        for monomial, coefficient in [*found.items()]:
            if not coefficient:
                del found[monomial]
            elif len(monomial) > DEGREE or coefficient.bit_length() > BITS:
                self._spend(WORK)
        return found

    def _spend(self, work: int) -> None:
        self._work -= work
        if self._work <= 0:
            raise Refused("Its polynomials are too large, or too many.")

    def _put(self, values: dict[str, Polynomial], into: Polynomial) -> Polynomial:
        """Substitute polynomials for names, all at once."""
        self._spend(len(into))
        if not any(name in values for monomial in into for name in monomial):
            return into
        found = ZERO
        for monomial, coefficient in into.items():
            product: Polynomial = {(): coefficient}
            for name in monomial:
                product = self.times(product, values.get(name, {(name,): 1}))
            found = _plus(found, product)
        return found


def _result(op: str, low1: int, high1: int, low2: int, high2: int) -> tuple[int, int] | None:
    """Return the range of a result; a program does not continue after a division by 0."""
    if op in _CHOICES:
        ends = {"min": (min, min), "max": (max, max), "either": (min, max)}[op]
        return ends[0](low1, low2), ends[1](high1, high2)
    natural = low1 >= 0
    if op in _QUOTIENTS:
        far = max(abs(low1), abs(high1))
        corners = [-far, far]
        if 0 < low2 <= high2 and (op == "/" or natural):
            corners = [a // b for a in (low1, high1) for b in (low2, high2)]
        return min(corners), max(corners)
    if low2 < 0 or (op == "%%" and not natural):
        return None
    return 0, min(high2 - 1, high1) if natural else high2 - 1


class Theorem(Inequalities):
    """A claim and its proof.

    `equations` (offset; stride, low, high) are the equations of constants that it has been reduced
    to so far.
    """

    def __init__(self, data: object) -> None:
        """Read the claim. `data` must not change until it is checked. Raises Refused."""
        super().__init__()
        self.equations: list[tuple[str, int, list[list[int]]]] = []
        self._said: list[Given] = []  # the premises, with equalities substituted
        self._data = data  # kept alive: polynomials are memoised by identity
        self._polynomials: dict[int, Polynomial] = {}
        kind = _string(_object(data, "It").get("claim"))
        if kind not in _CLAIMS:
            raise Refused("It is of no known kind.")
        common = "claim", "about", "types", "nonnegative", "equal", "given", "lines"
        given = _fields(data, "It", *common, *_CLAIMS[kind])
        self.about = _string(given["about"])
        if not self.about.isprintable():
            raise Refused("What it is about is not printable.")
        self.types = {_name(name): _type(prim) for name, prim in _pairs(given["types"], "`types`")}
        if len(self.types) < len(given["types"]):
            raise Refused("A name has two types.")
        self.bounds = [self._poly(fact) for fact in _items(given["nonnegative"], "`nonnegative`")]
        self.equal = [
            (_name(name), self._poly(value)) for name, value in _pairs(given["equal"], "`equal`")
        ]
        self.lmads = [self._lmad(given[side]) for side in "ab" if side in given]
        self.wanted = [self._poly(p) for p in _items(given.get("polynomials", []), "`polynomials`")]
        self.given = [self._given(one) for one in _items(given["given"], "`given`")]
        self.lines, self.proof = _items(given["lines"], "`lines`"), given.get("proof")

    def _lmad(self, data: object) -> tuple[Polynomial, list[tuple[Polynomial, Polynomial]]]:
        given = _fields(data, "An LMAD", "offset", "dims")
        dims = [(self._poly(n), self._poly(s)) for n, s in _pairs(given["dims"], "`dims`")]
        return self._poly(given["offset"]), dims

    def _given(self, data: object) -> Given:
        kind = _string(_object(data, "`given`").get("given"))
        fields, ops = GIVEN.get(kind, ("", ()))
        one = _fields(data, "`given`", "given", *fields.split())
        said = _pairs(one.get("reads", []), kind)
        reads = tuple([(self._poly(poly), _type(prim, NATURAL)) for poly, prim in said])
        if _string(one.get("op")) not in ops:
            raise Refused(f"`{kind}` has an operation that there is not.")
        prim, name = _type(one["type"]) if "type" in one else "", _name(one.get("name", "x"))
        left, right = (self._poly(one[side]) if side in one else ZERO for side in _SIDES)
        return Given(kind, one["op"], prim, name, {(name,): 1}, left, right, reads)

    def check(self) -> None:
        """Follow the proof. Raises Refused if it does not show the claim."""
        solved: dict[str, Polynomial] = {}
        for name, value in self.equal:
            value = self._put(solved, value)
            if name in solved or any(name in monomial for monomial in value):
                raise Refused(f"The equalities define {_quoted(name)} twice, or by itself.")
            solved = {other: self._put({name: value}, old) for other, old in solved.items()}
            solved[name] = value
        fits = [p for name, prim in self.types.items() for p in in_range({(name,): 1}, prim)]
        facts = {_key(self._put(solved, bound)) for bound in (*self.bounds, *fits)}
        for one in self.given:
            x, left, right = (self._put(solved, p) for p in (one.itself, one.left, one.right))
            reads = tuple([(self._put(solved, poly), prim) for poly, prim in one.reads])
            self._said.append(one._replace(itself=x, left=left, right=right, reads=reads))
        total, dims = ZERO, list[Dim]()
        for sign, (offset, parts) in zip((1, -1), self.lmads, strict=False):
            total = _plus(total, self._put(solved, offset), sign)
            for size, stride in parts:
                last = _plus(self._put(solved, size), ONE, -1)
                facts.add(_key(last))  # else the LMAD is empty
                ends = (ZERO, last) if sign == 1 else (_negative(last), ZERO)
                dims.append((self._put(solved, stride), *ends))
        for k, line in enumerate(self.lines):
            facts.add(_key(self._line(line, facts, f"lines.{k}")))
        for poly in (self._put(solved, poly) for poly in self.wanted):
            if not _is_known(poly, facts):
                raise Refused(f"lines: {_text(poly)} >= 0 is not shown.")
        if self.lmads:
            self._follow(self.proof, total, dims, frozenset(facts), "proof")

    def __str__(self) -> str:
        """The claim as a sentence."""
        sides = (f"{_text(o)} + {{{', '.join(f'({_text(n)} : {_text(s)})' for n, s in dims)}}}"
                 for o, dims in self.lmads)  # fmt: skip
        known = [f"{_quoted(name)}: {prim}" for name, prim in self.types.items()]
        known += [f"{_text(bound)} >= 0" for bound in self.bounds]
        known += [f"{_quoted(name)} = {_text(value)}" for name, value in self.equal]
        known += map(_format_premise, self.given)
        shown = [f"{_text(poly)} >= 0" for poly in self.wanted]
        claim = f"{' and '.join(sides)} share no cell" if self.lmads else ", ".join(shown)
        said = f"{self.about}{': ' * bool(self.about)}{claim}"
        return said + (f" if {', '.join(known)}" if known else "")

    def _line(self, data: object, facts: Container[Key], at: str) -> Polynomial:
        """Verify a sum or another step, and return its claim as a fact for later lines."""
        if "rule" not in _object(data, at):
            return self._shown(data, None, facts, at)
        step = _fields(data, at, "rule", "of", "numbers", "claim")
        rule, claim = _string(step["rule"]), self._poly(step["claim"])
        numbers = tuple([_whole(number, at) for number in _items(step["numbers"], at)])
        if rule not in RULES:
            raise Refused(f"{at}: there is no such rule.")
        about = step["of"]
        of = NOTHING if about is None else self._said[_one_of(about, range(len(self._said)), at)]
        self.conclude(Inference(rule, claim, of, numbers), facts, f"{at}.{rule}")
        return claim

    # --- steps: each proves that `offset + sum of dims = 0` has no solution under the facts ---

    def _follow(
        self, data: object, offset: Polynomial, dims: list[Dim], facts: Facts, at: str
    ) -> None:
        kind = _string(_object(data, at).get("step"))
        if kind not in _STEPS or at.count(".") > DEPTH:
            raise Refused(f"{at}: this is no step, or one too many.")
        step = _fields(data, at, "step", *_STEPS[kind].split())
        at += "." + kind
        match kind:
            case "absurd":
                said = self._shown(step["because"], None, facts, at)
                if said.keys() != {()} or said[()] > 0:
                    raise Refused(f"{at}: {_text(said)} is no negative number.")
            case "apart":
                low, high = self._ends(step["signs"], dims, facts, at)
                side = _one_of(step["side"], (1, -1), at)
                end = _plus(offset, low) if side == 1 else _negative(_plus(offset, high))
                self._shown(step["because"], _plus(end, ONE, -1), facts, at)
            case "tidy":
                self._follow(step["rest"], *self._tidy(offset, dims), facts, at)
            case "flip":
                k = _one_of(step["k"], range(len(dims)), at)
                flipped = [*dims[:k], _flipped(dims[k]), *dims[k + 1 :]]
                self._follow(step["rest"], offset, flipped, facts, at)
            case "join":
                self._join(step, offset, dims, facts, at)
            case "pivot":
                self._pivot(step, offset, dims, facts, at)
            case "split":
                term = self._poly(step["term"])
                contrary = _plus(_negative(term), ONE, -1)
                self._follow(step["yes"], offset, dims, facts | {_key(term)}, at + ".yes")
                self._follow(step["no"], offset, dims, facts | {_key(contrary)}, at + ".no")
            case "relax":
                k = _one_of(step["k"], range(len(dims)), at)
                stride, low, high = dims[k]
                first, second = self._poly(step["first"]), self._poly(step["second"])
                if _plus(first, second) != stride:
                    raise Refused(f"{at}: the two strides do not add up to that of dimension {k}.")
                both = (first, low, high), (second, low, high)
                self._follow(step["rest"], offset, [*dims[:k], *both, *dims[k + 1 :]], facts, at)
            case "line":
                said = self._line(step["line"], facts, at)
                self._follow(step["rest"], offset, dims, facts | {_key(said)}, at)
            case "numbers":
                self._spend(WORK // EQUATIONS)
                parts = [[_number(part, at) for part in dim] for dim in dims]
                if _solvable(_number(offset, at), parts):
                    raise Refused(f"{at}: the equation has a solution.")
                self.equations.append((at, _number(offset, at), parts))

    def _shown(
        self, data: object, claim: Polynomial | None, facts: Container[Key], at: str
    ) -> Polynomial:
        """Verify a leaf and return its claim."""
        leaf = _fields(data, at, "claim", "scale", "terms")
        said = self._poly(leaf["claim"])
        if claim is not None and said != claim:
            raise Refused(f"{at}: {_text(said)} >= 0 is not {_text(claim)} >= 0, which is needed.")
        terms = [
            (_whole(coefficient, at, 1), [self._poly(factor) for factor in _items(f, at, DEGREE)])
            for coefficient, f in _pairs(leaf["terms"], at)
        ]
        self.add_up(said, _whole(leaf["scale"], at, 1), terms, facts, at)
        return said

    def _ends(
        self, data: object, dims: Sequence[Dim], facts: Facts, at: str
    ) -> tuple[Polynomial, Polynomial]:
        """Return the smallest and largest value of a sum, given proved signs of its strides."""
        low, high = ZERO, ZERO
        signs = _pairs(data, at)
        if len(signs) != len(dims):
            raise Refused(f"{at}: there are {len(dims)} strides, and {len(signs)} signs.")
        for (sign, shown), (stride, first, last) in zip(signs, dims, strict=True):
            times = _one_of(sign, (1, -1), at)
            self._shown(shown, _plus(ZERO, stride, times), facts, at + ".signs")
            ends = (first, last)[::times]
            low, high = (
                _plus(total, self.times(stride, end))
                for total, end in zip((low, high), ends, strict=True)
            )
        return low, high

    def _tidy(self, offset: Polynomial, dims: list[Dim]) -> tuple[Polynomial, list[Dim]]:
        """Move fixed dimensions into the offset; add equal and opposite strides."""
        merged: dict[Key, Dim] = {}
        for dim in dims:
            if dim[0] and dim[1] == dim[2]:
                offset = _plus(offset, self.times(dim[0], dim[1]))
            elif dim[0]:
                if _key(_negative(dim[0])) in merged:
                    dim = _flipped(dim)
                _, low, high = merged.get(_key(dim[0]), (ZERO, ZERO, ZERO))
                merged[_key(dim[0])] = dim[0], _plus(low, dim[1]), _plus(high, dim[2])
        return offset, list(merged.values())

    def _join(self, step: Any, offset: Polynomial, dims: list[Dim], facts: Facts, at: str) -> None:
        """Merge `outer` into `inner`, whose points leave no gaps between those of `outer`."""
        outer, inner = (_one_of(step[k], range(len(dims)), at) for k in ("outer", "inner"))
        factor = self._poly(step["factor"])
        (far, *wide), (near, low, high) = dims[outer], dims[inner]
        if outer == inner or far != self.times(factor, near):
            raise Refused(f"{at}: the outer stride is not {_text(factor)} times the inner one.")
        self._shown(step["positive"], factor, facts, at + ".positive")
        points = _plus(_plus(high, low, -1), ONE)
        self._shown(step["covers"], _plus(points, factor, -1), facts, at + ".covers")
        low, high = (
            _plus(end, self.times(factor, far_end))
            for end, far_end in zip((low, high), wide, strict=True)
        )
        merged = near, low, high
        left = [merged if k == inner else dim for k, dim in enumerate(dims) if k != outer]
        self._follow(step["rest"], offset, left, facts, at)

    def _pivot(self, step: Any, offset: Polynomial, dims: list[Dim], facts: Facts, at: str) -> None:
        """Verify `divisor*w + remainder + others = 0`; `w = quotient + members` has few values."""
        divisor, quotient, remainder = (
            self._poly(step[k]) for k in ("divisor", "quotient", "remainder")
        )
        self._shown(step["positive"], _plus(divisor, ONE, -1), facts, at + ".positive")
        if _plus(self.times(divisor, quotient), remainder) != offset:
            raise Refused(f"{at}: divisor times quotient and remainder are not the offset.")
        members = [_one_of(k, range(len(dims)), at) for k in _items(step["members"], at)]
        quotients = [self._poly(p) for p in _items(step["quotients"], at)]
        strides = [self.times(divisor, p) for p in quotients]
        if len(set(members)) < len(members) or strides != [dims[k][0] for k in members]:
            raise Refused(f"{at}: the members are not dimensions that the divisor divides.")
        inside = [(q, *dims[k][1:]) for k, q in zip(members, quotients, strict=True)]
        others = [dim for k, dim in enumerate(dims) if k not in members]
        low, high = self._ends(step["signs"], others, facts, at)
        first, last = _whole(step["first"], at), _whole(step["last"], at)

        def left(value: int) -> Polynomial:
            return _plus(remainder, divisor, value)

        below = _plus(_negative(_plus(left(first - 1), high)), ONE, -1)
        self._shown(step["from_below"], below, facts, at + ".from_below")
        above = _plus(_plus(left(last + 1), low), ONE, -1)
        self._shown(step["from_above"], above, facts, at + ".from_above")
        cases = _items(step["cases"], at)
        if len(cases) != max(0, last - first + 1):
            raise Refused(f"{at}: not every value from {first} to {last} has its case.")
        for value, one in enumerate(cases, first):
            here = f"{at}.{value}"
            case = _fields(one, here, "value", "members", "signs", "rest")
            if _whole(case["value"], here) != value or type(case["members"]) is not bool:
                raise Refused(f"{here}: this is not the case of {value}.")
            problems = (_plus(quotient, ONE, -value), inside), (left(value), others)
            looked, lends = problems if case["members"] else problems[::-1]
            known = facts
            if _items(case["signs"], here) or not lends[1]:  # 0 is in the other's range
                low, high = self._ends(case["signs"], lends[1], facts, here)
                ends = _negative(_plus(lends[0], low)), _plus(lends[0], high)
                known = facts | set(map(_key, ends))
            self._follow(case["rest"], *looked, known, here)

    # --- polynomials ---

    def _poly(self, data: object) -> Polynomial:
        """Parse `[[coefficient, name, ..], ..]`: sorted names, each monomial once."""
        found = self._polynomials.get(id(data))
        if found is None:
            found = {}
            for term in _items(data, "A polynomial"):
                coefficient, *names = _items(term, "A term", DEGREE) or (0,)
                monomial = tuple([_name(name) for name in names])
                if not _whole(coefficient, "A coefficient"):
                    raise Refused("A coefficient is 0.")
                if monomial in found or list(monomial) != sorted(monomial):
                    raise Refused(f"{_text({monomial: 1})} is there twice, or not sorted.")
                found[monomial] = coefficient
            self._polynomials[id(data)] = found
        return found


def _plus(left: Polynomial, right: Polynomial, times: int = 1) -> Polynomial:
    found = dict(left)
    for monomial, coefficient in right.items():
        total = found.get(monomial, 0) + coefficient * times
        if total:
            found[monomial] = total
        else:
            found.pop(monomial, None)
    return found


def _is_known(poly: Polynomial, facts: Container[Key]) -> bool:
    """True if a polynomial is known not to be negative: a natural constant, or a fact."""
    return _key(poly) in facts or (not poly.keys() - {()} and poly.get((), 0) >= 0)


def in_range(poly: Polynomial, prim: str) -> list[Polynomial]:
    """Return polynomials that are not negative if `poly` lies in the range of a type."""
    return [poly] if prim == NATURAL else _within(poly, *RANGES[prim])


def _within(poly: Polynomial, low: int, high: int) -> list[Polynomial]:
    """Return polynomials that are not negative if `poly` lies between two numbers."""
    return [_plus(poly, ONE, -low), _plus(_constant(high), poly, -1)]


def _constant(value: int) -> Polynomial:
    return {(): value} if value else {}


def _negative(poly: Polynomial) -> Polynomial:
    return {monomial: -coefficient for monomial, coefficient in poly.items()}


def _flipped(dim: Dim) -> Dim:
    return _negative(dim[0]), _negative(dim[2]), _negative(dim[1])


def _key(poly: Polynomial) -> Key:
    return frozenset(poly.items())


def _number(poly: Polynomial, at: str) -> int:
    if poly.keys() - {()}:
        raise Refused(f"{at}: {_text(poly)} is no number.")
    return poly.get((), 0)


def _solvable(total: int, dims: Sequence[Sequence[int]]) -> bool:
    """True if `total + sum of stride*z = 0` for some `low <= z <= high`; examines all sums."""
    counts: dict[int, int] = {}
    for stride, low, high in dims:
        if low > high:
            return False
        total += stride * (low if stride > 0 else high)
        if stride:
            counts[abs(stride)] = counts.get(abs(stride), 0) + high - low
    steps = sorted(counts.items(), reverse=True)
    sums, looked = {total}, 0
    for k, (stride, count) in enumerate(steps, 1):
        reach, common = sum(s * c for s, c in steps[k:]), gcd(*(s for s, _ in steps[k:]))
        before, sums = sums, set()
        for total in before:  # total + stride*z lies in -reach .. 0, and `common` divides it
            first, last = max(0, -((total + reach) // stride)), min(count, -total // stride)
            both, every = gcd(stride, common), 1
            if total % both:
                continue
            if common:
                every = common // both
                first += (-(total // both) * pow(stride // both, -1, every) - first) % every
            looked += max(0, (last - first) // every + 1)
            if looked > STATES:
                raise Refused("An equation of numbers has too many sums.")
            sums.update(range(total + stride * first, total + stride * last + 1, stride * every))
    return 0 in sums


# --- plain data of exact types ---


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _object(data: object, at: str) -> dict[str, Any]:
    if type(data) is not dict or {*map(type, data)} != {str}:
        raise Refused(f"{at}: an object is needed.")
    return data


def _fields(data: object, at: str, *names: str) -> dict[str, Any]:
    given = _object(data, at)
    if given.keys() != set(names):
        raise Refused(f"{at}: an object with {', '.join(names)} is needed.")
    return given


def _items(data: object, at: str, most: int = sys.maxsize) -> list[Any]:
    if type(data) is not list or len(data) > most:
        raise Refused(f"{at}: a list is needed, not too long.")
    return data


def _pairs(data: object, at: str) -> list[list[Any]]:
    if any(len(_items(pair, at)) != 2 for pair in _items(data, at)):
        raise Refused(f"{at}: a list of pairs is needed.")
    return _items(data, at)


def _whole(data: object, at: str, least: int = -(1 << BITS)) -> int:
    if type(data) is not int or data.bit_length() > BITS or data < least:
        raise Refused(f"{at}: a whole number of at most {BITS} bits, not too small, is needed.")
    return data


def _one_of(data: object, choices: Sequence[int], at: str) -> int:
    if _whole(data, at) not in choices:
        raise Refused(f"{at}: {data} is not among the choices.")
    return _whole(data, at)


def _string(data: object) -> str:
    if type(data) is not str:
        raise Refused("Text is needed.")
    return data


def _type(data: object, other: str | None = None) -> str:
    if _string(data) != other and data not in RANGES:
        raise Refused("There is no such type.")
    return _string(data)


def _name(data: object) -> str:
    if not _string(data) or not _string(data).isprintable():
        raise Refused("A name is not printable.")
    return _string(data)


# --- text ---


def _quoted(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _format_premise(given: Given) -> str:
    """Format a premise, with its type and the ranges of the integers that it reads."""
    left, right, name, op = _text(given.left), _text(given.right), _quoted(given.name), given.op
    low, high = RANGES[given.type or WORD]
    said = {
        "compare": f"{left} {op} {right}",
        "product": f"0 <= ({left})*({right}) <= {high - low}",
        "wrap": f"{name} is {left} cut",
    }.get(given.kind, f"{name} is {op} of {left} and {right}")
    said += f" in {given.type}" if given.type else ""
    reads = [f"{_text(poly)} is {prim}" for poly, prim in given.reads]
    return said + (f" where {' and '.join(reads)}" if reads else "")


def _text(poly: Polynomial) -> str:
    """Format a polynomial as `2*n*n - 1`; quotes a name that is no identifier."""
    text = ""
    for monomial, c in sorted(poly.items(), key=lambda item: (-len(item[0]), item[0])):
        factors = [str(abs(c))] * (abs(c) != 1 or not monomial) + list(map(_quoted, monomial))
        sign = (" - " if c < 0 else " + ") if text else "-" * (c < 0)
        text += sign + "*".join(factors)
    return text or "0"


def main(arguments: Sequence[str]) -> int:
    """Verify one file; 0: all is proved, 1: not, 2: there is no such file."""
    try:
        with open(arguments[0], "rb") as file:
            for sentence in verify(read(file.read(BYTES + 1))):
                sys.stdout.write(sentence.encode("ascii", "backslashreplace").decode() + "\n")
    except (IndexError, OSError) as error:
        sys.stderr.write(f"usage: checker.py certificate.json ({error})\n")
        return 2
    except Refused as why:
        sys.stderr.write(f"{why}\n".encode("ascii", "backslashreplace").decode())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
