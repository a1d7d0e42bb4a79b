"""The cache folder: what is loaded from it is run, so only this user may have written it."""

import os
import pickle
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from compiler.base import cache
from compiler.runtime import libraries


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "stridescope"


def test_what_is_kept_comes_back_and_is_for_this_user_alone(home: Path) -> None:
    cache.keep("tables", b"data")
    assert cache.load("tables") == b"data"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "tables").stat().st_mode) == 0o600
    assert os.listdir(home) == ["tables"]


def test_there_is_nothing_where_nothing_was_kept() -> None:
    assert cache.load("tables") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_read(home: Path, mode: int) -> None:
    cache.keep("tables", b"data")
    (home / "tables").chmod(mode)
    assert cache.load("tables") is None


def test_a_link_or_a_pipe_is_not_read(home: Path, tmp_path: Path) -> None:
    cache.keep("tables", b"data")
    (home / "tables").rename(tmp_path / "elsewhere")
    (home / "tables").symlink_to(tmp_path / "elsewhere")
    assert cache.load("tables") is None
    os.mkfifo(home / "pipe")
    assert cache.load("pipe") is None


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_belongs_to_another_user_is_not_read(
    home: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.keep("tables", b"data")
    if what == "file" and os.geteuid() == 0:
        os.chown(home / "tables", 12345, 12345)
    elif what == "folder" and os.geteuid() == 0:
        os.chown(home, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache.load("tables") is None


def test_a_folder_that_others_could_write_is_closed_to_them(home: Path) -> None:
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    assert cache.folder() == home
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_folder_that_is_a_link_is_none(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    home.symlink_to(tmp_path / "elsewhere")
    assert cache.folder() is None
    cache.keep("tables", b"data")
    assert cache.load("tables") is None


def test_where_no_folder_can_be_nothing_is_kept(home: Path) -> None:
    home.write_text("a file")
    assert cache.folder() is None
    cache.keep("tables", b"data")
    assert cache.load("tables") is None
    library = libraries.folder()
    assert library == libraries.folder()
    assert stat.S_IMODE(library.stat().st_mode) == 0o700


def test_a_name_that_is_no_absolute_path_is_no_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "stridescope"


class Trap:
    """Unpickled, it leaves a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (os.mkdir, (str(self.mark),))


def test_nothing_is_loaded_from_the_shared_temporary_folder(tmp_path: Path) -> None:
    """Every name that a run leaves or looks for there is turned into a trap; none is sprung."""
    shared, mark = tmp_path / "shared", tmp_path / "sprung"
    shared.mkdir()
    environment = {**os.environ, "TMPDIR": str(shared)}
    check = [sys.executable, "-m", "compiler", "check", "-"]
    for _ in range(2):
        done = subprocess.run(check, input=b"def main = 1", env=environment, check=True)
        assert done.returncode == 0
        for path in shared.rglob("*"):
            if path.is_file():
                path.write_bytes(path.read_bytes().partition(b"\n")[0] + b"\n" + trap(mark))
    assert not mark.exists()
    assert not list(shared.rglob("stridescope*"))


def trap(mark: Path) -> bytes:
    return pickle.dumps(Trap(mark))


def test_a_damaged_cache_is_made_anew(home: Path) -> None:
    check = [sys.executable, "-m", "compiler", "check", "-"]
    environment = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    for _ in range(2):
        done = subprocess.run(
            check, input=b"def main = 1", env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        kept = sorted(home.glob("*.pickle"))
        assert [path.name.partition("-")[0] for path in kept] == ["grammar", "prelude"]
        for path in kept:
            path.write_bytes(path.read_bytes()[:100])
