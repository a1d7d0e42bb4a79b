"""After an edit only what it touches is checked, and the answer is that of a fresh check."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compiler import api
from compiler.frontend import edited
from compiler.worker import answer

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path
    for folder in ("app/examples", "tests/lower/programs")
    for path in (ROOT / folder).glob("*.fut")
    if len(path.read_text()) < 6000
)
COUNT = 30
CHAIN = "".join(
    f"def f{k} [n] (xs: [n]i32): [n]i32 =\n  map (+ {k}) ({f'f{k - 1} xs' if k else 'xs'})\n"
    for k in range(COUNT)
)
MODULES = """type t = i32
def n = 3i64
def sized (xs: [n]t) = xs
def size (k: i64): [k + n]t = replicate (k + n) 1
module type num = { type u val make : t -> u val get : u -> t }
module plain : num = {
  type u = t
  def make (x: t) = x
  def get (x: u): t = x
}
module twice (p: num) = { def both (x: p.u) = (p.get x, p.get x) }
module made = twice plain
open { def hidden = 2i32 def shown (x: t) = x + hidden }
local def mine (unused: t) = shown n
def const = iota 3
def use = made.both (plain.make 3)
#[inline]
entry main (xs: [n]t) = map shown (sized xs)
entry other (x: t) = let y = x in const[0] + i64.i32 (use.0 + mine x)
"""


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    edited.forget()
    yield
    edited.forget()


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the definitions that are checked."""
    done: list[str] = []
    check = edited.check_each

    def checking(out: Any, declared: Any) -> None:
        done.extend(getattr(dec, "name", "?") for dec in declared)
        check(out, declared)

    monkeypatch.setattr(edited, "check_each", checking)
    return done


def told(source: str) -> dict[str, Any]:
    return answer({"op": "check", "source": source})


