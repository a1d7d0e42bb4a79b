"""Every kind of refusal: a program that is refused so, and what the author can do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compiler.base.remarks import NOTHING, Remark
from compiler.driver import explanations
from compiler.driver.pipeline import Compilation
from compiler.optimise import shared_functions
from compiler.protocol.proofs import AttemptsRequest
from compiler.protocol.refusals import Ending, Kind, NotHoisted, NotMerged, Refusal
from compiler.storage.short_circuit import budget
from tests.driver.test_in_place_advice import OLD, pasted
from tests.storage import test_guards, test_reasons, test_short_circuit

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"
LATER = """
entry main [n] (xs: *[n]i32) (ys: [3]i32) (zs: [n]i64): *[n]i32 =
  let part = scan (+) 0 ys
  let k = i64.max 0 (reduce i64.min 0 zs)
  let j = i64.max 0 (reduce i64.max 0 zs)
  in xs with [k + j:k + j + 3] = part
"""
LATER_AND_USED = """
entry main [n] (xs: *[n]i32) (ys: [3]i32) (zs: [n]i64): (*[n]i32, i32) =
  let part = scan (+) 0 ys
  let k = i64.max 0 (reduce i64.min 0 zs)
  let new = xs with [k:k + 3] = part
  in (new, part[0])
"""
FROM_ITSELF = """
entry main [n] (xs: *[n]i32) (ys: [3]i32): *[n]i32 =
  let part = scan (+) 0 ys
  let k = i64.i32 (reduce (+) 0 part)
  in xs with [k:k + 3] = part
"""
ROUND = """
entry main [n] (xss: *[n][6]i32) (v: i32) (k: i64): *[n][6]i32 =
  let c = loop c = replicate 6 v for i < k do scan (+) 0 c
  in xss with [0] = c
"""
TURNED = """
entry main [n] (xss: *[n][6]i32) (v: i32) (k: i64): *[n][6]i32 =
  let c = loop c = replicate 6 v for i < k do reverse c
  in xss with [0] = c
"""
TRANSPOSED = """
entry main [n] (xss: *[n][6]i32) (a: *[6]i32): *[n][6]i32 =
  let c = copy a with [0] = 3
  let b = flatten (transpose (unflatten (c :> [2 * 3]i32))) :> [6]i32
  in xss with [0] = b
"""
ROOM = """
entry main [n] (xs: [n]i32) (k: i64) (m: i64): []i32 =
  let a = map (+ 1) xs
  let c = replicate (k - m) 1
  in scan (+) 0 a ++ scan (+) 0 c
"""
DIVISORS = """
entry main [n] [m] (k: i64) (xs: *[m]i32) (ys: [n]i32): *[m]i32 =
  let new = scan (+) 0 ys
  let at = k / DIVISOR
  in xs with [at:at + n] = new
"""
LONG = """
entry main [n] (xss: *[n][8]i32) (v: i32): *[n][8]i32 =
  let a = replicate 8 v"""
DIVIDED = """
entry main [n] [m] (k: i64) (d: i64) (xs: *[m]i32) (ys: [n]i32): *[m]i32 =
  if d != 0 then
    let new = scan (+) 0 ys
    let at = k / d
    in xs with [at:at + n] = new
  else xs
"""
SCATTERED = """
entry main [n] (xss: *[n][4]i32) (is: [n]i64): *[n][4]i32 =
  scatter xss is (map (\\i -> scan (+) 0 [i, i, i, i]) (map i32.i64 is))
"""
OPERATOR = """
entry main [n] [m] (xss: *[n][m]i32) (yss: [n]i32) (k: i64): *[n][m]i32 =
  let t = scan (+) 0 xss[1]
  let r = reduce (\\a b -> a * b + t[k]) 1 yss
  let xss = xss with [0] = t
  in xss with [1, 1] = r
"""
ANYWHERE = """
entry main [n] (xs: *[n]i32) (is: [n]i64): *[n]i32 =
  let new = map (\\i -> xs[is[i]]) (iota n)
  in xs with [0:n] = new
"""
EVERYWHERE = """
entry main [n] (xs: *[n]i32): *[n]i32 =
  let new = map (\\i -> loop s = i32.i64 i for k < n do s + xs[k]) (iota n)
  in xs with [0:n] = new
"""
SHARED = """
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  let ys = scan (+) 0 xs
  let (a, _) = loop (a, b) = (ys, copy xs) for i < k do (map2 (+) a b, a)
  in a
