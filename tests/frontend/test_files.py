"""Programs of several files: what an import gives, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compiler.__main__ import main
from compiler.driver.worker import answer

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


def test_a_size_may_be_a_call_of_what_only_the_imported_file_mentions() -> None:
    files = {
        "seg.fut": "def rows [n] (ks: [n]i64) : []i64 = replicate (i64.sum ks) 1",
        "lib.fut": 'import "seg"\nmodule m: {val more [n]: [n]i64 -> []i64} =\n'
        "  {def more [n] (ks: [n]i64): []i64 = map (+ 1) (rows ks)}",
    }
    source = 'import "lib"\nentry main (ks: []i64) = m.more ks'
    told = asked(source, files, op="run", input="[1i64, 2i64]", backend="ref")
    assert told.get("output") == "[2i64, 2i64, 2i64]", told


def test_only_the_main_file_has_entry_points() -> None:
    told = asked('import "consts"\nentry first = c', {**FILES, "x.fut": "entry no = 1i32"})
    assert [entry["name"] for entry in told["entries"]] == ["first"]
    told = asked('import "lib/sums"\nentry other = third', FILES)
    assert [entry["name"] for entry in told["entries"]] == ["other"]


def test_the_types_show_what_is_used_of_each_file() -> None:
    told = asked(PROGRAM, FILES, op="show", stages=["typed", "mono"])
    for stage in told["stages"].values():
        text = stage["text"]
        assert text.count("\n-- lib/base/numbers.fut\n") == text.count("\n-- consts.fut\n") == 1
        assert text.index("entry main") < min(text.index("-- lib/base"), text.index("def third"))
        assert text.index("-- consts.fut") < text.index("def c_")
        places = {line["text"].split("_")[0]: line["src"] for line in stage["lines"]}
        assert places["def third"] == [[4, 5, 4, 10, "lib/sums.fut"]]
        assert places["entry main"] == [[5, 7, 5, 11]]
    assert "hidden" not in told["stages"]["mono"]["text"]
    assert "entry main (x: i32)" not in told["stages"]["typed"]["text"]


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
        ('import "/lib/sums"', "is not a path relative to this file's folder."),
        ('import ""', "is not a path relative to this file's folder."),
        ('import "lib/"', "is not a path relative to this file's folder."),
        ('import ".."', "is not a path relative to this file's folder."),
        ('import "lib/\\nsums"', 'nsums"` is not a path relative'),
        (f'import "{"a/" * 200}b"', 'a/…"` is not a path'),
        ('import "<prelude>/soacs"', "is not a path relative to this file's folder."),
    ],
)
def test_what_an_import_does_not_give(source: str, message: str) -> None:
    found = error(source, FILES)
    assert message in found["message"]
    assert found["kind"] == "type"
    assert len(found["span"]) == 4


def test_a_way_out_is_told() -> None:
    assert error('import "lib/sum"', FILES)["hint"] == "Did you mean `lib/sums`?"
    assert error('import "lib/Sums"', FILES)["hint"] == "Did you mean `lib/sums`?"
    assert error('import "a"', {"A.fut": "def x = 1i32"})["hint"] == "Did you mean `A`?"
    assert error('import "sums"', FILES)["hint"] == "Did you mean `lib/sums`?"
    assert error('import "../sums"', FILES)["hint"] == "Did you mean `lib/sums`?"
    hint = error('import "lib/base"', FILES)["hint"]
    assert hint == "`lib/base` is a folder: import a file of it, `lib/base/numbers`."
    hint = error('import "x"', {"x.fut/y.fut": "def y = 1i32"})["hint"]
    assert hint == "`x.fut` is a folder: import a file of it, `x.fut/y`."
    few, many = ({f"d/{k}.fut": "" for k in range(count)} for count in (4, 5))
    assert error('import "d"', few)["hint"].endswith("of it, `d/0` or `d/1` or `d/2` or `d/3`.")
    assert error('import "d"', many)["hint"].endswith("of it, such as `d/0`, `d/1`, `d/2`.")
    files = {**FILES, "lib/a.fut": 'def x = 1i32\nimport "lib/base/numbers"'}
    found = error('import "lib/a"', files)
    assert (found["span"], found["hint"]) == (
        [2, 1, 2, 26, "lib/a.fut"],
        "Did you mean `base/numbers`?",
    )
    assert "without `.fut`" in error('import "lib/sums.fut"', FILES)["hint"]
    assert "Put the file into the program's folder, or" in error('import "lib/sums"', {})["hint"]
    there = error('import "elsewhere"', {"lib/a.fut": "", "b.fut": ""})["hint"]
    assert there == "The files there are `b` or `lib/a`."


def test_a_cycle_is_told_with_its_path() -> None:
    files = {"a.fut": 'import "lib/b"', "lib/b.fut": '\nimport "c"', "lib/c.fut": 'import "../a"'}
    found = error('import "a"', files)
    assert "`a.fut` -> `lib/b.fut` -> `lib/c.fut` -> `a.fut`" in found["message"]
    assert found["span"] == [1, 1, 1, 14, "lib/c.fut"]
    found = error('import "a"', {"a.fut": 'import "a"'})
    assert (found["message"], found["span"]) == ("`a.fut` imports itself.", [1, 1, 1, 11, "a.fut"])
    told = asked('import "a"', {}, main="a.fut")["error"]
    assert (told["message"], told["span"]) == ("`a.fut` imports itself.", [1, 1, 1, 11])


PICKS = {
    "lib/pick.fut": 'import "offset"\n\ndef pick (xs: []i32) (i: i64): i32 =\n  xs[offset + i]\n'
    "def double [n] (xs: [n]i32): [n]i32 = map (* 2) xs\ndef unused (xs: []i32) = xs[0]",
    "lib/offset.fut": "def offset = 1i64",
}
PICKING = """import "lib/pick"
def twice (xs: []i32) (i: i64): i32 = pick xs i + pick xs (i + 1)
entry main [n] (xs: [n]i32) (is: []i64): []i32 = map (\\i -> twice xs i) is
entry cat [n] [m] (xs: [n]i32) (ys: [m]i32) = double xs ++ double ys
"""
INDEX = [4, 3, 4, 17, "lib/pick.fut"]


@pytest.mark.parametrize("stage", ["soa", "simplified", "merged", "imp", "c", "cuda"])
def test_lines_of_every_stage_are_linked_to_the_file_that_they_are_from(stage: str) -> None:
    shown = asked(PICKING, PICKS, op="show", stages=[stage])["stages"][stage]
    spans = [line["src"] for line in shown["lines"] if line["src"]]
    assert any(src[0] == INDEX for src in spans), spans
    if stage == "simplified":  # the place, and the calls that led there
        assert [INDEX, [2, 39, 2, 48], [3, 61, 3, 71]] in spans


def test_what_is_told_of_an_imported_file_names_it() -> None:
    bounds = asked(PICKING, PICKS, op="bounds")["accesses"]
    assert [one["src"] for one in bounds] == [INDEX]
    assert bounds[0]["at"] == [4, 6, 4, 16, "lib/pick.fut"]
    found = asked(PICKING, PICKS, op="attempts")["attempts"]
    assert "the map in line 5 of `lib/pick.fut`" in found[0]["because"]
    lives = asked(PICKING, PICKS, op="lifetimes")["functions"]
    memory = asked(PICKING, PICKS, op="memory")["functions"]
    for one in (*lives, *memory):
        places = [span for block in one["blocks"] for span in block["src"]]
        assert one["name"] == "main" or [5, 39, 5, 51, "lib/pick.fut"] in places


@pytest.mark.parametrize(
    ("backend", "stage"), [("c", ""), ("ref", "soa"), ("ref", "funmem"), ("ref", "imp")]
)
def test_a_failure_names_its_file_and_the_calls_that_led_there(backend: str, stage: str) -> None:
    asked_for: dict[str, Any] = {"entry": "main", "backend": backend, "stage": stage}
    told = asked(PICKING, PICKS, op="run", input="[1, 2, 3] [0, 1]", **asked_for)["error"]
    assert told["span"] == INDEX
    assert told["calls"] == [[2, 51, 2, 66], [3, 61, 3, 71]]
    assert told["rendered"].startswith("lib/pick.fut:4:3: Index [3] out of bounds")
    assert "\n4 |   xs[offset + i]\n" in told["rendered"]
    assert told["rendered"].endswith("innermost first: line 2, line 3.")


def test_the_chain_of_calls_goes_through_modules_and_local_functions() -> None:
    files = {
        "a.fut": "def at (xs: []i32) i = xs[i]\n"
        "def both xs = let go a b = at xs a + at xs b in go 0 7",
        "b.fut": "module type t = {val f [n]: [n]i32 -> i32}\n"
        "module mk (P: t) = {def run xs = P.f xs}",
    }
    source = """import "a" import "b"
