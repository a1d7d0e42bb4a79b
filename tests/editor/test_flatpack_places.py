"""What editors ask about FlatPack programs."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.driver.worker import answer
from compiler.editor import flatpack
from compiler.editor.flatpack_words import WORD_HELP
from compiler.frontend.flatpack.evaluate import WORDS

PROGRAM = """type f32
-- The largest of each pair of rows.
halved (rows : 2 * n Of m) = LetMap pair (Split n rows) (Fold max (head pair) pair)

main (xs : time Of k) (c : Int) =
  let ys = halved xs in
  LetMap y ys (y + sum (Twist (Slice c) xs))
"""


def ask(op: str, source: str = PROGRAM, **more: Any) -> dict[str, Any]:
    return answer({"op": op, "source": source, "main": "a.fp", **more})


def at(what: str, count: int = 0, source: str = PROGRAM) -> dict[str, int]:
    """The place of the text that stands there for the `count`th time."""
    found = -1
    for _ in range(count + 1):
        found = source.index(what, found + 1)
    return place(source, found)


def place(source: str, at: int) -> dict[str, int]:
    return {"line": source.count("\n", 0, at) + 1, "column": at - source.rfind("\n", 0, at)}


def complete(source: str) -> dict[str, dict[str, Any]]:
    """What may stand at `|`."""
    text = source.replace("|", "")
    found = ask("complete", text, **place(text, source.index("|")))
    return {one["name"]: one for one in found["items"]}


@pytest.mark.parametrize(
    ("what", "count", "says"),
    [
        ("rows)", 0, "rows : 2*(time / 2) Of k  -- f32"),
        ("pair (", 0, "pair : 2 Of k  -- f32"),
        ("xs :", 0, "xs : time Of k  -- f32"),
        ("c)", 0, "c : Int  -- c"),
        ("n rows", 0, "n : a size"),
        ("ys (", 0, "ys : time / 2 Of k  -- f32"),
        ("y +", 0, "y : k  -- f32"),
        ("+ sum", 0, "k  -- f32"),
        ("Split", 0, "Split i a : i Of s/i Of t Of u"),
        ("halved xs", 0, "halved (rows : 2 * n Of m)\n-- gives time / 2 Of k of f32"),
        ("head", 0, "head a"),
    ],
)
def test_shapes_of_what_stands_at_a_place(what: str, count: int, says: str) -> None:
    assert ask("inspect", **at(what, count))["says"] == says


def test_a_function_tells_the_shapes_of_all_its_uses() -> None:
    source = "twice a = a + a\nmain (x : n) (y : 3 Of m) = (twice x, twice y)\n"
    found = ask("inspect", source, **at("twice x", 0, source))["says"].split("\n")
    assert found == ["twice a", "-- gives n of f64", "-- gives 3 Of m of f64"]
    many = "twice a = a + a\nmain (x : n) = (" + ", ".join(
        f"twice (Twist (SubRange 0 {k}) x)" for k in range(1, 40)
    )
    told = ask("inspect", many + ")\n", **at("a =", 0, many))["says"]
    assert told.count("\n") == flatpack.MOST_SHAPES - 1


def test_where_names_are_declared_and_used() -> None:
    found = ask("inspect", **at("halved xs"))
    assert found["doc"] == "The largest of each pair of rows."
    assert found["declared"] == [3, 1, 3, 7]
    assert found["uses"] == [[3, 1, 3, 7], [6, 12, 6, 18]]
    sizes = ask("inspect", **at("n Of m"))
    assert sizes["uses"] == [[3, 20, 3, 21], [3, 49, 3, 50]]
    assert ask("inspect", **at("sum"))["declared"] is None
    # The inner `xs` hides the outer one.
    source = "main (xs : n) = let xs = xs + 1 in xs\n"
    inner = ask("inspect", source, **at("xs\n", 0, source))
    assert inner["declared"] == [1, 21, 1, 23]
    assert inner["uses"] == [[1, 21, 1, 23], [1, 36, 1, 38]]


def test_another_name_must_mean_what_it_meant() -> None:
    found = ask("rename", **at("ys"), name="pairs")
    assert [edit["span"] for edit in found["edits"]] == [[6, 7, 6, 9], [7, 12, 7, 14]]
    for what, new, why in [
        ("ys", "xs", "would change"),
        ("halved", "head", "would change"),
        ("time", "k", "would change"),
        ("ys", "Twist", "`Twist` is a word of the language."),
        ("ys", "type", "`type` is a word of the language."),
        ("main", "begin", "There is no `main`."),
        ("sum", "total", "part of the language's library"),
    ]:
        error = ask("rename", **at(what), name=new)["error"]
        assert why in error["message"], (what, new)


def test_a_text_with_errors_of_syntax_is_not_renamed() -> None:
    source = PROGRAM + "more = (1 +\n"
    error = ask("rename", source, **at("ys"), name="pairs")["error"]
    assert "fix them first" in error["message"]
    # All else is known of it.
    assert ask("inspect", source, **at("ys"))["says"] == "ys : time / 2 Of k  -- f32"
    assert [one["name"] for one in ask("outline", source)["symbols"]] == ["halved", "main"]


@pytest.mark.parametrize(
    "text",
    [
        "main (xs : n Of m) =\n  let big = xs + 1 in\n  Twist (Smap (Slice (bi|",
        "main (xs : n Of m) =\n  let big = xs + 1 in\n  LetMap row big (|\n\nf a = a\n",
        "main (xs : n Of m) =\n  let big = xs + 1 in\n  let more = |",
        "main (xs : n Of m) =\n  let big = xs + 1 in\n  let more = [1, (2 + |",
        "main (xs : n Of m) = let big = xs + 1 in | + big\n",
    ],
)
def test_what_may_be_written_in_a_text_that_is_not_done(text: str) -> None:
    found = complete(text)
    assert found["big"]["says"] == "big : n Of m  -- f64"
    assert found["xs"]["says"] == "xs : n Of m  -- f64"
    assert found["n"]["kind"] == "size"
    assert found["Twist"]["says"] == "Twist how a : as `how` says"
    assert ("row" in found) == ("row" in text)
    assert "more" not in found
    assert not [name for name in found if "held" in name]


def test_nothing_of_the_program_before_is_offered_in_a_comment() -> None:
    assert complete("main (xs : n) = xs -- x|\n") == {}


def test_a_hint_is_a_change() -> None:
    source = PROGRAM.replace("halved xs", "halvd xs")
    error = ask("check", source)["error"]
    line, column, end_line, end_column = error["span"]
    where = {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
    (fix,) = ask("fixes", source, **where, hint=error["hint"])["fixes"]
    assert fix["edits"] == [{"span": error["span"], "text": "halved"}]
    assert ask("fixes", source, **where, hint="Did you mean `halvx`?")["fixes"] == []


def test_what_folds() -> None:
    source = "-- One\n-- two.\n\n" + PROGRAM
    assert ask("outline", source)["folds"] == [[1, 2], [8, 10]]


def test_each_word_of_the_language_is_told() -> None:
    assert WORD_HELP.keys() == WORDS


def test_texts_that_are_no_programs_have_answers() -> None:
    for source in ("", "\n", "-- only\n", "=", "main", "main (", 'main = "', "\\", "a (b :\n" * 9):
        for op in ("inspect", "complete"):
            assert ask(op, source, line=1, column=1)["ok"], (op, source)
        assert ask("outline", source)["ok"], source
