"""The checker stands alone: it can be read, and run, without the product."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

from compiler.algebra import checker, encode

FILE = Path(checker.__file__)


def test_it_imports_nothing_of_the_product() -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(FILE.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module or "")
        if isinstance(node, ast.Name):
            assert node.id not in ("__import__", "eval", "exec", "importlib")
    library = "__future__ collections.abc hashlib itertools json math sys typing"
    assert imported <= {*library.split()}


def test_it_runs_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "empty.json"
    file.write_text(json.dumps(encode.document([])))
    alone = [sys.executable, "-I", "-S", str(FILE)]
    run = subprocess.run([*alone, str(file)], capture_output=True, text=True, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    run = subprocess.run(alone, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 2