module m = mk {def f = both}
entry main (xs: []i32) = map (\\i -> at xs i + m.run xs) [0, 1]
"""
    told = asked(source, files, op="run", input="[1, 2, 3]", backend="c")["error"]
    assert told["span"] == [1, 24, 1, 29, "a.fut"]
    calls = [(*span[4:], span[0]) for span in told["calls"]]
    assert calls == [("a.fut", 2), (2,), ("b.fut", 2), (3,)]


def test_a_failure_in_the_entry_point_itself_has_no_calls() -> None:
    source = "entry main (xs: []i32) (i: i64) = map (\\k -> xs[i + k]) (iota 2)"
    told = asked(source, {}, op="run", input="[1, 2, 3] 2i64", backend="c")["error"]
    assert "out of bounds" in told["message"]
    assert "calls" not in told


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
    assert told["error"]["hint"] == "Did you mean `../lib/a`?"
    told = asked('import "../../lib/other"', files, main="src/program.fut")
    assert told["error"]["message"] == "There is no file `../lib/other.fut`."
    assert "A program can import only the files in its folder and below." in told["error"]["hint"]


def test_errors_of_an_imported_file_are_its_own_and_told_once() -> None:
    files = {"a.fut": "def f = 1i32\ndef g = f + true\ndef h = z", "b.fut": 'import "a" def y = g'}
    found = error('import "b"\nimport "a"\ndef x = nowhere', files)
    assert [one["span"][4] for one in found["errors"]] == ["a.fut"] * 2
    assert [one["span"][0] for one in found["errors"]] == [2, 3]
    assert found["rendered"].startswith("a.fut:2:13: error[T001]: The right side of `+`")
    assert "2 | def g = f + true\n" in found["rendered"]
    found = error('import "a"', {"a.fut": "def f = = 1"})
    assert (found["kind"], found["span"]) == ("syntax", [1, 9, 1, 10, "a.fut"])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a/../b.fut": ""}, "is not a valid path of a program file."),
        ({"/b.fut": ""}, "is not a valid path of a program file."),
        ({"b.txt": ""}, "is not a valid path of a program file."),
        ({"b\\c.fut": ""}, "is not a valid path of a program file."),
        ({"b\n.fut": ""}, "is not a valid path of a program file."),
        ({"./b.fut": ""}, "is not a valid path of a program file."),
        ({"<prelude>/b.fut": ""}, "is not a valid path of a program file."),
        ({"../b.fut": ""}, "is not a valid path of a program file."),
        ({".fut": ""}, "is not a valid path of a program file."),
        ({"b" * 197 + ".fut": ""}, "is not a valid path of a program file."),
        ({"b.fut": "", "B.fut": ""}, "`b.fut` and `B.fut` differ only in case."),
        ({"src/Main.fut": ""}, "`src/Main.fut` and `src/main.fut` differ only in case."),
        ({"src/main.fut": ""}, "`src/main.fut` is given twice"),
        ({f"f{i}.fut": "" for i in range(1001)}, "at most 1000 files"),
    ],
)
def test_files_that_are_none_are_refused(files: dict[str, str], message: str) -> None:
    told = asked("entry main = 1i32", files, main="src/main.fut")
    assert message in told["error"]["message"]


# --- packages ----------------------------------------------------------------------------------

MANIFEST = """package github.com/me/mine

