"""Who has computed for long gives way: threads, sessions and workers, with jobs that are real."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app import worker
from app.pool import Client, ClientGone, DeadlinePassed, Pool, PoolLimits
from app.processes import Times, processor_seconds, tree
from app.worker import COMMAND, LOW, STEP, priority
from compiler.sandbox import walls
from testing import endless
from testing.waiting import until
from tests.codegen.helpers import needs_cc

USUAL = os.getpriority(os.PRIO_PROCESS, 0)
PATIENCE = 300.0
"""Seconds, as a safety net."""
COMPILES = {"op": "show", "source": endless.COMPILE}
RUNS = {"op": "run", "source": endless.RUN, "input": "10i64", "backend": "c", "deadline": 600.0}
SHORT = {"op": "check", "source": "entry main = 1"}

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are in /proc"),
    pytest.mark.skipif(USUAL == LOW, reason="these tests have the lowest priority themselves"),
]
of_both_kinds = pytest.mark.parametrize(
    "endlessly", [COMPILES, pytest.param(RUNS, marks=needs_cc)], ids=["compile", "run"]
)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """A pool of one worker, as a server confines it for both kinds of jobs."""
    monkeypatch.setattr(worker, "LONG", 0.1)
    bounds = PoolLimits(queue_seconds=PATIENCE)
    made = Pool("test", 1, COMMAND, bounds, walls.worker_policy(runs=True))
    yield made
    made.close()


@pytest.fixture
def hog(pool: Pool) -> Iterator[Callable[[str, dict[str, Any]], list[BaseException]]]:
    """Asks for endless jobs in the name of clients that stay until the end."""
    gone = threading.Event()
    threads: list[threading.Thread] = []

    def start(name: str, request: dict[str, Any]) -> list[BaseException]:
        ended: list[BaseException] = []

        def ask() -> None:
            try:
                pool.ask(request, 10 * PATIENCE, Client(name, gone.is_set))
            except BaseException as error:
                ended.append(error)

        threads.append(threading.Thread(target=ask))
        threads[-1].start()
        return ended

    yield start
    gone.set()
    for thread in threads:
        thread.join()


def worker_of(pool: Pool) -> int:
    """The only worker, as soon as it is there."""
    assert until(lambda: bool(pool.pids()), PATIENCE)
    (pid,) = pool.pids()
    return pid


def threads(pid: int) -> dict[int, tuple[int, float]]:
    """The threads of a process and its descendants: nice numbers, seconds of processor."""
    found: dict[int, tuple[int, float]] = {}
    for thread in (thread for process in tree(pid) for thread in process.glob("task/*")):
        try:
            number = os.getpriority(os.PRIO_PROCESS, int(thread.name))
            found[int(thread.name)] = number, processor_seconds(thread)
        except OSError:
            continue
    return found


def numbers(pid: int) -> list[int]:
    """The nice numbers of a worker's threads, the highest first."""
    return sorted((number for number, _ in threads(pid).values()), reverse=True)


def session(pid: int) -> int:
    """The nice number of a session among others."""
    try:
        return int(Path(f"/proc/{pid}/autogroup").read_text().split()[-1])
    except FileNotFoundError:
        return pytest.skip("the kernel does not group processes by sessions")


Hog = Callable[[str, dict[str, Any]], list[BaseException]]


@pytest.mark.parametrize(
    ("seconds", "number"),
    [(0.0, 0), (0.99, 0), (1.0, 6), (2.0, 12), (4.0, 18), (8.0, 19), (1e9, 19)],
)
def test_what_has_computed_twice_as_long_has_a_quarter_of_the_weight(
    seconds: float, number: int
) -> None:
    assert priority(seconds) == number


