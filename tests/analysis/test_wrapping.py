"""What follows from facts, against the machine's arithmetic on numbers at the ends of 64 bits.

Conditions that hold for random values are learned, then comparisons of random expressions are
asked. Whatever is answered must be so for these values, wrapped as the machine wraps.
"""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest

from compiler.algebra.limits import LARGEST_INPUT, LARGEST_SIZE
from compiler.algebra.poly import Poly
from compiler.analysis.facts import IntegerFacts
from compiler.base.dtypes import DTYPE
from compiler.base.prim import BYTES, Prim, int_range
from compiler.ir import scalar
from compiler.ir.nodes import SE, Bin, Conv, Fun, Lit, Select, Un, Var

NAMES = ("x", "y", "z")
ENDS = (0, 1, -1, 2, 3, 7, 2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**47, 2**62, 2**63 - 2, 2**63 - 1)
NUMBERS = (*ENDS, *(-end for end in ENDS), -(2**63))
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
Values = dict[str, int]
Types = dict[str, Prim]


def number(rng: random.Random) -> int:
    near = rng.choice(NUMBERS) + rng.choice((0, 0, 1, -1, 5))
    return max(-(2**63), min(2**63 - 1, near))


TYPES: Types = {**dict.fromkeys(NAMES, "i64"), "b": "i8", "k": "i32", "w": "u64"}


def drawn(rng: random.Random) -> Values:
    """A value of each name, in its type."""
    return {name: wrapped(number(rng), at) for name, at in TYPES.items()}


NARROW: tuple[Prim, ...] = ("i8", "u8", "i32", "u32", "u64")


def expression(rng: random.Random, depth: int, names: Types, at: Prim = "i64") -> SE:
    kind = rng.randrange(15 if depth else 3)
    if kind < 2:
        name = rng.choice(NAMES if rng.random() < 0.5 else tuple(names))
        own = names[name]
        return Var(name, own) if own == at else Conv(own, at, Var(name, own))
    if kind == 2:
        small = rng.choice((0, 1, 2, 3, -1, number(rng)))
        return Lit(wrapped(small, at), at)
    if kind == 10:
        return Un("neg", at, expression(rng, depth - 1, names, at))
    if kind == 11:
        prim = rng.choice(NARROW)
        return Conv(prim, at, expression(rng, depth - 1, names, prim))
    if kind == 12:
        return Conv("bool", at, condition(rng, depth - 1, names))
    left = expression(rng, depth - 1, names, at)
    if kind == 13:
        by = Lit(rng.choice((0, 1, 3, BYTES[at] * 8 - 2, BYTES[at] * 8 - 1)), at)
        return Bin(rng.choice(("<<", ">>")), at, left, by)
    if kind == 14:
        mask = Lit(rng.choice((0, 1, 7, 12, 127, int_range(at)[1], wrapped(-1, at))), at)
        return Bin("&", at, *rng.sample((left, mask), 2))
    right = expression(rng, depth - 1, names, at)
    if kind == 9:
        return Select(condition(rng, depth - 1, names), left, right)
    if kind == 8:
        return Bin(rng.choice(("/", "//", "%", "%%")), at, left, right)
    return Bin(rng.choice(("+", "+", "-", "-", "*", "min", "max")), at, left, right)


def condition(rng: random.Random, depth: int, names: Types, at: Prim | None = None) -> Bin:
    op = rng.choice(COMPARISONS)
    at = at or ("i64" if rng.random() < 0.7 else rng.choice(NARROW))
    return Bin(op, at, expression(rng, depth, names, at), expression(rng, depth, names, at))


