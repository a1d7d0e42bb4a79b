"""Puzzles: each can be solved, is not solved already, and no wrong program solves it."""

import re

import pytest

from app.lesson_files import load
from app.paths import LESSONS
from compiler.base.errors import CompileError
from compiler.classroom import lessons, puzzles
from compiler.protocol.teaching import (
    EXAMPLE,
    PUZZLE_EXAMPLE,
    LessonRequest,
    SolveAnswer,
    SolveRequest,
)

PUZZLES = {one.name: one for one in load(LESSONS) if one.file.is_puzzle}


def solved(name: str, source: str) -> SolveAnswer:
    return puzzles.solve(SolveRequest(source, lesson=PUZZLES[name].text))


def test_there_are_eight() -> None:
    assert (
        list(PUZZLES)
        == (
            "strided_chunks one_pass read_before_you_write one_array_less interleave loop_inside "
            "count_only half_the_tape"
        ).split()
    )


@pytest.mark.parametrize("name", PUZZLES)
def test_the_solution_reaches_par_and_the_beginning_does_not_solve_it(name: str) -> None:
    file = PUZZLES[name].file
    assert file.input
    assert file.hint
    told = solved(name, file.solution)
    assert told["solved"], told
    assert told["value"] == file.par
    before = solved(name, file.program)
    assert before["same"]
    assert not before["solved"]


@pytest.mark.parametrize("name", PUZZLES)
def test_sizes_and_parameters_may_have_other_names(name: str) -> None:
    source = PUZZLES[name].file.solution
    for word in ("n", "m", "k", "xs", "ys"):
        source = re.sub(rf"\b{word}\b", f"{word}_of_mine", source)
    assert solved(name, source)["value"] == PUZZLES[name].file.par


def test_two_rounds_in_one_are_half_the_tape() -> None:
    source = (
        "entry main (x: f64) =\n"
        "  vjp (\\x -> loop y = x for _i < 32 do f64.sin (x * f64.sin (x * y))) x 1\n"
    )
    told = solved("half_the_tape", source)
    assert told["solved"], told
    assert told["value"] == 256


WRONG = (
    # right where k divides n, and there only
    (
        "strided_chunks",
        "entry main [n] (xs: [n]i32) (k: i64): i32 = i32.sum xs[:n - k + k]\n",
        "Result 0 is",
    ),
    # right up to the largest numbers
    (
        "one_pass",
        "entry main [n] (xs: [n]i32): i32 =\n  let m = i32.maximum xs\n"
        "  in i32.i64 (n * i64.i32 m % 1000000 - i64.sum (map i64.i32 xs))\n",
        "Result 0 is",
    ),
    ("read_before_you_write", "entry main (xs: *[]i32): []i32 = xs with [0] = 1\n", "should be"),
    ("count_only", "entry main (xs: []i32): i64 = 3\n", "Result 0 is"),
    ("count_only", "entry main (xs: []i32): i64 = length xs - i64.i32 xs[0] * 0\n", "should be"),
    ("count_only", "entry main (xs: []i32): i32 = 2\n", "Result 0 is"),
    ("count_only", "entry main (xs: []i64): i64 = 2\n", "It takes other arguments"),
    ("count_only", "entry main [n] (xs: *[n]i32): i64 = 2\n", "It takes other arguments"),
    ("count_only", "entry main (xs: []i32) (k: i64): i64 = 2\n", "It takes other arguments"),
    ("count_only", "entry main (x: i32): i64 = 2\n", "It takes other arguments"),
    ("strided_chunks", "entry main (x: i32) = x\n", "It takes other arguments"),
    ("one_array_less", "entry main (xs: []i32): i32 = assert false 0\n", "On the input `[3, 4]`:"),
)


@pytest.mark.parametrize(("name", "source", "because"), WRONG)
def test_what_gives_something_else_is_no_solution(name: str, source: str, because: str) -> None:
    told = solved(name, source)
    assert not told["same"]
    assert not told["solved"]
    assert because in told["because"]


def test_errors_are_of_the_program_and_have_its_places() -> None:
    with pytest.raises(CompileError) as caught:
        solved("count_only", "entry main (xs: []i32): i64 =\n  xs + 1\n")
    assert caught.value.span.line == 2
    with pytest.raises(CompileError, match="no entry point"):
        solved("count_only", "def f = 1\n")
    with pytest.raises(CompileError, match="This is a lesson, not a puzzle"):
        puzzles.solve(SolveRequest("entry main = 1\n", lesson=EXAMPLE))


def test_an_endless_program_is_stopped() -> None:
    endless = "entry main (xs: []i32): i64 = loop i = 0 while i >= 0 do (i + 1) % 9\n"
    request = SolveRequest(endless, lesson=PUZZLES["count_only"].text, deadline=2.0)
    with pytest.raises(CompileError) as caught:
        puzzles.solve(request)
    assert caught.value.kind == "timeout"


MISTAKES = (
    (PUZZLE_EXAMPLE.replace("par: 0", "par: 9"), "7: `par` is the best known value"),
    (PUZZLE_EXAMPLE.replace("par: 0\n", ""), "1: The puzzle has no `par`."),
    (PUZZLE_EXAMPLE.replace("- (xs[n", "- (ys[n"), "23:"),
)


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_what_is_wrong_with_a_puzzle_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        lessons.lesson(LessonRequest(lesson=text))
    assert f"{caught.value.span.line}: {caught.value.message}".startswith(message)


def test_a_puzzle_tells_what_is_wrong_with_its_numbers() -> None:
    solved_already = PUZZLE_EXAMPLE.replace("goal: 0", "goal: 256")
    told = lessons.lesson(LessonRequest(lesson=solved_already))
    assert told["wrong"] == "The puzzle is already solved: the compiler says 256."
    far = PUZZLE_EXAMPLE.replace("goal: 0", "goal: 200").replace("par: 0", "par: 100")
    told = lessons.lesson(LessonRequest(lesson=far))
    assert told["wrong"] == "The solution reaches 0, but par is given as 100."
