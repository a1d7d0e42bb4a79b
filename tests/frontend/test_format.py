"""`stridescope fmt`: one layout that changes nothing but the layout."""

from __future__ import annotations

import os
import random
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from compiler.__main__ import main
from compiler.base.errors import CompilerBug, SyntaxError_
from compiler.base.spans import Span
from compiler.base.stack import with_deep_stack
from compiler.frontend import format as fmt
from compiler.frontend.format import formatted
from compiler.frontend.lexer import tokenise
from compiler.frontend.parser import parse
from testing.generators.programs import program

ROOT = Path(__file__).parent.parent.parent
OURS = sorted(
    path for folder in ("app", "compiler", "tests") for path in (ROOT / folder).rglob("*.fut")
)
EXAMPLES = sorted((ROOT / "app" / "examples").glob("*.fut"))
SUITE = Path(os.environ.get("FUTHARK_SUITE", ""))


def tree(node: object) -> object:
    """A syntax tree without places."""
    if isinstance(node, tuple) and not isinstance(node, Span):
        return [tree(part) for part in node]
    if is_dataclass(node):
        return type(node).__name__, [tree(getattr(node, f.name)) for f in fields(node)]
    return "" if isinstance(node, Span) else node


def comments(source: str) -> list[str]:
    return [str(comment).rstrip() for comment in tokenise(source).comments]


def check(source: str, width: int = fmt.WIDTH) -> str:
    """The text in its layout, which is what it was, and laid out in the same way again."""
    made = formatted(source, width=width)
    assert tree(parse(made)) == tree(parse(source))
    assert comments(made) == comments(source)
    assert formatted(made, width=width) == made
    assert [line for line in made.split("\n") if line != line.rstrip()] == []
    return made


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_our_own_programs_stay_what_they_are(path: Path) -> None:
    source = path.read_text("utf-8")
    try:
        parse(source)
    except SyntaxError_:
        with pytest.raises(SyntaxError_):
            formatted(source)
        return
    check(source)
    check(source, 80)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_have_this_layout(path: Path) -> None:
    source = path.read_text("utf-8")
    assert formatted(source) == source


KEPT = """\
def step (t: f32)
         (a: i64) (b: i64) : i64 =
  loop x = a for i < b do
    if x < 0 then 0
    else if x > b then b
    else x + i

entry main [n] (xs: [n]i64) : []i64 =
  let ys =
    xs with [0] =
      n + 1
  let zs =
    tabulate_2d n n (\\i j ->
      let k = i + j
      in ys[k])
  in map2 (\\a bs ->
             let b = bs[0]
             in a + b) ys[1 : n - 1 : 2] zs
"""


def test_what_stands_on_one_line_stays_there() -> None:
    assert check(KEPT) == KEPT


@pytest.mark.skipif(not SUITE.name, reason="FUTHARK_SUITE names no folder of Futhark programs")
def test_the_programs_of_a_suite_stay_what_they_are() -> None:
    def work() -> None:
        for path in SUITE.rglob("*.fut"):
            try:
                source = path.read_bytes().decode()
                parse(source)
            except (UnicodeDecodeError, SyntaxError_):
                continue
            check(source)

    with_deep_stack(work)


@pytest.mark.parametrize("seed", range(40))
def test_generated_programs_stay_what_they_are(seed: int) -> None:
    check(program(seed, 8).source)


@pytest.mark.parametrize("seed", range(12))
def test_comments_and_lines_may_stand_anywhere(seed: int) -> None:
    source = (ROOT / "tests/frontend/layout.fut").read_text("utf-8")
    chance = random.Random(seed)
    parts: list[str] = []
    at = 0
    for number, token in enumerate(tokenise(source).tokens):
        start = token.start_pos or 0
        space = source[at:start]
        if space.strip(" \n") == "" and space:
            space += chance.choice(
                ["", "", "", "\n", "\n\n\n", f" -- {number} é𝄞\n", "\n-- a\n\n-- b\n"]
            )
        parts += [space, str(token)]
        at = token.end_pos or 0
    check("".join(parts), chance.choice([80, 100]))