def evaluate(se: SE, values: Values) -> int:
    """The machine's value; ZeroDivisionError where it has none."""
    match se:
        case Lit(value, _):
            return int(value)
        case Var(name, _):
            return values[name]
        case Bin(op, at, lhs, rhs):
            a, b = evaluate(lhs, values), evaluate(rhs, values)
            if op in ("/", "//", "%", "%%") and b == 0:
                raise ZeroDivisionError
            with np.errstate(all="ignore"):
                return int(scalar.apply_bin(op, at, _of(a, at), _of(b, at)))
        case Un(_, at, arg):
            return wrapped(-evaluate(arg, values), at)
        case Conv("bool", _, arg):
            return int(evaluate_condition(arg, values))
        case Conv(_, dst, arg):
            return wrapped(evaluate(arg, values), dst)
        case Select(cond, then, orelse):
            return evaluate(then if evaluate(cond, values) else orelse, values)
    raise AssertionError(se)


def _of(value: int, prim: Prim) -> np.generic:
    found: np.generic = DTYPE[prim].type(value)
    return found


def wrapped(value: int, prim: Prim) -> int:
    low, high = int_range(prim)
    return (value - low) % (high - low + 1) + low


def learned(rng: random.Random, values: Values, prims: Types) -> IntegerFacts:
    """Facts that hold for these values: definitions, conditions, indices, sizes."""
    equal: dict[str, Poly] = {}
    facts = IntegerFacts(equal)
    facts.oldest(values)
    for k in range(rng.randrange(4)):
        prim: Prim = rng.choice(("i64", *NARROW))
        value = expression(rng, 2, prims, prim)
        try:
            result = evaluate(value, values)
        except ZeroDivisionError:
            continue
        name = f"d{k}"
        values[name], prims[name] = result, prim
        ring = facts.ring(value) if prim == "i64" else Poly.var("?")
        if rng.random() < 0.5 and not any(n.startswith("?") for n in ring.names()):
            equal[name] = ring
        else:
            facts.defined(name, value, 0, prim)
    for name, value in values.items():
        if prims[name] == "i64" and 0 <= value <= LARGEST_SIZE and rng.random() < 0.5:
            facts.array([Poly.var(name)], 0)
    shape = rng.choices(NAMES, k=3)
    sizes = [values[name] for name in shape]
    if max(*sizes, prod(sizes)) <= LARGEST_INPUT and min(sizes) >= 0:
        facts.given([Poly.var(name) for name in shape])
    for _ in range(rng.randrange(6)):
        cond: SE = condition(rng, rng.randrange(3), prims)
        if rng.random() < 0.3:
            cond = Bin(rng.choice(("&&", "||")), "bool", cond, condition(rng, 1, prims))
        try:
            facts.learn(cond, bool(evaluate_condition(cond, values)), 0)
        except ZeroDivisionError:
            continue
    index = rng.choice(NAMES)
    if values[index] > 0:
        values["i"] = rng.randrange(min(values[index], 5))
        facts.counter("i", "i64", Var(index, "i64"))
    return facts


def evaluate_condition(cond: SE, values: Values) -> bool:
    if isinstance(cond, Bin) and cond.op in ("&&", "||"):
        left, right = evaluate_condition(cond.lhs, values), evaluate_condition(cond.rhs, values)
        return left and right if cond.op == "&&" else left or right
    return bool(evaluate(cond, values))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_decided_is_so(seed: int) -> None:
    rng = random.Random(seed)
    decided = 0
    for _ in range(100):
        values, prims = drawn(rng), dict(TYPES)
        facts = learned(rng, values, prims)
        for _ in range(8):
            asked = condition(rng, 2, prims, "i64")
            try:
                true = bool(evaluate(asked, values))
            except ZeroDivisionError:
                continue
            found = facts.decide(asked.op, asked.lhs, asked.rhs)
            if found is not None:
                decided += 1
                assert found == true, (asked, values, facts.bounds)
            poly = facts.poly(asked.lhs)
            if poly.names() <= values.keys():
                assert poly.evaluate(values) == evaluate(asked.lhs, values), (asked.lhs, values)
    assert decided > 20


