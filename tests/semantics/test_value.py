"""The interpreter that goes by the letter and the fast one say the same, at every stage.

Where a run fails both fail; which of several points is named is left open.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.deadline import within
from compiler.base.errors import CompilerBug, RuntimeError_, UserError
from compiler.driver.pipeline import STAGES, Compilation
from compiler.ir import values
from compiler.ir.entry import external
from compiler.ir.nodes import Prog
from compiler.ir.parser import parse
from compiler.ir.values import Value
from compiler.semantics import interp, value
from testing import blocks
from testing.attempts import always
from testing.compiling import SHARED, different
from testing.generators import extremes, programs, storage
from tests import cases
from tests.parallel import random_nests
from tests.parallel.test_random_nests import arguments
from tests.parallel.versions import flat, versions
from tests.runtime.test_extremes import CASES
from tests.switches import few

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))
IR_STAGES = [stage.id for stage in STAGES if stage.kind == "ir"]
SMALL = 400
"""Elements of input, up to which going point by point takes little time."""
FEW = 30
"""The same for integers, which may be sizes."""
SECONDS, MOST_BYTES = 20.0, 1 << 18


@cache
def compiled(path: Path, target: str) -> Compilation:
    return Compilation(path.read_text("utf-8"), Options(target=target))


def outcome(run: Any, prog: Prog, entry: str, args: list[Value], **more: Any) -> list[Value] | str:
    """The results, or what an error begins with: the numbers in it depend on the order of points.

    An error that the limits make counts as any other, and a defect is none.
    """
    try:
        found: list[Value] = within(SECONDS, lambda: run(prog, entry, args, MOST_BYTES, **more))
    except RuntimeError_ as error:
        return error.kind
    return found


def assert_same(prog: Prog, entry: str, args: list[Value], **more: Any) -> None:
    plain = outcome(value.run, prog, entry, args, **more)
    cases.compare(plain, outcome(interp.run, prog, entry, args, **more))


def small(path: Path) -> Iterator[tuple[str, list[Value]]]:
    """Entry points with arguments that are not large: what an example brings, and random ones."""
    prog = compiled(path, "c").result("soa").prog
    funs = {fun.name: fun for fun in prog.funs if fun.entry}
    for case in blocks.read(path):
        args = blocks.arguments(case, funs[case.entry])
        if sum(a.size for a in args) <= SMALL and all(a.item() <= FEW for a in args if not a.shape):
            yield case.entry, args
    for name, fun in funs.items():
        for seed in range(2):
            yield name, few(fun, seed)


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path, target: str) -> None:
    work = compiled(path, target)
    own = IR_STAGES if target == "c" else [one for one in IR_STAGES if one not in SHARED]
    progs = list(different(work, own))
    for entry, args in small(path):
        for stage, prog in progs:
            assert_same(prog, entry, args)
            if stage not in SHARED:
                assert_same(prog, entry, args, thresholds=always(prog))


@pytest.mark.parametrize("seed", range(5000, 5012))
def test_generated_programs(seed: int) -> None:
    made = programs.program(seed, 8, smallest=seed % 2)
    work = Compilation(made.source)
    for _, prog in different(work, IR_STAGES):
        assert_same(prog, "main", made.inputs)


@pytest.mark.parametrize("seed", range(700, 712))
def test_generated_programs_about_memory(seed: int) -> None:
    made = storage.program(seed)
    work = Compilation(made.source)
    try:
        work.result("typed")
    except UserError:
        pytest.skip("refused")
    for args in made.inputs:
        for stage in IR_STAGES:
            assert_same(work.result(stage).prog, "main", args)


@pytest.mark.parametrize("seed", range(900, 912))
def test_generated_programs_at_the_ends_of_64_bits(seed: int) -> None:
    made = extremes.program(seed)
    soa = Compilation(made.source).result("soa").prog
    for args in made.inputs:
        assert_same(soa, "main", args)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_extremes(case: Any) -> None:
    soa = Compilation(case.source).result("soa").prog
    for text in case.inputs:
        args = values.parse(
            text, [p.type.prim for p in external(next(f for f in soa.funs if f.entry))]
        )
        assert outcome(value.run, soa, "main", args) == "runtime"
        assert_same(soa, "main", args)


@pytest.mark.parametrize("shape", ["m 1 0 1", "0 1 m 1"])
def test_a_part_without_elements_takes_no_memory(shape: str) -> None:
    """However large its other size is."""
    source = f"entry main [n] (xs: [n]i64) (m: i64) = intrinsics.flat_index_2d xs 0 {shape}"
    soa = Compilation(source).result("soa").prog
    assert_same(soa, "main", [np.arange(3), np.int64(2**46)])


@pytest.mark.parametrize("seed", range(12))
def test_nests_and_all_versions_of_them(seed: int) -> None:
    before = random_nests.program(seed)
    after, _ = flat(before, "cuda" if seed % 2 else "c")
    for sizes in ((1, 1), (3, 2), (2, 3)):
        args = arguments(seed, *sizes)
        assert_same(before, "main", args)
        for thresholds in versions(after):
            assert_same(after, "main", args, thresholds=thresholds)


@pytest.mark.parametrize("at", [1, 2**62])
def test_the_message_of_a_check_whose_values_vary_further_in(at: int) -> None:
    """The check is about a whole row, what it shows about each of its elements."""
    source = r"""
