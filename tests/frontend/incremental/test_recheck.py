"""After an edit only what it touches is checked, and the answer is that of a fresh check.

That holds for the main program and for the files that it imports.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from compiler.driver import api, checking
from compiler.driver.worker import answer
from compiler.frontend.check import checked_files
from compiler.frontend.incremental import piece_results as found_
from compiler.frontend.incremental import recheck

ROOT = Path(__file__).parents[3]
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
module held = {
  type u = t
  def k = 3i64
  -- | What is held.
  def ones (_: u) = replicate k 1i32
  local def deep (x: u): [k]u = ones x
  module inner : { type s val made : u -> s } = {
    type s = [3]u
    def made (x: u): s = deep x :> [3]u
  }
  open { def opened (x: u) = x + 1 }
  def last (x: u) (unused: i32) = opened (ones x)[0]
}
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
local def mine (unused: t) = shown 3
def const = iota 3
def use = made.both (plain.make 3)
#[inline]
entry main (xs: [n]t) = map shown (sized xs)
entry other (x: t) = let y = x in const[0] + i64.i32 (use.0 + mine x)
def of_held (x: held.u) = (held.inner.made x, held.last x 1, held.ones 2)
"""

Files = dict[str, str]
LIBRARY = MODULES.partition("#[inline]")[0] + "def plus (x: t) (y: t) = x + y + hidden\n"
FILES: Files = {
    "a.fut": LIBRARY,
    "low/d.fut": "def deep (unused: i32) = 1i64\n"
    "module inner = { type s = [3]i64 def c: s = [1, 2, 3] }\n",
    "b.fut": """import "a"
open import "low/d"
type pair = (t, t)
def again = const
def both (x: t): pair = made.both (plain.make x)
module other = twice { type u = bool def make (x: t) = x > hidden def get (b: u) = i32.bool b }
module held : { type s val c : s } = inner
def summed [m] (xs: [m]t) = reduce plus hidden (map shown xs)
""",
    "c.fut": """import "b"
module a = import "a"
module low = {
  import "low/d"
  module of_a = import "a"
  def more (x: of_a.t) = x + i32.i64 (deep 1)
}
def most (xs: []i32) = let x = summed xs in (x, (both x).0)
local def free (_: i32) = inner.c
""",
}
IMPORTER = """import "c"
import "b"
import "a"
module here = {
  open import "low/d"
  def deeper (x: i32) = deep x
}
entry main (xs: [n]t) = map shown (sized xs)
entry other (xs: []t) = let y = deep 1 in (most xs).0 + use.0
def last (x: t) = shown x + plus x 1 + low.more (i32.i64 (here.deeper 2))
"""


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    recheck.forget()
    yield
    recheck.forget()


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the definitions that are checked, of those in files with the file."""
    done: list[str] = []
    check = found_.check_each

    def checking(out: Any, declared: Any) -> None:
        file = f"{out.importing[-1]} " if out.importing else ""
        done.extend(file + getattr(dec, "name", "?") for dec in declared)
        check(out, declared)

    monkeypatch.setattr(found_, "check_each", checking)
    return done


def told(source: str, files: Files | None = None) -> dict[str, Any]:
    return answer({"op": "check", "source": source, "files": files or {}})


def afresh(
    source: str, monkeypatch: pytest.MonkeyPatch, files: Files | None = None
) -> dict[str, Any]:
    """What is told of a program that is read and checked as a whole."""
    api._recent.clear()
    checked_files._kept.clear()
    with monkeypatch.context() as patched:
        patched.setattr(checking, "_edited", lambda asked: None)
        return told(source, files)


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
        "module m = { def z = 1i32\ndef a = z\ndef b = a\n}\n"
        "entry main (x: i32) =\nlet y = x\nin y + m.b\n"
    )
    assert told(bare)["ok"]
    assert checked == ["m", "main"]
    checked.clear()
    assert told(bare.replace("in y", "in y + y"))["ok"]
    assert checked == ["main"]


@pytest.mark.parametrize("indent", ["", "  "])
@pytest.mark.parametrize(
    "head", ["module m", "local module m", "module m : {\nval f29 [n]: [n]i32 -> [n]i32\n}"]
)
def test_an_edit_in_a_module_checks_what_it_can_change(
    checked: list[str], head: str, indent: str
) -> None:
    rest = "entry main (xs: []i32) = m.f29 xs\ndef other = 1i32\n"
    m = "?" if "local" in head else "m"

    def after(body: str, above: str = "") -> list[str]:
        checked.clear()
        inside = "".join(indent + line for line in body.splitlines(True))
        assert told(f"{above}{head} = {{\n{inside}}}\n{rest}")["ok"]
        return list(checked)

    users = [] if ":" in head else ["main"]  # a module type hides the rest of the module

    assert len(after(CHAIN)) == COUNT + 3
    assert after(CHAIN) == []
    assert after(CHAIN.replace("(+ 7)", "(+ 70)")) == [m, "f7"]
    assert after(CHAIN) == [m]
    assert after(f"-- above\n{CHAIN}") == [m]
    assert after(CHAIN, "\n\n") == [m]
    more = CHAIN.replace("def f20 ", "def unused = 1i32\ndef f20 ")
    assert after(more) == [m, "unused", *users]
    other_type = CHAIN.replace("f27 [n] (xs: [n]i32): [n]i32", "f27 [n] (xs: [n]i32): *[n]i32")
    assert after(other_type) == [m, "f27", "f28", *users]


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
        "g (y: i32) = y\n",
        'import\' "a"\n',
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
    monkeypatch.setattr(recheck, "MOST_NAMES", 500)
    for k in range(100):
        assert told(CHAIN.replace("(+ 7)", f"(+ {k})").replace("(+ 9)", f"(* {k})"))["ok"]
    (program,) = recheck._programs
    assert len(program._out.st.serials) < 2000
    assert len(program._main.found) <= 3 * COUNT


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
    "module m = {\n  def f (x: i32) = x\n  type t = bool\n}",
    "local module held = {\n  def k = 2i64\n  def last (x: i32) y = x + y\n}",
    "  def k = 4i64",
    "  local type u = i8",
    "  def wrong = 1 + true",
    "  def = 2",
    "  in x }",
    "}",
    "open m",
    "def use = m.f 1",
    "def n = 10i64",
    "#[inline]",
    "entry e (x: t) = x",
    "  in x",
)


def changed(source: str, chance: random.Random, more: Sequence[str] = LINES) -> str:
    """A text after something that somebody might do to it, sensible or not.

    `more`: lines that may be added.
    """
    lines = source.split("\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(8):
        case 0:
            lines.insert(at, chance.choice(more))
        case 1:
            del lines[at]
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines.insert(other, lines[at])
        case 4 | 5:
            names = re.findall(r"^ *(?:def|entry|type|module) (\w+)", source, re.MULTILINE)
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


def test_an_edit_in_a_file_checks_what_it_can_change(checked: list[str]) -> None:
    user = 'import "chain"\ndef first = f0 [1]\ndef last = f29 [1, 2]\n'
    main = 'import "user"\nentry main (x: i32) = map (+ x) last\n'

    def after(chain: str) -> list[str]:
        checked.clear()
        found = told(main, {"chain.fut": chain, "user.fut": user})
        assert found["ok"], found
        return list(checked)

    assert after(CHAIN) == ["?", "main"]  # files are checked as a whole the first time
    for k in (70, 71):  # in pieces from now on
        assert after(CHAIN.replace("(+ 7)", f"(+ {k})")) == ["chain.fut f7"]
    assert after(f"\n{CHAIN}") == []
    assert after(CHAIN) == []
    more = "def more = 1i32\n"
    assert after(CHAIN + more) == ["chain.fut more", "user.fut ?"]
    assert after(CHAIN + more.replace("1", "2")) == ["chain.fut more"]
    other_type = CHAIN.replace("f29 [n] (xs: [n]i32): [n]i32", "f29 [n] (xs: [n]i32): *[n]i32")
    assert after(other_type) == ["chain.fut f29", "user.fut ?", "user.fut last"]


def test_a_module_that_imports_is_checked_in_pieces(checked: list[str]) -> None:
    def after(inside: str, file: str = CHAIN) -> list[str]:
        checked.clear()
        main = f'module m = {{\n  import "chain"\n{inside}}}\nentry main = m.last [1]\n'
        found = told(main, {"chain.fut": file})
        assert found["ok"], found
        return list(checked)

    inside = "  def first = f0\n  def other = 1i32\n  def last = first\n"
    assert after(inside) == ["m", "?", "first", "other", "last", "main"]
    assert after(inside.replace("1i32", "2i32")) == ["m", "other"]
    assert after(f"\n{inside}".replace("1i32", "2i32")) == ["m", "?"]
    other_type = CHAIN.replace("f0 [n] (xs: [n]i32): [n]i32", "f0 [n] (xs: [n]i32): *[n]i32")
    assert after(inside, other_type)[-5:] == ["m", "?", "first", "last", "main"]


def test_an_error_in_a_file_is_told_where_it_is_now(checked: list[str]) -> None:
    main = 'import "chain"\nentry main = f3\n'
    for first in (CHAIN, "def wrong = 1 + true\n" + CHAIN):
        recheck.forget()
        told(main, {"chain.fut": first})
        for k in range(3):
            checked.clear()
            wrong = "\n" * k + CHAIN.replace("(+ 7)", "(+ true)")
            found = told(main, {"chain.fut": wrong})
            assert found["error"]["span"] == [16 + k, 10, 16 + k, 14, "chain.fut"]
            assert (checked == ["chain.fut f7"]) == (k > 0)
            assert ("chain.fut f6" in checked) == (k == 0 and first != CHAIN)
        assert told(main, {"chain.fut": CHAIN})["ok"]


def test_where_something_is_declared_is_told_of_other_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = {"between.fut": 'module a = import "a"\nopen a\nmodule b = { open a }\n'}
    for uses in ("f true", "b.f true", "a.f true"):
        main = f'import "between"\nentry main = {uses}\n'
        for k in (0, 2, 1):
            now = {**files, "a.fut": "\n" * k + "def f (x: i32) = x\n"}
            found = told(main, now)
            assert found["error"]["related"][0]["span"] == [k + 1, 5, k + 1, 6, "a.fut"]
            assert found == afresh(main, monkeypatch, now)


def test_what_is_declared_anew_is_not_what_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant that is a size is another one, however alike its type is."""
    use = "def f (xs: [n]i32) = xs\n"
    again = "def g (xs: [n]i32) = f xs\n"
    for second in ("def n = 4i64\n", "local def n = 4i64\n", "local def n = 3i64\n"):
        for first in ("local def n = 3i64\n", 'import "a"\n', 'local open import "a"\n'):
            recheck.forget()
            files = {"a.fut": "def n = 3i64\n"}
            one = f"{first}{use}"
            for source, is_right in (
                (one, True),
                (one + again, True),
                (one + second + again, False),
                (second + one + second + again, False),
                (one + again + second, True),
            ):
                found = told(source, files)
                assert found == afresh(source, monkeypatch, files), source
                assert found["ok"] == is_right, source


