"""No rule or step of the checker accepts what is false on a machine with words of 6 bits.

The same search finds a false claim for each of many wrong rules: it looks where they would be.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from compiler.algebra import checker
from testing import unsound
from testing.mutants import SOURCE, module

DOCUMENT = Path(__file__).parents[2] / "docs" / "certificates.md"
GIVEN, STEPS, LINES = 200, 10_000, 4_000
"""How many things that may be given are drawn for a rule, and how many proofs are made up."""


def false(changed: ModuleType, part: str) -> Iterator[str]:
    """What is found to be false of what a checker accepts, of one rule, of sums, or of steps."""
    rng = random.Random(part)
    if part == "sums":
        return unsound.false_sums(changed, rng, 2000)
    if part == "steps":
        return unsound.false_steps(changed, rng, STEPS)
    if part == "numbers":
        return unsound.false_numbers(changed, rng, STEPS // 5)
    if part == "lines":
        return unsound.false_lines(changed, rng, LINES)
    return unsound.false_inferences(changed, part, rng, GIVEN // (2 if part == "range" else 1))


@pytest.mark.parametrize("part", [*checker.RULES, "sums", "steps", "numbers", "lines"])
def test_nothing_false_is_accepted(part: str) -> None:
    assert next(false(module(SOURCE), part), "") == ""


def test_the_machine_of_few_bits_is_the_only_difference() -> None:
    assert {*module(SOURCE).RANGES} < {*checker.RANGES}


WRONG = [
    # what a program computes is taken for the integer
    ("given", "needs += in_range(poly, given.type)", "needs += []"),
    ("chosen", "needs += in_range(poly, given.type)", "needs += []"),
    ("given", "needs += in_range(poly, prim)", "needs += []"),
    (
        "given",
        "needs += in_range(poly, given.type)",
        "needs += in_range(poly, given.type) if all(poly != p for p, _ in given.reads) else []",
    ),
    ("given", "needs += in_range(poly, given.type)", "needs += in_range(poly, 'u64')"),
    ("given", "needs += in_range(poly, given.type)", "needs += in_range(poly, 'natural')"),
    ("given", "return [poly] if prim == NATURAL else", "return [poly] if 'u' in prim else"),
    ("given", "if missing or claim not in follows", "if claim not in follows"),
    ("given", "if missing or claim not in follows", "if missing"),
    ("cut", "poly.get((), 0) >= 0)", "poly.get((), 0) >= -1)"),
    ("given", "_plus(poly, ONE, -low)", "_plus(poly, ONE, 1 - low)"),
    # rules
    ("given", 'less = gap if "=" in op else _plus(gap, ONE, -1)', "less = _plus(gap, ONE, -1)"),
    ("given", 'gap = _negative(gap) if op in (">", ">=") else gap', "gap = _negative(gap)"),
    ("given", "_within(product, 0, high - low)", "_within(product, 0, high)"),
    ("given", 'sides) if op == "max" else', 'sides) if op == "min" else'),
    ("cases", "claim) for side in (left, right)]", "claim) for side in (left, left)]"),
    ("quotient", "return [before, *[left] * natural]", "return [before]"),
    ("quotient", 'natural = op == "//" or claim == x', "natural = claim == x"),
    ("quotient", 'natural = op == "//" or claim == x', 'natural = op == "//"'),
    ("quotient", "_plus(before, rest, -1), x)", "_plus(before, rest, -2), x)"),
    ("remainder", 'natural = op == "%%" or', "natural ="),
    ("remainder", 'natural = op == "%%" or claim == _plus(left, x, -1)', 'natural = op == "%%"'),
    ("remainder", "return [right, *[left] * natural], follows", "return [left] * natural, follows"),
    ("nearby", "return [exact, *_within(right, -far, far)]", "return [*_within(right, -far, far)]"),
    ("nearby", "_plus(left, ONE, -low - 1)", "_plus(left, ONE, -low)"),
    ("nearby", "*_within(right, -far, far)]", "*_within(right, -far - 2, far)]"),
    ("unlike", "return [_plus(claim, ONE)]", "return [_plus(claim, ONE, 2)]"),
    ("round", "if 0 <= more < by", "if 0 <= more <= by"),
    ("floor", "needs = [before, _plus(left, multiple, -1)]", "needs = [_plus(left, multiple, -1)]"),
    ("floor", '+= [left] * (op == "//")', "+= []"),
    ("floor", "_plus(_plus(multiple, before), left", "_plus(_plus(multiple, right), left"),
    ("floor", "_plus(x, claim, -side)", "_plus(x, claim, side)"),
    ("divisor", "[right if claim == before else back]", "[right]"),
    ("divides", "left if natural else before]", "]"),
    ("divides", "return [_plus(x, ONE, -1), left", "return [x, left"),
    ("chosen", "other = right if claim == first else left", "other = left"),
    ("chosen", "return [_plus(x, ONE, -1), _negative(other)]", "return [_plus(x, ONE, -1)]"),
    ("unwrap", "most - span, least + span)", "most - span - 1, least + span)"),
    ("unwrap", "needs = _within(x, least, most) + ", "needs = "),
    ("cut", "return [left], (_plus(left, x, -1),)", "return [], (_plus(left, x, -1),)"),
    ("range", "natural = low1 >= 0", "natural = low1 >= -1"),
    ("range", "natural = low1 >= 0", "natural = True"),
    ("range", "if 0 < low2 <= high2 and (", "if low2 and high2 and ("),
    ("range", "far = max(abs(low1), abs(high1))", "far = abs(high1)"),
    ("range", '"either": (min, max)', '"either": (max, max)'),
    ("range", "return 0, min(high2 - 1, high1) if", "return 0, min(high2 - 2, high1) if"),
    ("range", "needs = _within(left, *numbers[:2]) + ", "needs = "),
    # sums
    ("sums", "if _key(factor) not in facts", "if False"),
    ("sums", "if any(left.values()) or not 0 <= rounded < scale", "if False"),
    ("sums", "not 0 <= rounded < scale", "not 0 <= rounded <= scale"),
    ("sums", "_whole(coefficient, at, 1)", "_whole(coefficient, at)"),
    # steps
    ("steps", "if said.keys() != {()} or said[()] > 0", "if said.keys() != {()}"),
    ("steps", "_plus(end, ONE, -1), facts, at)\n ", "end, facts, at)\n "),
    ("steps", "end = _plus(offset, low) if side == 1", "end = _plus(offset, high) if side == 1"),
    ("steps", "_plus(ZERO, stride, times), facts", "ZERO, facts"),
    ("steps", "ends = (first, last)[::times]", "ends = (first, last)"),
    ("steps", "_negative(dim[0]), _negative(dim[2])", "_negative(dim[0]), _negative(dim[1])"),
    ("steps", "dim = _flipped(dim)\n", "dim = _negative(dim[0]), *dim[1:]\n"),
    ("steps", "_plus(low, dim[1]), _plus(high, dim[2])", "_plus(low, dim[1]), high"),
    ("steps", "_plus(_negative(term), ONE, -1)", "_plus(_negative(term), ONE, -2)"),
    ("steps", "if _plus(first, second) != stride", "if False"),
    ("steps", "if outer == inner or far != self.times(factor, near)", "if outer == inner"),
    ("steps", '(step["positive"], _plus(divisor, ONE, -1)', '(step["positive"], ONE'),
    ("steps", "if _plus(self.times(divisor, quotient), remainder) != offset", "if False"),
    ("steps", "strides != [dims[k][0] for k in members]:", "False:"),
    ("steps", 'self._shown(step["from_below"], below', 'self._shown(step["from_below"], ONE'),
    ("steps", "_plus(left(first - 1), high)", "_plus(left(first - 2), high)"),
    ("steps", "_plus(left(last + 1), low)", "_plus(left(last + 2), low)"),
    ("steps", "(left(value), others)\n", "(left(value + 1), others)\n"),
    ("steps", "problems = (_plus(quotient, ONE, -value), inside)", "problems = (quotient, inside)"),
    ("steps", 'self._ends(case["signs"], lends[1], facts, here)', "ZERO, ZERO"),
    ("steps", "return 0 in sums", "return False"),
    ("steps", "if low > high:", "if low >= high:"),
    ("steps", "total += stride * (low if stride > 0 else high)", "total += stride * low"),
    ("steps", "(ZERO, last) if sign == 1 else (_negative(last), ZERO)", "(ZERO, last)"),
    # equations of numbers
    ("numbers", "pow(stride // both, -1, every)", "stride // both"),
    ("numbers", "pow(stride // both, -1, every)", "pow(stride // both, -2, every)"),
    ("numbers", "pow(stride // both, -1, every)", "1"),
    ("numbers", "if total % both:", "if total % stride:"),
    # lines among steps
    ("lines", 'self.conclude(Inference(rule, claim, of, numbers), facts, f"{at}.{rule}")', "pass"),
    ("lines", "facts | {_key(said)}, at)", "facts | {_key(_plus(said, ONE, -1))}, at)"),
    ("lines", "if missing or claim not in follows", "if claim not in follows"),
]  # fmt: skip
"""Of which part, what stands in the checker, and what is put in its place."""


@pytest.mark.parametrize(("part", "old", "new"), WRONG)
def test_a_wrong_rule_is_found(part: str, old: str, new: str) -> None:
    assert SOURCE.count(old) == 1
    assert next(false(module(SOURCE.replace(old, new)), part), "")


def test_there_are_as_many_as_the_document_says() -> None:
    wrong = f"one for each of {len(WRONG)} wrong rules"
    assert wrong in " ".join(DOCUMENT.read_text("utf-8").split())
    assert len(WRONG) >= 70
