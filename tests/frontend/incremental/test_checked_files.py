"""What is kept of a program's files: an edit checks its file, and what others see stays theirs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from compiler.driver import api
from compiler.driver.worker import answer
from compiler.frontend import files as files_
from compiler.frontend.check import checked_files
from compiler.frontend.check import files as checking
from compiler.frontend.incremental import piece_results as found_
from compiler.frontend.incremental import pieces, recheck

COUNT = 20
FILES = {
    f"f{k}.fut": (f'import "f{k - 1}"\n' if k % 2 else "")
    + "".join(f"def g{k}_{j} (xs: []i32) = map (\\x -> x * {j} + {k}) xs\n" for j in range(20))
    for k in range(COUNT)
}
IMPORTS = "".join(f'import "f{k}"\n' for k in range(COUNT))
PROGRAM = f"{IMPORTS}entry main (xs: []i32) = g0_1 (g{COUNT - 1}_3 xs)\n"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    """Forget everything that is kept of programs."""
    api._recent.clear()
    checked_files._kept.clear()
    files_._trees.clear()
    recheck.forget()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which files are parsed and checked, and which pieces of the main program, under no name."""
    done: list[str] = []
    parse, check_decs, check_each = files_.parse, checking.check_decs, found_.check_each

    def parsing(text: str, file: str = "", **more: Any) -> Any:
        done.append(f"parse {file}")
        return parse(text, file, **more)

    def check(out: Any, decs: Any) -> None:
        done.append(f"check {out.importing[-1] if out.importing else ''}")
        check_decs(out, decs)

    def check_piece(out: Any, decs: Any) -> None:
        done.append("check ")
        check_each(out, decs)

    monkeypatch.setattr(files_, "parse", parsing)
    monkeypatch.setattr(pieces, "parse", parsing)
    monkeypatch.setattr(checking, "check_decs", check)
    monkeypatch.setattr(found_, "check_each", check_piece)
    return done


def checked(source: str, files: dict[str, str], **more: Any) -> dict[str, Any]:
    return answer({"op": "check", "source": source, "files": files, **more})


def test_an_edit_in_the_main_program_checks_it_alone(work: list[str]) -> None:
    assert checked(PROGRAM, FILES)["ok"]
    assert len(work) == 2 * (COUNT + COUNT + 1)  # each import is a piece of the main program
    work.clear()
    assert checked(PROGRAM + "-- more", FILES)["ok"]
    assert work == ["parse ", "check "]
    work.clear()
    told = checked(PROGRAM + "entry other = g3_3 + 1", FILES)
    assert told["error"]["span"] == [COUNT + 2, 15, COUNT + 2, 19]
    assert work == ["parse ", "check "]


def checks(work: list[str], files: dict[str, str]) -> list[str]:
    """The files that are checked for the stages after an edit, each once."""
    work.clear()
    asked = {"op": "show", "source": PROGRAM, "files": files, "stages": ["typed"]}
    assert answer(asked)["ok"]
    return list(dict.fromkeys(one[6:] for one in work if one.startswith("check")))


def test_an_edit_in_a_file_checks_it_and_those_that_can_tell(work: list[str]) -> None:
    assert len(checks(work, FILES)) == COUNT + 1
    text = FILES["f6.fut"]
    assert checks(work, {**FILES, "f6.fut": text + "def more = 1i32"}) == ["f6.fut", "f7.fut", ""]
    assert [one for one in work if "parse" in one] == ["parse f6.fut"]
    assert checks(work, {**FILES, "f6.fut": text + "-- more"}) == ["f6.fut", ""]
    assert checks(work, {**FILES, "f6.fut": "-- more\n\n" + text}) == ["f6.fut", ""]
    assert checks(work, {**FILES, "f6.fut": text.replace("* 3", "* 4")}) == ["f6.fut", ""]
    assert checks(work, {**FILES, "f6.fut": text.replace("* 3", "* 4")}) == []


def test_a_file_that_passes_on_what_others_declare_tells_where_that_is_now(work: list[str]) -> None:
    between = {"b.fut": 'open import "a"'}
    program = 'import "b" entry main = f true'
    for lines in range(3):
        told = checked(program, {**between, "a.fut": "\n" * lines + "def f (x: i32) = x"})
        assert told["error"]["related"][0]["span"] == [lines + 1, 5, lines + 1, 6, "a.fut"]
    again = {**between, "a.fut": "\n\n-- more\ndef f (x: i32) = x"}
    assert checked(program, again)["error"]["related"][0]["span"][0] == 4


def test_what_is_kept_changes_no_text() -> None:
    asked = {"op": "show", "source": PROGRAM, "files": FILES}

    def texts() -> dict[str, str]:
        api._recent.clear()
        found = answer(asked)["stages"]
        return {name: stage["text"] for name, stage in found.items()}

    fresh = texts()
    assert texts() == fresh
    checked(PROGRAM + "entry other = 7i32", FILES)
    assert texts() == fresh
    checked(PROGRAM, {**FILES, "f4.fut": FILES["f4.fut"] + "def a = b"})
    checked(PROGRAM, {**FILES, "f4.fut": FILES["f4.fut"] + "def a = 4i32"})
    assert texts() == fresh


