"""Programs of several files: what an import gives, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compiler.__main__ import main
from compiler.worker import answer

FILES = {
    "lib/sums.fut": 'module type S = {type t val zero: t val add: t -> t -> t}\n'
    'import "base/numbers"\n'
    "module mk (P: S) = {def sum [n] (xs: [n]P.t) = reduce P.add P.zero xs}\n"
    "def third (xs: []i32) = xs[two] entry main (x: i32) = x local def hidden = 7i32",
    "lib/base/numbers.fut": "local def one = 1i64 def two = one + one",
    "consts.fut": 'module q = import "lib/base/../base/numbers" def c = [i32.i64 q.two, 5]',
}  # fmt: skip
PROGRAM = """import "./lib/sums"
module k = import "consts"
module i = mk {type t = i32 def zero = 0i32 def add = (i32.+)}
def hidden = 4i32
entry main (xs: []i32) = i.sum xs + third xs + k.c[1] + hidden
"""


def asked(source: str, files: dict[str, str], **more: Any) -> dict[str, Any]:
    request = {"op": "check", "source": source, "files": files, **more}
    return answer({**request, "options": {"verify": True}})


def error(source: str, files: dict[str, str]) -> dict[str, Any]:
    told = asked(source, files)
    assert not told["ok"]
    found: dict[str, Any] = told["error"]
    return found


@pytest.mark.parametrize("stage", ["soa", "merged", "imp"])
def test_a_program_of_four_files_runs(stage: str) -> None:
    told = asked(PROGRAM, FILES, op="run", input="[1, 2, 3]", backend="ref", stage=stage)
    assert told.get("output") == "18i32", told


def test_only_the_main_file_has_entry_points() -> None:
    told = asked('import "consts"\nentry first = c', {**FILES, "x.fut": "entry no = 1i32"})
    assert [entry["name"] for entry in told["entries"]] == ["first"]
    told = asked('import "lib/sums"\nentry other = third', FILES)
    assert [entry["name"] for entry in told["entries"]] == ["other"]


def test_the_types_list_the_definitions_of_each_file() -> None:
    told = asked(PROGRAM, FILES, op="show", stages=["typed"])
    text = told["stages"]["typed"]["text"]
    assert "-- from `lib/base/numbers.fut`: one, two\n" in text
    assert "-- from `consts.fut`: c\n" in text
    assert "def third" not in text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('import "lib/sums"\ndef x = hidden', "Unknown name `hidden`"),
        ('import "lib/sums"\ndef x = two', "Unknown name `two`"),
        ('module m = import "lib/sums"\ndef x = m.two', "Module `m` has no `two`"),
        ('module m = {import "lib/base/numbers" def y = two}\ndef x = m.two', "has no `two`"),
        ('def x = two\nimport "lib/base/numbers"', "Unknown name `two`"),
        ('import "lib/base"', "There is no file `lib/base.fut`"),
        ('import "../lib/sums"', "There is no file `../lib/sums.fut`"),
        ('import "/lib/sums"', "is no path of a file"),
        ('import ""', "is no path of a file"),
    ],
)
def test_what_an_import_does_not_give(source: str, message: str) -> None:
    found = error(source, FILES)
    assert message in found["message"]
    assert found["kind"] == "type"
    assert len(found["span"]) == 4


def test_a_way_out_is_told() -> None:
    assert error('import "lib/sum"', FILES)["hint"] == "Did you mean `lib/sums.fut`?"
    assert "without `.fut`" in error('import "lib/sums.fut"', FILES)["hint"]
    assert "paste the definitions" in error('import "lib/sums"', {})["hint"]


def test_a_cycle_is_told_with_its_path() -> None:
    files = {"a.fut": 'import "lib/b"', "lib/b.fut": '\nimport "c"', "lib/c.fut": 'import "../a"'}
    found = error('import "a"', files)
    assert "`a.fut` -> `lib/b.fut` -> `lib/c.fut` -> `a.fut`" in found["message"]
    assert found["span"] == [1, 1, 1, 14, "lib/c.fut"]
    assert "`a.fut` -> `a.fut`" in error('import "a"', {"a.fut": 'import "a"'})["message"]


def test_the_program_lies_where_it_says() -> None:
    files = {"lib/a.fut": "def one = 1i32", "src/b.fut": 'import "../lib/a" def two = one'}
    source = 'import "../lib/a" import "b" entry main = (one, two)'
    told = asked(source, files, main="src/program.fut")
    assert [entry["name"] for entry in told["entries"]] == ["main"]
    assert "There is no file `../lib/a.fut`" in error(source, files)["message"]
    files["src/b.fut"] = 'import "program"'
    told = asked(source, files, main="src/program.fut")
    assert "`src/program.fut` -> `src/b.fut` -> `src/program.fut`" in told["error"]["message"]
    told = asked('import "../../lib/a"', files, main="src/program.fut")
    assert told["error"]["message"] == "There is no file `../lib/a.fut`."
    assert "none above their folder" in told["error"]["hint"]


def test_errors_of_an_imported_file_are_its_own_and_told_once() -> None:
    files = {"a.fut": "def f = 1i32\ndef g = f + true\ndef h = z", "b.fut": 'import "a" def y = g'}
    found = error('import "b"\nimport "a"\ndef x = nowhere', files)
    assert [one["span"][4] for one in found["errors"]] == ["a.fut"] * 2
    assert [one["span"][0] for one in found["errors"]] == [2, 3]
    assert found["rendered"].startswith("a.fut:2:13: The right side of `+`")
    assert "2 | def g = f + true\n" in found["rendered"]
    found = error('import "a"', {"a.fut": "def f = = 1"})
    assert (found["kind"], found["span"]) == ("syntax", [1, 9, 1, 10, "a.fut"])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a/../b.fut": ""}, "is no path"),
        ({"/b.fut": ""}, "is no path"),
        ({"b.txt": ""}, "is no path"),
        ({"b\\c.fut": ""}, "is no path"),
        ({"b\n.fut": ""}, "is no path"),
        ({"./b.fut": ""}, "is no path"),
        ({"../b.fut": ""}, "is no path"),
        ({".fut": ""}, "is no path"),
        ({"b" * 197 + ".fut": ""}, "is no path"),
        ({"b.fut": "", "B.fut": ""}, "`b.fut` and `B.fut` differ in case only"),
        ({"src/Main.fut": ""}, "`src/Main.fut` and `src/main.fut` differ in case only"),
        ({"src/main.fut": ""}, "`src/main.fut` is given twice"),
        ({f"f{i}.fut": "" for i in range(1001)}, "at most 1000 files"),
    ],
)
def test_files_that_are_none_are_refused(files: dict[str, str], message: str) -> None:
    told = asked("entry main = 1i32", files, main="src/main.fut")
    assert message in told["error"]["message"]


# --- from the disk -----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the program and its files."""
    for name, text in {**FILES, "program.fut": PROGRAM}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_command_line_reads_what_a_program_imports(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "input").write_text("[1, 2, 3]")
    given = ["--backend", "ref", "--input", str(folder / "input")]
    assert main(["run", str(folder / "program.fut"), *given]) == 0
    assert capsys.readouterr().out == "18i32\n"
    (folder / "lib" / "up.fut").write_text('import "../consts"\nentry main = c')
    assert main(["check", str(folder / "lib" / "up.fut")]) == 0
    assert capsys.readouterr().out.startswith("entry main")
    assert answer({"op": "check", "path": str(folder / "program.fut")})["ok"]


def test_the_command_line_tells_the_file_of_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "consts.fut").write_text("def c = 1 + true")
    program = str(folder / "program.fut")
    assert main(["check", program]) == 1
    assert capsys.readouterr().err.startswith(f"{folder}/consts.fut:1:13: ")
    (folder / "consts.fut").write_bytes(b"def c =\n \xff")
    assert main(["check", program]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"{folder}/consts.fut:2:2: The byte 0xff")
    assert "2 |  \ufffd\n" in told
    (folder / "consts.fut").unlink()
    assert main(["check", program]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"{program}:2:12: There is no file `{folder}/consts.fut`.")
    (folder / "consts.fut").mkdir()
    assert main(["check", program]) == 1
    assert f"There is no file `{folder}/consts.fut`." in capsys.readouterr().err