def afresh(source: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is told of a program that is read and checked as a whole."""
    api._recent.clear()
    with monkeypatch.context() as patched:
        patched.setattr(api, "_edited", lambda asked: None)
        return told(source)


def test_an_edit_checks_what_it_can_change(checked: list[str]) -> None:
    def after(source: str) -> list[str]:
        checked.clear()
        assert told(source)["ok"]
        return list(checked)

    assert len(after(CHAIN)) == COUNT
    assert after(CHAIN) == []
    assert after(f"-- a comment\n\n{CHAIN}") == []
    assert after(CHAIN.replace("(+ 7)", "(+ 70)")) == ["f7"]
    assert after(CHAIN.replace("(+ 7)", "(\\x -> let y = x in y)")) == ["f7"]
    assert after(CHAIN) == []
    assert after(CHAIN.replace("def f20 ", "def unused = 1i32\ndef f20 ")) == ["unused"]
    other_type = CHAIN.replace("f27 [n] (xs: [n]i32): [n]i32", "f27 [n] (xs: [n]i32): *[n]i32")
    assert after(other_type) == ["f27", "f28"]  # the type of `f28` stays


def test_a_wrong_definition_is_checked_alone(checked: list[str]) -> None:
    assert told(CHAIN)["ok"]
    wrong = CHAIN.replace("(+ 3)", "(+ true)")
    assert not told(wrong)["ok"]  # now those that use it stay silent
    for k in range(3):
        checked.clear()
        found = told("\n" * k + wrong)
        assert checked == ["f3"]
        assert found["error"]["span"][0] == 8 + k
        assert len(found["error"]["errors"]) == 1


def test_what_is_told_moves_with_the_text(checked: list[str]) -> None:
    program = "def f (x: i32) = 1i32\nentry main (y: i32) = (f y)\n"
    for lines in (0, 3, 1):
        found = told("\n" * lines + program)
        assert [w["span"] for w in found["warnings"]] == [[lines + 1, 8, lines + 1, 9]]
    assert checked == ["f", "main"]
    for lines in (0, 3, 1):
        twice = told("\n" * lines + program + "def f = 2i32\n")["error"]
        assert [r["span"][0] for r in twice["related"]] == [lines + 1]


def test_what_is_local_may_have_the_name_of_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, again = "type t = i32\ndef a = 1: t\n", "local type t = i8\nlocal def a = 2: t\n"
    use = "entry main (x: t) = x + a\n"
    for program in (first, first + again, again, again + first, again * 2, first + again * 2):
        assert told(program + use) == afresh(program + use, monkeypatch)
        assert told(program + use)["ok"]
    for twice in (first + again + first, first * 2):
        found = told(twice + use)
        assert found == afresh(twice + use, monkeypatch)
        assert [e["span"][0] for e in found["error"]["errors"]] == [
            twice.count("\n") + k for k in (-1, 0)
        ]


def test_what_is_no_declaration_by_itself_is_one_with_what_follows(checked: list[str]) -> None:
    bare = (
        "module m = {\ndef a = 1i32\ndef b = a\n}\nentry main (x: i32) =\nlet y = x\nin y + m.b\n"
    )
    assert told(bare)["ok"]
    assert checked == ["m", "main"]
    checked.clear()
    assert told(bare.replace("in y", "in y + y"))["ok"]
    assert checked == ["main"]


@pytest.mark.parametrize(
    "wrong",
    [
        "def f x =\n",
        "def f = (1 + 2\n",
        "def f = let x = 1\n",
        "module m = {\n",
        "def f (x: i32) ? = x\n",
        "def f = #[unroll\n",
        "def f = $ 1\ndef g = )\n",
        "local\n",
        "let\n",
    ],
)
def test_errors_of_syntax_are_those_of_the_whole_text(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [f"def a{k} (r: {{x: i32}}) = r.x\n" for k in range(5)]
    for at in (0, 2, 5):
        for more in ("", "let z = 1\n", "in 3\n"):
            source = "".join((*parts[:at], wrong, *parts[at:], more))
            assert told(source) == afresh(source, monkeypatch)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edited, "MOST_NAMES", 500)
    for k in range(100):
        assert told(CHAIN.replace("(+ 7)", f"(+ {k})").replace("(+ 9)", f"(* {k})"))["ok"]
    (program,) = edited._programs.values()
    assert len(program.out.st.serials) < 2000
    assert len(program._found) <= 3 * COUNT


WORDS = (
    "def let entry in if then else ( ) [ ] { } + - * 0 1i64 x xs i32 f32 n map reduce = : -> open"
    " local module type #[unroll] f main -- \" ' #a ? .. == <| |> loop for do while match case"
).split()
LINES = (
    "",
    "-- x",
    "def a = 1i32",
    "local def hidden (y: i32) = y",
    "local def a = 2i64",
    "local type t = i8",
    "type t = i64",
    "type t [n] = [n]f32",
    "open { def inner = 2i32 }",
    "module m = { def f (x: i32) = x type t = bool }",
    "module m = {",
    "}",
    "open m",
    "def use = m.f 1",
    "def n = 10i64",
    "#[inline]",
    "entry e (x: t) = x",
    "  in x",
)


def changed(source: str, chance: random.Random) -> str:
    """A text after something that somebody might do to it, sensible or not."""
    lines = source.split("\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(8):
        case 0:
            lines.insert(at, chance.choice(LINES))
        case 1:
            del lines[at]
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines.insert(other, lines[at])
        case 4 | 5:
            names = re.findall(r"^(?:def|entry|type|module) (\w+)", source, re.MULTILINE)
            if names:
                old, new = chance.choice(names), chance.choice([*names, "new", "map", "n"])
                count = chance.choice([0, 1])
                return re.sub(rf"\b{old}\b", new, source, count=count)
        case _:
            words = re.findall(r"\s+|\w+|.", lines[at])
            if words:
                place = chance.randrange(len(words))
                words[place : place + chance.randint(0, 1)] = chance.sample(WORDS, 1)
                lines[at] = "".join(words)
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_after_any_edits_the_answer_is_that_of_a_fresh_check(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    right, wrong = 0, 0
    for program in (MODULES, CHAIN, *[p.read_text() for p in chance.sample(PROGRAMS, 4)]):
        source = program
        for _ in range(40 if program is MODULES else 15):
            new = changed(chance.choice([source, source, program]), chance)
            found = told(new)
            assert found == afresh(new, monkeypatch), new
            right, wrong = right + found["ok"], wrong + (not found["ok"])
            if found["ok"] or chance.random() < 0.3:
                source = new
    assert right > 15
    assert wrong > 15