require {
  github.com/diku-dk/sorts 0.4.1 #ab12  -- the sorts
}
"""
SORTS = "lib/github.com/diku-dk/sorts"
PACKAGES = {
    "futhark.pkg": MANIFEST,
    f"{SORTS}/merge.fut": 'import "../segmented/scan" def merge = scanned',
    "lib/github.com/diku-dk/segmented/scan.fut": "def scanned = 1i32",
    "lib/github.com/me/mine/mine.fut": 'import "../../diku-dk/sorts/merge" def mine = merge',
}


def test_a_package_is_imported_from_where_it_lies() -> None:
    for own, path in (("m.fut", SORTS), ("test/m.fut", f"../{SORTS}")):
        told = asked(f'import "{path}/merge" entry main = merge', PACKAGES, main=own)
        assert told["entries"][0]["results"] == ["i32"]
    told = asked('import "mine" entry main = mine', PACKAGES, main="lib/github.com/me/mine/m.fut")
    assert told["ok"]


@pytest.mark.parametrize(
    ("path", "without", "message", "hint"),
    [
        (
            f"{SORTS}/merge",
            SORTS,
            "`github.com/diku-dk/sorts` is missing, which line 4 of `futhark.pkg` requires in "
            "version 0.4.1.",
            "`futhark pkg sync`",
        ),
        (
            f"{SORTS}/merg",
            "-",
            "There is no file `merg.fut` in the package `github.com/diku-dk/sorts`, which line 4 of"
            " `futhark.pkg` requires in version 0.4.1.",
            "Did you mean `merge`? A newer version of the package may have it",
        ),
        (
            "lib/github.com/diku-dk/fft/fft",
            "-",
            "The package `github.com/diku-dk/fft` is missing, and",
            "`futhark pkg add github.com/diku-dk/fft` and `futhark pkg sync`",
        ),
        (
            "lib/github.com/diku-dk/fft/fft",
            "futhark.pkg",
            "The package `github.com/diku-dk/fft` is missing.",
            "`futhark pkg add github.com/diku-dk/fft`",
        ),
    ],
)
def test_a_package_that_is_missing(path: str, without: str, message: str, hint: str) -> None:
    files = {name: text for name, text in PACKAGES.items() if not name.startswith(without)}
    found = error(f'\nimport "{path}"', files)
    assert message in found["message"]
    assert hint in found["hint"]
    assert found["span"][:2] == [2, 1]


@pytest.mark.parametrize(
    ("manifest", "required"),
    [
        ("require { github.com/a/b 1.2.3 }", ", which line 1 of `futhark.pkg` requires in version"),
        ("package x.y/z require {github.com/c/d 2.0.0 github.com/a/b 1.2.3}", "which line 1"),
        ("require\n{ github.com/a/b 1.2.3 #abc }", "which line 2 of `futhark.pkg`"),
        ("package github.com/a/b\nrequire { github.com/c/d 1.0.0 }", "does not require it"),
        ("package github.com/a/b require { }", "does not require it"),
        ("require { github.com/c/d 1.0.0 } -- github.com/a/b 1.2.3", "does not require it"),
    ],
)
def test_a_manifest_is_read_whatever_its_lines(manifest: str, required: str) -> None:
    found = error('import "lib/github.com/a/b/c"', {"futhark.pkg": manifest})
    assert required in found["message"]
    assert ("in version 1.2.3" in found["message"]) == ("which line" in required)


def test_an_error_in_a_package_names_its_version() -> None:
    files = {**PACKAGES, "lib/github.com/diku-dk/segmented/scan.fut": "def other = 1i32"}
    found = error(f'import "{SORTS}/merge"', files)
    assert found["span"][4] == f"{SORTS}/merge.fut"
    assert "Unknown name `scanned`" in found["message"]
    assert found["hint"].endswith(
        "The file belongs to the package `github.com/diku-dk/sorts`, which line 4 of `futhark.pkg` "
        "requires in version 0.4.1. If you have another version, run `futhark pkg sync`."
    )


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


def test_a_folder_without_a_program_is_told_to_be_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty").mkdir()
    (folder / "empty" / "notes.txt").write_text("x")
    (folder / "program.fut").write_text('import "empty"\nentry main = 1i32')
    assert main(["check", str(folder / "program.fut")]) == 1
    said = capsys.readouterr().err
    assert "`empty` is a folder, and no file in it has a name that ends in `.fut`." in said


def test_the_command_line_names_files_as_they_are_named_from_its_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {**PICKS, "src/m.fut": PICKING.replace("lib/", "../lib/")}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    assert main(["bounds", "src/m.fut"]) == 0
    assert capsys.readouterr().out.startswith("lib/pick.fut:4:3: index kept")
    monkeypatch.chdir(folder / "src")
    assert main(["attempts", "m.fut"]) == 0
    assert "line 5 of `../lib/pick.fut`" in capsys.readouterr().out
    (folder / "input").write_text("[1, 2] [1]")
    assert main(["run", "m.fut", "--entry", "main", "--input", "../input"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("../lib/pick.fut:4:3: Index [2] out of bounds")
    assert "innermost first: line 2, line 3." in told


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
    assert told.startswith(f"{folder}/consts.fut:2:2: error[S007]: The byte 0xff")
    assert "2 |  \ufffd\n" in told
    (folder / "alone.fut").write_bytes(b"def c = 1 -- \xff")
    assert main(["check", str(folder / "alone.fut")]) == 1
    assert "1 | def c = 1 -- \ufffd\n" in capsys.readouterr().err
    (folder / "consts.fut").unlink()
    assert main(["check", program]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"{program}:2:12: error[F001]: There is no file `{folder}/consts.fut`.")
    (folder / "consts.fut").mkdir()
    assert main(["check", program]) == 1
    assert f"There is no file `{folder}/consts.fut`." in capsys.readouterr().err


def test_the_command_line_knows_what_lies_beside_a_file_that_is_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(text: str) -> str:
        (folder / "src" / "m.fut").write_text(text)
        assert main(["check", "src/m.fut"]) == 1
        return capsys.readouterr().err

    (folder / "src").mkdir()
    (folder / "futhark.pkg").write_text(MANIFEST)
    monkeypatch.chdir(folder)
    assert "Did you mean `../lib/sums`?" in told('import "../lib/sum"')
    assert "import a file of it, `../lib/base/numbers`" in told('import "../lib/base"')
    (folder / "src" / "d" / "e" / "f").mkdir(parents=True)
    (folder / "src" / "d" / "e" / "f" / "g.fut").write_text("def x = 1i32")
    assert "`d` is a folder: import a file of it, `d/e/f/g`." in told('import "d"')
    assert 'such as `import "d/sums"`' in told('import "d/"')
    assert "which line 4 of `futhark.pkg` requires" in told(f'import "../{SORTS}/merge"')
    assert "There is no file `../../up.fut`" in told('import "../../../up"')
    (folder.parent / "other").mkdir(exist_ok=True)
    (folder.parent / "other" / "near.fut").write_text("def x = 1i32")
    assert "near" not in told('import "./near" import "../../none/y"').partition("^")[2]


def test_links_on_the_disk(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link is a file under its own name; one that leads to itself is none."""
    (folder / "other.fut").symlink_to("consts.fut")
    (folder / "loop.fut").symlink_to("loop.fut")
    (folder / "again").symlink_to(".")
    program = folder / "links.fut"
    program.write_text('import "again/other" entry main = c')
    assert main(["check", str(program)]) == 0
    assert capsys.readouterr().out.startswith("entry main")
    program.write_text('import "loop"')
    assert main(["check", str(program)]) == 1
    assert "There is no file" in capsys.readouterr().err
    (folder / "deep.fut").write_text('import "again/deep"')
    program.write_text('import "deep"')
    assert main(["check", str(program)]) == 1
    assert "There is no file" in capsys.readouterr().err


