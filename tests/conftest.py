"""Options of the test run."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the .cases files with what came out"
    )


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether `--update` was given."""
    return bool(request.config.getoption("--update"))
