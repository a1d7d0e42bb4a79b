"""What processes leave that were killed is swept, and nothing that a living one has."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler.sandbox import scratch
from compiler.sandbox.scratch import PREFIX, Scratch, sweep

HOLDS = """
import sys, time
from pathlib import Path
from compiler.sandbox.scratch import Scratch
made = Scratch()
Path(made.path, "a file").write_text("x")
print(made.path, flush=True)
time.sleep(1000)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process with such a folder."""
    root = Path(scratch.__file__).parents[2]
    environment = {**os.environ, "TMPDIR": str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.wait()
    process.stdout.close()


def test_what_a_killed_process_has_left_is_swept_and_nothing_else(
    holder: tuple[subprocess.Popen[str], Path], folder: Path
) -> None:
    process, left = holder
    other = folder / "stridescope-of-somebody"
    other.mkdir()
    target = folder / "target"
    target.mkdir()
    (folder / f"{PREFIX}link").symlink_to(target)
    with Scratch() as mine:
        assert sweep() == 0
        assert left.is_dir()
        process.kill()
        process.wait()
        assert left.is_dir(), "nobody was there to remove it"
        assert sweep() == 1
        assert not left.exists()
        assert Path(mine).is_dir()
    assert other.is_dir()
    assert target.is_dir()
    assert not Path(mine).exists()


def test_a_folder_that_is_swept_before_it_is_held_is_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold, swept = scratch._hold, []

    def late(path: str) -> int:
        if not swept:
            os.rmdir(path)
            swept.append(path)
        return hold(path)

    monkeypatch.setattr(scratch, "_hold", late)
    with Scratch() as made:
        assert Path(made).is_dir()
        assert made not in swept


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs another user")
def test_another_users_folder_is_swept_by_root_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = folder / f"{PREFIX}left"
    left.mkdir()
    os.chown(left, 54321, 54321)
    with monkeypatch.context() as changed:
        changed.setattr(os, "geteuid", lambda: 12345)
        assert sweep() == 0
    assert sweep() == 1


def test_where_there_are_no_locks_nothing_is_swept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr(scratch.fcntl, "flock", none)
    made = Scratch()
    assert sweep() == 0
    assert Path(made.path).is_dir()
    made.remove()
    assert not list(folder.iterdir())
