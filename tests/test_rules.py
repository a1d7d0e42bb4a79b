"""From a remark to its code and its tests: the rule's id leads to both, by one search each."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.driver import pipeline

ROOT = Path(__file__).parent.parent
TINY = ROOT / "compiler" / "explain" / "tiny_programs.py"
CODE = {path: path.read_text("utf-8") for path in {*(ROOT / "compiler").rglob("*.py")} - {TINY}}
TESTS = {
    path: path.read_text("utf-8")
    for suffix in ("py", "cases")
    for path in (ROOT / "tests").rglob(f"*.{suffix}")
    if path.name != Path(__file__).name
}
RULES = [rule.id for step in pipeline.PASSES for rule in step.rules]


@pytest.mark.parametrize("rule", RULES)
def test_its_id_stands_in_one_file_of_the_compiler_and_in_tests(rule: str) -> None:
    assert sum(f'"{rule}"' in text for text in CODE.values()) == 1
    assert any(rule in text for text in TESTS.values())


def test_the_readme_says_so() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (rule,) = [rule for rule in RULES if f"grep -rn {rule} compiler tests" in text]
    assert rule in RULES
