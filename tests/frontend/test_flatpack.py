"""FlatPack: both models of a program give the same, errors are about the FlatPack text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.gallery import parse as parse_example
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompileError, RuntimeError_
from compiler.base.spans import span_at
from compiler.driver import api
from compiler.driver.pipeline import Compilation
from compiler.frontend.flatpack import read, translate
from compiler.frontend.flatpack.evaluate import Meaning, library
from compiler.protocol.kinds import OfProgram
from compiler.protocol.programs import ShowRequest
from compiler.semantics import flatpack as model
from compiler.testing import suite
from compiler.testing.compare import same
from tests.codegen.helpers import needs_cc

PROGRAMS = {
    "transposed": "main (xs : n Of m) = transpose xs",
    "rotated left": "main (xs : a Of b Of c Of d) = Twist RotateL xs",
    "rotated right": "main (xs : a Of b Of c Of d) = Twist RotateR xs",
    "rotated there and back": "main (xs : a Of b Of c) = Twist (Compose RotateL RotateR) xs",
    "one dimension rotated": "main (xs : n) = Twist RotateL xs",
    "row": "main (xs : 5 Of m) = Twist (Slice 3) xs",
    "column": "main (xs : n Of 4) = Twist (Slice 2 . Transpose) xs",
    "one value": "main (xs : 4 Of 5) = Twist (Slice 1) (Twist (Slice 2) xs)",
    "part": "main (xs : 6 Of m) = Twist (SubRange 1 3) xs",
    "nothing": "main (xs : 6 Of m) = Twist (SubRange 3 2) xs",
    "tail": "main (xs : 6) = tail xs + init xs",
    "part by parameters": "main (i : Int) (xs : 6) = Twist (SubRange i (i + 2)) xs",
    "every third": "main (xs : n Of m) = Twist (DownSample 3) xs",
    "inner part of every second": (
        "main (xs : 6 Of 6) = Twist (Compose (Smap (SubRange 2 4)) (DownSample 2)) xs"
    ),
    "deep": "main (xs : a Of b Of 4) = Twist (Smap (Smap (Slice 1))) xs",
    "split": "main (xs : 6 Of m) = Split 2 xs",
    "split by a parameter": "main (k : Int) (xs : 6) = Split k xs",
    "joined": "main (xs : n Of m) = Join xs",
    "joined across": "main (xs : n Of m) = Join (transpose xs)",
    "zipped": "main (xs : n Of m) (ys : n Of m) = Zip [xs, ys, xs + ys]",
    "interleaved": "main (xs : n) (ys : n) = Join (transpose (Zip [xs, ys]))",
    "one after another": "main (xs : n) (ys : n) = concat [xs, ys, xs]",
    "packed": "main (xs : n Of m) = Repack (transpose xs)",
    "outer products": "main (xs : n) (ys : m) = LetMap x xs (LetMap y ys (x * y))",
    "scalars": "main (s : Scalar) (xs : n) = s * xs - 2 * (s + 1)",
    "sizes among elements": "main (xs : n) = xs + size xs",
    "matrix product": "main (xs : n Of k) (ys : k Of m) = dotProduct xs ys",
    "positions": "main = positions 2 3 4",
    "counted": "main = Enumerate 3 (+ 2) 7",
    "counted down": "main (n : Int) = Enumerate 3 (- 2) n",
    "powers": "main = Enumerate 3 (* 2) 7",
    "literal": "main = Literal [1, 2, 3, 4, 5, (-6)] (2 Of 3)",
    "no literal": "main = Literal [] (2 Of 0)",
    "sum": "main (xs : n Of m) = Fold (+) 0 xs",
    "sum from rows": "main (xs : n Of m) (a : m) = Fold (+) a xs",
    "differences": "main (xs : n) = Fold (-) 100 xs",
    "least": "main (xs : n) = Fold min 1000 xs",
    "most, in depth": "main (xs : a Of b Of c) = Fold max (-1000) xs",
    "mean": "main (xs : 4 Of m) = sum xs",
    "let": "main (xs : n) = let y = xs * xs in y + y",
    "Let": "main (xs : n) = Let y (xs * xs) (y - 1)",
    "If": "main (xs : n) = If (xs > 2) (xs * 10) 0",
    "conditions": "main (xs : n) (ys : n) = (xs == ys) + (xs /= ys) * 2 + (xs <= ys) * 4",
    "filtered": "main (xs : n) = Filter x xs (x > 3)",
    "filtered and folded": "main (xs : n Of m) = LetMap r xs (sum (Filter x r (x > 3)))",
    "rows that are kept": "main (xs : n Of m) = Filter r xs (sum r > 8) * 2",
    "claimed": "main (xs : n) (ys : m) = xs + HasShape ys n",
    "map": "main (xs : n Of m) = map (\\r -> r * sum r) xs",
    "zipWith": "main (xs : n) (ys : n) = zipWith (*) xs ys",
    "composed": "total = Fold (+) 0 . tail\nmain (xs : 5) = total xs",
    "spread": "main (xs : n) = HasShape 7 (n Of 2)",
    "hostile names": "main (map : i64) (reduce : i64) = map + reduce",
    "hostile sizes": "main (entry : f64 Of loop) = transpose entry",
    "shadowed": "main (xs : n Of m) = LetMap x xs (LetMap x x (x + 1))",
    "tuples": (
        "main (ps : n Of (3 Of f32, i32, (u8, f64))) =\n"
        "  map (\\(x, k, (c, d)) -> (sum x * 0.5, (d - 1, k * 2 - 1), As f16 c)) (tail ps)"
    ),
    "tuples in other orders": (
        "main (ps : n Of (4 Of i16, 4 Of m Of f32)) =\n"
        "  let (a, b) = Join (Twist (Smap (SubRange 1 2) . DownSample 2) ps) in (b, a + size ps)"
    ),
    "tuples in pieces": "main (ps : 6 Of (i8, f32)) = Repack (Split 2 (HasShape ps 6))",
    "one of several arrays": (
        "main (xs : n Of m) (ys : n) =\n"
        "  let (a, b) = LetMap (x, y) (xs, ys) (x * y, y) in (a, b, LetMap r (xs, ys) 7)"
    ),
    "rows of both": (
        "main (ps : n Of (i64, m Of f32)) =\n  LetMap (k, x) ps (LetMap y x (As i64 y + k))"
    ),
    "converted": (
        "main (ps : n Of (i32, f64, u8)) =\n"
        "  let (i, x, b) = As f32 ps in\n"
        "  (mean i, x * b - i * 0.5, As i64 (As u8 (x * 50)), As i32 (x * 100), As f64 (b - 7))"
    ),
    "a condition of another type": (
        "main (ps : n Of (u8, f32, f32)) = let (c, a, b) = ps in If (c > 2) a (b + 1)"
    ),
    "tuples that are kept": ("main (ps : n Of (i8, f64)) = Filter (k, x) ps (As f64 k + x > 2)"),
    "one part of tuples that are kept": (
        "main (ps : n Of (i8, f64)) = let (k, x) = Filter (k, x) ps (k > 1) in x * 2"
    ),
    "tuples of rows, of tuples, kept": (
        "main (ps : n Of (m Of f64, (i32, i32))) =\n"
        "  let (r, (i, j)) = Filter (r, p) ps (let (a, b) = p in a > b) in\n"
        "  (i - j, LetMap (x, k) (r, i) (sum x + As f64 k), map (\\x -> sum (x * x)) r)"
    ),
    "kept twice": (
        "main (ps : n Of (i32, f32)) =\n"
        "  let (a, b) = Filter (k, x) (Filter (k, x) ps (k > 0)) (x > 1) in\n"
        "  let (c, d) = Filter q ps (let (k, x) = q in k > 1) in (a, b, c, d, sum d)"
    ),
    "kept in each row": (
        "main (xs : n Of m) (ys : n Of m) =\n"
        "  LetMap (r, s) (xs, ys) (let (a, b) = Filter (x, y) (r, s) (x > y) in sum (a * b))"
    ),
    "kept by another type": (
        "main (ps : n Of (i8, f64)) = let (k, x) = ps in Filter y x (As i8 y > 2)"
    ),
    "counted in another type": (
        "main (ps : n Of (i16, f32)) = let (k, x) = ps in\n"
        "  (Enumerate (As i16 3) (+ 2) n + k, Fold max (Scalar 1) x, Literal [As f32 2, 0.5] 2)"
    ),
    "a part of tuples": (
        "main (ps : 5 Of (i32, m Of f32)) =\n"
        "  let (a, b) = map (\\(k, x) -> (As f32 k + sum x, x)) ps in\n"
        "  (Twist (Slice 1) a, Twist (SubRange 1 2) b, Twist (Slice 0) (As i32 (x0 ps)))\n"
        "x0 ps = let (k, x) = ps in x"
    ),
    "hostile tuples": (
        "main (zip : n Of (f64, i32)) (zip_0 : n Of (i32, u8)) =\n"
        "  let (f32, i32) = zip in let (a, b) = zip_0 in (f32, i32 + a, b)"
    ),
    "one value of each": "main (s : (f32, i8)) = let (a, b) = s in (b, a * 2)",
    "a signature": (
        "pairs (xs : 2 * n Of m) (w : m) (k : Int) (s : Scalar) =\n"
        "  sum (Twist (Slice k) (Split n xs)) * w + n * s\n"
        "main (xs : 6 Of c) (ws : c) = pairs xs ws 1 0.0 + pairs (take 4 xs) ws 0 (sum ws)"
    ).replace("0.0", "3"),
    "a signature that a run checks": (
        "halves (xs : 2 * n) (ys : n) = Split 2 xs * LetMap i (Enumerate 0 (+ 1) 2) ys\n"
        "main (k : Int) (xs : 4) = let x = Twist (SubRange 0 (k + 1)) xs in\n"
        "  halves x (Twist (SubRange 1 k) xs)"
    ),
    "sizes of a signature": (
        "g (n : n) = n + 1\nf (a : n Of n) (n : n) = a + size n\n"
        "main (x : 3) = f (Zip [x, g x, x]) x"
    ),
    "a file": 'main = Fold (+) 0 (GetData "a b.bin" (4 Of 3))',
}
STAGES = [("ref", "soa"), ("ref", "merged"), pytest.param("c", "", marks=needs_cc)]


def inputs(found: Meaning) -> tuple[dict[str, int], list[Any], dict[str, Any]]:
    """Integer parameters, the arguments of the entry point in order, and arrays by name."""
    ints = {name: 2 + number for number, name in enumerate(found.ints)}
    sizes: dict[str, int] = dict(ints)
    random = np.random.default_rng(3)
    arrays: dict[str, Any] = {}
    for one in found.sources:
        for size in one.shape:
            if (name := size.as_name) is not None:
                sizes.setdefault(name, 4 if "claimed" in sizes else 3 + len(sizes) % 2 * 2)
        shape = [model.sized(size, found.sizes, sizes) for size in one.shape]
        prim = one.prim or found.element
        arrays[one.name] = np.array(random.integers(0, 6, shape), DTYPE[prim])
    given = [np.int64(ints[name]) for name in found.ints]
    return ints, [*given, *arrays.values()], arrays


@pytest.mark.parametrize(("backend", "stage"), STAGES)
@pytest.mark.parametrize("element", ["f64", "i32", "u8"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_pipeline_gives_what_blocks_and_loops_give(
    name: str, element: str, backend: str, stage: str
) -> None:
    if element != "i32" and (backend, stage) != ("ref", "soa"):
        pytest.skip("the pipeline behind is the same for all types")
    if element == "u8" and ("1000" in PROGRAMS[name] or "(-6)" in PROGRAMS[name]):
        pytest.skip("no value of that type")
    source = f"type {element}\n{PROGRAMS[name]}\n"
    found = read(source)
    ints, args, arrays = inputs(found)
    if name == "claimed":
        arrays = dict.fromkeys(arrays, arrays["xs"])
        args = list(arrays.values())
    expected, _ = model.run(found, arrays, ints)
    program = OfProgram(source, {"verify": True}, main="program.fp")
    got = api.run_values(program, "main", args, backend, stage, 20)
    assert same(got["values"], list(expected))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_stage_is_linked_to_the_flatpack_text(name: str) -> None:
    source = f"{PROGRAMS[name]}\n"
    lines = source.split("\n")
    work = Compilation(source, api.options_from({}, {}, "program.fp"))
    places = {span for line in work.result("ast").text for span in line.src if span.is_own}
    assert places
    for span in places:
        assert span.end_line <= len(lines)
        assert span.end_col <= len(lines[span.end_line - 1]) + 1


ERRORS = {
    "f (x : n Of n) = x\nmain (xs : 3 Of 4) = f xs": ("P003", 2, 22),
    "f (x : 2 * n) = x\nmain (xs : 5) = f xs": ("P003", 2, 17),
    "f (x : n) (y : 3 * n) = x\nmain (xs : 2) (ys : 7) = f xs ys": ("P003", 2, 26),
    "f (x : n) = x\nmain (xs : 5 Of 6) = f xs": ("P003", 2, 22),
    "f (x : 4) = x\nmain (xs : 5) = 1 + f xs": ("P003", 2, 21),
    "f (x : n) = x\nmain = f 3": ("P003", 2, 8),
    "f (x : Scalar) = x\nmain (xs : 5) = f xs": ("P003", 2, 17),
    "f (x : Int) = x\nmain (xs : 5) = f xs": ("P004", 2, 17),
    "f (x : n) = x\nmain (xs : 5) = f (xs, xs)": ("P004", 2, 17),
    "f (x : n + 1) = x\nmain (xs : 5) = f xs": ("P007", 1, 8),
    "f (x : 0 * n) = x\nmain (xs : 5) = f xs": ("P007", 1, 8),
    "main (xs : n) = let (a, 1) = xs in a": ("P001", 1, 21),
    "main (ps : n Of (f32, )) = ps": ("P001", 1, 23),
    "main (ps : n Of (f32, n)) = ps": ("P007", 1, 23),
    "main (ps : n Of (3, f32)) = ps": ("P007", 1, 18),
    "main (xs : n) = let (a, b) = xs in a": ("P004", 1, 21),
    "main (xs : n) = let (a, b) = (xs, xs, xs) in a": ("P004", 1, 21),
    "main (xs : n) = let (a, a) = (xs, xs) in a": ("P004", 1, 25),
    "main (xs : n) = LetMap (a, b) xs a": ("P004", 1, 24),
    "main (xs : n) = (xs, xs) + 1": ("P004", 1, 17),
    "main (xs : n) (ys : m) = Filter (a, b) (xs, ys) a": ("P003", 1, 40),
    "main (xs : n) = Filter (a, b) xs a": ("P004", 1, 24),
    "main (ps : n Of (f32, m Of f32)) = Filter (a, b) ps b": ("P003", 1, 36),
    "main (xs : n) = let (a, b) = Filter p (xs, xs) (p > 1) in a": ("P004", 1, 49),
    "main (xs : n) (ys : m) = LetMap (x, y) (xs, ys) x": ("P003", 1, 40),
    "main (xs : n) (ys : m) = size (xs, ys)": ("P003", 1, 26),
    "main (ps : n Of (f32, i32)) = let (a, b) = ps in a * b": ("P011", 1, 50),
    "main (ps : n Of (f32, i32)) = let (a, b) = ps in Zip [b, a]": ("P011", 1, 50),
    "main (ps : n Of (u8, i8)) = let (a, b) = ps in If 1 a b": ("P011", 1, 48),
    "main (xs : n) = Enumerate (As i32 1) (+ As u8 1) n": ("P011", 1, 17),
    "main (xs : n) = As i32 2 * xs": ("P011", 1, 17),
    "main (ps : n Of (f32, i32)) = let (a, b) = ps in b * 0.5": ("P008", 1, 54),
    "main (xs : n) = As bool xs": ("P004", 1, 20),
    "main (xs : n) = map As xs": ("P004", 1, 21),
    "main (xs : n) =": ("P001", 1, 16),
    "main (xs : n) = xs +\n": ("P001", 1, 21),
    "main (xs : n = xs": ("P001", 1, 14),
    " main = 1": ("P001", 1, 2),
    "main (xs : n) = xs # 1": ("P001", 1, 20),
    'main = GetData "a': ("S003", 1, 16),
    "main = [1, 2": ("P001", 1, 13),
    f"main = {'(' * 5000}": ("P001", 1, 68),
    "": ("P007", 1, 1),
    "f x = x": ("P007", 1, 1),
    "main (xs : n + 1) = xs": ("P007", 1, 12),
    "main (xs : n) (xs : n) = xs": ("P007", 1, 15),
    "type bool\nmain = 1": ("P008", 1, 6),
    "type u8\nmain (xs : n) = xs + 256": ("P008", 2, 22),
    "type i8\nmain = Literal [(-129)] 1": ("P008", 2, 17),
    "main (xs : n) = ys": ("P002", 1, 17),
    "main = 1\nmain = 2": ("P002", 2, 1),
    "size x = x\nmain = 1": ("P002", 1, 1),
    "main (xs : n) = Twist xs Transpose": ("P004", 1, 17),
    "main (xs : n) = Twist (Slice xs) xs": ("P004", 1, 24),
    "main (xs : n) = xs 1": ("P004", 1, 17),
    "main (xs : n) = sum": ("P004", 1, 17),
    "main (xs : n) = Fold (<) 0 xs": ("P004", 1, 17),
    "main (xs : n) = Enumerate 0 (/ 2) n": ("P004", 1, 17),
    "main (xs : n) = Literal [xs] 1": ("P004", 1, 17),
    "main (xs : n) = LetMap 1 xs 2": ("P004", 1, 24),
    "main (xs : n) = LetMap x xs": ("P004", 1, 17),
    "main = Zip []": ("P004", 1, 8),
    "main (xs : n) (ys : m) = xs + ys": ("P003", 1, 26),
    "main (xs : 3) (ys : 4) = Zip [xs, ys]": ("P003", 1, 26),
    "main (xs : n) = transpose xs": ("P003", 1, 17),
    "main (s : Scalar) = sum s": ("P003", 1, 21),
    "main (xs : n) = Join xs": ("P003", 1, 17),
    "main (xs : 3) = HasShape xs 4": ("P003", 1, 17),
    "main = Literal [1, 2] 3": ("P003", 1, 8),
    "main (xs : n Of m) = LetMap r xs (Filter x r (x > 1))": ("P003", 1, 22),
    "main (xs : n Of m) = Filter r xs (r > 1)": ("P003", 1, 22),
    "main (xs : n Of m) (a : n) = Fold (+) a xs": ("P003", 1, 30),
    "main (xs : 3) = Twist (Slice (-1)) xs": ("P005", 1, 17),
    "main (xs : 3) = Twist (SubRange 1 3) xs": ("P005", 1, 17),
    "main (xs : 3) = Twist (SubRange 2 0) xs": ("P005", 1, 17),
    "main (xs : n) = Twist (Slice n) xs": ("P005", 1, 17),
    "main (xs : 3) = Twist (DownSample 0) xs": ("P005", 1, 24),
    "main (xs : 3) = Split 2 xs": ("P005", 1, 17),
    "main (xs : 3) = Split 0 xs": ("P005", 1, 17),
    "main (xs : 3) = HasShape 1 (-3)": ("P005", 1, 28),
    "f x = g x\ng x = f x\nmain = f 1": ("P006", 2, 7),
    "main = main": ("P006", 1, 8),
}


@pytest.mark.parametrize("source", ERRORS)
def test_errors_have_a_code_and_a_place(source: str) -> None:
    with pytest.raises(CompileError) as raised:
        read(source)
    error = raised.value
    assert error.code is not None
    assert (error.code.id, error.span.line, error.span.col) == ERRORS[source]


RUNS = {
    "main (i : Int) (xs : n) = Twist (Slice i) xs": 5,
    "main (i : Int) (xs : n) = Twist (SubRange i (i + 1)) xs": 3,
    "main (i : Int) (xs : n) = HasShape xs i": 3,
    "main (i : Int) (xs : n) = f (Twist (SubRange 1 i) xs)\nf (x : 2 * k) = x": 3,
    "main (i : Int) (xs : n) = f (Twist (SubRange 1 i) xs) xs\nf (x : k) (y : k) = y": 3,
    "main (i : Int) (xs : n) = Split i xs": 3,
    "type i32;main (i : Int) (xs : n) = If (xs > 0) (i / xs) 7": 3,
    "type i32;main (i : Int) (xs : n) = Fold (/) i xs": 3,
}


@pytest.mark.parametrize("text", RUNS)
def test_a_run_checks_what_is_not_known_before(text: str) -> None:
    number, source = RUNS[text], text.replace(";", "\n")
    found = read(source)
    xs = np.arange(4, dtype="i4" if source.startswith("type i32") else "f8")
    with pytest.raises(RuntimeError_) as model_error:
        model.run(found, {"xs": xs}, {"i": number})
    program = OfProgram(source, main="a.fp")
    with pytest.raises(RuntimeError_) as error:
        api.run_values(program, "main", [np.int64(number), xs], "ref", "soa", 20)
    assert error.value.span.line == model_error.value.span.line == 1 + text.count(";")


def test_structural_operations_pack_nothing() -> None:
    steps = (
        "Compose RotateL (Compose (Smap Transpose) (Compose (DownSample 2) "
        "(Compose (SubRange 1 4) (Compose RotateR (Smap (Slice 2))))))"
    )
    found = read(f"main (xs : 5 Of 6 Of 7 Of 8) = Twist ({steps}) xs")
    xs = np.arange(5 * 6 * 7 * 8.0).reshape(5, 6, 7, 8)
    (result,), packed = model.run(found, {"xs": xs}, {})
    assert packed == []
    rotated = np.moveaxis(xs[:, 2], -1, 0)[1:5][::2]
    assert np.array_equal(result, np.moveaxis(rotated.swapaxes(1, 2), 0, -1))


def test_what_no_loops_can_walk_is_packed() -> None:
    found = read("main (xs : 3 Of 4) = Join (transpose xs)")
    _, packed = model.run(found, {"xs": np.zeros((3, 4))}, {})
    assert [(one.what, one.bytes) for one in packed] == [("Join", 96)]
    found = read("main (xs : 3 Of 4) = Split 2 (Join xs)")
    _, packed = model.run(found, {"xs": np.zeros((3, 4))}, {})
    assert packed == []


def test_what_is_used_twice_is_there_once() -> None:
    text = translate(read("main (xs : n) = let y = xs * xs in y + y")).text
    assert text.count("a * b") == 1


def test_a_definition_of_the_program_comes_before_the_librarys() -> None:
    text = translate(read("sum xs = Fold max 0 xs\nmain (xs : n) = sum xs")).text
    assert "f64.max" in text
    assert {one.name.text for one in library().definitions} >= {"sum", "dotProduct", "concat"}


def test_what_the_library_does_is_done_where_it_is_used() -> None:
    with pytest.raises(CompileError) as raised:
        read("main (xs : n) =\n  dotProduct xs xs")
    assert raised.value.span[:4] == (2, 3, 2, 19)


EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fp"))


@needs_cc
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_give_what_they_say(path: Path) -> None:
    tested = suite.tested(path, suite.Wanted())
    assert tested["cases"]
    assert {case["outcome"] for case in tested["cases"]} == {"passed"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_examples_point_at_is_in_that_stage(path: Path) -> None:
    example = parse_example(path.stem, path.read_text("utf-8"), path.name)
    work = Compilation(example.source, api.options_from({}, {}, example.main))
    for look in example.looks:
        start = example.source.index(look.code)
        first = span_at(example.source, start)
        last = span_at(example.source, start + len(look.code))
        linked = [
            span
            for line in work.result(look.stage).text
            for span in line.src
            if (first.line, first.col) <= span[:2] and span[2:4] <= (last.line, last.col)
        ]
        assert linked, look


def test_slicing_and_sampling_move_nothing() -> None:
    source = EXAMPLES[0].with_name("flatpack_slices.fp").read_text("utf-8")
    shown = api.show(ShowRequest(source, main="a.fp", stages=["merged"]))["stages"]["merged"]
    assert shown["counts"].get("copy", 0) == 0
    assert shown["counts"]["alloc"] == 1


def test_both_languages_end_in_the_same_c() -> None:
    """But for numbers in names, and the places that failures tell of."""
    flat = "main (xs : n Of k) (ys : k Of m) = LetMap x xs (LetMap y (transpose ys) (sum (x * y)))"
    futhark = (
        "entry main [n] [k] [m] (xs: [n][k]f64) (ys: [k][m]f64): [n][m]f64 =\n"
        "  map (\\x -> map (\\y -> 0 + reduce (+) 0 (map2 (\\a b -> a * b) x y))\n"
        "    (transpose ys)) xs\n"
    )

    def text(source: str, main: str) -> str:
        shown = api.show(ShowRequest(source, main=main, stages=["c"]))["stages"]["c"]["text"]
        code = [line for line in shown.split("\n") if '\\"span\\"' not in line]
        return re.sub(r"\b[a-z]\w*?_\d+\w*", "name", "\n".join(code))

    assert text(flat, "a.fp") == text(futhark, "")
