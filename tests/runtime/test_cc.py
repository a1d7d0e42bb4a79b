"""Finding a C compiler, and libraries by content."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from compiler.base.errors import CompilerBug, Limitation, UsageError
from compiler.base.text import plain
from compiler.runtime import cc, libraries, runner, tools
from testing.waiting import until
from tests.codegen.helpers import compiled, needs_cc

SOURCE = (
    "def main [n] (xs: [n]f32): (f32, [n]f32, [n]i32) ="
    " (reduce (+) 0 xs, map f32.exp xs, scan (+) 0 (map i32.f32 xs))"
)


@needs_cc
def test_the_same_text_is_compiled_once() -> None:
    text = plain(compiled(SOURCE).result("c").text)
    first = cc.compile_c(text)
    made = first.stat().st_ino
    assert cc.compile_c(text) == first
    assert first.stat().st_ino == made
    assert cc.compile_c(text + "\n// other\n") != first


@needs_cc
def test_what_was_compiled_with_another_effort_is_compiled_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "int f(void) { return 43; }"
    first = cc.compile_c(text)
    monkeypatch.setattr(cc, "LONG_TEXT", 1)
    assert cc.compile_c(text) != first


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that holds nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return libraries.folder()


def small(number: int) -> str:
    """One of many C texts; its library has some 15 kB."""
    return f"int answer(void) {{ return {number}; }}\n"


def answered(path: Path) -> int:
    """What a library of `small` answers, in a process of its own."""
    code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).answer())"
    made = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True)
    return int(made.stdout)


@needs_cc
@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "text"])
def test_a_damaged_library_is_made_again(home: Path, damage: str) -> None:
    path = cc.compile_c(small(7))
    data = path.read_bytes()
    half = len(data) // 2
    path.write_bytes(
        {
            "cut": data[:half],
            "changed": data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :],
            "empty": b"",
            "text": b"not a library",
        }[damage]
    )
    again = cc.compile_c(small(7))
    assert again.read_bytes() == data
    assert answered(again) == 7
    assert len(list(home.iterdir())) == 1


@needs_cc
def test_a_folder_is_looked_through_once_for_a_library(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cc.compile_c(small(7))
    monkeypatch.setattr(Path, "glob", lambda *_: pytest.fail("the folder is looked through"))
    assert cc.compile_c(small(7)) == first
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home.parents[1]))
    libraries._where.clear()
    assert cc.compile_c(small(7)) == first, "what another process has kept"
    first.unlink()
    assert cc.compile_c(small(7)) == first, "what another process has removed is made again"


@needs_cc
def test_the_libraries_that_are_kept_are_bounded_in_bytes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cc.compile_c(small(0))
    most = 4 * first.stat().st_size
    monkeypatch.setattr(libraries, "MOST_BYTES", most)
    for number in range(1, 10):
        latest = cc.compile_c(small(number))
        assert latest.exists()
        assert cc.compile_c(small(0)) == first, "what is used stays"
        assert sum(path.stat().st_size for path in home.iterdir()) <= most
    assert len(list(home.iterdir())) == 4
    monkeypatch.setattr(libraries, "MOST_BYTES", 1)
    assert answered(cc.compile_c(small(11))) == 11, "the one that is needed is there"


@needs_cc
def test_the_folder_is_gone_through_at_first_and_when_there_may_be_too_much(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Path] = []
    prune = libraries._prune

    def noting(folder: Path, newest: Path) -> int:
        looks.append(newest)
        return prune(folder, newest)

    monkeypatch.setattr(libraries, "_prune", noting)
    kept = [cc.compile_c(small(number)) for number in range(3)]
    assert looks == kept[:1]
    monkeypatch.setattr(libraries, "MOST_BYTES", sum(path.stat().st_size for path in kept))
    latest = cc.compile_c(small(3))
    assert looks == [kept[0], latest]
    assert len(list(libraries.folder().iterdir())) == 3


@needs_cc
def test_what_was_left_half_written_goes(home: Path) -> None:
    for name in ("tmpold", "tmpnew"):
        (home / name).write_bytes(b"half")
    os.utime(home / "tmpold", (0, 0))
    cc.compile_c(small(1))
    assert not (home / "tmpold").exists()
    assert (home / "tmpnew").exists(), "another process may be writing it"


@needs_cc
def test_a_library_that_another_user_left_is_made_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cc.compile_c(small(3))
    path.chmod(0o666)
    again = cc.compile_c(small(3))
    assert again.stat().st_mode & 0o022 == 0


@pytest.fixture
def slow_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cc.Compiler:
    """A compiler that litters and never ends, and neither does the program that it starts."""
    script = tmp_path / "slow"
    script.write_text(
        "#!/bin/sh\n"
        'echo litter > "$TMPDIR/ccXXXX.s"\n'
        f"echo $TMPDIR > {tmp_path}/where\n"
        f"sleep 1000 &\necho $! > {tmp_path}/child\nwait\n"
    )
    script.chmod(0o700)
    made = cc.Compiler((str(script),), (), (), "1", False)
    monkeypatch.setattr(cc, "find_compiler", lambda: made)
    monkeypatch.setattr(tools, "SECONDS", 1)
    return made


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are in /proc")
def test_a_compiler_that_does_not_end_is_killed_with_all_that_it_started(
    slow_compiler: cc.Compiler, home: Path, tmp_path: Path
) -> None:
    with pytest.raises(Limitation) as caught:
        cc.compile_c(small(1))
    assert "more than 1 s" in caught.value.message
    child = Path("/proc") / (tmp_path / "child").read_text().strip() / "stat"
    assert until(lambda: not child.exists() or child.read_text().split()[2] == "Z")
    where = Path((tmp_path / "where").read_text().strip())
    assert where != Path(tempfile.gettempdir())
    assert not where.exists(), "temporary files go with the job"


@needs_cc
def test_a_text_that_is_no_c_is_our_bug() -> None:
    with pytest.raises(CompilerBug) as caught:
        cc.compile_c("int f( {")
    assert "error" in caught.value.message


@pytest.fixture
def without_cc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    cc.find_compiler.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    yield
    cc.find_compiler.cache_clear()


def test_without_any_compiler_it_says_so(without_cc: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not runner.compiler_available()
    with pytest.raises(UsageError) as caught:
        cc.compile_c("")
    assert "ziglang" in caught.value.hint


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang not installed")
def test_the_zig_wheel_stands_in(without_cc: None) -> None:
    text = plain(compiled(SOURCE).result("c").text)
    xs = np.random.default_rng(1).random(100_000, dtype=np.float32) * 3
    result = runner.run_c(text, "main", [xs])
    assert "ziglang" in cc.find_compiler().command
    assert result.cores == 1
    np.testing.assert_allclose(result.values[0], xs.sum(dtype=np.float64), rtol=1e-5)
    np.testing.assert_allclose(result.values[1], np.exp(xs), rtol=1e-5)
    np.testing.assert_array_equal(result.values[2], np.cumsum(xs.astype(np.int32)))
