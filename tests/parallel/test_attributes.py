"""What authors ask for with attributes: which kernels there are, and the same results."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.driver import api
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import Loop, Prog, SegMap, SegOp, Stm, Threshold
from compiler.ir.walk import all_stms
from compiler.protocol.kinds import OfProgram

ROWS = "map (\\xs -> f32.sum (map (\\x -> x * x) xs)) xss"


def source(attribute: str) -> str:
    return f"entry main [n][m] (xss: [n][m]f32) = {attribute} {ROWS}"


def flat(text: str, target: str) -> tuple[Prog, list[str]]:
    work = Compilation(text, Options(target=target, verify=True))
    prog: Prog = work.result("flat").prog
    said = [r.because for r in work.remarks() if r.rule == "flatten/attribute"]
    return prog, said


def stms_of(prog: Prog) -> list[Stm]:
    """All statements, in order."""
    return [stm for fun in prog.funs for stm in all_stms(fun.body.stms)]


def shape(prog: Prog) -> list[str]:
    """The thresholds, loops and kernels, in order."""
    found = []
    for stm in stms_of(prog):
        if isinstance(stm.exp, Threshold):
            found.append(stm.exp.name.rpartition("_")[0])
        elif isinstance(stm.exp, Loop):
            found.append("loop")
        elif isinstance(stm.exp, SegOp):
            found.append(type(stm.exp).__name__.lower())
    return found


OUTER = ["suff_outer", "segmap", "loop"]
INTRA = ["segmap", "segred"]
SHAPES = [
    ("", "c", [*OUTER, "segred"]),
    ("#[sequential]", "c", ["loop", "loop"]),
    ("#[sequential_outer]", "c", ["loop", "segred"]),
    ("#[sequential_inner]", "c", ["segmap", "loop"]),
    ("#[incremental_flattening(no_outer)]", "c", ["segred"]),
    ("#[flattening(only_inner)]", "c", ["segred"]),
    ("#[flattening(no_intra)]", "c", [*OUTER, "segred"]),
    ("#[unroll]", "c", [*OUTER, "segred"]),
    ("", "cuda", [*OUTER, "suff_intra", *INTRA, "segred"]),
    ("#[flattening(no_outer)]", "cuda", ["suff_intra", *INTRA, "segred"]),
    ("#[flattening(no_intra)]", "cuda", [*OUTER, "segred"]),
    ("#[incremental_flattening(only_intra)]", "cuda", [*INTRA, "segred"]),
    ("#[incremental_flattening(only_inner)]", "cuda", ["segred"]),
    ("#[no_outer] #[no_intra]", "cuda", ["segred"]),
]


@pytest.mark.parametrize(("attribute", "target", "expected"), SHAPES)
def test_kernels(attribute: str, target: str, expected: list[str]) -> None:
    prog, said = flat(source(attribute), target)
    assert shape(prog) == expected
    assert bool(said) == (attribute not in ("", "#[unroll]"))


def test_an_inner_operator_may_be_sequential() -> None:
    text = source("").replace("f32.sum (map", "f32.sum (#[sequential] map")
    assert shape(flat(text, "c")[0]) == ["segmap", "loop"]


def test_the_attribute_holds_for_its_expression_only() -> None:
    text = "entry main (xs: []i32) (ys: []i32) =\n  (#[sequential] map (+ 1) xs, map (* 2) ys)"
    assert sorted(shape(flat(text, "c")[0])) == ["loop", "segmap"]


def test_it_holds_for_what_a_value_is_piped_through() -> None:
    """As in Futhark, `#[a] map f xs |> head` is `#[a] (head (map f xs))`."""
    text = source("#[incremental_flattening(no_outer)]")
    assert shape(flat(f"{text} |> take 1", "c")[0]) == ["segred"]
    text = "entry main (xs: []i32) = #[sequential] map (+ 1) xs |> scan (+) 0 |> map (* 3)"
    assert set(shape(flat(text, "c")[0])) == {"loop"}


def test_few_elements_may_have_a_block_of_threads_each() -> None:
    """A loop of small kernels, each started by itself, is one kernel of one block."""
    text = """
entry main [n] (a: [n][n]f32): [1][n][n]f32 =
  map (\\m -> loop m = copy m for i < n do map (map (* m[i, i])) m) [a]
"""
    prog, _ = flat(text, "cuda")
    assert shape(prog)[0] == "suff_intra"
    assert any(isinstance(s.exp, SegMap) and s.exp.per_block for s in stms_of(prog))
    assert "suff_outer" not in shape(prog)


WIDE = (
    "entry main (n: i64) (m: i64) (xss: [{}][{}]f32) = #[incremental_flattening(only_intra)] "
    + ROWS
)


@pytest.mark.parametrize(
    ("rows", "columns", "decided"),
    [
        ("n", "n", True),
        ("m*n", "m", True),
        ("n", "m", False),
        ("n", "m*n", False),
        ("100", "n", False),
        ("n", "1024", True),
    ],
)
def test_long_rows_that_bring_enough_blocks_have_no_other_version(
    rows: str, columns: str, decided: bool
) -> None:
    """Where there are rows there are no fewer than a size that their number is a multiple of."""
    prog, _ = flat(WIDE.format(rows, columns), "cuda")
    assert (shape(prog) == INTRA) == decided


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("attribute", sorted({a for a, _, _ in SHAPES}))
def test_results_are_the_same(attribute: str, target: str) -> None:
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    options = {"target": target, "verify": True}
    for stage in ("flat", "merged", "imp"):
        found = api.run_values(
            OfProgram(source(attribute), options), "main", [rows], "ref", stage, 20
        )
        np.testing.assert_array_equal(found["values"][0], [14, 126, 366])


FOLDS = """
entry main [n] (xs: [n]i64) (is: [n]i64) (yss: *[n][2]i64) =
  let a = #[sequential_outer] scan (+) 0 (map (* 3) xs)
  let b = #[sequential_outer] reduce (map2 (+)) [0, 0] (copy yss)
  let c = #[sequential_outer] reduce_by_index (replicate 3 0) (+) 0 is xs
  let d = #[sequential_outer] scatter yss is (map (\\x -> [x, x + 1]) xs)
  in (a, b, c, d)
"""


@pytest.mark.parametrize("word", ["sequential_outer", "sequential", "sequential_inner"])
def test_folds_and_scatters(word: str) -> None:
    text = FOLDS.replace("sequential_outer", word)
    given = [np.array(v, np.int64) for v in ([1, 2, 3], [2, 0, 7], [[1, 2], [3, 4], [5, 6]])]
    wanted = api.run_values(OfProgram(FOLDS), "main", given, "ref", "soa", 20)["values"]
    for stage in ("flat", "merged", "imp"):
        found = api.run_values(OfProgram(text, {"verify": True}), "main", given, "ref", stage, 20)[
            "values"
        ]
        for left, right in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(left, right)
