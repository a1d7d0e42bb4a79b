"""Determine the exact version, for permalinks, the page and the API.

    1.0.0rc1+g4f1c2d3e5a6b                a checkout, or a wheel built from one, as committed
    1.0.0rc1+g4f1c2d3e5a6b.s0a1b2c3d4e5f  the same, and its sources were changed since the commit
    1.0.0rc1+s0a1b2c3d4e5f                no commit is known: the package, and a hash of its sources

The part before `+` stands in `pyproject.toml` and nowhere else.

This file imports nothing of the product, since `setup.py` runs it to name the wheel's version.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDED = "_version.txt"
"""The file in `app/` of a wheel that holds the version it was built as."""
PACKAGES = ("app", "compiler")
SOURCES = frozenset({".py", ".lark", ".fut", ".fp"})
DIGITS = 12
"""Hexadecimal digits of a hash."""
GIT_SECONDS = 10


@cache
def compiler_version() -> str:
    """Return the running version."""
    recorded = HERE / RECORDED
    if recorded.is_file():
        return recorded.read_text("utf-8").strip()
    return version_of(HERE.parent, _package(HERE.parent))


def version_of(root: Path, package: str) -> str:
    """Return the version of the sources in a folder that holds `app/` and `compiler/`."""
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    # A folder inside of somebody else's checkout has nothing to do with that one's commits.
    if commit is None or Path(_git(root, "rev-parse", "--show-toplevel") or "/") != root.resolve():
        return f"{package}+s{sources_hash(root)}"
    changed = _git(root, "status", "--porcelain", "--", *PACKAGES) != ""
    return f"{package}+g{commit[:DIGITS]}" + (f".s{sources_hash(root)}" if changed else "")


def sources_hash(root: Path) -> str:
    """Hash names and contents of the files that compile and serve, without examples."""
    found = hashlib.sha256()
    for path in _sources(root):
        data = path.read_bytes()
        found.update(f"{path.relative_to(root).as_posix()} {len(data)}\n".encode())
        found.update(data)
    return found.hexdigest()[:DIGITS]


def _sources(root: Path) -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in SOURCES and (root / "app" / "examples") not in path.parents:
                yield path


def _git(root: Path, *arguments: str) -> str | None:
    """Run git in a folder, return its output; None without git, or outside a trusted checkout."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(root), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=GIT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _package(root: Path) -> str:
    """Return the version in a checkout's `pyproject.toml`, else of the installed package."""
    with suppress(OSError):
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
        return str(project["version"])
    try:
        return version("stridescope")
    except PackageNotFoundError:
        return "0"
