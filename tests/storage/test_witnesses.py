"""Refusals that name values: a run has shown each of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from compiler.driver.pipeline import Compilation
from compiler.ir import values
from compiler.semantics import interp
from compiler.storage.short_circuit import trial
from testing.attempts import attempts
from testing.refusals import programs
from testing.witnesses import judged, measure, refusals

OLD_ROW = """
entry main [n] (xs: *[n]i32) (zs: [2]i32) (k: i64): (*[n]i32, i32) =
  let new = map (+ 1) zs
  let old = xs[k]
  let xs = xs with [0:2] = new
  in (xs, CHECKED old)
"""
"""Reads a cell that `new` would overwrite for `k < 2`."""

EARLIER = """
entry main [n] (xs: *[n]i32) (k: i64): (*[n]i32, i32) =
  let k = assert (KNOWN) k
  let old = xs[k]
  let new = map (+ old) xs[n - 2:]
  let other = xs[k]
  in (xs with [0:2] = new, other)
"""

IN_A_LOOP = """
entry main [n] (xs: *[n]i32) (m: i64): *[n]i32 =
  loop xs for i < m do
    let new = map (\\j -> xs[(i + j + 1) % n] + 1) (iota n)
    in xs with [0:n] = new
"""

CALLED = """
#[noinline]
def rotated [n] (xs: *[n]i32): *[n]i32 =
  let new = map (\\j -> xs[(j + 1) % n]) (iota n)
  in xs with [0:n] = new

entry main [n] (xs: *[n]i32): *[n]i32 = rotated xs
"""


def refused(source: str) -> dict[str, Any]:
    """The one attempt that fails at condition 5."""
    found = attempts(Compilation(source).result("funmem").prog)
    (one,) = [a for a in found if a["condition"] == 5]
    return one


def later(check: str) -> str:
    """`old_row` with a check that comes after all accesses."""
    return OLD_ROW.replace("CHECKED", f"assert ({check})" if check else "")


def test_values_are_named_with_the_inputs_of_the_run() -> None:
    one = refused(later(""))
    assert "`new` would overwrite cell" in one["because"]
    assert one["witness"]["values"].keys() == {"n", "k"}
    n, k = (one["witness"]["values"][name] for name in "nk")
    assert n >= 2 > k >= 0
    assert f"with n = {n}, k = {k}" in one["because"]
    given = values.parse(one["witness"]["input"], ["i32", "i32", "i64"])
    assert given[0].shape == (n,)
    interp.run(Compilation(later("")).result("soa").prog, "main", given)


VALUE = re.compile(r"\b[a-z_]\w* = -?\d")


def test_compiling_names_no_values_and_asking_for_attempts_does() -> None:
    """Of what is refused for cells: what the program does there nobody knows before it is run."""
    named = 0
    for program in programs()[::12]:
        work = Compilation(program.source)
        work.result("merged")
        refusals_ = [r for r in work.remarks() if r.kind == "missed"]
        assert not [r.because for r in refusals_ if VALUE.search(r.because + r.hint)], program.name
        if any("does not overlap" in r.because for r in refusals_):
            found = attempts(work.result("funmem").prog)
            named += any(VALUE.search(one["because"]) is not None for one in found)
    assert named >= 3


@pytest.mark.parametrize("check", ["k >= 2", "n == 0", "k > 1 && k < n"])
def test_a_later_check_that_rules_a_clash_out_leaves_no_witness(check: str) -> None:
    one = refused(later(check))
    assert one["witness"] is None
    assert "It is not proved that `new` does not overlap `xs`" in one["because"]
    assert all(pair["witness"] is None for pair in one["obligations"])
    assert all(pair["verdict"] != "overlap" for pair in one["obligations"])


def test_a_later_check_narrows_what_is_looked_for() -> None:
    one = refused(later("k == 1 && n > 40"))
    assert one["witness"]["values"]["k"] == 1
    assert one["witness"]["values"]["n"] > 40


def test_what_was_indexed_before_is_inside() -> None:
    one = refused(EARLIER.replace("KNOWN", "k < n"))
    assert 0 <= one["witness"]["values"]["k"] < 2


def test_iterations_are_told_apart() -> None:
    found = attempts(Compilation(IN_A_LOOP).result("funmem").prog)
    said = [a["because"] for a in found if a["condition"] == 5]
    assert any("at another point of `new` with n = " in text for text in said)


def test_a_function_that_is_called_is_run_by_its_callers() -> None:
    found = [a for a in attempts(Compilation(CALLED).result("funmem").prog) if a["condition"] == 5]
    assert any("would overwrite" in a["because"] for a in found)


def test_the_pair_of_a_witness_shares_the_cell() -> None:
    """Where a pair of accesses is said to meet, it is at the values of the run."""
    one = refused(later(""))
    pair = one["obligations"][-1]
    if pair["verdict"] == "overlap":
        assert pair["witness"]["cell"] in (0, 1)


def test_remarks_name_no_values() -> None:
    """They are made in every compilation, without a run."""
    work = Compilation(later(""))
    work.result("shortcircuit")
    said = [r.because for r in work.remarks() if r.rule == "shortcircuit/update"]
    assert said
    assert not any("would overwrite" in text for text in said)


def test_all_witnesses_of_random_programs_are_real() -> None:
    with np.errstate(all="ignore"):
        counts = measure(range(24))
    assert counts["shown"] >= 3
    assert counts["false"] == 0


def test_the_measure_finds_a_false_witness() -> None:
    prog = Compilation(later("k >= 2")).result("funmem").prog
    real = Compilation(later("")).result("funmem").prog
    ((trials, number, attempt),) = [r for r in refusals(real) if r[2].condition == 5]
    assert trials.look(number)
    shown = attempt.shown
    ((trials, number, attempt),) = [r for r in refusals(prog) if r[2].condition == 5]
    attempt.shown = shown
    assert judged(trials, number, attempt) == "false"


def test_nothing_is_begun_after_the_deadline() -> None:
    prog = Compilation(later("")).result("funmem").prog
    ((trials, number, attempt),) = [r for r in refusals(prog) if r[2].condition == 5]
    trials.deadline = 0.0
    assert not trials.look(number)
    assert attempt.shown is None


def test_a_program_that_never_ends_is_given_up() -> None:
    found = attempts(Compilation(ENDLESS).result("funmem").prog)
    assert not any(one["done"] for one in found)
    assert all(one["witness"] is None for one in found)


ENDLESS = """
entry main [n] (xs: *[n]i32) (zs: [2]i32) (k: i64): (*[n]i32, i32) =
  let x = loop x = k while true do x + 1
  let new = map (+ 1) zs
  let old = xs[x]
  in (xs with [0:2] = new, old)
"""


SLOW = """
entry main [n] (xs: *[n][20]i32): *[n][20]i32 =
  let new = map (\\j -> xs[0, (j + 1) % 20] + xs[0, j]) (iota 20)
  let xs = xs with [0] = new
  in loop xs for i < 12000 do xs with [0, i % 20] = xs[0, (i + 1) % 20] + 1
"""


def test_a_clash_at_the_beginning_of_a_long_run_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_WHOLE_SECONDS", 60.0)
    one = refused(SLOW)
    assert one["witness"] is not None
    assert "would overwrite" in one["because"]
