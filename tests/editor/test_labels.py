"""Fields of records and constructors of sums: all places of one are found, and change together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import UsageError
from compiler.editor import places
from compiler.editor.labels import labels
from compiler.editor.project import Project
from compiler.frontend.check import check
from compiler.frontend.parser import parse

LIB = "type point = {x: f32, y: f32}\ntype shape = #dot | #ring f32 point\n"
MAIN = """\
import "lib"
module m = {def x = 3i32 type box = {x: i32}}
def norm (p: point) = p.x * p.x + p.y * p.y
def flip ({x, y = b}: point) = {x = -x, y = b}
def step (s: shape): shape =
  match s
  case #dot -> #ring 1 {x = 0, y = 0}
  case #ring r c -> #ring (r * 2) (c with x = c.x + norm c)
def other (b: m.box) = b.x + m.x
entry main (xs: []f32) =
  let ps = map (\\x -> flip {x, y = 1}) xs
  let (q: point) = {y = 2, x = 1}
  in (map (.x) ps, (match step #dot case #dot -> q.x case #ring _ {x, y} -> x + y), other {x = 1})
entry two (s: (#dot | #line i32)) = match s case #dot -> 0 case #line k -> k
"""
FILES = {"lib.fut": LIB, "main.fut": MAIN}
POINT = ["fut:1:15", "fut:3:25", "fut:3:31", "fut:4:12", "fut:4:33", "fut:7:25", "fut:8:43",
         "fut:8:49", "fut:11:29", "fut:12:28", "fut:13:13", "fut:13:52", "fut:13:68"]  # fmt: skip


def project() -> Project:
    return Project(FILES, "main.fut")


def offset(text: str, what: str) -> int:
    before, _, after = what.partition("^")
    assert text.count(before + after) == 1, what
    return text.index(before + after) + len(before)


def used(where: str, of: str = "main.fut") -> list[str]:
    given = project()
    use = places.use_at(given, of, offset(FILES[of], where))
    assert use is not None
    found = []
    for path, one in places.references(given, use.symbol):
        text = given.files[path][: one.start]
        found.append(f"{path}:{text.count(chr(10)) + 1}:{one.start - text.rfind(chr(10))}")
    return found


def renamed(where: str, new: str, of: str = "main.fut") -> dict[str, str]:
    edits = places.rename(project(), of, offset(FILES[of], where), new)
    return {path: places.changed(text, edits, path) for path, text in FILES.items()}


@pytest.mark.parametrize(
    "where", ["p.^x * p.x", "(.^x) ps", "(c with ^x", "c.^x + norm", "{y = 2, ^x", "> q.^x case"]
)
def test_all_places_of_a_field_are_found_and_its_type_comes_first(where: str) -> None:
    assert [one.partition(".")[2] for one in used(where)] == POINT
    use = places.use_at(project(), "main.fut", offset(MAIN, where))
    assert use is not None
    assert (use.symbol.kind, use.symbol.span[:4]) == ("field", (1, 15, 1, 16))
    assert use.symbol.span.file == "lib.fut"


def test_a_field_of_another_type_and_a_member_of_a_module_are_others() -> None:
    assert used("b.^x + m.x") == ["main.fut:2:38", "main.fut:9:26", "main.fut:13:92"]
    assert used("def ^x = 3i32") == ["main.fut:2:17", "main.fut:9:32"]


def test_constructors() -> None:
    assert used("step #^dot case #dot") == [
        "lib.fut:2:15", "main.fut:7:9", "main.fut:13:33", "main.fut:13:43"
    ]  # fmt: skip
    assert used("(#^dot | #line") == ["main.fut:14:17", "main.fut:14:51"]


@pytest.mark.parametrize(
    ("where", "new", "parts"),
    [
        ("p.^x * p.x", "across", [
            "p.across * p.across + p.y", "({across = x, y = b}: point) = {across = -x, y = b}",
            "(c with across = c.across + norm c)", "flip {across = x, y = 1}", "map (.across) ps",
            "#ring _ {across = x, y} -> x + y", "{x: i32}", "b.x + m.x", "other {x = 1}",
        ]),
        ("case #^ring r", "circle", ["case #circle r c -> #circle (r", "case #circle _ {x, y}"]),
        ("case #^line", "dash'", ["#dot | #dash' i32", "case #dash' k -> k"]),
    ],
)  # fmt: skip
def test_a_new_name_changes_them_all(where: str, new: str, parts: list[str]) -> None:
    found = renamed(where, new)
    for part in parts:
        assert part in found["main.fut"], found["main.fut"]
    options = Ctx().options
    files = (("lib.fut", found["lib.fut"]),)
    assert check(parse(found["main.fut"], "main.fut"), Ctx(type(options)(files=files))).entries


def test_an_old_name_comes_back() -> None:
    edits = places.rename(project(), "lib.fut", offset(LIB, "{^x: f32"), "z")
    after = Project({p: places.changed(t, edits, p) for p, t in FILES.items()}, "main.fut")
    back = places.rename(after, "lib.fut", after.files["lib.fut"].index("z"), "x")
    found = {p: places.changed(t, back, p) for p, t in after.files.items()}
    assert found["lib.fut"] == LIB
    assert found["main.fut"].replace("{x = x, ", "{x, ") == MAIN


@pytest.mark.parametrize(
    ("where", "new", "says"),
    [
        ("p.^x * p.x", "y", "has a field `y` already"),
        ("case #^dot -> #ring", "ring", "has a constructor `ring` already"),
        ("p.^x * p.x", "let", "a word of the language"),
    ],
)
def test_a_name_that_is_there_is_refused(where: str, new: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        renamed(where, new)
    assert says in caught.value.message


def test_a_program_with_errors_changes_nothing_that_it_does_not_know() -> None:
    given = Project({"": "type t = {x: i32}\ndef f (a: t) = a.x + y\ndef g (a: t) = a.x"}, "")
    use = places.use_at(given, "", 10)
    assert use is not None
    assert len(places.references(given, use.symbol)) == 2
    with pytest.raises(UsageError, match="It is unknown if `x` in line 2"):
        places.rename(given, "", 10, "z")


def test_every_field_and_constructor_of_our_examples_has_a_type() -> None:
    count = 0
    for path in sorted((Path(__file__).parents[2] / "app/examples").glob("*.fut")):
        text = path.read_text()
        given = Project({"": text}, "")
        for name in set(re.findall(r"[.#{,]\s*([a-z]\w*)", text)):
            found = labels(given, name)
            assert found.unknown == [], (path.name, name)
            count += len(found.uses)
    assert count > 10
