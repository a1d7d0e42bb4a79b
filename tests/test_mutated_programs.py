"""Mutants of programs: what is edited and what stays, what becomes of a batch of them.

`bench/mutated.py` runs them by the thousand, next to Futhark's compiler.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.base.errors import CompileError, RuntimeError_
from compiler.driver.disk import ProgramFiles
from compiler.frontend import ast
from compiler.runtime import runner
from testing import futhark, mutated
from testing.generators import edits
from testing.generators import mutated as generator
from testing.generators.mutated import Mutant, Subject
from tests.runtime.cuda_on_cpu import needs_cxx

EXAMPLES = Path(__file__).parent.parent / "app" / "examples"
TEXT = """\
-- ==
-- input { [1, 2, 3] 4 } output { [4, 8, 12] 3 }
def most (a: i32) (b: i32) = if a > b then a else b

entry main [n] (xs: [n]i32) (k: i32) =
  let ys = map (\\x -> x * k) xs
  in (ys, reduce most (i32.lowest) xs, reduce (\\a b -> a + b) 0 ys + (if k > 2 then xs[0] else 7))
"""
SUBJECT = Subject(ProgramFiles(TEXT, {}, "main.fut"), "main")


def test_every_edit_is_made_and_most_mutants_are_accepted() -> None:
    kinds, refused = set[str](), 0
    for seed in range(150):
        made = generator.mutant(SUBJECT, random.Random(seed))
        kinds |= {change.partition(" in line")[0] for change in made.changes}
        try:
            generator.accepted(made, "e", SUBJECT.options)
        except CompileError:
            refused += 1
    assert {*edits.SAME, *edits.OTHER} <= kinds
    assert any(kind.startswith("i32 is ") for kind in kinds)
    assert refused < 75


def test_operators_of_reductions_and_their_neutral_elements_are_kept() -> None:
    kept = {TEXT[at.start : at.end] for at in SUBJECT.places if at.kept}
    assert {"a > b", "a + b", "0", "i32.lowest", "if a > b then a else b"} <= kept
    free = {TEXT[at.start : at.end] for at in SUBJECT.places if not at.kept}
    assert {"x * k", "xs[0]", "ys"} <= free
    assert not any(isinstance(at.node, ast.Lambda) for at in SUBJECT.places)


def test_a_seed_means_the_same_every_time() -> None:
    one, other = (generator.mutant(SUBJECT, random.Random(7)) for _ in range(2))
    assert one == other != generator.mutant(SUBJECT, random.Random(8))


def test_a_mutant_is_called_in_a_map_a_loop_and_a_branch() -> None:
    text = "entry main [n] (xs: [n]i32) = map (+ 1) xs\n"
    subject = Subject(ProgramFiles(text, {}, "main.fut"), "main")
    plain = generator.mutant(subject, random.Random(1))
    entry = generator.accepted(plain, "e", subject.options)
    said = set[str]()
    for seed in range(20):
        made = generator.called_otherwise(plain, entry, random.Random(seed))
        called = generator.accepted(made, "e", subject.options)
        values = generator.fitted([np.array([1, 2], np.int32)], called, entry)
        assert values is not None
        assert len(values) == len(called.params)
        said.add(made.changes[-1])
    assert said == {"in a map", "in a loop", "in a branch"}


def batch(
    tmp_path: Path, oracle: futhark.Futhark | None, path: Path | None = None
) -> mutated.Batch:
    """A small batch, of SUBJECT or of a program that is there."""
    if path is None:
        path = tmp_path / "main.fut"
        path.write_text(TEXT)
    of = mutated.subject(path, random.Random(0))
    assert of is not None
    return mutated.Batch(1, range(20, 23), path, of, oracle)


@needs_cxx
@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
@pytest.mark.parametrize("name", ["prefix_filter", "stencil"])
def test_mutants_of_an_example_agree_as_cuda_text_with_our_c(name: str, tmp_path: Path) -> None:
    found = batch(tmp_path, None, EXAMPLES / f"{name}.fut").results()
    assert [one.says for one in found if one.outcome == "difference"] == []
    assert any(one.outcome == "agrees" for one in found)


class Accepting(futhark.Futhark):
    """A compiler that refuses what is in a line, and compiles nothing."""

    refused = 0

    def check(self, path: Path) -> None:
        """Accept everything."""

    def compiled(self, path: Path) -> Path:
        """Refuse a text once that has that line."""
        at = Accepting.refused
        Accepting.refused = 0
        if at:
            raise futhark.Refusal("Error at main.fut: no", at)
        return path


def test_what_one_checker_alone_accepts_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = batch(tmp_path, Accepting("futhark", tmp_path))
    results = [mutated.Result(seed, "main.fut") for seed in made.seeds]
    trials = [trial for one in results if (trial := made.trial(one)) is not None]
    assert len(trials) == 3
    monkeypatch.setattr(Accepting, "refused", trials[0].declared.count("\n") + 3)
    left, _ = made.accepted(trials)
    assert left == [trials[0], trials[2]]
    assert trials[1].result.says == (
        f"accepted by us only: Error at main.fut: no [{'; '.join(trials[1].made.changes)}]"
    )


def test_a_scatter_is_seen_by_whatever_name_it_was_called(tmp_path: Path) -> None:
    made = batch(tmp_path, None)
    trial = next(t for seed in made.seeds if (t := made.trial(mutated.Result(seed, "main.fut"))))
    assert not made.scatters(trial)
    text = "def main (is: []i64) = spread 3 0 is (map i32.i64 is)\n"
    call = "entry NAME is = MODULE.main is"
    assert made.scatters(replace(trial, made=Mutant(text, (), call)))


@pytest.mark.parametrize(
    ("found", "wanted", "end"),
    [
        ([np.int32(1)], [np.int32(1)], "agrees"),
        ([np.int32(1)], [np.int32(2)], "difference"),
        (RuntimeError_("Index 1"), RuntimeError_("index: Index [1]"), "fails"),
        ([np.int32(1)], RuntimeError_("index: Index [1]"), "difference"),
        (RuntimeError_("Index 1"), [np.int32(1)], "difference"),
        (RuntimeError_("Index 1"), RuntimeError_("crashed (SIGFPE)"), "fails"),
        ([np.int32(1)], RuntimeError_("memory: it was not given enough"), "limit"),
        (mutated.Wrong("Crash: memory"), RuntimeError_("memory: no"), "difference"),
    ],
)
def test_how_two_runs_compare(found: object, wanted: object, end: str) -> None:
    assert mutated.alike("c", found, wanted)[0] == end  # type: ignore[arg-type]
    crashed = isinstance(wanted, RuntimeError_) and "crashed" in wanted.message
    assert bool(mutated.alike("c", found, wanted)[1]) == (end == "difference" or crashed)  # type: ignore[arg-type]