"""
START = """
entry main [n] (xs: [n]i32) (k: i64): ([n]i32, [n]i32) =
  let ys = scan (+) 0 xs
  let zs = loop a = ys for i < k do map (+ 1) a
  in (zs, ys)
"""
BRANCH = """
entry main [n] (xs: *[n]i32) (ys: [n]i32) (b: bool): *[n]i32 =
  let zs = if b then scan (+) 0 ys else xs
  in map (+ 1) zs
"""
LOOP = """
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  let zs = loop a = scan (+) 0 xs for i < k do scan (*) 1 a
  in map (+ 1) zs
"""
SKIPPING = """
entry main [n] (xss: *[n][1]i32) (xs: [1]i32): *[n][1]i32 =
  let a = scan (+) 0 xs
  in xss with [0] = (a[::2] :> [1]i32)
"""
SEEN_TWICE = """
entry main [n] (xss: *[n][n]i32) (xs: [n]i32) (k: i64): (*[n][n]i32, i32) =
  let a = scan (+) 0 xs
  let b = if k > 5 then a[k:] else a[:k]
  let s = reduce (+) 0 b
  in (xss with [0] = a, s)
"""
UNNAMED = """
entry main [n] (xss: *[n][4]i32) (k: i64): *[n][4]i32 =
  scatter xss (map (% k) (iota n)) (map (\\i -> scan (+) 0 [i, i, i, i]) (map i32.i64 (iota n)))
"""
HISTOGRAM = """
entry main [n] [m] (dss: *[4][m]i32) (is: [n]i64) (vss: [n][m]i32): *[4][m]i32 =
  let after p q = map (\\i -> p[i]) q
  in reduce_by_index dss after (map i32.i64 (iota m)) is (map (scan (+) 0) vss)
"""
IN_SHARED_MEMORY = """
entry main [n] (xss: [n][256]i32): [n][256]i32 =
  map (\\xs -> let ys = scan (+) 0 xs in scan (+) 0 (map2 (*) ys (reverse ys))) xss
"""
KEPT = """
entry main [n] (xs: *[n]i32) (k: i64): ([n]i32, [n]i32) =
  loop (a, b) = (xs, copy xs) for i < k do (map (+ 1) a, a)
"""
STAYS = """
def f [n] (xs: [n]i32): *[n]i32 = map (\\i -> xs[n - 1 - i] * 2) (iota n)
entry main [n] (xs: [n]i32) =
  let a = scan (+) 0 xs
  let b = f a
  in (copy a with [n / 2] = 7, f b)
"""
PROGRAMS = {
    Refusal.ELSEWHERE_IN_IT: test_guards.PARTS_OF_PARTS,
    Refusal.THERE_ALREADY: test_reasons.LIVING,
    Refusal.MOVING: ROUND,
    Refusal.OF_FUNCTION: STAYS,
    Refusal.OTHER_SPACE: IN_SHARED_MEMORY,
    Refusal.OTHER_SHAPE: TRANSPOSED,
    Refusal.A_PART: test_short_circuit.PART,
    Refusal.SKIPPING: SKIPPING,
    Refusal.BUILT_OTHERWISE: SEEN_TWICE,
    Refusal.OTHER_LAYOUT: TURNED,
    Refusal.USED_AGAIN: test_reasons.AFTERWARDS,
    Refusal.RESULT_AS_WELL: test_reasons.COPIED,
    Refusal.HANDED_ON: test_short_circuit.HANDED_ON,
    Refusal.COMPUTED_LATER: LATER,
    Refusal.DEPENDS_ON_IT: FROM_ITSELF,
    Refusal.NO_NAME: UNNAMED,
    Refusal.DIVIDED: DIVIDED,
    Refusal.NO_ROOM: ROOM,
    Refusal.OUTSIDE: SCATTERED,
    Refusal.IN_OPERATOR: OPERATOR,
    Refusal.COMPUTED_CELLS: HISTOGRAM,
    Refusal.ANY_CELL: EVERYWHERE,
    Refusal.UNKNOWN_CELLS: ANYWHERE,
    Refusal.NOT_APART: OLD,
    Refusal.MADE_OUTSIDE: test_reasons.COUNTED,
    Refusal.KEPT: KEPT,
    Refusal.CALLERS: test_short_circuit.NOT_UNIQUE,
    Refusal.FROM_BRANCH: BRANCH,
    Refusal.FROM_LOOP: LOOP,
    Refusal.LOOP_SHARES: SHARED,
    Refusal.START_KEPT: START,
    Refusal.GUARD: test_guards.SOME,
    Refusal.SPENT: OLD + "-- a text of its own: what was made of the one above is kept\n",
    Refusal.SLOWER: (EXAMPLES / "lattice_boltzmann.fut").read_text("utf-8"),
}
OPTIONS: dict[Refusal, dict[str, Any]] = {
    Refusal.OF_FUNCTION: {"limits": {limit.id: 0 for limit in shared_functions.SHARED.limits}},
    Refusal.OTHER_SPACE: {"target": "cuda"},
    Refusal.SPENT: {"limits": {budget.STEPS.id: 1}},
}
"""Where it takes others than the usual ones."""


def told(source: str, options: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """All attempts, as the page is told of them."""
    asked = AttemptsRequest(source, options or {})
    found: list[dict[str, Any]] = explanations.attempts(asked)["attempts"]
    return found


def of_kind(kind: Refusal, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those attempts that are refused so."""
    return [one for one in found if one["refusal"] == kind.id]