def test_everything_has_its_layout() -> None:
    """The text is as `check` leaves it; a tidy program stays."""
    source = (ROOT / "tests/frontend/layout.fut").read_text("utf-8")
    assert check(source) == source


SHORT = """\
def  f(x:i32)(y:i32):i32=x+y* -2
def a = let b = 1 in let c = [1,2 , 3,] in b+c[0]
"""
LAID_OUT = """\
def f (x: i32) (y: i32) : i32 = x + y * -2
def a = let b = 1 let c = [1, 2, 3] in b + c[0]
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_ends_of_lines_stay(end: str) -> None:
    assert formatted(SHORT.replace("\n", end)) == LAID_OUT.replace("\n", end)


def test_tabs_and_a_missing_end_are_mended() -> None:
    assert formatted("def\tx\t=\t1 -- 𝄞\tend") == "def x = 1 -- 𝄞\tend\n"
    assert formatted("") == ""
    assert formatted("\n\n-- alone\n\n\n\n-- too") == "-- alone\n\n-- too\n"


def test_long_lines_are_broken_where_they_can_be() -> None:
    args = " ".join(f"(argument{i} + {i})" for i in range(12))
    pipes = " |> ".join(f"map (\\x{i} -> x{i} * {i})" for i in range(9))
    made = check(f"def f = function {args}\ndef g xs = xs |> {pipes}\n", 80)
    assert max(map(len, made.split("\n"))) <= 80
    assert "\n  |> map (\\x7 -> x7 * 7)\n" in made


def test_precedence_is_kept() -> None:
    made = check("def f = a+b*c-(d-e)** - -x == 1&&(\\x->x)<|y `g` z\n")
    assert made == "def f = a + b * c - (d - e) ** - -x == 1 && (\\x -> x) <| y `g` z\n"


def test_a_result_that_means_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fmt, "rendered", lambda _doc, _width: ["def x = 2"])
    with pytest.raises(CompilerBug, match="a different program"):
        formatted("def x =  1\n")


# --- the command -------------------------------------------------------------------------------


def test_files_are_written_and_wrong_ones_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lib").mkdir()
    good, wrong, other = tmp_path / "lib/a.fut", tmp_path / "b.fut", tmp_path / "c.txt"
    good.write_text(SHORT)
    good.chmod(0o640)
    wrong.write_text("def x =\n  1 +\n")
    other.write_text(SHORT)
    assert main(["fmt", str(tmp_path)]) == 1
    assert f"{wrong}:2:6: error[S001]: Expected an expression" in capsys.readouterr().err
    assert good.read_text() == LAID_OUT
    assert good.stat().st_mode & 0o777 == 0o640
    assert wrong.read_text() == "def x =\n  1 +\n"
    assert other.read_text() == SHORT
    assert sorted(path.name for path in (tmp_path / "lib").iterdir()) == ["a.fut"]


def test_check_and_diff_write_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.fut"
    file.write_text(SHORT)
    assert main(["fmt", "--check", str(file)]) == 1
    assert "laid out in another way" in capsys.readouterr().out
    assert main(["fmt", "--diff", str(file)]) == 0
    out = capsys.readouterr().out
    assert "\n-def  f(x:i32)(y:i32):i32=x+y* -2\n" in out
    assert "\n+def f (x: i32)" in out
    assert file.read_text() == SHORT
    file.write_text(LAID_OUT)
    assert main(["fmt", "--check", "--diff", str(file)]) == 0
    assert capsys.readouterr().out == ""


def test_a_folder_without_programs_is_wrong_usage(tmp_path: Path) -> None:
    assert main(["fmt", str(tmp_path)]) == 2
    assert main(["fmt", str(tmp_path / "none.fut")]) == 2
