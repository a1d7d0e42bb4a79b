"""Formulas of costs are what runs of the reference interpreter count, on growing inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compiler.__main__ import main
from compiler.base.errors import CompileError
from compiler.base.names import base_of
from compiler.driver.cost_formulas import formulas
from compiler.driver.pipeline import STAGES
from compiler.explain.cost_formulas import CostFormulas, SymbolicCost, cost_formulas, evaluate
from compiler.ir import nodes as ir
from compiler.ir.random_values import inputs
from compiler.protocol.cost_formulas import FormulasRequest
from testing import compiling
from testing.generators.programs import program
from testing.measured_costs import Measured, measure

CHECKED = ("soa", "simplified", "fused", "flat")
"""Stages without memory: the interpreter sees no blocks."""
EXAMPLES = sorted(Path("app/examples").glob("*.fut"))
SIZES = (1, 3, 6)
PARTS = ("work", "span", "moved", "made")
ROWS = {
    "reduce": ("(xs: [n]i32)", "reduce (+) 0 xs", ("2*n", "lg(n) + 1", "4*n", "0")),
    "foldl": ("(xs: [n]i32)", "foldl (+) 0 xs", ("2*n", "2*n", "4*n", "0")),
    "scan": ("(xs: [n]i32)", "scan (+) 0 xs", ("3*n", "lg(n) + 2", "8*n", "4*n")),
    "an operator on rows": ("(xss: [n][m]i32)", "reduce (map2 (+)) (replicate m 0) xss", None),
    "the same, turned": (
        "(xss: [n][m]i32)",
        "map (reduce (+) 0) (transpose xss)",
        ("2*m*n + m", "lg(n) + 2", "4*m*n + 4*m", "4*m"),
    ),
    "a reduction of three": ("(x: i32) (y: i32) (z: i32)", "reduce (+) 0 [x, y, z]", None),
    "a sum of three": ("(x: i32) (y: i32) (z: i32)", "x + y + z", ("2", "2", "0", "0")),
    "a histogram": (
        "(is: [n]i64) (m: i64)",
        "reduce_by_index (replicate m 0i32) (+) 0 is (map i32.i64 is)",
        None,
    ),
    "a nest": (
        "(xss: [n][m]i32)",
        "map (\\xs -> reduce (+) 0 xs) xss",
        ("2*m*n + n", "lg(m) + 2", "4*m*n + 4*n", "4*n"),
    ),
    "an irregular nest": (
        "(is: [n]i64)",
        "map (\\i -> reduce (+) 0 (iota (i64.abs i % 5))) is",
        None,
    ),
    "numbers of another sign": ("(xs: [n]i32)", "map u32.i32 xs", None),
    "tuples": (
        "(xs: [n]i32) (ys: [n]f64)",
        "map (\\(x, y) -> f64.i32 x + y) (zip xs ys)",
        ("5*n", "5", "20*n", "8*n"),
    ),
    "tuples apart": ("(xs: [n](i32, f64))", "unzip xs", ("0", "0", "0", "0")),
    "records": (
        "(xs: [n]{a: i32, b: i32})",
        "map (\\x -> x.a + x.b) xs",
        ("4*n", "4", "12*n", "4*n"),
    ),
    "a sum type": (
        "(xs: [n]i32)",
        "map (\\x -> match (if x > 0 then #pos x else #neg : #neg | #pos i32)"
        " case #pos y -> y case #neg -> 0) xs",
        None,
    ),
    "an array of rows": ("(xs: [n]i32)", "[xs, xs, xs]", ("6*n", "1", "24*n", "12*n")),
    "fused maps": ("(xs: [n]i32)", "map (+ 1) (map (* 2) xs)", ("4*n", "4", "8*n", "4*n")),
    "a map into a reduction": (
        "(xs: [n]i32)",
        "reduce (+) 0 (map (* 2) xs)",
        ("3*n", "lg(n) + 2", "4*n", "0"),
    ),
    "side by side": ("(xs: [n]i32)", "(map (+ 1) xs, reduce (+) 0 xs)", None),
    "take": ("(xs: [n]i32)", "take (n / 2) xs", ("1", "1", "0", "0")),
    "drop": ("(xs: [n]i32)", "drop (n / 2) xs", ("2", "2", "0", "0")),
    "reverse": ("(xs: [n]i32)", "reverse xs", ("0", "0", "0", "0")),
    "transpose": ("(xss: [n][m]i32)", "transpose xss", ("0", "0", "0", "0")),
    "a branch of two layouts": (
        "(c: bool) (xss: [n][n]i32)",
        "if c then xss else transpose xss",
        ("0", "0", "0", "0"),
    ),
    "a loop that turns": (
        "(xss: [n][n]i32) (k: i64)",
        "loop ys = xss for i < k do transpose ys",
        None,
    ),
    "a loop in a loop": ("(n: i64)", "loop s = 0 for i < n do loop t = s for j < i do t + 1", None),
    "a while": ("(n: i64)", "loop k = n while k > 1 do k / 2", None),
    "rows that copy": ("(xss: [n][m]i32)", "map (\\xs -> copy xs) xss", None),
    "update": ("(xs: *[n]i32)", "if n == 0 then xs else xs with [0] = 1", None),
    "scatter": ("(is: [n]i64) (xs: *[m]i32)", "scatter xs is (map i32.i64 is)", None),
    "filter": ("(xs: [n]i32)", "filter (> 0) xs", None),
    "concat": ("(xs: [n]i32)", "xs ++ xs", ("4*n", "1", "16*n", "8*n")),
    "iota": ("(n: i64)", "iota n", ("n + 3", "4", "8*n", "8*n")),
    "replicate": ("(n: i64)", "replicate n 1u8", ("n + 3", "4", "n", "n")),
    "flatten": ("(xss: [n][m]i32)", "flatten xss", None),
}


def text(row: str) -> str:
    params, body, _ = ROWS[row]
    sizes = "".join(f"[{name}]" for name in "nm" if f"[{name}]" in params)
    return f"entry main {sizes} {params} = {body}"


def disagreements(
    cost: SymbolicCost, found: Measured, formulas_: CostFormulas
) -> list[tuple[str, Any, Any]]:
    """Return the parts whose formula is not what was counted, or is exceeded by it."""
    out = []
    measured = any(atom.op in ("most", "largest") for atom in formulas_.atoms.values())
    for name, poly in zip(PARTS, cost.parts, strict=True):
        told, seen = evaluate(poly, found.env, formulas_.atoms), getattr(found, name)
        bound = cost.at_most or (name == "span" and (found.empty or measured))
        if seen > told or (seen != told and not bound):
            out.append((name, told, seen))
    return out


def arguments(fun: ir.Function, size: int) -> list[Any]:
    numbers = {
        base_of(name): size
        for param in fun.params
        for name in (
            {n for s in param.type.shape for n in s.names()}
            if isinstance(param.type, ir.Array)
            else {param.name}
        )
        if not isinstance(param.type, ir.Scalar) or param.type.prim[0] in "iu"
    }
    return inputs(fun, numbers, size).values


def compared(source: str, sizes: tuple[int, ...], given: list[Any] | None = None) -> int:
    """Compare all entry points at all stages; return how many costs were exact and compared."""
    exact = 0
    work = compiling.compiled(source)
    for stage in CHECKED:
        prog = work.result(stage).prog
        found = cost_formulas(prog)
        for fun in prog.funs:
            cost = found.functions[fun.name].cost
            if not fun.entry or cost.unknown:
                continue
            for size in sizes:
                args = given or arguments(fun, size)
                try:
                    seen = measure(prog, fun, args, found, {})
                except CompileError:
                    break
                assert disagreements(cost, seen, found) == [], (stage, fun.name, size)
                exact += not cost.at_most
    return exact


@pytest.mark.parametrize("row", ROWS)
def test_what_the_text_says_of_each_construct_is_counted(row: str) -> None:
    assert compared(text(row), (*SIZES, 17)) or ROWS[row][2] is None
    expected = ROWS[row][2]
    if expected is not None:
        (told,) = formulas(FormulasRequest(text(row)))["functions"]
        assert tuple(told["cost"][name] for name in PARTS) == expected  # type: ignore[literal-required]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    compared(path.read_text(), SIZES)


@pytest.mark.parametrize("first", range(0, 80, 10))
def test_random_programs(first: int) -> None:
    exact = 0
    for seed in range(first, first + 10):
        made = program(seed)
        exact += compared(made.source, (0,), made.inputs)
    assert exact, "all were upper bounds"


def test_a_wrong_formula_is_noticed() -> None:
    """Of each part, one more and one less."""
    prog = compiling.compiled(text("a nest")).result("fused").prog
    found = cost_formulas(prog)
    (fun,) = prog.funs
    cost = found.functions["main"].cost
    seen = measure(prog, fun, arguments(fun, 3), found, {})
    assert disagreements(cost, seen, found) == []
    for at, name in enumerate(PARTS):
        for by in (1, -1):
            parts = list(cost.parts)
            parts[at] += by
            assert [one[0] for one in disagreements(SymbolicCost(*parts), seen, found)] == [name]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_stage_of_the_core_language_has_formulas(path: Path) -> None:
    for stage in STAGES:
        if stage.kind == "ir" and path.stem != "gradient":
            answer = formulas(FormulasRequest(path.read_text(), stage=stage.id, against="fused"))
            assert any(one["statements"] for one in answer["functions"])


def test_building_in_place_moves_less() -> None:
    source = Path("app/examples/lu_step.fut").read_text()
    answer = formulas(FormulasRequest(source, stage="shortcircuit", against="funmem"))
    (told,) = answer["functions"]
    assert told["difference"]["moved"] == "32*b*n - 16*b**2 - 16*n**2"  # -16*(n - b)**2


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nest.fut"
    file.write_text(text("a nest"))
    assert main(["cost", str(file), "--stage", "flat", "--against", "fused"]) == 0
    told = capsys.readouterr().out
    assert "work   at most 2*m*n + n" in told
    assert "more than in stage fused, by the upper bounds" in told
    assert main(["cost", str(file), "--stage", "typed"]) != 0
    assert "has no cost formulas" in capsys.readouterr().err
