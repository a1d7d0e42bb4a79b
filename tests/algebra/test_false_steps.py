"""Forged steps about integers: quotients, remainders, minima, what wraps and what may be read.

Each differs from an accepted one in the way that its name says. Then steps with anything in them
replaced: what is still accepted is true of all values that meet what is given.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from compiler.algebra import checker
from testing import meaning
from testing.claims import by_rules, given, leaf, line, lines, p, refusal

Json = dict[str, Any]


@pytest.mark.parametrize("name", list(by_rules()))
def test_what_the_forgeries_differ_from_is_accepted(name: str) -> None:
    assert refusal(by_rules()[name]) == ""


def test_there_is_one_for_each_rule() -> None:
    assert {name.split()[0] for name in by_rules()} == {*checker.RULES, "natural"}


def put(name: str, path: str, value: Any) -> Json:
    """An accepted claim with one thing in it replaced; dots in the path, numbers in lists."""
    data = by_rules()[name]
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    here: Any = data
    for part in way:
        here = here[part]
    here[last] = value
    if path == "lines.0.claim":
        data["polynomials"] = [value]
    return data


def claimed(name: str, poly: str) -> Json:
    return put(name, "lines.0.claim", p(poly))


def lacking(name: str, at: int) -> Json:
    """Without one of the facts that it rests on."""
    data = by_rules()[name]
    del data["nonnegative"][at]
    return data


DIVIDED = given("atom", "/", "n", "k")

FORGED: dict[str, Callable[[], Json]] = {
    "< that is <=": lambda: put("given <", "given.0.op", "<="),
    "< the other way round": lambda: put("given <", "given.0.op", ">"),
    "one more than < says": lambda: claimed("given <", "n - i - 3"),
    "<= as <": lambda: claimed("given <=", "n - i - 1"),
    "> that is >=": lambda: put("given >", "given.0.op", ">="),
    "= that is <=": lambda: put("given ==", "given.0.op", "<="),
    "= that is not": lambda: put("given ==", "given.0.op", "!="),
    "a sum that may be below the smallest number": lambda: lacking("given <", 0),
    "a sum that may be above the largest number": lambda: lacking("given <", 1),
    "a sum that is not among what is read": lambda: lines(
        [given("compare", "<", "i + 1", "n")], line("given", "n - i - 2"), types="i n: i64"
    ),
    "a sum read in a larger type": lambda: put("given <", "given.0.reads.0.1", "u64"),
    "a type that there is not": lambda: put("given <", "given.0.reads.0.1", "i128"),
    "a condition that does not hold yet": lambda: lacking("natural", 0),
    "a product as it is with its upper half": lambda: claimed("given product", "-i*n"),
    "a product above 64 bits": lambda: claimed("given product", "18446744073709551614 - i*n"),
    "a product of other factors": lambda: claimed("given product", "i*i"),
    "a minimum that is a maximum": lambda: put("given min", "given.0.op", "max"),
    "a maximum that is a minimum": lambda: put("given max", "given.0.op", "min"),
    "a minimum of something else": lambda: claimed("given min", "i - x"),
    "one of two as their minimum": lambda: put("given min", "given.0.op", "either"),
    "only one case": lambda: lacking("cases", 1),
    "a case that is less": lambda: put("cases", "nonnegative.1", p("k - 2")),
    "cases of a quotient": lambda: put("cases", "given.0.op", "/"),
    "cases of another name": lambda: put("cases", "given.0.name", "y"),
    "cases of a name that equals something": lambda: put("cases", "equal", [["x", p("1")]]),
    "a range that is narrower": lambda: claimed("range min", "3 - x"),
    "a range whose ends are not shown": lambda: put("range min", "lines.0.numbers.3", 3),
    "a range of one operand": lambda: put("range min", "lines.0.numbers", [1, 9]),
    "a range with a fraction": lambda: put("range min", "lines.0.numbers.3", 4.0),
    "a range with a truth value": lambda: put("range min", "lines.0.numbers.0", True),
    "a quotient by what may be 0": lambda: put("range /", "lines.0.numbers.2", 0),
    "a quotient that is smaller": lambda: claimed("range /", "3 - x"),
    "a remainder that is smaller": lambda: claimed("range %", "2 - x"),
    "a remainder that is rounded towards zero": lambda: put("range %", "given.0.op", "%%"),
    "a quotient by something negative": lambda: put("quotient", "given.0.right", p("-2")),
    "a quotient by 0": lambda: put("quotient", "given.0.right", []),
    "a quotient by another number": lambda: put("quotient", "given.0.right", p("3")),
    "a remainder above the divisor": lambda: claimed("quotient above", "2*x - n"),
    "a quotient of what may be negative": lambda: lacking("quotient is natural", 0),
    "a quotient towards zero of what may be negative": lambda: lacking("quotient by a name", 0),
    "a quotient by what may be negative": lambda: lacking("quotient by a name", 1),
    "a quotient above what it is not below": lambda: claimed("floor", "x - 4"),
    "a multiple that may be larger": lambda: lacking("floor", 0),
    "a multiple of another divisor": lambda: put("floor", "given.0.right", p("3")),
    "the other side of a quotient": lambda: put("floor", "lines.0.numbers.0", -1),
    "a quotient on no side": lambda: put("floor", "lines.0.numbers.0", 0),
    "twice a quotient": lambda: put("floor above", "lines.0.numbers.0", -2),
    "a quotient by what may be negative, from above": lambda: lacking("floor above", 0),
    "a quotient that is one more": lambda: put("floor above", "nonnegative.1", p("k*i + k - n")),
    "rounded up towards zero": lambda: lacking("floor towards zero", 1),
    "a bound of a remainder": lambda: put("floor", "given.0.op", "%"),
    "a divisor that may be negative": lambda: lacking("divisor", 0),
    "a divisor of another sign": lambda: claimed("divisor", "-k - 1"),
    "a divisor that is 2": lambda: claimed("divisor", "k - 2"),
    "a factor as a divisor": lambda: put("divisor", "given.0.op", "min"),
    "a remainder as large as the divisor": lambda: claimed("remainder", "-x"),
    "a remainder of a quotient": lambda: put("remainder", "given.0.op", "/"),
    "a remainder that is larger than a negative number": lambda: lacking(
        "remainder is not larger", 0
    ),
    "nearer than the divisor": lambda: put("nearby", "lines.0.numbers.0", 4),
    "the smallest number by -1": lambda: lacking("nearby", 2),
    "near without a bound of the divisor": lambda: lacking("nearby", 0),
    "two that may be one": lambda: put("unlike", "given.0.op", "<="),
    "two that differ, in no order": lambda: lacking("unlike", 0),
    "two that differ by two": lambda: claimed("unlike", "n - i - 2"),
    "rounded too far": lambda: put("round", "lines.0.numbers", [3, 3]),
    "rounded by nothing": lambda: put("round", "lines.0.numbers", [0, 0]),
    "rounded downwards": lambda: put("round", "lines.0.numbers.1", -1),
    "rounded about something": lambda: put("round", "lines.0.of", 0),
    "a quotient that may be 0": lambda: lacking("divides", 1),
    "a positive quotient of two negative numbers": lambda: lacking("divides above", 0),
    "a choice that may be the other": lambda: lacking("chosen", 1),
    "a choice that may be 0": lambda: lacking("chosen", 0),
    "the side that was not chosen": lambda: claimed("chosen", "n - 1"),
    "too far to be one": lambda: put("unwrap", "nonnegative.3", p("259 - n")),
    "equal in a smaller type": lambda: lines(
        [given("wrap", "cut", "n", type="u8")],
        line("unwrap", "n - x", 3, 7),
        facts="x - 3; 7 - x; n + 65532; 65542 - n",
    ),
    "cut to less than it is": lambda: claimed("cut", "x - n"),
    "cut from below": lambda: lacking("cut", 0),
    "a minimum as what is cut": lambda: lines(
        [given("atom", "min", "n", "k")], line("cut", "n - x"), facts="n"
    ),
    "of what is not given": lambda: put("quotient", "lines.0.of", 1),
    "of what is given from the end": lambda: put("quotient", "lines.0.of", -1),
    "of nothing": lambda: put("quotient", "lines.0.of", None),
    "a rule that nobody knows": lambda: put("quotient", "lines.0.rule", "trust"),
    "a rule that is a way of the checker": lambda: put("quotient", "lines.0.rule", "shown"),
    "something else in it": lambda: put("quotient", "lines.0.because", leaf("0")),
    "something else given": lambda: put("quotient", "given.0.because", leaf("0")),
    "given of no kind": lambda: put("quotient", "given.0.given", "fact"),
    "an operation of another kind": lambda: put("quotient", "given.0.op", "<"),
    "a line that rests on a later one": lambda: lines(
        [DIVIDED],
        line("quotient", "n - k*x"),
        leaf("k - 1", (1, "k - 2"), (1,)),
        facts="k - 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_step_is_refused(name: str) -> None:
    assert refusal(FORGED[name]()) != ""


def test_there_are_enough_of_them() -> None:
    assert len(FORGED) >= 60


# --- what is accepted is true ----------------------------------------------------------------

VALUES = (-(1 << 63), -256, -9, -3, -1, 0, 1, 2, 5, 8, 255, 257, (1 << 63) - 1)


def is_false(data: Json, rng: random.Random, most: int = 500) -> bool:
    """Whether values meet all that is given, and something that is claimed is negative."""
    names = meaning.names(data)
    numbers = sorted({*VALUES, *map(int, re.findall(r"-?\b\d{1,3}\b", json.dumps(data)))})
    points = [*product(numbers, repeat=len(names))]
    return any(
        meaning.refutes(data, dict(zip(names, point, strict=True)))
        for point in rng.sample(points, min(len(points), most))
    )


def mutants(data: Json, rng: random.Random) -> Iterator[Json]:
    """The same with one token changed: a number, a name, an operation, a rule."""
    text = json.dumps(data)
    words = [*checker.RULES, *checker.RANGES, *"nkxi", "<", "<=", ">", ">=", "==", "!=", "natural"]
    words += ["min", "max", "either", "/", "//", "%", "%%", "atom", "choice"]
    for token in re.finditer(r'-?\b\d+|"[^"]*"', text):
        for _ in range(3):
            new = json.dumps(rng.choice(words))
            if token.group()[0] != '"':
                new = str(int(token.group()) + rng.choice([-2, -1, 1, 2, 250, -250]))
            yield json.loads(text[: token.start()] + new + text[token.end() :])


@pytest.mark.parametrize("name", list(by_rules()))
def test_what_a_changed_step_still_shows_is_true(name: str) -> None:
    rng = random.Random(name)
    assert not is_false(by_rules()[name], rng)
    refused = shown = 0
    for data in mutants(by_rules()[name], rng):
        if refusal(data):
            refused += 1
            continue
        shown += 1
        assert not is_false(data, rng), data
    assert refused > 10


def test_a_false_claim_is_found_by_counting() -> None:
    rng = random.Random(1)
    assert is_false(claimed("quotient", "n - 2*x - 1"), rng, 9000)
    assert is_false(lacking("nearby", 2), rng, 9000)
    assert is_false(claimed("given <", "n - i - 3"), rng, 9000)
