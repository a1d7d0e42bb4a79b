"""The kept programs with refusals for cells: a part of them, and how a refusal is judged."""

from __future__ import annotations

from collections import Counter

from testing.refusals import Program, programs, refusals
from tests.storage.test_reasons import refused

EVERY = 4
"""Which part is tried here; `python -m bench.refusals` tries all."""


def verdicts(name: str, given: str, body: str) -> list[str]:
    program = Program(name, f"entry main [n] {given} =\n  {body}\n")
    return [one.verdict for one in refusals(program)]


def test_at_most_one_in_ten_refusals_of_a_part_is_unjustified() -> None:
    some = programs()[::EVERY]
    counts = Counter(one.verdict for program in some for one in refusals(program))
    assert counts["justified"] >= 20
    assert counts["unjustified"] <= counts.total() / 10
    assert not counts["barred"]


def test_each_program_has_a_name_of_its_own_and_the_set_is_large() -> None:
    names = [program.name for program in programs()]
    assert len(names) == len(set(names)) >= 190


def test_what_meets_in_a_run_is_justified() -> None:
    body = "let v = map (\\i -> a[n - 1 - i] + 1) (iota n) in a with [0:n] = v"
    assert verdicts("reverse", "(a: *[n]i64)", body) == ["justified"]


def test_what_meets_in_one_code_version_only_is_justified() -> None:
    body = (
        "let v = map (\\i -> x[i] + i64.sum (map2 (\\p q -> (p - x[i]) * q) x y)) (iota n) "
        "in x with [0:n] = v"
    )
    assert verdicts("stars", "(x: *[n]i64) (y: [n]i64)", body) == ["justified"]


def test_a_program_that_never_runs_says_nothing() -> None:
    body = "let v = map (\\i -> a[n + i] + 1) (iota (n + 1)) in a with [0:n + 1] = v"
    assert set(verdicts("outside", "(a: *[n]i64)", body)) <= {"barred"}


def test_cells_of_many_dimensions_are_counted_without_wrapping() -> None:
    """Sizes whose product is beyond 64 bits were taken for few cells, and all of them listed."""
    source = """
entry main [n] (a: *[n][n]i64) (k: i64) =
  let r = n - k - 1
  let v = tabulate_2d r r (\\i j -> a[k + 1 + j, k + 1 + i] - a[k + 1 + i, k])
  in a with [k + 1:n, k + 1:n] = v
"""
    (one,) = refused(source, "update")
    assert one["witness"] is not None
