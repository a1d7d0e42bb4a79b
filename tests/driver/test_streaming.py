"""Programs on files: results are those of the whole, and files that do not fit are refused."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.paths import EXAMPLES
from compiler import codes
from compiler.base.context import Options
from compiler.base.errors import InputError, RuntimeError_, TypeError_, UsageError
from compiler.driver import streaming
from compiler.runtime import runner
from compiler.runtime.windows import LARGEST_READ, Windows
from tests.codegen.helpers import needs_cc

pytestmark = needs_cc
ROWS = np.arange(4000.0).reshape(1000, 4) % 7
OPTIONS = Options(main="a.fp")


def streamed(source: str, path: Path, given: str = "", name: str = "xs") -> streaming.Streamed:
    """The result on a file, read in windows of 4 kB."""
    return streaming.run(source, OPTIONS, {name: str(path)}, lambda: given, 60, 4096)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A file of elements."""
    path = tmp_path / "rows.bin"
    ROWS.tofile(path)
    return path


EXPECTED: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "sums": ("main (xs : n Of 4) = Fold (+) 0 xs", "", lambda: ROWS.sum(0)),
    "neighbours, across windows": (
        "main (xs : n) = Fold max 0 (tail xs - init xs)",
        "",
        lambda: np.diff(ROWS.reshape(-1)).max(),
    ),
    "two readings": ("main (xs : n) = sum (xs - mean xs)", "", lambda: 0.0),
    "rows that are picked": (
        "main (k : Int) (xs : n Of 4) = Twist (Slice k) (Twist (DownSample 3) xs)",
        "17",
        lambda: ROWS[51],
    ),
    "columns of what is left": (
        "main (xs : n Of 4) = Twist (Smap (DownSample 100)) (transpose xs)",
        "",
        lambda: ROWS.T[:, ::100],
    ),
    "the largest of what is kept": (
        "main (xs : n) = Fold max 0 (Filter x xs (x > 20))",
        "",
        lambda: ROWS[ROWS > 20].max(initial=0),
    ),
    "kept": ("main (xs : n) = Filter x xs (x > 5)", "", lambda: ROWS[ROWS > 5]),
    "a file by its name": (
        'main (b : 4) = Fold (+) b (GetData "xs" (1000 Of 4))',
        "[1.0, 2.0, 3.0, 4.0]",
        lambda: ROWS.sum(0) + np.arange(1, 5),
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_results_are_those_of_the_whole(name: str, raw: Path) -> None:
    source, given, expected = EXPECTED[name]
    done = streamed(source, raw, given)
    assert np.allclose(done.values[0], expected())
    assert done.windows >= 7 or "Slice" in source
    assert done.largest_window <= 2 * 4096


def test_a_file_of_numpy_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, ROWS)
    assert np.allclose(streamed("main (xs : n Of m) = Fold (+) 0 xs", path).values[0], ROWS.sum(0))
    with pytest.raises(InputError, match="type float64, but the program computes with f32"):
        streamed("type f32\nmain (xs : n Of m) = Fold (+) 0 xs", path)
    with pytest.raises(InputError, match="has size 4 where its shape says 5"):
        streamed("main (xs : n Of 5) = Fold (+) 0 xs", path)
    with pytest.raises(InputError, match="has 3 dimensions in the program, but 2 dimensions here"):
        streamed("main (xs : n Of m Of k) = Fold (+) 0 xs", path)
    np.save(path, np.asfortranarray(ROWS))
    with pytest.raises(InputError, match="column by column"):
        streamed("main (xs : n Of m) = Fold (+) 0 xs", path)
    path.write_bytes(b"no array")
    with pytest.raises(InputError, match="no array in NumPy's format"):
        streamed("main (xs : n Of m) = Fold (+) 0 xs", path)


REFUSED = {
    "main (xs : 1001 Of 4) = Fold (+) 0 xs": "shorter than claimed: 1001 Of 4 elements of type f64 "
    "are 32032 bytes, and the file has 32000",
    "main (xs : 999 Of 4) = Fold (+) 0 xs": "longer than claimed",
    "main (xs : n Of 3) = Fold (+) 0 xs": "has 32000 bytes, which is not a multiple of a row",
    "main (xs : n Of m) = Fold (+) 0 xs": "does not determine m and n of n Of m",
    "main (k : Int) (xs : n) = sum xs": "takes 1 values",
}


@pytest.mark.parametrize("source", REFUSED)
def test_what_does_not_fit_is_refused_with_its_sizes(source: str, raw: Path) -> None:
    with pytest.raises(InputError) as refused:
        streamed(source, raw)
    assert REFUSED[source] in refused.value.message


def test_tuples_are_refused_before_their_data_is_looked_at(raw: Path) -> None:
    with pytest.raises(TypeError_, match="A window cannot have tuples") as refused:
        streamed(
            "main (ps : n Of (f32, i32)) = let (a, b) = ps in (sum a, sum b)", raw, name="ps.0"
        )
    assert refused.value.code == codes.flatpack.WINDOW


