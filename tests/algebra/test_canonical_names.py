"""Questions under other names: one answer for all of them, the same that each would have got."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.algebra import encode
from compiler.algebra.canonical_names import answered, question, renamed
from compiler.algebra.disjoint import Disjoint, Overlap, Unknown, Verdict, disjoint
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Lmad
from compiler.algebra.notation import Reader, facts_of
from compiler.algebra.poly import Poly
from compiler.algebra.show import verdict_json
from compiler.protocol.polynomials import names_in
from tests.algebra.test_disjoint import PAIRS

OPEN = (
    {"other": ["0 <= i", "i < n", "m*m*m >= n*n", "m >= 1"]},
    {"a": "i + {}", "b": "m*m + {(i : 1)}"},
)
"""A question without an answer."""
Asked = tuple[Lmad[Poly], Lmad[Poly], Facts]


def asked(assumptions: dict[str, Any], pair: dict[str, Any]) -> Asked:
    reader = Reader()
    first, second = reader.lmad(pair["a"]), reader.lmad(pair["b"])
    return first, second, facts_of(reader, assumptions)


def names_and_key(first: Lmad[Poly], second: Lmad[Poly], facts: Facts) -> Any:
    return question((first, second), facts.sources or facts.bounds, facts.given, ())


def under_other_names(names: tuple[str, ...]) -> dict[str, str]:
    return {name: f"x{k:03}" for k, name in enumerate(names)}


def with_names(facts: Facts, other: dict[str, str]) -> Facts:
    """Facts under other names, with points of their own."""
    given = {other[name]: renamed(value, other) for name, value in facts.given}
    return Facts.of(renamed(facts.sources or facts.bounds, other), given, other.values())


def told(verdict: Verdict) -> Any:
    return type(verdict), verdict.steps, verdict_json(verdict)


@pytest.mark.parametrize(("assumptions", "pair"), [*PAIRS, OPEN])
def test_an_answer_under_other_names_is_the_one_that_is_found_there(
    assumptions: dict[str, Any], pair: dict[str, Any]
) -> None:
    first, second, facts = asked(assumptions, pair)
    names, key = names_and_key(first, second, facts)
    other = under_other_names(names)
    facts = Facts.of(facts.sources or facts.bounds, dict(facts.given), names)
    mine, theirs = renamed((first, second), other)
    assert names_and_key(mine, theirs, with_names(facts, other)) == (tuple(other.values()), key)
    found = disjoint(mine, theirs, with_names(facts, other))
    same = answered(disjoint(first, second, facts), other, mine, theirs, {})
    assert told(same) == told(found)
    if isinstance(same, Disjoint):
        assert encode.refusal(mine, theirs, with_names(facts, other), same.proof) == ""
        assert same.theorem() == found.theorem()  # type: ignore[union-attr]


def test_names_in_another_order_are_another_question() -> None:
    i, n = Poly.var("i"), Poly.var("n")
    one = question((Lmad(i, ()), Lmad(n, ())), (n - i - 1,), (), ())
    other = question((Lmad(n, ()), Lmad(i, ())), (i - n - 1,), (), ())
    assert one[1] != other[1]
    assert question((Lmad(i, ()),), (n - i - 1,), (), ("n",))[1] != one[1]
    equal = question((Lmad(i, ()), Lmad(n, ())), (n - i - 1,), (("n", i + 1),), ())
    assert equal[1] != one[1]


@pytest.mark.parametrize("kind", [Disjoint, Overlap, Unknown])
def test_no_old_name_is_left(kind: type) -> None:
    seen = 0
    for assumptions, pair in [*(param.values for param in PAIRS), OPEN]:
        first, second, facts = asked(assumptions, pair)
        verdict = disjoint(first, second, facts)
        if not isinstance(verdict, kind):
            continue
        names, _ = names_and_key(first, second, facts)
        mark = {name: f"§{name}" for name in names}
        new = answered(verdict, mark, *renamed((first, second), mark), {})
        back = answered(new, {b: a for a, b in mark.items()}, first, second, {})
        assert back == verdict
        shown = verdict_json(new)
        assert not set(names) & set(names_in(shown))
        assert "§" in str(shown) or not names
        if isinstance(new, Unknown) and new.missing is not None:
            assert str(new.missing) in new.reason
        seen += bool(names)
    assert seen
