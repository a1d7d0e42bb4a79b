"""What `docs/server.md` claims of tests is there."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "server.md"


def test_every_test_that_the_page_names_exists() -> None:
    defined = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
    named = set(re.findall(r"`(?:[\w/.]+::)?(test_\w+)`", PAGE.read_text("utf-8")))
    assert len(named) > 10
    assert sorted(named - defined) == []


def test_every_file_of_tests_that_the_page_names_exists() -> None:
    named = re.findall(r"`(\w+/test_\w+\.py)", PAGE.read_text("utf-8"))
    assert named
    assert [name for name in named if not (TESTS / name).exists()] == []
