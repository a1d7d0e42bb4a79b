"""Nothing is rewritten on a proof that the checker has not accepted."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compiler.algebra import checker
from compiler.algebra import facts as known
from compiler.algebra.argument import Argument, Lemma, Source, all_lines
from compiler.algebra.certificate import Sum
from compiler.algebra.gate import accepts, follow
from compiler.algebra.inequality import Prover, prove_inequality
from compiler.algebra.poly import Poly
from compiler.analysis.facts import IntegerFacts
from compiler.analysis.ranges import EVERYWHERE, Ranges
from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import Alloc, Assert, Bin, Lit, Prog, Select, Var
from compiler.ir.walk import all_stms
from compiler.storage.short_circuit.assumptions import forget
from tests.analysis.test_wrapping import TYPES, Values, condition, drawn, learned

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))
ZERO = Lit(0, "i64")


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that finds everything."""

    def yes(*_: Any, **__: Any) -> bool:
        return True

    for name in ("non_negative", "_search", "fits", "_is_above", "_is_below", "_natural"):
        monkeypatch.setattr(Ranges, name, yes)
    monkeypatch.setattr(Ranges, "span", lambda *_: (0, 0))
    monkeypatch.setattr(Ranges, "_mono_span", lambda *_: (0, 0))
    monkeypatch.setattr(Ranges, "_name_span", lambda *_: (0, 0))
    monkeypatch.setattr(Ranges, "whole_of", lambda _, mono, __: (0, mono, mono))


def test_a_search_that_lies_decides_nothing(liar: None) -> None:
    facts = IntegerFacts({})
    n, i = Var("n", "i64"), Var("i", "i64")
    facts.array([Poly.var("n")])
    at = Bin("+", "i64", i, n)
    for op in ("<", "<=", ">", ">=", "==", "!="):
        assert facts.decide(op, at, n) is None, op
        assert facts.decide(op, i, Lit(5, "i64")) is None, op
    assert not facts.within(i, Poly.var("n"))
    assert not facts.rising(Poly.var("i"), Poly.var("n") + 1, Poly.var("n"))
    assert not facts.slice_within(i, Poly.var("m"), ZERO, Poly.var("n"))
    assert not facts.is_size(Poly.var("i"))
    assert not facts.is_positive(Poly.var("n"))
    assert not facts.is_at_least(Poly.var("n"), Poly.var("i"))
    assert not facts.is_value(Poly.var("n") * Poly.var("i"))
    assert not facts.remains(Poly.var("i"), Poly.var("n"), Poly.const(0), Poly.var("i"))


def test_what_is_learned_is_not_read_as_integers_on_a_lie(liar: None) -> None:
    """`x + y < n` says nothing about x, whatever the search says about the sum."""
    facts = IntegerFacts({})
    x, y = Var("x", "i64"), Var("y", "i64")
    for name in (x, y):
        facts.learn(Bin(">=", "i64", name, ZERO), True)
    facts.learn(Bin("<", "i64", Bin("+", "i64", x, y), Var("n", "i64")), True)
    assert facts.decide("<", x, Var("n", "i64")) is None


def _checks(source: str) -> Counter[str]:
    """How many checks the program for C has left before memory is merged, by what they say."""
    forget()
    prog: Prog = (
        Compilation(source, Options(disabled=frozenset(["shortcircuit"]))).result("flat").prog
    )
    return Counter(
        "".join(part if isinstance(part, str) else "?" for part in stm.exp.message)
        for fun in prog.funs
        for stm in all_stms(fun.body.stms)
        if isinstance(stm.exp, Assert)
    )