def test_a_sum_is_exact_behind_its_check() -> None:
    facts = IntegerFacts({})
    x, y, zero = Var("x", "i64"), Var("y", "i64"), Lit(0, "i64")
    both = Bin("+", "i64", x, y)
    for cond in (Bin(">=", "i64", x, zero), Bin(">=", "i64", y, zero)):
        facts.learn(cond, True)
    facts.learn(Bin("<", "i64", both, Var("n", "i64")), True)
    assert facts.decide(">=", both, zero) is None
    assert facts.decide("<=", x, both) is None
    facts.learn(Bin(">=", "i64", both, zero), True)
    assert facts.decide("<=", x, both) is True


def test_a_product_is_exact_where_its_upper_half_is_nothing() -> None:
    facts = IntegerFacts({})
    n, m = Poly.var("n"), Poly.var("m")
    for size in (n, m):
        facts.array([size], 0)
    assert not facts.fits(n * m)

    upper = Fun("mul_hi", "i64", (Var("n", "i64"), Var("m", "i64")))
    facts.learn(Bin("==", "i64", upper, Lit(0, "i64")), True)
    assert not facts.fits(n * m)
    product = Bin("*", "i64", Var("n", "i64"), Var("m", "i64"))
    facts.learn(Bin("<=", "i64", Lit(0, "i64"), product), True)
    assert facts.fits(n * m)


def test_sizes_of_what_is_handed_in_multiply_without_wrapping() -> None:
    facts = IntegerFacts({})
    facts.given([Poly.var("n"), Poly.var("m")])
    assert facts.fits(Poly.var("n") * Poly.var("m"))
    assert not facts.fits(Poly.var("n") * Poly.var("n") * Poly.var("m"))


def test_a_part_of_a_product_is_no_larger_where_the_other_factors_are_at_least_1() -> None:
    facts = IntegerFacts({})
    n, m, k = map(Poly.var, "nmk")
    facts.given([n, m, k])
    assert not facts.is_value(m * k)
    facts.enter()
    facts.runs(n)
    assert facts.is_value(m * k)
    assert facts.is_size(m * k)
    assert not facts.is_value(n * k)
    assert not facts.is_value(m * k * k)
    facts.leave()
    assert not facts.is_value(m * k)


def test_a_part_of_a_product_that_may_be_negative_has_no_end() -> None:
    facts = IntegerFacts({})
    n, m, k = map(Poly.var, "nmk")
    facts.given([n, m, k])
    facts.runs(n)
    assert not facts.is_value(m * Poly.var("x"))
    facts = IntegerFacts({})
    whole = Bin("*", "i64", Bin("*", "i64", Var("n", "i64"), Var("m", "i64")), Var("k", "i64"))
    facts.learn(Bin("<=", "i64", whole, Lit(LARGEST_INPUT, "i64")), True)
    facts.runs(n)
    assert not facts.is_value(m * k)


def test_unsigned_numbers_may_be_no_i64() -> None:
    facts = IntegerFacts({})
    facts.counter("i", "u64", Var("b", "u64"))
    at = Conv("u64", "i64", Var("i", "u64"))
    assert facts.decide(">=", at, Lit(0, "i64")) is None
    facts.counter("j", "u32", Var("c", "u32"))
    assert facts.decide(">=", Conv("u32", "i64", Var("j", "u32")), Lit(0, "i64")) is True


def test_facts_that_contradict_each_other_do_no_harm() -> None:
    """Behind conditions that never hold together, nothing runs; the compiler must."""
    facts = IntegerFacts({})
    x, zero, one = Var("x", "i64"), Lit(0, "i64"), Lit(1, "i64")
    facts.learn(Bin("<=", "i64", one, x), True)
    facts.learn(Bin("<=", "i64", x, zero), True)
    facts.learn(Bin("<=", "i64", zero, Var("y", "i64")), True)
    for op in ("/", "//", "%", "%%"):
        facts.decide("<", Bin(op, "i64", Var("y", "i64"), x), one)
        facts.defined("q", Bin(op, "i64", Var("y", "i64"), x), 0)
        facts.decide("<", Var("q", "i64"), zero)