entry main (a: i64) (n: i64) (is: []i64) =
  map (\e -> let r = (replicate n (replicate (e - 1) e) with [a] = replicate (e - 1) 1)[a]
             in r[a] + length r) is
"""
    soa = Compilation(source).result("soa").prog
    for values_ in ([2, 2], [1, 3], [3, 1]):
        args = [np.int64(at), np.int64(2), np.array(values_)]
        said = []
        for run in (value.run, interp.run):
            with pytest.raises(RuntimeError_) as caught:
                run(soa, "main", args, MOST_BYTES)
            said.append(caught.value.message)
        assert said[0] == said[1]


def test_what_is_not_written_must_not_be_read() -> None:
    text = """
entry main (i_1: i64) : (r_2: i32) =
  let (xs_3: [2]i32) = scratch([2]i32)
  let (ys_4: [2]i32) = xs_3 with [0] = 7i32
  let (y_5: i32) = ys_4[i_1]
  in (y_5)
"""
    prog = parse(text)
    assert value.run(prog, "main", [np.int64(0)]) == [7]
    with pytest.raises(CompilerBug, match="before it is written"):
        value.run(prog, "main", [np.int64(1)])


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("let (r_4: [n_1]i32) = concat(xs_2, xs_2)", r"has the shape \(4,\) and not \[2\]"),
        ("let (r_4: [n_1]i32) = xs_2[0:+n_1 - 1:1]", r"has the shape \(1,\) and not \[2\]"),
        ("let (r_4: [n_1]i32) = xs_2 with [0:+1] = xs_2", "a part of shape"),
        ("let (r_4: [n_1]i32) = concat(xs_2, ys_9)", "`ys_9` has no value"),
    ],
)
def test_what_contradicts_types_is_found_out(statement: str, message: str) -> None:
    """The program need not pass the verifier: sizes are compared as numbers."""
    text = f"entry main [n_1] (xs_2: [n_1]i32) : (r_3: [n_1]i32) =\n  {statement}\n  in (r_4)\n"
    with pytest.raises(CompilerBug, match=message):
        value.run(parse(text), "main", values.parse("[1, 2]"))


def test_a_fold_goes_from_left_to_right() -> None:
    """One that is not associative tells the order, which the fast one may choose."""
    text = r"""
entry main [n_1] (xs_2: [n_1]i32) : (r_3: i32, s_4: [n_1]i32) =
  let (r_5: i32) =
    reduce [n_1] (xs_2)
      op (100i32) \(a_6: i32, b_7: i32) : (i32) -> (a_6 - b_7)
      map \(x_8: i32) : (i32) -> (x_8)
  let (s_9: [n_1]i32) =
    scan [n_1] (xs_2)
      op (100i32) \(a_10: i32, b_11: i32) : (i32) -> (a_10 - b_11)
      map \(x_12: i32) : (i32) -> (x_12)
  in (r_5, s_9)
"""
    found = [v.tolist() for v in value.run(parse(text), "main", values.parse("[1, 2, 3, 4]"))]
    assert found == [90, [99, 97, 94, 90]]