def test_every_kind_has_a_program() -> None:
    assert set(Refusal) == set(PROGRAMS)


@pytest.mark.parametrize("kind", PROGRAMS, ids=lambda kind: kind.name)
def test_a_refusal_ends_in_what_helps_or_says_that_nothing_does(kind: Refusal) -> None:
    source = PROGRAMS[kind]
    refused = of_kind(kind, told(source, OPTIONS.get(kind)))
    assert refused
    for one in refused:
        assert one["condition"] == kind.condition
        if kind.ending is Ending.SAID:
            assert one["hint"] == ""
            assert one["way_out"] is None
        elif one["way_out"] is None:
            assert one["hint"]
            assert (one["hint"] == NOTHING) == (kind.ending is not Ending.CHANGE)
        else:
            assert kind.ending is Ending.CONDITION
            again = told(pasted(source, one["way_out"]))
            (same,) = [
                other
                for other in again
                if (other["rule"], other["source"][:3]) == (one["rule"], one["source"][:3])
            ]
            assert same["done"]


def test_conditions_are_offered_where_they_help() -> None:
    (one,) = of_kind(Refusal.NOT_APART, told(OLD))
    assert one["way_out"] is not None
    assert one["hint"] == ""


CHANGED = {
    Refusal.COMPUTED_LATER: (
        "Compute `k` and `j` before `part`.",
        LATER.replace("  let part = scan (+) 0 ys\n", "").replace(
            "  in xs", "  let part = scan (+) 0 ys\n  in xs"
        ),
    ),
    Refusal.USED_AGAIN: (
        "Use the part of the result instead of `row`.",
        test_reasons.AFTERWARDS.replace("row[j])", "yss[0, j])"),
    ),
    Refusal.START_KEPT: (
        "Start the loop with a copy of `ys`.",
        START.replace("a = ys", "a = copy ys"),
    ),
    Refusal.CALLERS: (
        "Give it a unique type, `xs: *[]..`, to allow reuse.",
        test_short_circuit.NOT_UNIQUE.replace("(xs: ", "(xs: *"),
    ),
}


def test_every_change_that_is_offered_is_tried_here() -> None:
    assert set(CHANGED) == {kind for kind in Refusal if kind.ending is Ending.CHANGE}


@pytest.mark.parametrize("kind", CHANGED, ids=lambda kind: kind.name)
def test_the_change_that_is_offered_builds_it_in_its_place(kind: Refusal) -> None:
    source = PROGRAMS[kind]
    hint, changed = CHANGED[kind]
    (before,) = of_kind(kind, told(source, OPTIONS.get(kind)))
    assert before["hint"] == hint
    after = [one for one in told(changed) if one["rule"] == before["rule"]]
    assert after
    if kind is Refusal.START_KEPT:  # the copy itself is an attempt as well, which has to fail
        after = [one for one in after if one["destination"][:1] == before["destination"][:1]]
    assert all(one["done"] for one in after)


SCAN_OF_ROWS = """
entry main [n] [m] (xs: [m]i32) (yss: [n][m]i32): [n][m]i32 =
  let zss = map (\\ys -> map2 (*) ys ys) yss
  in scan (\\x y -> map2 (*) x y) xs zss
"""


def test_a_loop_that_the_author_did_not_write_is_none_to_start_otherwise() -> None:
    kept = of_kind(Refusal.START_KEPT, told(SCAN_OF_ROWS))
    assert kept
    assert {one["hint"] for one in kept} == {NOTHING}