class Folder:
    """A process in a folder that looks like /proc."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, **threads: tuple[float, float]) -> list[Path]:
        """Its threads have computed and waited for so many seconds by now; the rest have ended."""
        shutil.rmtree(self._folder / "task", ignore_errors=True)
        for name, used in threads.items():
            thread = self._folder / "task" / name[1:]
            thread.mkdir(parents=True)
            told = " ".join(str(int(1e9 * seconds)) for seconds in used)
            (thread / "schedstat").write_text(f"{told} 1\n")
        return [self._folder]


def test_what_a_job_waits_for_the_processor_is_that_of_its_busiest_thread(tmp_path: Path) -> None:
    process, times = Folder(tmp_path), Times()
    assert times.look(process.has(t1=(5.0, 7.0))) == {1: 0.0}, "what was before is not the job's"
    assert times.waited == 0.0
    assert times.look(process.has(t1=(5.5, 7.5), t2=(0.0, 9.0))) == {1: 0.5, 2: 0.0}
    assert times.waited == pytest.approx(0.5)
    assert times.look(process.has(t1=(5.6, 7.6), t2=(2.0, 10.0)))[2] == 2.0
    assert times.waited == pytest.approx(1.5)
    assert times.look(process.has(t1=(5.6, 7.6))) == {1: pytest.approx(0.6)}
    assert times.waited == pytest.approx(1.5), "who sleeps waits for nothing"


@of_both_kinds
def test_a_long_job_gives_way_to_nobody_where_nobody_is(
    pool: Pool, hog: Hog, endlessly: dict[str, Any]
) -> None:
    hog("hog", endlessly)
    held = worker_of(pool)
    enough = 1.2  # the start of a worker takes less
    assert until(lambda: any(s > enough for _, s in threads(held).values()), PATIENCE)
    assert set(numbers(held)) == {USUAL}
    assert pool.pids() == [held]


@of_both_kinds
def test_a_long_job_gives_way_and_takes_no_place(
    pool: Pool, hog: Hog, endlessly: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = hog("hog", endlessly)
    held = worker_of(pool)
    for name in ("a", "b"):
        assert pool.ask(SHORT, PATIENCE, Client(name))["ok"]
    first, *others = numbers(held)
    assert first >= min(LOW, USUAL + STEP), "what computes gives way"
    assert set(others) == {USUAL}, "and nothing else does"
    (other,) = set(pool.pids()) - {held}
    assert set(numbers(other)) == {USUAL}
    assert not ended, "it has not been stopped"
    monkeypatch.setattr(pool, "has_others", lambda client: True)
    assert until(lambda: numbers(held)[0] == LOW and session(held) == LOW, PATIENCE), "ever more"
    assert len({os.getsid(int(process.name)) for process in tree(held)}) == 1
    assert session(other) == 0


def test_long_jobs_go_on_beside_others_until_there_are_too_many(
    pool: Pool, hog: Hog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.pool.SPARED", 1)
    first = hog("first", COMPILES)
    held = worker_of(pool)
    assert pool.ask(SHORT, PATIENCE, Client("honest"))["ok"]
    second = hog("second", COMPILES)
    assert until(lambda: pool.busy == 2, PATIENCE)
    pool._bounds = replace(pool._bounds, hurry_seconds=0.0)
    assert pool.ask(SHORT, PATIENCE, Client("honest"))["ok"]
    assert until(lambda: bool(second))
    assert isinstance(second[0], DeadlinePassed)
    assert second[0].hurried
    assert not first
    assert held in pool.pids()


def test_one_worker_is_enough_again_when_a_long_job_was_stopped(pool: Pool) -> None:
    gone = threading.Event()

    def ask() -> None:
        with pytest.raises(ClientGone):
            pool.ask(COMPILES, 10 * PATIENCE, Client("hog", gone.is_set))

    thread = threading.Thread(target=ask)
    thread.start()
    held = worker_of(pool)
    assert pool.ask(SHORT, PATIENCE, Client("honest"))["ok"]
    (other,) = set(pool.pids()) - {held}
    gone.set()
    thread.join()
    assert pool.pids() == [other]
    assert pool.ask(SHORT, PATIENCE)["ok"]
    assert pool.pids() == [other]


def test_the_next_job_of_a_worker_is_as_quick_as_any(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody may take a lower priority back without a right to it, so that nothing has to."""
    monkeypatch.setattr(worker, "LONG", 0.1)
    monkeypatch.setattr(worker, "POLL", 0.02)
    monkeypatch.setattr(pool, "has_others", lambda client: True)
    lowered: list[int] = []
    given = os.setpriority

    def recording(which: int, who: int, priority: int) -> None:
        lowered.append(who)
        given(which, who, priority)

    assert pool.ask(SHORT, PATIENCE)["ok"]
    held = worker_of(pool)
    monkeypatch.setattr(os, "setpriority", recording)
    assert pool.ask({"op": "show", "source": endless.inlined(10), "packed": True}, PATIENCE)["ok"]
    assert lowered
    assert held in pool.pids(), "the worker is kept"
    assert until(lambda: set(lowered).isdisjoint(threads(held))), "that thread has ended"
    assert set(numbers(held)) == {USUAL}
    monkeypatch.setattr(worker, "LONG", PATIENCE)
    assert until(lambda: pool.ask(SHORT, PATIENCE)["ok"] and session(held) == 0)
