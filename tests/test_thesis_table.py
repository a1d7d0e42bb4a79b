"""Every file that the tables of papers name exists, and every name that they say is in one."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINES = [
    line
    for name in ("thesis.md", "seeds.md")
    for line in (ROOT / "docs" / name).read_text("utf-8").splitlines()
]
FOLDERS = (ROOT, ROOT / "compiler", ROOT / "docs")
SHORT_CIRCUIT = ROOT / "compiler" / "storage" / "short_circuit"
"""Where the files of chapter 6 are that are named without a folder."""
PATH = re.compile(r"`([\w/]+(?:\.(?:py|md|ts|fut|json)|/))`")
CONTENTS = re.compile(r"`([\w/]+\.py)`: ((?:`[\w.]+`(?:, (?:and )?| and )?)+)")
NAME = re.compile(r"`([\w.]+)`")


def rows() -> list[tuple[int, str, tuple[Path, ...]]]:
    """Number and text of each line, and the folders that its paths may be relative to."""
    found = []
    folders: tuple[Path, ...] = FOLDERS
    for number, line in enumerate(LINES, 1):
        if line.startswith("## "):
            folders = (*FOLDERS, SHORT_CIRCUIT) if line.startswith("## Chapter 6") else FOLDERS
        found.append((number, line, folders))
    return found


def located(path: str, folders: tuple[Path, ...]) -> Path | None:
    return next((folder / path for folder in folders if (folder / path).exists()), None)


def defined(path: Path) -> set[str]:
    """The functions, classes, constants and fields of a file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


ROWS = [row for row in rows() if PATH.search(row[1])]


@pytest.mark.parametrize(("line", "folders"), [r[1:] for r in ROWS], ids=[str(r[0]) for r in ROWS])
def test_what_a_line_names_exists(line: str, folders: tuple[Path, ...]) -> None:
    for path in PATH.findall(line):
        assert located(path, folders), f"there is no {path}"
    for path, names in CONTENTS.findall(line):
        file = located(path, folders)
        assert file is not None
        known = defined(file)
        for name in NAME.findall(names):
            assert known.issuperset(name.split(".")), f"{path} has no {name}"


def test_names_are_found() -> None:
    names = [
        name
        for _, line, _ in ROWS
        for _, group in CONTENTS.findall(line)
        for name in NAME.findall(group)
    ]
    assert len(names) > 100
