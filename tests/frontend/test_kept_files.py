"""What is kept of a program's files: an edit checks its file, and what others see stays theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from compiler import api
from compiler.frontend import files as files_
from compiler.frontend.check import files as checking
from compiler.frontend.check import kept
from compiler.worker import answer

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
    kept._kept.clear()
    kept._before.clear()
    files_._trees.clear()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which files are parsed and which are checked, the main program under no name."""
    done: list[str] = []
    parse, check_decs = files_.parse, checking.check_decs

    def parsing(text: str, file: str = "") -> Any:
        done.append(f"parse {file}")
        return parse(text, file)

    def check(out: Any, decs: Any) -> None:
        done.append(f"check {out.importing[-1] if out.importing else ''}")
        check_decs(out, decs)

    monkeypatch.setattr(files_, "parse", parsing)
    monkeypatch.setattr("compiler.pipeline.parse", parsing)
    monkeypatch.setattr(checking, "check_decs", check)
    return done


def checked(source: str, files: dict[str, str], **more: Any) -> dict[str, Any]:
    return answer({"op": "check", "source": source, "files": files, **more})


def test_an_edit_in_the_main_program_checks_it_alone(work: list[str]) -> None:
    assert checked(PROGRAM, FILES)["ok"]
    assert len(work) == 2 * (COUNT + 1)
    work.clear()
    assert checked(PROGRAM + "-- more", FILES)["ok"]
    assert work == ["parse ", "check "]
    work.clear()
    told = checked(PROGRAM + "entry other = g3_3 + 1", FILES)
    assert told["error"]["span"] == [COUNT + 2, 15, COUNT + 2, 19]
    assert work == ["parse ", "check "]


def test_an_edit_in_a_file_checks_it_and_what_comes_after_it(work: list[str]) -> None:
    assert checked(PROGRAM, FILES)["ok"]
    last, middle = f"f{COUNT - 1}.fut", f"f{COUNT - 3}.fut"
    for k in range(3):
        work.clear()
        assert checked(PROGRAM, {**FILES, last: FILES[last] + f"def more{k} = 1i32"})["ok"]
    assert work == ["parse ", f"parse {last}", f"check {last}", "check "]
    for k in range(3):
        work.clear()
        assert checked(PROGRAM, {**FILES, middle: FILES[middle] + f"def more{k} = 1i32"})["ok"]
    assert [one for one in work if "parse" in one] == ["parse ", f"parse {middle}"]
    assert [one for one in work if "check" in one] == [
        *(f"check f{k}.fut" for k in range(COUNT - 3, COUNT)),
        "check ",
    ]


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
    monkeypatch.setattr(kept, "MOST_CHARACTERS", 2 * length)
    monkeypatch.setattr(files_, "KEPT_CHARACTERS", 2 * length)
    for k in range(6):
        files = {name: f"{text}-- {k}" for name, text in FILES.items()}
        assert checked(PROGRAM, files)["ok"]
        assert sum(state.characters for state in kept._kept.values()) <= 2 * length
        assert sum(len(text) for _, text in files_._trees) <= 2 * length
    assert kept._kept
    assert len(files_._trees) > COUNT
