"""What an editor is told about places of a program, and how names are changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import UsageError
from compiler.editor import complete, outline, places
from compiler.editor.project import Project
from compiler.frontend.check import check

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "app/examples").glob("*.fut"))

SUMS = """\
-- | Sums of all.
def total [n] (xs: [n]i32): i32 = reduce (+) 0 xs

type point = {x: f32, y: f32}
def origin: point = {x = 0, y = 0}
local def hidden = 1
"""
MAIN = """\
import "lib/sums"
module s = import "lib/sums"

module type thing = { type t val one : t }
module make (T: thing) = {
  def pair = (T.one, T.one)
}
module things = make {type t = i32 def one = 1}

def scale 'a (f: a -> a) (p: {x: a, y: a}) = p with x = f p.x

entry main [n] (xs: [n]i32) =
  let (a, b) = (total xs, s.total xs)
  let c = map (\\x -> x + a) xs
  let {x, y} = scale (f32.sqrt) origin
  in (a + b, c, {x, y}, things.pair.0)
"""
FILES = {"main.fut": MAIN, "lib/sums.fut": SUMS}


@pytest.fixture
def project() -> Project:
    return Project(FILES, "main.fut")


def at(text: str, what: str, more: int = 0) -> int:
    """The place of the first character of what is between `^` marks' context."""
    before, _, after = what.partition("^")
    assert text.count(before + after) >= 1, what
    return text.index(before + after) + len(before) + more


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("= (^total xs", "def total [n] (xs: [n]i32): i32"),
        ("s.^total", "def total [n] (xs: [n]i32): i32"),
        ("let (^a, b)", "a: i32"),
        ("x + ^a)", "a: i32"),
        ("let ^c =", "c: [n]i32"),
        ("(\\^x ->", "x: i32"),
        ("f32.^sqrt", "sqrt: f32 -> f32"),
        ("^things.pair", "module things = make {type t = i32 def one = 1}"),
        ("pair = (T.^one", "val one : t"),
        ("^origin", "def origin: {x: f32, y: f32}"),
        (
            "= ^map (",
            "def map [n] 'a 'b (f: a -> b) (xs: [n]a): *[n]b\n"
            "-- here: (i32 -> i32) -> [n]i32 -> *[n]i32",
        ),
        ("a ^+ b", "i32"),
    ],
)
def test_types_are_told_as_an_author_would_write_them(
    project: Project, where: str, says: str
) -> None:
    found = places.told(project, "main.fut", at(MAIN, where))
    assert found is not None
    assert found.says == says


def test_documentation_comes_with_a_name(project: Project) -> None:
    found = places.told(project, "main.fut", at(MAIN, "s.^total"))
    assert found is not None
    assert found.symbol is not None
    assert (found.doc, found.symbol.span) == ("Sums of all.", (2, 5, 2, 10, "lib/sums.fut"))


def used(project: Project, path: str, where: int) -> list[tuple[str, int]]:
    use = places.use_at(project, path, where)
    assert use is not None
    return [(file, one.start) for file, one in places.references(project, use.symbol)]


