"""Lessons: what the files of the course say is what the compiler counts."""

import re
from pathlib import Path

import pytest

from app.lesson_files import load
from app.paths import LESSONS
from compiler.__main__ import main
from compiler.base.errors import CompileError
from compiler.classroom import lessons
from compiler.driver import api, explanations
from compiler.protocol import accesses, programs
from compiler.protocol.kinds import OfProgram
from compiler.protocol.lesson_files import TABS, read
from compiler.protocol.teaching import EXAMPLE, LessonRequest

COURSE = load(LESSONS)
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", [one.name for one in COURSE])
def test_the_compiler_counts_what_the_file_says(name: str) -> None:
    file = next(one for one in COURSE if one.name == name)
    told = lessons.lesson(LessonRequest(lesson=file.text))
    assert told["wrong"] == ""
    assert told["tab"] in ("", *TABS)
    assert told["stage"]
    assert "{=" not in told["html"] + told["after"]
    if not file.file.is_puzzle:
        assert told["value"] == told["answer"]


def test_a_course_of_thirteen_ships() -> None:
    found = [one.name for one in COURSE if not one.file.is_puzzle]
    assert (
        found
        == (
            "parallelism structure_of_arrays fusion flattening index_functions coalescing "
            "in_place_updates short_circuiting proofs memory_expansion merging "
            "gradient_cost tuning"
        ).split()
    )
    assert [one.next for one in COURSE[:-1]] == [one.name for one in COURSE[1:]]
    assert [one.back for one in COURSE[1:]] == [one.name for one in COURSE[:-1]]


def test_what_the_lesson_on_gradients_says_of_segments() -> None:
    file = next(one for one in COURSE if one.name == "gradient_cost").file

    def allocated(source: str) -> int:
        return lessons.measured("bytes at merged", lessons.subject(file, source))

    assert allocated(file.program.replace("vjp f xs 1", "f xs")) == 160
    assert allocated(file.program.replace("(loop", "(#[stripmine] loop")) == 2320


def test_a_wrong_answer_is_told_and_so_is_what_changed() -> None:
    told = lessons.lesson(LessonRequest(lesson=EXAMPLE.replace("answer: 0", "answer: 1")))
    assert told["wrong"] == "The answer is given as 1; the compiler says 0."
    one_more = EXAMPLE.replace("i32.sum (map (+ 1) xs)", "i32.sum (scan (+) 0 (map (+ 1) xs))")
    kept = one_more.replace("count map at", "count scan + reduce at")
    assert lessons.lesson(LessonRequest(lesson=kept))["value"] == 2


def test_measures_are_what_other_answers_say() -> None:
    source = "entry main [n] (xs: [4 * n]f32) (ys: [n]f32): []f32 = map (+ 1) xs ++ map (* 2) ys\n"
    of = lessons.Subject(OfProgram(source), "", {"n": 128})
    cost = explanations.accesses(accesses.AccessesRequest(source, sizes={"n": 128}))
    shown = api.show(programs.ShowRequest(source, stages=["funmem", "merged"]))["stages"]
    for kind in ("reads", "writes"):
        by_hand = sum(
            one["predicted"]["sectors"] for one in cost["accesses"] if one["kind"] == kind
        )
        assert lessons.measured(f"sectors of {kind}", of) == by_hand > 0
    assert lessons.measured("launches", of) == sum(one["launches"] for one in cost["kernels"]) == 2
    for stage, told in shown.items():
        both = told["counts"]["segmap"] + told["counts"]["alloc"]
        assert lessons.measured(f"count segmap + alloc at {stage}", of) == both
    assert lessons.measured("bytes at merged", of) == 5 * 128 * 4
    assert lessons.measured("bytes at funmem", of) == 2 * 5 * 128 * 4
    assert lessons.measured("peak at merged", of) == 2 * 5 * 128 * 4
    assert lessons.measured("versions", of) == 1
    assert lessons.measured("pairs", of) == 1


def test_a_number_at_the_beginning_of_a_line_begins_no_list() -> None:
    maps = "{= count map at soa}"
    counted = f"We count\n{maps}. That\n{maps}) is all.\n\n1. It is an item."
    told = lessons.lesson(LessonRequest(lesson=EXAMPLE + counted))
    assert "We count\n1. That\n1) is all.</p>\n<ol>\n<li>It is an item.</li>" in told["after"]


def test_bytes_that_only_a_run_knows_are_refused() -> None:
    source = "entry main [n] (xs: [n]f32): []f32 = map (+ 1) xs[::4] ++ xs\n"
    of = lessons.Subject(OfProgram(source), "", {"n": 128})
    with pytest.raises(CompileError, match="which is known only when the program runs"):
        lessons.measured("bytes at merged", of)


def test_a_cell_is_where_the_index_function_says() -> None:
    source = "entry main [n][m] (xss: [n][m]i32) = let yss = transpose xss in yss\n"
    of = lessons.Subject(OfProgram(source), "", {"n": 5, "m": 7})
    assert lessons.measured("cell yss[3, 2] at funmem", of) == 2 * 7 + 3


