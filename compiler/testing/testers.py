"""Run tests in worker processes, one program at a time each, and report each test.

A test that exceeds its time, compiling included, is killed with its process. Such a test, or one
that crashes its process, fails, and the program's other tests run in a new one.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path

from compiler.base.dataclass import dataclass
from compiler.base.errors import RuntimeError_, TimeoutError_
from compiler.base.stack import seldom_look_for_garbage, with_deep_stack
from compiler.driver import worker
from compiler.driver.answers import error_json
from compiler.protocol.tests import CaseTested, ProgramTested, TestCase, Tested

_SPAWN = get_context("spawn")
_LOOK = 0.5
"""Polling interval for time limits, in seconds."""


@dataclass(frozen=True, slots=True)
class Began:
    """A test begins: the number of finished tests of its program, and of all."""

    path: Path
    ended: int
    total: int
    case: TestCase


Tell = Callable[[Began | CaseTested], None]
Testing = Callable[[Path, int, Tell], ProgramTested]
"""Tests a program from a test number on, reporting each; it runs in the workers."""


class _Tester:
    """A worker process, the number of its current program, and its progress."""

    def __init__(self, testing: Testing) -> None:
        self.pipe, other = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(testing, other))
        self._process.start()
        other.close()
        self.number = -1
        self.cases: list[CaseTested] = []
        self._began: Began | None = None
        self._since = 0.0

    def give(self, number: int, path: Path, cases: list[CaseTested]) -> None:
        """Start the tests of a program behind those done."""
        self.number, self.cases = number, cases
        self._began, self._since = None, time.monotonic()
        self.pipe.send((path, len(cases)))

    def hear(self, progress: Callable[[Began], None]) -> ProgramTested | None:
        """Receive a message; return the result at the end.

        Raises EOFError if the process has died.
        """
        told: Began | CaseTested | tuple[ProgramTested] = self.pipe.recv()
        if isinstance(told, tuple):
            return {**told[0], "cases": self.cases}
        self._since = time.monotonic()
        if isinstance(told, Began):
            self._began = told
            progress(told)
        else:
            self.cases.append(told)
            self._began = None
        return None

    def is_late(self, limit: float) -> bool:
        """Return True if its test exceeds the limit."""
        return self._began is not None and time.monotonic() > self._since + limit

    def failed(self, path: Path, error: RuntimeError_) -> ProgramTested | None:
        """Return the failed program if no test had begun; else fail the current test."""
        problem = error_json(error)
        if self._began is None:
            return {"file": str(path), "cases": self.cases, "error": problem}
        tested: Tested = {
            "number": self._began.case["number"],
            "outcome": "failed",
            "because": error.message,
            "error": problem,
        }
        self.cases.append(CaseTested(**{**self._began.case, **tested}))
        return None

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def all_tested(
    paths: Sequence[Path],
    testing: Testing,
    jobs: int,
    limit: float,
    progress: Callable[[Began], None],
) -> Iterator[ProgramTested]:
    """Run the tests of all programs, `jobs` programs at a time; yield results in order.

    `limit`: seconds per test, compiling included.
    """
    waiting = list(range(len(paths)))[::-1]
    testers: list[_Tester] = []
    done: dict[int, ProgramTested] = {}

    def begin(tester: _Tester, number: int, cases: list[CaseTested]) -> None:
        tester.give(number, paths[number], cases)
        testers.append(tester)

    def go_on(tester: _Tester, ready: bool) -> None:
        error: RuntimeError_ | None = None
        try:
            found = tester.hear(progress) if ready else None
        except EOFError:
            found, error = None, RuntimeError_("The test has ended its process.")
        if found is None and error is None and tester.is_late(limit):
            error = TimeoutError_(f"It does not end within {limit:g} s, compiling included.")
        if found is None and error is None:
            return
        testers.remove(tester)
        if error is not None:
            found = tester.failed(paths[tester.number], error)
            tester.end()
            if found is None:
                begin(_Tester(testing), tester.number, tester.cases)
                return
        assert found is not None
        done[tester.number] = found
        if waiting and error is None:
            begin(tester, waiting.pop(), [])
        elif error is None:
            tester.end()

    try:
        for number in range(len(paths)):
            while number not in done:
                while waiting and len(testers) < jobs:
                    begin(_Tester(testing), waiting.pop(), [])
                ready = wait([one.pipe for one in testers], _LOOK)
                for one in list(testers):
                    go_on(one, one.pipe in ready)
            yield done.pop(number)
    finally:
        for one in testers:
            one.end()


def _serve(testing: Testing, pipe: Connection) -> None:
    """Run the worker's loop, which ends with the parent; compare `worker.serve`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    worker.end_with_parent()
    parent = parent_process()
    if parent is not None and not parent.is_alive():  # it ended before this one could be told
        os._exit(0)
    seldom_look_for_garbage()
    with suppress(EOFError):
        while True:
            path, first = pipe.recv()
            with_deep_stack(lambda: pipe.send((testing(path, first, pipe.send),)))  # noqa: B023