CHECKED = {
    "an index": "entry main [n] (xs: [n]i32) (i: i64) = xs[i]",
    "an index that may wrap": "entry main [n] (xs: [n]i32) (i: i64) (j: i64) = xs[i * j + 1]",
    "a slice": "entry main [n] (xs: [n]i32) (i: i64) (j: i64) = xs[i : j]",
    "an update": "entry main [n] (xs: *[n]i32) (i: i64): [n]i32 = xs with [i] = 1",
    "in a loop": "entry main [n] (xs: [n]i32) (m: i64): i32 = loop s = 0 for i < m do s + xs[i]",
    "a size": "entry main (n: i64): []i64 = iota n",
    "a comparison": "entry main (n: i64) (m: i64): i64 = assert (n < m) n",
    "a division": "entry main (n: i64) (m: i64): i64 = n / m",
}


@pytest.mark.parametrize("source", CHECKED.values(), ids=CHECKED.keys())
def test_a_search_that_lies_drops_no_check(
    source: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    before = _checks(source)
    assert before
    request.getfixturevalue("liar")
    assert _checks(source) >= before


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_the_search_finds_in_examples_is_argued_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that could be proved is lost for want of an argument."""
    lost: list[object] = []
    accepted = IntegerFacts._accepted

    def asked(self: IntegerFacts, says: Any, claims: Any, limit: int = EVERYWHERE) -> bool:
        found = accepted(self, says, claims, limit)
        if not found:
            lost.append((says, claims))
        return found

    monkeypatch.setattr(IntegerFacts, "_accepted", asked)
    forget()
    work = Compilation(path.read_text("utf-8"), Options())
    for target in ("c", "cuda"):
        work.result("merged", target)
    assert lost == []


def _arguments(seed: int) -> Iterator[tuple[Argument, Values]]:
    """Arguments about random facts, with values that meet them."""
    rng = random.Random(seed)
    for _ in range(25):
        values, prims = drawn(rng), dict(TYPES)
        facts = learned(rng, values, prims)
        for _ in range(8):
            asked = condition(rng, 2, prims, "i64")
            facts.decide(asked.op, asked.lhs, asked.rhs)
        for argument in facts.shown:
            yield argument, values


@pytest.mark.parametrize("seed", range(20))
def test_every_line_is_true_of_values_that_meet_the_facts(seed: int) -> None:
    for argument, values in _arguments(seed):
        for line in all_lines(argument.lines):
            if line.claim.names() <= values.keys():
                assert line.claim.evaluate(values) >= 0, line.claim


@pytest.mark.parametrize("seed", range(20))
def test_a_line_that_claims_more_is_refused(seed: int) -> None:
    """Each line again, one less: nothing says so, unless it was not sharp."""
    refused = 0
    for argument, values in _arguments(seed):
        for line in all_lines(argument.lines):
            more = Lemma(line.claim - 1, line.because, line.premises, line.depth)
            refused += not follow([more])
            if line.claim.names() <= values.keys():
                assert more.key is None or line.claim.evaluate(values) >= 1
    assert refused


def test_a_sum_for_a_guard_is_multiplied_out(monkeypatch: pytest.MonkeyPatch) -> None:
    x = Poly.var("x")
    prover = Prover(known.Facts.of((x - 3,)))
    assert prove_inequality(prover, x - 1)

    def lies(_: Prover, claim: Poly) -> Sum:
        return Sum(claim, 1, ((1, (claim,)),))

    monkeypatch.setattr(Prover, "nonnegative", lies)
    assert prove_inequality(prover, x - 3)
    assert not prove_inequality(prover, x - 4)


def test_a_line_cannot_rest_on_itself() -> None:
    claim = Poly.var("x") - 5
    source = Source("condition", (">=", Poly.var("x"), Poly.const(5)))
    line = Lemma(claim, source, (), 0)
    line.premises = (line,)
    assert not follow([line])


def test_an_argument_is_for_its_claims() -> None:
    line = Lemma(Poly.var("x"), Source("size", (Poly.var("x"),)), (), 0)
    facts = IntegerFacts({})
    facts.array([Poly.var("x")])
    assert facts.within(ZERO, Poly.var("x") + 1)
    (argument,) = facts.shown
    assert accepts(Argument(argument.says, (line,)), [Poly.var("x")])
    assert not accepts(Argument(argument.says, (line,)), [Poly.var("x") - 1])
    assert not accepts(Argument(argument.says, (line,)), [Poly.const(-1)])


def test_a_quotient_times_a_square_is_not_near_what_is_divided() -> None:
    """`n / b * b` is less than b away from n, but `n / b * b * b` is not."""
    facts = IntegerFacts({})
    facts.given([Poly.var("n")])
    facts.given([Poly.var("b")])
    facts.learn(Bin("<=", "i64", Lit(1, "i64"), Var("b", "i64")), True)
    facts.defined("q", Bin("/", "i64", Var("n", "i64"), Var("b", "i64")), 0)
    q, b = Poly.var("q"), Poly.var("b")
    assert facts.is_value(q * b)
    assert not facts.fits(q * b * b * b)
    assert facts.span(q * b * b)[1] > 1 << 60


def test_a_choice_is_argued_for_by_cases() -> None:
    facts = IntegerFacts({})
    a, b = Var("a", "i64"), Var("b", "i64")
    facts.learn(Bin("<=", "i64", a, b), True)
    chosen = Select(Var("c", "bool"), a, b)
    assert facts.decide("<=", chosen, b) is True
    assert any(
        getattr(line.because, "step", "") == "cases" for line in all_lines(facts.shown[0].lines)
    )


SHARED = """entry main (n: i64) (m: i64): i32 =
  let first = i32.sum (scan (+) 0 (map i32.i64 (iota n)))
  let second = scan (+) first (map i32.i64 (iota m))
  in second[0] + i32.sum second
"""


def test_a_search_that_lies_puts_no_larger_array_into_a_smaller_block(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Neither size is known to be the larger one: both blocks, or one that grows, stay."""

    def sizes() -> set[str]:
        forget()
        prog: Prog = Compilation(SHARED, Options()).result("merged").prog
        return {
            "".join(filter(str.isalpha, str(stm.exp.count)))
            for fun in prog.funs
            for stm in all_stms(fun.body.stms)
            if isinstance(stm.exp, Alloc)
        }

    before = sizes()
    request.getfixturevalue("liar")
    assert sizes() >= before


DEAD = """
entry main [n] [m] (u: i64) (x: [m]i64) (xs: *[n]i64) =
  if (0 / u) > n && (i64.min m n) < n then xs with [i64.min m n] = 1 else xs
"""


def test_a_branch_that_never_runs_is_argued_about_like_all_others() -> None:
    """What is known there contradicts itself: the divisor lies between 1 and 0."""
    assert Compilation(DEAD).result("c").text


@pytest.mark.parametrize("kind", ["min", "max", "either", "/", "//", "%", "%%"])
def test_a_range_without_numbers_is_no_reason_to_fail(kind: str) -> None:
    """Of operands in these ranges, empty ones among them; others are in what is answered."""
    ends = [(low, high) for low in range(-2, 3) for high in range(-2, 3)]
    for one, other in itertools.product(ends, ends):
        low, high = checker._result(kind, *one, *other) or (None, None)
        operands = itertools.product(range(one[0], one[1] + 1), range(other[0], other[1] + 1))
        for a, b in operands:
            for value in _values(kind, a, b):
                assert low is None or low <= value
                assert high is None or value <= high


def _values(kind: str, a: int, b: int) -> tuple[int, ...]:
    if kind in ("min", "max", "either"):
        return {"min": (min(a, b),), "max": (max(a, b),), "either": (a, b)}[kind]
    if b == 0:
        return ()
    towards_zero = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    of = {"/": a // b, "%": a % b, "//": towards_zero, "%%": a - b * towards_zero}
    return (of[kind],)


def test_a_compilation_keeps_its_proofs_without_what_the_checker_was_given() -> None:
    work = Compilation("entry main (n: i64) (xs: [n]i32) = map (\\i -> xs[n - 1 - i]) (iota n)")
    work.result("c")
    kept = [one for _, arguments in work.proved() for one in arguments]
    assert kept
    for one in kept:
        assert all(line.key is None and not line.said for line in all_lines(one.lines))
        assert follow(one.lines)
