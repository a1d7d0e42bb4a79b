"""Every test that the threat model names exists, and every line of it names one."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTION = (ROOT / "docs" / "server.md").read_text().partition("## Threat model\n")[2]
ROWS = [line for line in SECTION.partition("\n## ")[0].splitlines() if line.startswith("| ")][1:]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row.split("|")[1:3])[:60])
def test_a_threat_names_tests_that_there_are(row: str) -> None:
    named = NAMED.findall(row)
    assert named, "no test shows this"
    for path, name in named:
        module = ast.parse((ROOT / path).read_text())
        assert name in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}


def test_there_are_threats() -> None:
    assert len(ROWS) >= 8
