"""Workers that hang, die or hoard are replaced; the queue is bounded and fair."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.fair_queue import ANYONE, Ticket
from app.pool import (
    AnswerTooLong,
    Busy,
    Client,
    ClientGone,
    DeadlinePassed,
    MemoryExceeded,
    Pool,
    PoolLimits,
    Stopping,
    TooMany,
    WorkerDied,
)
from app.processes import memory, tree
from app.seeds import Seeds
from app.worker import Worker
from compiler.sandbox import walls
from testing.waiting import until
from tests.app.conftest import FAKE

COMMAND = [sys.executable, str(FAKE)]


def request(source: str) -> dict[str, Any]:
    return {"op": "check", "source": source}


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool("test", 1, COMMAND, PoolLimits(queue=2, queue_seconds=5, memory_mb=200))
    yield made
    made.close()


def test_a_job_is_answered_and_the_worker_is_kept(pool: Pool) -> None:
    assert pool.ask(request("x"), 20)["entries"][0]["name"] == "main"
    assert pool.ask(request("x"), 20)["ok"]
    assert pool.replaced == 0
    assert pool.busy == 0


def test_a_worker_that_hangs_is_replaced(pool: Pool) -> None:
    pool.ask(request("x"), 20)
    began = time.monotonic()
    with pytest.raises(DeadlinePassed):
        pool.ask(request("SLEEP"), 0.3)
    assert time.monotonic() - began < 3
    assert pool.ask(request("x"), 20)["ok"]
    assert pool.replaced == 1


def test_a_worker_that_dies_is_replaced(pool: Pool) -> None:
    with pytest.raises(WorkerDied) as caught:
        pool.ask(request("DIE"), 20)
    assert caught.value.code == 3
    assert pool.ask(request("x"), 20)["ok"]


@pytest.mark.parametrize("said", ["[1, 2]", "nothing", "1", '"text"', "[" * 100_000, "\x00"])
def test_a_worker_that_says_what_is_no_answer_is_replaced(pool: Pool, said: str) -> None:
    with pytest.raises(WorkerDied):
        pool.ask(request(f"GARBAGE {said}"), 20)
    assert pool.ask(request("x"), 20)["ok"]
    assert pool.replaced == 1


def test_an_answer_may_have_a_number_as_its_answer(pool: Pool) -> None:
    """As that of a lesson, whose question is answered by one."""
    assert pool.ask(request('GARBAGE {"id": 0, "ok": true, "answer": 64}'), 20)["answer"] == 64


@pytest.mark.parametrize("lines", ["1", "[1]", "[{}]", '[["text"]]'])
def test_a_stage_whose_lines_are_none_replaces_the_worker(pool: Pool, lines: str) -> None:
    stages = f'{{"c": {{"text": null, "lines": {lines}}}, "d": 1}}'
    with pytest.raises(WorkerDied):
        pool.ask(request(f'GARBAGE {{"id": 0, "ok": true, "stages": {stages}}}'), 20)
    assert pool.replaced == 1


def test_answers_to_what_nobody_asked_are_passed_over(pool: Pool) -> None:
    assert pool.ask(request('GARBAGE {"id": 1000, "ok": false}'), 20)["ok"]
    assert pool.replaced == 0


def test_a_worker_that_hoards_memory_is_stopped(pool: Pool) -> None:
    with pytest.raises(MemoryExceeded):
        pool.ask(request("HOARD"), 20)
    assert pool.ask(request("x"), 20)["ok"]


def test_a_reader_that_goes_away_costs_the_worker(pool: Pool) -> None:
    answers = pool.stream({"op": "show", "source": "STUCK", "stream": True}, 60)
    assert next(answers)["partial"]
    del answers
    assert until(lambda: pool.replaced == 1)
    assert pool.ask(request("x"), 20)["ok"]


def test_a_job_that_ends_soon_without_its_client_keeps_the_worker(pool: Pool) -> None:
    pool.ask(request("x"), 20)
    assert pool.ask(request("SLOW"), 20, Client("a", lambda: True))["ok"]
    assert pool.replaced == 0


def test_a_client_that_leaves_frees_the_worker(pool: Pool) -> None:
    pool.ask(request("x"), 20)
    left = threading.Event()
    caught: list[BaseException] = []

    def job(word: str) -> None:
        try:
            pool.ask(request(word), 60, Client(word, left.is_set))
        except BaseException as error:
            caught.append(error)

    threads = [threading.Thread(target=job, args=(word,)) for word in ("SLEEP", "WAITS")]
    for thread in threads:
        thread.start()
    assert until(lambda: pool.busy == 1 and pool.waiting == 1)
    left.set()
    for thread in threads:
        thread.join(20)
    assert [type(error) for error in caught] == [ClientGone, ClientGone]
    assert pool.replaced == 1
    assert pool.waiting == 0
    assert pool.ask(request("x"), 20)["ok"]


def test_a_slow_reader_does_not_hold_the_worker(pool: Pool) -> None:
    answers = pool.stream({"op": "show", "source": "a", "stream": True}, 20, Client("slow"))
    assert next(answers)["partial"]
    assert pool.ask(request("x"), 20, Client("other"))["ok"]
    assert not list(answers)[-1].get("partial")
    assert pool.replaced == 0


def test_an_answer_that_is_too_long_costs_the_worker() -> None:
    pool = Pool("test", 1, COMMAND, PoolLimits(answer_mb=1))
    try:
        with pytest.raises(AnswerTooLong):
            pool.ask(request("HUGE"), 20)
        assert pool.ask(request("x"), 20)["ok"]
        assert pool.replaced == 1
    finally:
        pool.close()


def test_only_packed_answers_are_long() -> None:
    """A line is parsed in the process that serves."""
    pool = Pool("test", 1, COMMAND, PoolLimits(answer_mb=64))
    with pytest.raises(AnswerTooLong):
        pool.ask(request("HUGE"), 20)
    assert pool.ask({**request("HUGE"), "packed": True}, 20)["packed"].piece.length > 3_000_000
    pool.close()


def waiting_jobs(pool: Pool, *sources: str) -> list[list[dict[str, Any]]]:
    """Ask for jobs of different clients, one after another; all that they were told."""
    seen: list[list[dict[str, Any]]] = []
    threads = []
    for number, source in enumerate(sources):
        asked = pool.stream(request(source), 20, Client(str(number)))
        job = threading.Thread(target=lambda asked=asked: seen.append(list(asked)))
        job.start()
        threads.append(job)
        assert until(lambda number=number: pool.waiting + pool.busy > number)
    for job in threads:
        job.join(20)
    return seen


def test_the_queue_tells_places(pool: Pool) -> None:
    pool.ask(request("x"), 20)
    seen = waiting_jobs(pool, "SLOW", "SLOW", "SLOW")
    assert [steps[0].get("queued") for steps in seen] == [None, 1, 2]
    assert [step.get("queued") for step in seen[2]] == [2, 1, 0, None]


def test_while_jobs_wait_that_come_first_there_is_one_of_the_others(pool: Pool) -> None:
    runs = Pool("runs", 2, COMMAND, PoolLimits(queue=8, queue_seconds=30))
    runs.before = (pool,)

    def endless() -> None:
        with pytest.raises(Stopping):
            pool.ask(request("SLEEP"), 20, Client("a"))

    sleeping = threading.Thread(target=endless)
    sleeping.start()
    assert until(lambda: pool.busy == 1)
    waiting = pool.stream(request("x"), 20, Client("b"))
    assert next(waiting) == {"queued": 1}
    first = threading.Thread(target=lambda: runs.ask(request("SLOW"), 20, Client("c")))
    first.start()
    assert until(lambda: runs.busy == 1)
    second = runs.stream(request("x"), 20, Client("d"))
    assert next(second) == {"queued": 1}, "there is a worker for it, and the processor is not"
    waiting.close()
    assert next(second) == {"queued": 0}
    assert next(second)["ok"]
    first.join()
    runs.close()
    pool.close()
    sleeping.join()


def test_who_is_told_its_place_waits_on() -> None:
    """Who is not is turned away; that is how long it can be kept in the dark."""
    pool = Pool("test", 1, COMMAND, PoolLimits(queue_seconds=0.3))
    first = threading.Thread(target=lambda: pool.ask(request("SLOW"), 20, Client("a")))
    pool.ask(request("x"), 20)
    first.start()
    assert until(lambda: pool.busy == 1)
    answers = pool.stream(request("x"), 20, Client("b", is_told=True))
    assert next(answers) == {"queued": 1}
    with pytest.raises(Busy):
        pool.ask(request("x"), 20, Client("c"))
    assert [one.get("ok") for one in answers][-1]
    first.join()
    pool.close()


def test_the_queue_is_bounded(pool: Pool) -> None:
    pool.ask(request("x"), 20)
    held = [
        threading.Thread(target=pool.ask, args=(request("SLOW"), 20, Client(name)))
        for name in ("a", "b", "c")
    ]
    for number, job in enumerate(held):
        job.start()
        assert until(lambda number=number: pool.waiting + pool.busy > number)
    with pytest.raises(Busy) as caught:
        pool.ask(request("x"), 20, Client("d"))
    assert caught.value.position == 3
    for job in held:
        job.join(20)


def test_a_client_with_too_many_jobs_is_told_so(pool: Pool) -> None:
    pool.ask(request("x"), 20)
    held = [
        threading.Thread(target=pool.ask, args=(request("SLOW"), 20, Client("a"))) for _ in range(3)
    ]
    for number, job in enumerate(held):
        job.start()
        assert until(lambda number=number: pool.waiting + pool.busy > number)
    with pytest.raises(TooMany):
        pool.ask(request("x"), 20, Client("a"))
    for job in held:
        job.join(20)


def test_a_long_job_is_stopped_earlier_while_others_wait() -> None:
    pool = Pool("test", 1, COMMAND, PoolLimits(hurry_seconds=0.5))
    try:
        pool.ask(request("x"), 20)
        caught: list[BaseException] = []

        def endless() -> None:
            try:
                pool.ask(request("SLEEP"), 60, Client("hog"))
            except DeadlinePassed as error:
                caught.append(error)

        hog = threading.Thread(target=endless)
        hog.start()
        assert until(lambda: pool.busy == 1)
        time.sleep(0.8)
        assert pool.busy == 1, "alone, it has its time"
        assert pool.ask(request("x"), 20, Client("other"))["ok"]
        hog.join(20)
        (error,) = caught
        assert isinstance(error, DeadlinePassed)
        assert error.hurried
        assert error.seconds == 0.5
    finally:
        pool.close()


def test_what_a_job_waits_for_a_processor_makes_it_hurry_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = Pool("test", 1, COMMAND, PoolLimits(hurry_seconds=10))
    try:
        monkeypatch.setattr(pool, "_others_wait", lambda ticket, worker: True)
        watch = pool._watch(Ticket(ANYONE, 0.0, 1, 0.0), Worker(COMMAND), 60)
        watch(20.0, 10.1)
        for elapsed, waited in ((10.0, 0.0), (20.0, 10.0), (30.0, 30.0)):
            with pytest.raises(DeadlinePassed, match="10 s"):
                watch(elapsed, waited)
        watch(9.9, 0.0)
    finally:
        pool.close()


def test_a_client_gets_the_worker_that_knows_its_program() -> None:
    pool = Pool("test", 2, COMMAND, PoolLimits())
    try:
        pool.warm()
        assert until(lambda: pool.busy == 0 and len(pool.pids()) == 2)
        at: dict[str, set[int]] = {"a": set(), "b": set()}
        for name in ("a", "b", "b", "a", "a", "b"):
            at[name].add(pool.ask(request("CHILD"), 20, Client(name))["pids"][0])
        assert len(at["a"]) == len(at["b"]) == 1
        assert at["a"] != at["b"]
    finally:
        pool.close()


def test_a_pool_that_is_closed_lets_short_jobs_end_and_takes_no_more(pool: Pool) -> None:
    pool.ask(request("x"), 20)
    answers: list[dict[str, Any]] = []
    job = threading.Thread(target=lambda: answers.append(pool.ask(request("SLOW"), 20)))
    job.start()
    assert until(lambda: pool.busy == 1)
    pool.close(grace=10)
    job.join(20)
    assert answers[0]["ok"]
    with pytest.raises(Stopping):
        pool.ask(request("x"), 20)
    assert pool.pids() == []


def test_a_pool_that_is_closed_ends_what_does_not_end(pool: Pool) -> None:
    pool.ask(request("x"), 20)
    (worker,) = pool.pids()
    caught: list[BaseException] = []

    def endless(name: str) -> None:
        try:
            pool.ask(request("SLEEP"), 60, Client(name))
        except Stopping as error:
            caught.append(error)

    jobs = [threading.Thread(target=endless, args=(name,)) for name in ("a", "b")]
    for job in jobs:
        job.start()
    assert until(lambda: pool.busy == 1 and pool.waiting == 1)
    pool.close(grace=0.1)
    for job in jobs:
        job.join(20)
    assert len(caught) == 2
    assert not os.path.exists(f"/proc/{worker}")


def test_waiting_too_long_is_busy() -> None:
    pool = Pool("test", 1, COMMAND, PoolLimits(queue=2, queue_seconds=0.2))
    try:
        pool.ask(request("x"), 20)
        hold = threading.Thread(target=pool.ask, args=(request("SLOW"), 20, Client("a")))
        hold.start()
        assert until(lambda: pool.busy == 1)
        with pytest.raises(Busy):
            pool.ask(request("x"), 20, Client("b"))
        hold.join(5)
    finally:
        pool.close()


def test_the_memory_of_a_process_tree_is_seen() -> None:
    assert memory(tree(os.getpid())) > 1 << 20
    assert memory(tree(2**30)) == 0


def test_a_machine_without_room_for_a_worker_gets_one_later(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(prefix: str) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("compiler.sandbox.scratch.tempfile.mkdtemp", full)
        pool.warm()
        for _ in range(3):
            with pytest.raises(WorkerDied):
                pool.ask(request("x"), 20)
    assert pool.ask(request("x"), 20)["ok"]


def test_no_worker_is_started_before_what_it_begins_with_is_there() -> None:
    made = threading.Event()

    def ready() -> None:
        assert made.wait(20)

    pool = Pool("test", 2, COMMAND, PoolLimits(), ready=ready)
    try:
        pool.warm()
        job = threading.Thread(target=pool.ask, args=(request("x"), 20))
        job.start()
        assert not until(lambda: any(worker.alive for worker in pool._all), 0.3)
        made.set()
        job.join(20)
        assert until(lambda: pool.busy == 0 and len(pool.pids()) == 2)
    finally:
        pool.close()


def test_workers_begin_with_what_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not walls.seeds()
    seeds = Seeds()
    seeds.begin()
    seeds.wait()
    names = sorted(Path(name).name.partition("-")[0] for name in walls.seeds())
    assert names == ["grammar", "prelude"]
