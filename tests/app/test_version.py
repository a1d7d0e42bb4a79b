"""The version that links record: exact for a checkout, a changed one, and one without commits."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from app import version
from app.version import compiler_version, sources_hash, version_of

GIT = [
    "git",
    "-c",
    "user.name=A",
    "-c",
    "user.email=a@example.org",
    "-c",
    "init.defaultBranch=main",
]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*GIT, "-C", str(root), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder with an application and a compiler."""
    root = tmp_path / "checkout"
    for name, text in {
        "app/api.py": "routes",
        "app/examples/one.fut": "entry main = 1",
        "compiler/driver/pipeline.py": "stages",
        "compiler/frontend/grammar.lark": "rules",
        "docs/ir.md": "words",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def checkout(sources: Path) -> Path:
    git(sources, "init", "-q")
    git(sources, "add", ".")
    git(sources, "commit", "-q", "-m", "first")
    return sources


@needs_git
def test_a_checkout_is_named_by_its_commit(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert version_of(checkout, "1.2") == f"1.2+g{commit[:12]}"
    (checkout / "docs" / "ir.md").write_text("other words")
    (checkout / "notes.txt").write_text("beside the sources")
    assert version_of(checkout, "1.2") == f"1.2+g{commit[:12]}"


@needs_git
@pytest.mark.parametrize(
    "name", ["compiler/driver/pipeline.py", "compiler/frontend/grammar.lark", "app/new.py"]
)
def test_a_changed_checkout_is_named_by_its_sources_as_well(checkout: Path, name: str) -> None:
    clean = version_of(checkout, "1.2")
    found = {clean}
    for text in ("once", "twice"):
        (checkout / name).write_text(text)
        found.add(version_of(checkout, "1.2"))
        assert version_of(checkout, "1.2") == f"{clean}.s{sources_hash(checkout)}"
    assert len(found) == 3


@needs_git
def test_another_commit_is_another_version(checkout: Path) -> None:
    before = version_of(checkout, "1.2")
    (checkout / "compiler" / "driver" / "pipeline.py").write_text("more stages")
    git(checkout, "commit", "-q", "-a", "-m", "second")
    assert re.fullmatch(r"1\.2\+g[0-9a-f]{12}", version_of(checkout, "1.2"))
    assert version_of(checkout, "1.2") != before


@needs_git
def test_a_folder_within_somebody_elses_checkout_has_no_commit(checkout: Path) -> None:
    inner = checkout / "lib" / "site-packages"
    shutil.copytree(checkout / "compiler", inner / "compiler")
    assert version_of(inner, "1.2") == f"1.2+s{sources_hash(inner)}"


@needs_git
def test_another_repository_in_the_environment_is_not_asked(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = version_of(checkout, "1.2")
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert version_of(checkout, "1.2") == before


def test_without_a_commit_the_sources_are_the_version(sources: Path, tmp_path: Path) -> None:
    assert version_of(sources, "1.2") == f"1.2+s{sources_hash(sources)}"
    moved = tmp_path / "elsewhere"
    shutil.copytree(sources, moved)
    assert sources_hash(moved) == sources_hash(sources)
    (moved / "app" / "examples" / "one.fut").write_text("entry main = 2")
    assert sources_hash(moved) == sources_hash(sources)
    (moved / "compiler" / "driver" / "pipeline.py").rename(moved / "compiler" / "stages.py")
    assert sources_hash(moved) != sources_hash(sources)


def test_without_git_the_sources_are_the_version(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert version_of(sources, "1.2") == f"1.2+s{sources_hash(sources)}"


def test_a_recorded_version_is_that_of_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / version.RECORDED).write_text("1.2+g0123456789ab\n")
    monkeypatch.setattr(version, "HERE", tmp_path)
    assert compiler_version.__wrapped__() == "1.2+g0123456789ab"


def test_the_version_of_this_checkout_is_exact_and_fits_where_it_is_stored() -> None:
    found = compiler_version()
    assert re.search(r"\+(g[0-9a-f]{12}(\.s[0-9a-f]{12})?|s[0-9a-f]{12})$", found)
    assert len(found) <= 64
