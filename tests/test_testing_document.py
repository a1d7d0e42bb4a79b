"""What `docs/testing.md` says: its program's tests pass, and its table has every word of blocks."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from compiler.testing import suite
from compiler.testing.blocks import PIPELINES

TEXT = (Path(__file__).parent.parent / "docs" / "testing.md").read_text("utf-8")


def test_its_program_passes(tmp_path: Path) -> None:
    program = re.findall(r"```futhark\n(.*?)```", TEXT, re.DOTALL)[0]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "many.in.gz").write_bytes(gzip.compress(b"[1, 2, 3, 4]"))
    (tmp_path / "data" / "many.out").write_text("10")
    path = tmp_path / "program.fut"
    path.write_text(program)
    found = suite.tested(path, suite.Wanted("ref"))
    assert [case["outcome"] for case in found["cases"]] == [
        "passed",
        "skipped",  # compiled
        "passed",
        "passed",
        "passed",
    ]


@pytest.mark.parametrize("word", [*PIPELINES, "entry:", "property:", "warning:", "error:"])
def test_its_table_has_all_words(word: str) -> None:
    if word not in ("seq-mem", "internalised"):  # for which there is no stage
        assert f"`{word}" in TEXT
