"""Options of the test run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from compiler.base.context import Ctx
from compiler.base.stack import seldom_look_for_garbage
from compiler.driver import pipeline
from compiler.ir.memory import check
from compiler.sandbox import scratch
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


ROOT = Path(__file__).parent.parent
NESTED = sys.getrecursionlimit()
_run = pipeline.run


_right: set[int] = set()
"""Hashes of programs whose arrays lie right: many tests compile the same ones."""


def _checked(stage: pipeline.Stage, before: Any, ctx: Ctx) -> Any:
    """A stage's program, whose arrays lie right, also where nobody asked for checks."""
    prog = _run(stage, before, ctx)
    has_memory = stage.form is not None and stage.form.memory
    unasked = not ctx.options.verify and not ctx.options.edited  # which may be unsound
    if has_memory and unasked and (one := hash((stage.id, prog))) not in _right:
        check(prog, stage.id)
        _right.add(one)
    return prog


pipeline.run = _checked


@pytest.fixture(scope="session", autouse=True)
def no_folders_left() -> Iterator[None]:
    """Sweep what servers have left that tests killed; folders of living ones stay."""
    yield
    scratch.sweep()


LONG = """
    bench
    tests/app
    tests/runtime
    tests/sandbox
    tests/algebra/test_false_claims.py
    tests/base/test_cache.py
    tests/codegen/test_copies.py
    tests/codegen/test_text.py
    tests/explain/test_reaching_definitions.py
    tests/protocol/test_declarations.py
    tests/semantics/test_deep_calls.py
    tests/storage/test_random_programs.py
    tests/storage/test_storage_programs.py
    tests/test_accesses.py
    tests/test_adding_a_stage.py
    tests/command_line/test_benchmark.py
    tests/test_checks_stay.py
    tests/test_examples.py
    tests/test_extreme_programs.py
    tests/test_fuzz.py
    tests/test_generated.py
    tests/test_guarded_programs.py
    tests/test_mutated_programs.py
    tests/test_payload_programs.py
    tests/testing/test_suite.py
    tests/driver/test_switches.py
    tests/test_wheel.py
""".split()
"""What `make check` leaves to `make test`: servers, browsers, what runs programs, campaigns."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes long, by folder and file; here and nowhere else."""
    gone = [one for one in LONG if not (ROOT / one).exists()]
    assert not gone, f"tests/conftest.py: {gone} is not there any more"
    for item in items:
        name = item.path.relative_to(ROOT).as_posix()
        if any(name == one or name.startswith(f"{one}/") for one in LONG):
            item.add_marker("long")


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