def test_who_says_that_a_constant_may_be_returned_may_be_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = ["module a = { type t = [3]i64 def c: t = [1, 2, 3] }\n"]
    parts += ["module m: { type t val c: t } = a\n", "def f (_: i32) = a.c\n"]
    with_it, without = "".join(parts), parts[0] + parts[2]
    for main in (with_it, without, with_it, without + "\n", with_it + "\n"):
        assert told(main) == afresh(main, monkeypatch)
    assert told(with_it)["ok"] > told(without)["ok"]
    for upper in (parts[0] + parts[1], parts[0], "\n" + parts[0] + parts[1], parts[0] + "\n"):
        files = {"a.fut": upper}
        main = f'import "a"\n{parts[2]}'
        assert told(main, files) == afresh(main, monkeypatch, files)
        assert told(main, files)["ok"] == (parts[1] in upper)


def edited_at_random(
    first: dict[str, str],
    edit: Callable[[str, random.Random], str],
    chance: random.Random,
    monkeypatch: pytest.MonkeyPatch,
    rounds: int,
    kept: float,
) -> tuple[int, int]:
    """How often files are right, and wrong, where each answer has to be that of a fresh check.

    An edit goes on from one that was right, or with a chance of `kept` from one that was not.
    """
    right, wrong = 0, 0
    texts = dict(first)
    for _ in range(rounds):
        path = chance.choice(list(texts))
        new = {**texts, path: edit(chance.choice([texts, texts, first])[path], chance)}
        source, files = new[""], {name: text for name, text in new.items() if name}
        found = told(source, files)
        assert found == afresh(source, monkeypatch, files), new
        right, wrong = right + found["ok"], wrong + (not found["ok"])
        if found["ok"] or chance.random() < kept:
            texts = new
        elif chance.random() < 0.1:
            texts = dict(first)
    return right, wrong


@pytest.mark.parametrize("seed", range(4))
def test_after_any_edits_in_files_the_answer_is_that_of_a_fresh_check(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {"": IMPORTER, **FILES}
    right, wrong = edited_at_random(first, changed, random.Random(seed), monkeypatch, 110, 0.1)
    assert right > 15
    assert wrong > 15
