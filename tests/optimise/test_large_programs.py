"""Functions of large programs are simplified before they are copied: same results, less work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import RuntimeError_
from compiler.driver.pipeline import Compilation
from compiler.ir.values import Value
from compiler.optimise import inline
from compiler.semantics import interp
from compiler.testing.compare import same
from testing import blocks
from testing.generators.programs import program

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))

SHARED = """
def digits : [3]i64 = [4, 5, 6]
def base = length digits + 7
def set [n] (xs: *[n]i64) (i: i64) (x: i64) : *[n]i64 = xs with [i] = x + base
def twice [n] (xs: [n]i64) (i: i64) : ([n]i64, [n]i64) =
  let ys = set (copy xs) i 1
  in (set (copy ys) (n - 1 - i) 2, ys)
def choose (k: i64) (x: i64) (y: i64) =
  if k == 0 then x else if k == 1 then y else assert (k < 3) (x * y + digits[k])
def main2 [n] (xs: [n]i64) (k: i64) =
  let (a, b) = twice xs 0
  let (c, d) = twice a 1
  in (a, b, c, d, choose 0 k n + choose 1 k n + choose 2 k n + choose k 7 8)
entry main [n] (xs: [n]i64) (k: i64) = main2 xs k
entry other [n] (xs: [n]i64) (k: i64) =
  let (a, b, c, d, e) = main2 (map (+ k) xs) 1
  let f = set (copy c) 0 e
  in (map (\\x -> choose 2 x x + choose 1 x e) a, b, c, d, f)
"""


def nested(depth: int) -> str:
    """Functions each of which calls the one before three times, with a literal that chooses."""
    lines = ["def f0 (k: i64) (x: i64) = if k == 0 then x + 1 else if k == 1 then x * 3 else x % 7"]
    for d in range(1, depth + 1):
        calls = f"f{d - 1} 0 (f{d - 1} 1 (f{d - 1} k x))"
        lines.append(f"def f{d} (k: i64) (x: i64) = if k == 2 then {calls} else x - {d}")
    return "\n".join([*lines, f"entry main (xs: []i64) = map (f{depth} 2) xs"])


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline, "_LARGE", 0)


def agree(source: str, entry: str, args: list[Value]) -> None:
    work = Compilation(source, Options(verify=True))
    stages = ("soa", "simplified", "fused", "merged")
    first, *others = (interp.run(work.result(s).prog, entry, args) for s in stages)
    for found in others:
        assert same(found, first)


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize("entry", ["main", "other"])
@pytest.mark.parametrize("k", range(3))
def test_shared_functions_with_arrays_checks_and_constants(entry: str, k: int) -> None:
    agree(SHARED, entry, [np.arange(10, 15), np.int64(k)])


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    work = Compilation(path.read_text("utf-8"), Options(verify=True))
    for case, args in blocks.given(path, work.result("soa").prog, 500):
        agree(work.source, case.entry, args)


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize("seed", range(5000, 5012))
def test_generated_programs(seed: int) -> None:
    made = program(seed, 8)
    agree(made.source, "main", made.inputs)


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize("fuel", [0, 1, 5, 20])
def test_any_number_of_rewrites_is_right(fuel: int) -> None:
    work = Compilation(SHARED, Options(verify=True, fuel=fuel))
    args = [np.arange(10, 15), np.int64(2)]
    assert same(
        interp.run(work.result("simplified").prog, "main", args),
        interp.run(work.result("soa").prog, "main", args),
    )


CONSTANTS = """
def digits = "52435875175126190479"
def number [n] (s: [n]u8) (base: u64): (u64, u64) =
  loop (x, carries) = (0, 0) for c in s do
    let y = x * base + u64.u8 (c - '0')
    in (y, carries + u64.bool (y < x))
def value = number digits 10
def square (x: u64) = x * x + value.0
def steps = let (_, n) = loop (x, n) = (27, 0) while x != 1 do
    (if x % 2 == 0 then x / 2 else 3 * x + 1, n + 1) in n
def halves = f64.sum (map (\\i -> 0.5 ** f64.i64 i) (iota 30))
entry main (x: u64): (u64, u64, i32, f64) =
  (square x + square (x + 1) + value.1, (number digits 7).0, steps, halves)