def test_names_and_paths_are_checked(raw: Path, tmp_path: Path) -> None:
    source = "main (xs : n) = sum xs"
    with pytest.raises(UsageError, match="no data `ys`"):
        streamed(source, raw, name="ys")
    for path in (tmp_path, tmp_path / "none", Path("/dev/null")):
        with pytest.raises(InputError, match=r"Cannot read|not a regular file"):
            streamed(source, path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        streamed(source, tmp_path / "pipe")


def test_a_window_of_the_whole_file_is_refused_at_its_operation(raw: Path) -> None:
    with pytest.raises(TypeError_) as refused:
        streamed("main (xs : n) = LetMap x xs (sum (xs * x))", raw)
    assert refused.value.code is codes.flatpack.WINDOW
    assert refused.value.span[:2] == (1, 17)


def changing(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Change a file when the first window is about to be mapped."""
    run = runner.stream_c

    def changed(*args: Any, **options: Any) -> Any:
        change()
        return run(*args, **options)

    monkeypatch.setattr(runner, "stream_c", changed)


def test_a_file_that_is_cut_while_it_is_read(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changing(monkeypatch, lambda: os.truncate(raw, 5000))
    with pytest.raises(
        InputError, match="was truncated while it was read: from 32000 bytes to 5000"
    ):
        streamed("main (xs : n) = sum xs", raw)


def test_a_file_that_is_changed_while_it_is_read(
    raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing(monkeypatch, lambda: os.utime(raw, (1, 1)))
    with pytest.raises(InputError, match="was changed while it was read"):
        streamed("main (xs : n) = sum xs", raw)


def test_a_file_of_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "none.bin"
    path.write_bytes(b"")
    assert streamed("main (xs : n) = sum xs + 1", path).values[0] == 1.0
    assert streamed("main (xs : n) = xs * 2", path).values[0].shape == (0,)


def test_a_failing_check_is_told_at_its_place(tmp_path: Path) -> None:
    path = tmp_path / "numbers.bin"
    np.arange(-5, 5, dtype=np.int32).tofile(path)
    with pytest.raises(RuntimeError_, match="zero") as failed:
        streamed("type i32\nmain (xs : n) =\n  sum (100 / xs)", path)
    assert failed.value.span.line == 3


def test_the_command_line(raw: Path, tmp_path: Path) -> None:
    program = tmp_path / "sums.fp"
    program.write_text("main (xs : n Of 4) = Fold (+) 0 xs\n")
    command = [sys.executable, "-m", "compiler", "run", str(program), "--time"]
    done = subprocess.run(
        [*command, "--data", f"xs={raw}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"[{', '.join(f'{x}f64' for x in ROWS.sum(0))}]\n"
    assert "1 reading" in done.stderr
    wrong = subprocess.run([*command, "--data", "xs"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "NAME=FILE" in wrong.stderr


@pytest.mark.parametrize("first", [0, 64, 5000])
@pytest.mark.parametrize("count", [0, 8, 9000])
@pytest.mark.parametrize("largest", [0, 1 << 20])
def test_a_window_is_that_part_of_the_file_read_or_mapped(
    raw: Path, first: int, count: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compiler.runtime.windows.LARGEST_READ", largest)
    whole = raw.read_bytes()
    with raw.open("rb") as file:
        windows = Windows([file.fileno()])
        for begin in (first, first + 8, first):
            window = windows.open(0, begin, count)
            cells = ctypes.string_at(window.wait(), count)
            assert cells == whole[begin : begin + count]
            ctypes.memset(window.cells, 1, count)
            windows.close(window)
    assert raw.read_bytes() == whole


def test_a_window_behind_the_end_is_an_error(raw: Path) -> None:
    with raw.open("rb") as file:
        window = Windows([file.fileno()]).open(0, 31_000, 2_000)
        with pytest.raises(OSError, match="ends before its data does"):
            window.wait()


def test_rows_that_are_larger_than_what_is_read(tmp_path: Path) -> None:
    """Each window is mapped; only parts of it are touched."""
    rows = np.arange(3 * 2_200_000.0).reshape(3, 2_200_000)
    rows.tofile(tmp_path / "rows.bin")
    source = "main (xs : n Of 2200000) = Fold (+) 0 (Twist (Smap (DownSample 1000)) xs)\n"
    done = streamed(source, tmp_path / "rows.bin")
    assert done.largest_window > LARGEST_READ
    assert np.allclose(done.values[0], rows[:, ::1000].sum(0))


def test_the_error_of_an_empty_file_counts_its_rows(tmp_path: Path) -> None:
    (tmp_path / "none.bin").write_bytes(b"")
    with pytest.raises(TypeError_) as info:
        streamed("main (xs : n) = sum (tail xs)", tmp_path / "none.bin")
    assert info.value.message == "Index 1 of `SubRange` is out of bounds: 0 rows."
    np.arange(1.0).tofile(tmp_path / "one.bin")
    with pytest.raises(TypeError_, match="Index 1 of `Slice` is out of bounds: 1 row\\."):
        streamed("main (xs : n) = Twist (Slice 1) xs", tmp_path / "one.bin")
    assert streamed("main (xs : n) = sum (tail xs)", tmp_path / "one.bin").values[0] == 0


@pytest.mark.parametrize(
    ("dtype", "way_out"),
    [("f4", "Write `type f32` in"), (">f8", "is that of another machine"), ("U3", "")],
)
def test_another_type_has_a_way_out(dtype: str, way_out: str, tmp_path: Path) -> None:
    np.save(tmp_path / "xs.npy", np.zeros(3, dtype))
    with pytest.raises(InputError) as info:
        streamed("main (xs : n) = sum xs", tmp_path / "xs.npy")
    assert way_out in info.value.hint
    assert bool(info.value.hint) == bool(way_out)


def test_the_simulation_of_the_paper_is_read_where_it_is_wanted(tmp_path: Path) -> None:
    steps = np.random.default_rng(1).random((21, 60, 25, 5), np.float32)
    np.save(tmp_path / "steps.npy", steps)
    source = (EXAMPLES / "flatpack_space.fp").read_text()
    done = streaming.run(
        source, OPTIONS, {"steps": str(tmp_path / "steps.npy")}, str, 60, steps[0].nbytes
    )
    assert np.array_equal(done.values[0], steps[::10, ::4, ::4, 0])
    assert (done.windows, done.read_bytes) == (3, 3 * steps[0].nbytes)
