"""Where the facts of a proof come from, as the reader of the proof is told."""

from typing import Any

from compiler.driver.pipeline import Compilation
from compiler.protocol.polynomials import shown
from testing.attempts import attempts

LOOP = """
entry main [n] (xs: *[n]i64) (k: i64): *[n]i64 =
  let ys = assert (2 * k < n && 0 <= k) xs
  in if k < 5
     then ys with [:k] = map (+ 1) (ys[n - k:] :> [k]i64)
     else ys
"""


def _facts(source: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for attempt in attempts(Compilation(source).result("funmem").prog):
        for obligation in attempt["obligations"]:
            assert len(obligation["facts"]) == len(obligation["origins"])
            pairs = zip(obligation["facts"], obligation["origins"], strict=True)
            found.update((shown(fact), origin) for fact, origin in pairs)
    return found


def _named(found: dict[str, dict[str, Any]], why: str) -> list[list[int]]:
    """The places of the facts of this origin."""
    return [span for origin in found.values() if why in origin["why"] for span in origin["src"]]


def test_facts_are_traced_to_checks_branches_and_points() -> None:
    found = _facts(LOOP)
    assert any(span[0] == 3 for span in _named(found, "a check"))
    assert any(4 <= span[0] <= 5 for span in _named(found, "first branch"))
    assert any(span[0] == 5 for span in _named(found, "points of a kernel"))


def test_every_fact_has_an_origin_in_words() -> None:
    for origin in _facts(LOOP).values():
        assert origin["why"]
        assert origin["why"] != "known at this place"