def test_files_of_the_same_names_are_not_each_others() -> None:
    for round_ in range(2):
        for value, type_ in (("1i32", "i32"), ("true", "bool"), ("2.0f64", "f64")):
            files = {"a.fut": f"def x = {value}", "b.fut": 'import "a" def y = x'}
            told = checked(f'import "b" entry main = y -- {round_}', files)
            assert told["entries"][0]["results"] == [type_]
    assert not checked('import "b" entry main = y', {"b.fut": "def y = x"})["ok"]


def test_an_error_of_a_file_is_told_each_time_and_gone_when_it_is_mended() -> None:
    wrong = {**FILES, "f5.fut": FILES["f5.fut"] + "def bad = nowhere"}
    for k in range(3):
        told = checked(f"{PROGRAM} -- {k}", wrong)
        assert told["error"]["span"][4] == "f5.fut"
    assert checked(PROGRAM, FILES)["ok"]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    length = sum(map(len, FILES.values()))
    monkeypatch.setattr(checked_files, "MOST_CHARACTERS", 2 * length)
    monkeypatch.setattr(files_, "KEPT_CHARACTERS", 2 * length)
    for k in range(6):
        files = {name: f"{text}-- {k}" for name, text in FILES.items()}
        assert checked(PROGRAM, files)["ok"]
        assert sum(len(text) for _, text, *_ in checked_files._kept) <= 2 * length
        assert sum(len(text) for _, text in files_._trees) <= 2 * length
    assert checked_files._kept
    assert len(files_._trees) > COUNT


LINES = {
    "a.fut": (
        ("type t = i32", "type t = i64", "type t = (i32, i64)"),
        ("def c = iota K", "def c = map (+ 1) (iota K)", "def c = [K, 2i64]"),
        ("def number = K + 3i64", "def number = K"),
        ("def f (x: i64) = x + K", "def f (x: i64) = let y = x * x in y + K", "def f = (+ K)"),
        (
            "module m = { type u = i64 def mk (x: i64) : u = x + K def get (x: u) = x }",
            "module m : { type u val mk : i64 -> u val get : u -> i64 }"
            " = { type u = i64 def mk (x: i64) : u = x + K def get (x: u) = x }",
            "module m : { type u val mk : i64 -> u val get : u -> i64 }"
            " = { type u = [1]i64 def mk (x: i64) : u = [x] def get (x: u) = x[0] + K }",
        ),
        ("module keys (p: { val n : i64 }) = { def all = iota (p.n + K) }",),
    ),
    "b.fut": (
        ('import "a"', 'open import "a"', 'local open import "a"'),
        ("def again = c", "def again = copy c", "def again (_: i64) = c"),
        ("def g [n] (xs: [n]i64) : *[n]i64 = copy xs with [0] = f K", "def g (xs: []i64) = xs"),
        ("def made = m.mk K", "def made = (m.mk K, 1i32).0"),
        ("module k = keys { def n = K + 2i64 }", "module k = { def all = [number] }"),
        ("def pair (x: t) = (x, x)", "def pair (x: t) = (x, K + 1i32)"),
        ("", "local def more = f (f K)"),
    ),
    "c.fut": (
        ('module a = import "a" import "b"', 'local module a = import "a" open import "b"'),
        ("def sized (n: i64) : [n + K]i64 = replicate (n + K) 1", "def sized (n: i64) = iota n"),
        ("def last = a.f (a.m.get made)", "def last = a.m.get (a.m.mk K)", "def last = nowhere"),
        ("module type keyed = { type k val key : k -> i64 }", "-- nothing"),
    ),
}
MAINS = ("(last, sized x)", "(again, k.all)", "g again", "pair", "m.get made", "f x", "number")


@pytest.mark.parametrize("seed", range(4))
def test_after_any_edits_the_answer_is_that_of_a_fresh_check(seed: int) -> None:
    chance = random.Random(seed)
    chosen = {path: [[0, 1] for _ in lines] for path, lines in LINES.items()}
    above, right = dict.fromkeys(LINES, ""), 0
    for _ in range(80):
        path = chance.choice(list(LINES))
        at = chance.randrange(len(LINES[path]))
        before = chosen[path][at]
        chosen[path][at] = [chance.randrange(len(LINES[path][at])), chance.randint(1, 3)]
        above[path] = "\n" * chance.randint(0, 2)
        files = {
            path: above[path]
            + "\n".join(
                line[version].replace("K", str(number))
                for line, (version, number) in zip(LINES[path], versions, strict=True)
            )
            for path, versions in chosen.items()
        }
        imported = 'import "a" import "b" import "c"'
        program = f"{imported}\nentry main (x: i64) = {chance.choice(MAINS)}"
        asked = {"op": "show", "source": program, "files": files, "stages": ["typed", "soa"]}
        api._recent.clear()
        now, known = plain(answer(asked)), dict(checked_files._kept)
        forget()
        assert now == plain(answer(asked))
        checked_files._kept.clear()
        checked_files._kept.update(known)
        right += now["ok"]
        if not now["ok"]:
            chosen[path][at] = before
    assert right > 20


def plain(told: Any) -> Any:
    """An answer without times."""
    if isinstance(told, dict):
        return {name: plain(value) for name, value in told.items() if not name.endswith("ms")}
    return [plain(one) for one in told] if isinstance(told, list) else told