"""
COMPUTED = "simplify/compute-call"


def computed(work: Compilation) -> list[str]:
    """What is said of calls that the compiler has computed."""
    assert work.result("simplified").prog
    return [r.because for r in work.remarks() if r.rule == COMPUTED]


@pytest.mark.usefixtures("all_are_large")
def test_calls_whose_arguments_are_known_are_computed() -> None:
    work = Compilation(CONSTANTS, Options(verify=True))
    said = "The compiler evaluated `{}`: all of its arguments are known."
    assert computed(work) == [said.format(n) for n in ("number", "steps", "halves")]
    text = "\n".join(line.text for line in work.result("simplified").text)
    assert not {"loop", "map", "reduce", "["} & set(text.replace("(", " ").split())
    agree(CONSTANTS, "main", [np.uint64(5)])
    off = Compilation(CONSTANTS, Options(disabled=frozenset((COMPUTED,))))
    assert computed(off) == []
    assert sum("loop" in line.text for line in off.result("simplified").text) == 3


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize(
    "body",
    [
        "loop x = 1f64 for i < 20000 do x + f64.i32 i",
        "loop x = 1f64 while x > 0 do x + 1",
        "f64.sum (map f64.i64 (iota 1_000_000))",
        "(loop x = 1f64 for _i < 3 do x / 0) * 0",
        "-(loop x = 0f64 for _i < 3 do x * 2)",
        "assert ((loop x = 1i32 for i < 5 do x + i) == 3) 3f64",
    ],
    ids=["too long", "for ever", "too large", "not a number", "negative zero", "fails"],
)
def test_what_is_not_computed(body: str) -> None:
    source = f"def c (k: i32) = f64.i32 k * ({body})\nentry main (x: f64) = x + c 1"
    assert computed(Compilation(source, Options(verify=True))) == []


@pytest.mark.usefixtures("all_are_large")
def test_a_constant_that_fails_does_so_when_the_program_runs() -> None:
    source = (
        "def c = assert ((loop x = 1i32 for i < 5 do x + i) == 3) 3\nentry main (x: i32) = x + c"
    )
    work = Compilation(source, Options(verify=True))
    with pytest.raises(RuntimeError_, match="Assertion is false"):
        interp.run(work.result("merged").prog, "main", [np.int32(1)])


@pytest.mark.usefixtures("all_are_large")
def test_all_calls_together_take_a_bounded_number_of_steps() -> None:
    """Each may take half of what is left."""
    loops = "".join(
        f"def c{k} = loop x = {k} for i < 3000 do (x * 3) ^ (i + x / 3)\n" for k in range(20)
    )
    body = " + ".join(f"c{k}" for k in range(20))
    work = Compilation(f"{loops}entry main (x: i32) = x + {body}")
    assert 5 < len(computed(work)) < 20


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize("fuel", range(0, 40, 3))
def test_computed_calls_are_right_after_any_number_of_rewrites(fuel: int) -> None:
    work = Compilation(CONSTANTS, Options(verify=True, fuel=fuel))
    found = interp.run(work.result("simplified").prog, "main", [np.uint64(5)])
    assert same(found, interp.run(work.result("soa").prog, "main", [np.uint64(5)]))


def test_only_what_is_left_of_a_function_is_copied() -> None:
    """A level more is three times as many copies, and only some more rewrites."""
    spent = []
    for depth in (9, 10):
        work = Compilation(nested(depth))
        assert work.result("soa").prog
        spent.append(work.result("simplified").spent - work.result("soa").spent)
    assert spent[1] < 1.5 * spent[0]


def test_what_is_said_of_a_statement_does_not_grow_with_how_deep_it_is_called() -> None:
    calls = "\n".join(f"def f{d} (x: []i64) = scan (+) 0 (f{d - 1} x)" for d in range(1, 51))
    source = f"def f0 (x: []i64) = map (* 2) x\n{calls}\nentry main (x: []i64) = f50 x"
    text = Compilation(source, Options()).result("simplified").text
    deepest = next(line.src for line in text if "map " in line.text and line.src)
    assert len(deepest) == 2 * inline.NEAREST
    assert deepest[0].line == 1
    assert deepest[-1].line == 52
    assert max(len(line.src) for line in text) == 2 * inline.NEAREST
