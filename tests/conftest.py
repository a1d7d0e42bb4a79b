"""Options of the test run."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from compiler.base.context import Ctx
from compiler.base.stack import seldom_look_for_garbage
from compiler.driver import pipeline
from compiler.ir.memory import check
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


NESTED = sys.getrecursionlimit()
_run = pipeline.run


def _checked(stage: pipeline.Stage, before: Any, ctx: Ctx) -> Any:
    """A stage's program, whose arrays lie right, also where nobody asked for checks."""
    prog = _run(stage, before, ctx)
    if stage.form is not None and stage.form.memory and not ctx.options.verify:
        check(prog, stage.id)
    return prog


pipeline.run = _checked


def pytest_xdist_auto_num_workers() -> int:
    """Four workers for two cores: half of their time is waiting for servers and browsers."""
    return max(1, len(os.sched_getaffinity(0)) * 2)


def pytest_collection() -> None:
    """Compile as workers do; tests that are being collected are there to stay, too."""
    seldom_look_for_garbage()


def pytest_collection_finish() -> None:
    """What has been collected is not gone through."""
    seldom_look_for_garbage()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that changes something has its own compilations, and so have those after it."""
    if "monkeypatch" in getattr(item, "fixturenames", ()):
        forget()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """As before it.

    A test that lets calls nest deeper has those after it end the process, where Python's own code
    in C calls itself: each leaves the limit as it was.
    """
    pytest_runtest_setup(item)
    if sys.getrecursionlimit() != NESTED:
        sys.setrecursionlimit(NESTED)
        pytest.fail(f"{item.nodeid} has changed how deep calls may nest.")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell how a test failed that passed when it was run once more: what to look for."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.write_sep("_", f"{report.nodeid}, the first time")
        terminalreporter.write_line(report.longreprtext)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the .cases files with what came out"
    )


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether `--update` was given."""
    return bool(request.config.getoption("--update"))
