"""The shape of the code: who may import whom, and that every file says what it is for."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COMPILER = ROOT / "compiler"
FILES = sorted([*COMPILER.rglob("*.py"), *(ROOT / "app").rglob("*.py")])
ORDER = (
    "base protocol algebra frontend ir semantics analysis lower optimise parallel storage "
    "codegen sandbox runtime explain"
).split()
LONGEST = 700


def imports(path: Path) -> list[str]:
    """The full names of all modules of ours that a file imports, at whatever depth."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if name.split(".")[0] in ("compiler", "app")]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_folders_of_the_compiler_are_the_pipeline_in_order() -> None:
    folders = {d.name for d in COMPILER.iterdir() if (d / "__init__.py").exists()}
    assert folders == set(ORDER)
    tour = (COMPILER / "__init__.py").read_text("utf-8")
    assert re.findall(r"^    (\w+)/ ", tour, re.M) == ORDER


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_a_folder_imports_only_itself_and_folders_before_it(path: Path) -> None:
    parts = path.relative_to(ROOT).parts
    for name in imports(path):
        target = name.split(".")
        if parts[0] == "app":
            allowed = target[0] == "app" or target[1] in ("protocol", "sandbox")
            assert allowed, f"app/ may use compiler.protocol and compiler.sandbox, not {name}"
            continue
        assert target[0] != "app", "compiler/ may not use app/"
        here = parts[1] if len(parts) > 2 else ""
        if here:
            assert target[1] in ORDER, f"{here}/ may not use {name}"
            assert ORDER.index(target[1]) <= ORDER.index(here), f"{here}/ may not use {target[1]}/"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_a_file_says_what_it_is_for_and_fits_in_the_head(path: Path) -> None:
    text = path.read_text("utf-8")
    assert ast.get_docstring(ast.parse(text)), "no module docstring"
    assert len(text.splitlines()) <= LONGEST, "split it by concept"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_public_functions_and_classes_have_docstrings(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{node.name} has no docstring"


COPIES = {
    "ir/nodes.py": r'\bLit\([01], "i64"\)|\bLit\((?:True|False), "bool"\)',
    "ir/types.py": r"\bVar\((\w+)\.name, \1\.type\.prim\)\s+if\b|\bArray\((?:\w+\.)?prim, \w+\) if",
    "ir/build.py": r"\bDimSlice\(ZERO, \w+, ONE\)",
}
"""What may be written in one file only, which gives it a name."""


@pytest.mark.parametrize("home", COPIES)
def test_what_has_a_name_is_written_once(home: str) -> None:
    found = [p for p in COMPILER.rglob("*.py") if re.search(COPIES[home], p.read_text("utf-8"))]
    assert found == [COMPILER / home]