def test_a_program_of_too_many_files(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compiler.frontend.files.MOST", 5)
    for k in range(8):
        (folder / f"n{k}.fut").write_text(f'-- more\nimport "n{k + 1}"')
    assert main(["check", str(folder / "n0.fut")]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"{folder}/n5.fut:2:1: error[F005]: A program may have at most 5 files.")


def test_warnings_of_the_files_of_its_author() -> None:
    files = {
        "vec.fut": "def twice (x: i32) = let y = x in x + x\ndef bad (xs: [3]i32) = xs[3]",
        "lib/github.com/a/b/c.fut": "def one (x: i32) = let y = x in 1i32",
        "unasked.fut": "def f = let y = 1i32 in 2i32",
    }
    imports = 'import "vec"\nimport "lib/github.com/a/b/c"\n'
    main = f"{imports}entry main = let z = 1i32 in bad [1, 2, one 3]"
    found = asked(main, files)["warnings"]
    assert [(*w["span"][:2], *w["span"][4:], w["message"]) for w in found] == [
        (3, 18, "`z` is not used."),
        (1, 26, "vec.fut", "`y` is not used."),
        (2, 27, "vec.fut", "This index is always out of bounds."),
    ]
    assert found[1]["rendered"].startswith("vec.fut:1:26")


LIBRARY = """\
def twice [n] (xs: [n]i32): []i32 =
  let ys = map (+ 1) xs
  in ys ++ ys
def shrink [n] (ks: [n]i64) =
  map (\\k -> loop s = k while s > 10 do s - (scan (+) 0 (iota s))[s / 2]) ks
"""


def test_what_is_told_of_an_imported_file_names_the_caller(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "vec.fut").write_text(LIBRARY)
    program = folder / "calling.fut"
    program.write_text(
        'import "vec"\nentry main (xs: []i32) =\n  twice (map (* 2) xs)\n'
        "entry other (ks: []i64) = shrink ks\n"
    )
    shown = ["show", str(program), "--stage", "merged", "--entry"]
    assert main([*shown, "main", "--remarks"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if " memory/concat: " in line]
    assert told
    assert all(line.startswith(f"{folder}/vec.fut:3:6, called from 3:3: ") for line in told)
    assert main([*shown, "other", "--target", "cuda"]) == 1
    refused = capsys.readouterr().err
    assert refused.startswith(f"{folder}/vec.fut:5:46: error[L009]: The size of the r")
    assert f"\n{program}:4:27: It is called from here.\n4 | entry other" in refused