def test_all_uses_of_a_name_are_found_in_all_files(project: Project) -> None:
    declared = SUMS.index("total [n]")
    wanted = [
        ("lib/sums.fut", declared),
        ("main.fut", at(MAIN, "(^total xs")),
        ("main.fut", at(MAIN, "s.^total")),
    ]
    assert used(project, "lib/sums.fut", declared) == wanted
    assert used(project, "main.fut", at(MAIN, "s.^total")) == wanted


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_name_of_our_examples_is_declared_somewhere(path: Path) -> None:
    text = path.read_text("utf-8")
    project = Project({"a.fut": text}, "a.fut")
    known = {use.start for use in project.names("a.fut").uses}
    parsed = project.parsed("a.fut")
    assert parsed is not None
    for kind in ("e_var", "t_name"):
        for node in parsed.tree.find_data(kind):
            token = next(node.scan_values(lambda _: True))
            assert token.start_pos in known, token
    for use in project.names("a.fut").uses:
        assert text[use.start : use.end] == use.symbol.name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_any_name_of_our_examples_can_be_another(path: Path) -> None:
    """And the program is what it was, but for that."""
    text = path.read_text("utf-8")
    project = Project({"a.fut": text}, "a.fut")
    own = [use for use in project.names("a.fut").uses if use.declares and use.symbol.name.isalnum()]
    for use in own[:: max(1, len(own) // 4)]:
        edits = places.rename(project, "a.fut", use.start, "fresh_name")
        after = places.changed(text, edits, "a.fut")
        back = Project({"a.fut": after}, "a.fut")
        check(back.parsed("a.fut").program, Ctx())  # type: ignore[union-attr]
        again = places.rename(back, "a.fut", edits[0].start, use.symbol.name)
        unpunned = after.replace("fresh_name = fresh_name", "fresh_name")
        assert places.changed(after, again, "a.fut") == text or unpunned != after


def test_a_name_changes_in_all_files_and_fields_stay(project: Project) -> None:
    edits = places.rename(project, "main.fut", at(MAIN, "(^total"), "sum_of")
    assert [(e.path, e.text) for e in edits] == [
        ("lib/sums.fut", "sum_of"), ("main.fut", "sum_of"), ("main.fut", "sum_of"),
    ]  # fmt: skip
    edits = places.rename(project, "main.fut", at(MAIN, "let {^x"), "left")
    after = places.changed(MAIN, edits, "main.fut")
    assert "let {x = left, y} = scale" in after
    assert "{x = left, y}, things" in after


@pytest.mark.parametrize(
    ("where", "new", "why"),
    [
        ("let (^a, b)", "b", "would change"),
        ("x + ^a)", "x", "would change"),
        ("let ^c =", "let", "is a word of the language"),
        ("let ^c =", "1c", "is not a valid name"),
        ("= ^map (", "other", "part of the language's library"),
        ("= (^total xs", "origin", "would change"),
        ("f32.^sqrt", "other", "part of the language's library"),
        ("module type thing = { type t val ^one", "two", "would be wrong: "),
        ("(a ^+ b", "other", "no declared name here|part of the language's library"),
    ],
)
def test_a_name_that_changes_the_meaning_is_refused(
    project: Project, where: str, new: str, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        places.rename(project, "main.fut", at(MAIN, where), new)


def test_an_error_elsewhere_hides_nothing() -> None:
    text = "def f (x: i32) = x + 1\n\ndef g =\n  let y = in\n\ndef h = f 2\ndef i = f true\n"
    project = Project({"": text}, "")
    found = places.told(project, "", text.index("f 2"))
    assert found is not None
    assert found.says == "def f (x: i32): i32"
    assert [symbol.name for symbol in outline.outline(project, "")] == ["f", "h", "i"]


def names(project: Project, path: str, where: int) -> dict[str, str]:
    return {item.name: item.says for item in complete.completions(project, path, where)[1]}


def completed(line: str) -> dict[str, str]:
    """What may stand at `^` in a line put into the main function."""
    head, _, tail = MAIN.partition("  in (a + b")
    text = f"{head}{line.replace('^', '')}\n  in (a + b{tail}"
    return names(
        Project({**FILES, "main.fut": text}, "main.fut"), "main.fut", len(head) + line.index("^")
    )


def test_what_is_in_scope_is_offered_with_its_type() -> None:
    found = completed("  let d = to^")
    assert found["total"] == "def total [n] (xs: [n]i32): i32"
    assert found["c"] == "c: [n]i32"
    assert found["x"] == "x: f32"
    assert "d" not in found
    assert "hidden" not in found
    assert found["replicate"].startswith("def replicate")
    assert "loop" in found
    assert completed("  let c' = 1.0f64 let d = ^ + 1")["c'"] == "c': f64"


def test_after_a_dot_there_are_members_and_fields() -> None:
    assert completed("  let d = s.^") == {
        "total": "def total [n] (xs: [n]i32): i32",
        "point": "type point = {x: f32, y: f32}",
        "origin": "def origin: {x: f32, y: f32}",
    }
    assert completed("  let d = f32.sq^ x")["sqrt"] == "sqrt: f32 -> f32"
    assert completed("  let d = origin.^") == {"x": "x: f32", "y": "y: f32"}
    assert completed("  let d = 1 + origin.x^ + 2") == {"x": "x: f32", "y": "y: f32"}
    assert completed("  let d = (scale id origin).^") == {"x": "x: f32", "y": "y: f32"}
    assert completed("  let d = [origin][0].^") == {"x": "x: f32", "y": "y: f32"}


def test_constructors_are_offered_and_comments_left_alone() -> None:
    text = "type t = #some i32 | #none\ndef f (x: t) = match x case #s\n"
    found = names(Project({"": text}, ""), "", len(text) - 1)
    assert found == {"some": "#some i32", "none": "#none"}
    assert names(Project({"": "def x = 1 -- to"}, ""), "", 15) == {}


def test_folds_and_symbols(project: Project) -> None:
    symbols = outline.outline(project, "main.fut")
    assert [(s.name, s.kind) for s in symbols] == [
        ("s", "module"), ("thing", "module type"), ("make", "module"), ("things", "module"),
        ("scale", "function"), ("main", "function"),
    ]  # fmt: skip
    assert [s.name for s in symbols[1].inside] == ["t", "one"]
    assert outline.folds(project, "main.fut") == [(5, 7), (12, 16)]
