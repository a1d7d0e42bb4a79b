"""Workers that hang, die or hoard are replaced; the queue is bounded and in order."""

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from app.pool import Busy, DeadlinePassed, MemoryExceeded, Pool, WorkerDied
from app.worker import tree_memory
from tests.app.conftest import FAKE


def request(source: str) -> dict[str, Any]:
    return {"op": "check", "source": source}


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(
        "test", 1, [sys.executable, str(FAKE)], queue_limit=2, queue_seconds=5, memory_mb=200
    )
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


def test_a_worker_that_hoards_memory_is_stopped(pool: Pool) -> None:
    with pytest.raises(MemoryExceeded):
        pool.ask(request("HOARD"), 20)
    assert pool.ask(request("x"), 20)["ok"]


def test_a_reader_that_goes_away_costs_the_worker(pool: Pool) -> None:
    answers = pool.stream({"op": "show", "source": "a", "stream": True}, 20)
    assert next(answers)["partial"]
    answers.close()
    assert pool.replaced == 1
    assert pool.ask(request("x"), 20)["ok"]


def test_the_queue_tells_places_and_is_bounded(pool: Pool) -> None:
    pool.ask(request("x"), 20)
    seen: list[list[dict[str, Any]]] = []
    threads = []
    for _ in range(3):
        job = threading.Thread(
            target=lambda: seen.append(list(pool.stream(request("SLOW"), 20))), daemon=True
        )
        job.start()
        threads.append(job)
        time.sleep(0.1)
    with pytest.raises(Busy) as caught:
        pool.ask(request("x"), 20)
    assert caught.value.position == 3
    for job in threads:
        job.join(10)
    assert [steps[0].get("queued") for steps in seen] == [None, 1, 2]
    assert [step.get("queued") for step in seen[2]] == [2, 1, None]


def test_waiting_too_long_is_busy() -> None:
    pool = Pool("test", 1, [sys.executable, str(FAKE)], queue_limit=2, queue_seconds=0.2)
    try:
        pool.ask(request("x"), 20)
        hold = threading.Thread(target=lambda: pool.ask(request("SLOW SLOW"), 20), daemon=True)
        hold.start()
        time.sleep(0.1)
        with pytest.raises(Busy):
            pool.ask(request("x"), 20)
        hold.join(5)
    finally:
        pool.close()


def test_the_memory_of_a_process_tree_is_seen() -> None:
    import os

    assert tree_memory(os.getpid()) > 1 << 20
    assert tree_memory(2**30) == 0