WRONG = (
    ("no front", "1: A lesson must begin with a line `---`."),
    ("---\ntitle: x\n", "3: The front matter does not end."),
    (EXAMPLE.replace("title:", "titel:"), "2: This is not a key with a value."),
    (EXAMPLE.replace("stage: fused", "title: b"), "3: `title` occurs twice."),
    (EXAMPLE.replace("answer: 0", "answer: none"), "8: `answer` must be a whole number"),
    (EXAMPLE.replace("answer: 0", "answer: 5"), "7: `choices` must be several numbers"),
    (EXAMPLE.replace("answer: 0\n", ""), "1: The lesson has no `answer`."),
    (EXAMPLE.replace("answer: 0", "answer: 0\nsizes: n"), "9: `sizes` must be names and numbers."),
    (EXAMPLE.replace("stage: fused", "stage: fusd"), "3: There is no stage `fusd`."),
    (EXAMPLE.replace("stage: fused", "stage: fused\ntab: warp"), "4: There is no tab `warp`."),
    (EXAMPLE.replace("select: map", "select: mop"), "4: The program has no `mop (+ 1) xs`."),
    (
        EXAMPLE.replace("count map at", "count maps at"),
        "6: Stage `fused` has nothing with the name",
    ),
    (EXAMPLE.replace("count map at fused", "speed"), "6: `speed` is not a measure."),
    (EXAMPLE.replace("```futhark", "```"), "1: The lesson has no `program`."),
    (EXAMPLE.rsplit("```", 1)[0], "12: The program does not end."),
    (EXAMPLE + "```futhark\n```\n", "17: There is a second program."),
    (EXAMPLE.replace("(+ 1)", "(+ true)"), "13:"),
    (EXAMPLE.replace("(xs: []i32)", "(xs: []i32"), "13:"),
    (EXAMPLE.replace("The map has", "{= speed}"), "16: `speed` is not a measure."),
)


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        lessons.lesson(LessonRequest(lesson=text))
    found = caught.value
    assert f"{found.span.line}: {found.message}".startswith(message)


def test_a_tab_that_is_none_is_told_with_the_near_miss_and_the_page_s_are_known() -> None:
    with pytest.raises(CompileError) as caught:
        lessons.lesson(LessonRequest(lesson=EXAMPLE.replace("stage:", "tab: warp\nstage:")))
    assert caught.value.hint.startswith("Did you mean `warps`? The tabs are memory, ")
    files = (ROOT / "static/src/panes").glob("*.ts")
    declared = re.compile(r'^export const pane: PaneKind = \{\n  id: "(\w+)"', re.M)
    panes = {one for path in files for one in declared.findall(path.read_text("utf-8"))}
    assert set(TABS) <= panes
    row = next(
        line
        for line in (ROOT / "docs/lessons.md").read_text("utf-8").splitlines()
        if line.startswith("| `tab`")
    )
    assert tuple(re.findall(r"`(\w+)`", row)[1:]) == TABS


def test_what_is_selected_must_be_seen_at_the_stage() -> None:
    text = EXAMPLE.replace("select: map (+ 1) xs", "select: xs: []i32")
    gone = text.replace("entry main", "def unused = 7i32\nentry main").replace(
        "select: xs: []i32", "select: unused"
    )
    with pytest.raises(CompileError, match="Nothing of `unused` is left at stage `fused`"):
        lessons.lesson(LessonRequest(lesson=gone))


def test_the_command_line_writes_a_lesson_that_holds_and_finds_one_that_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.md"
    assert main(["lesson", "new", str(tmp_path / "mine")]) == 0
    assert main(["lesson", "check", str(path)]) == 0
    assert capsys.readouterr().out.endswith("count map at fused is 0\n")
    assert main(["lesson", "new", str(path)]) == 2  # there is one already
    assert capsys.readouterr().err.startswith(f"{path}: Cannot write `{path}`: ")
    path.write_text(EXAMPLE.replace("answer: 0", "answer: 2"))
    assert main(["lesson", "check", str(path)]) == 1
    assert "The answer is given as 2; the compiler says 0." in capsys.readouterr().out
    path.write_text(EXAMPLE.replace("(+ 1)", "(+ true)"))
    assert main(["lesson", "check", str(path)]) == 1
    assert "13:" in capsys.readouterr().err


def test_html_in_a_lesson_is_text() -> None:
    evil = EXAMPLE.replace("Look at", "<img src=x onerror=alert(1)> [x](javascript:alert(1)) at")
    html = lessons.lesson(LessonRequest(lesson=evil))["html"]
    assert "<img" not in html
    assert 'href="javascript' not in html


def test_numbers_may_have_commas_and_the_file_ends_of_lines_of_windows() -> None:
    file = read(EXAMPLE.replace("\n", "\r\n").replace("choices: 0, 1, 2", "choices: 0, 10, 2"))
    assert file.choices == (0, 10, 2)
    assert file.program.startswith("entry main")