def loops(count: int) -> str:
    """That many loops over one array, each of which could start with a copy of it."""
    made = "".join(
        f"  let ys{k} = loop a = xs for i < n do map (\\x -> x + i * {k}) a\n" for k in range(count)
    )
    names = ", ".join(f"ys{k}" for k in range(count))
    return f"entry main (n: i64) =\n  let xs = map (* 3) (iota n)\n{made}  in ({names}, xs)\n"


def test_of_many_changes_the_first_are_tried() -> None:
    """Each takes a proof: the time for those of a large program is bounded."""
    for count, offered in ((3, 3), (40, 32)):
        kept = of_kind(Refusal.START_KEPT, told(loops(count)))
        assert len(kept) == count
        assert [one["hint"] for one in kept].count("Start the loop with a copy of `xs`.") == offered


def test_two_changes_that_are_needed_together_are_not_offered_as_one() -> None:
    (one,) = [one for one in told(LATER_AND_USED) if not one["done"]]
    assert one["hint"] == NOTHING


GROWING = """
entry main [n] (xs: [n]i32): i32 =
  loop s = 0 for i < n do
    let part = scan (+) s (take i xs)
    in s + reduce (+) 0 (scan (+) 0 (map (* 2) part))
"""


OTHER_SIZE = """
entry main [n] [m] (xs: [n]i32) (ys: [m]i32): [m]i32 =
  let s = reduce (*) 1 (scan (+) 0 (map (* 3) xs))
  in scan (+) 0 (map (+ s) ys)
"""
COMPUTED_SIZE = """
entry main [n] (xs: [n]i32): i32 =
  let s = reduce (*) 1 (scan (+) 0 (map (* 3) xs))
  in reduce (*) 1 (scan (+) 0 (map (\\i -> i32.i64 i + s) (iota (i64.i32 s))))
"""
RETURNED = """
entry main [n] (xs: [n]i32): ([n]i32, i32) =
  let a = scan (+) 0 xs
  let s = reduce (*) 1 a
  let t = reduce (*) 1 (scan (+) 0 (map (+ s) xs))
  in (a, t)
"""
EITHER = """
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  let (a, _) = loop (a, b) = (copy xs, copy xs) for i < k do
    (scan (+) 0 (map2 (+) a b), if a[0] > 3 then a else b)
  in a
"""
MERGING: dict[Kind, str] = {
    NotMerged.OUTLIVES: OTHER_SIZE,
    NotMerged.LATER_SIZE: COMPUTED_SIZE,
    NotMerged.A_RESULT: RETURNED,
    NotHoisted.OWN_SIZE: GROWING,
    NotHoisted.KEPT_FOR_LONG: EITHER,
}


def missed(source: str) -> list[Remark]:
    """What is said of blocks that are not shared, and allocations that stay in loops."""
    work = Compilation(source)
    work.result("imp")
    return [one for one in work.remarks() if one.kind == "missed" and "merge/" in one.rule]


@pytest.mark.parametrize("kind", MERGING, ids=lambda kind: kind.name)
def test_memory_that_cannot_be_shared_or_kept_ends_so_too(kind: Kind) -> None:
    found = missed(MERGING[kind])
    assert kind.id in [one.refusal for one in found]
    assert {one.hint for one in found} == {NOTHING}


@pytest.mark.parametrize("divisor", ["(n + 1)", "(-1 - n)", "(2 * n + m + 3)", "(-7)"])
def test_a_divisor_that_has_a_sign_by_what_is_known_needs_no_check(divisor: str) -> None:
    (one,) = [x for x in told(DIVISORS.replace("DIVISOR", divisor)) if "update" in x["rule"]]
    assert one["done"]


@pytest.mark.parametrize("divisor", ["(n * m + 1)", "(n - m)", "n"])
def test_one_that_may_wrap_or_be_zero_does(divisor: str) -> None:
    """It is checked as it stands, or nothing is built early."""
    work = Compilation(DIVISORS.replace("DIVISOR", divisor))
    text = str(work.result("shortcircuit").text)
    (one,) = [x for x in told(work.source) if "update" in x["rule"]]
    assert not one["done"] or "assert" in text.partition("segscan")[0]


def test_views_are_undone_however_many_there_are() -> None:
    lines = [f"  let a = a with [{i % 8}] = a[{(i + 3) % 8}] + {i}" for i in range(450)]
    source = "\n".join([LONG, *lines, "  in xss with [0] = a"])
    (one,) = [x for x in told(source) if x["rule"] == "shortcircuit/update"]
    assert one["done"]


def test_every_kind_of_merging_has_a_program() -> None:
    assert set(MERGING) == {*NotMerged, *NotHoisted}
