"""Options of the test run."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

from compiler.worker import seldom_look_for_garbage
from testing.compiling import forget

# The same cases in each run: `bench.fuzz` looks for new ones. No limit of time, which a busy
# machine misses; no tracing of a failure's lines, which does not end in a process that has had a
# browser (greenlets, CPython 3.11).
settings.register_profile(
    "tests",
    derandomize=True,
    deadline=None,
    phases=[phase for phase in Phase if phase is not Phase.explain],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


def pytest_xdist_auto_num_workers() -> int:
    """Three workers for two cores: a third of their time is waiting for servers and browsers."""
    return max(1, len(os.sched_getaffinity(0)) * 3 // 2)


def pytest_collection_finish() -> None:
    """Compile as workers do: what has been collected, and is there to stay, is not gone through."""
    seldom_look_for_garbage()


@pytest.fixture(autouse=True)
def _compiled_anew(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that changes something has its own compilations, and so have those after it."""
    changes = "monkeypatch" in request.fixturenames
    if changes:
        forget()
    yield
    if changes:
        forget()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the .cases files with what came out"
    )


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether `--update` was given."""
    return bool(request.config.getoption("--update"))
