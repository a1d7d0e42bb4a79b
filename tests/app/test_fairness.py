"""What nine people see of a tenth whose programs never end, and of one who makes up names."""

import contextlib
import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from flask import Flask

from app.clients import TOKEN_HEADER
from app.context import EXTENSION, Parts
from app.fair_queue import Client
from testing.waiting import until
from tests.app.browsing import serving
from tests.app.conftest import MakeApp

OTHERS = 9
REQUESTS = 5


@pytest.fixture
def app(make_app: MakeApp) -> Iterator[Flask]:
    """Two workers; whoever waits is turned away after six seconds."""
    made = make_app(
        COMPILE_WORKERS=2,
        WARM=True,
        COMPILE_SECONDS=60.0,
        COMPILE_SECONDS_SHARED=1.0,
        QUEUE_SECONDS=6.0,
        QUEUE_LIMIT=32,
    )
    yield made
    parts: Parts = made.extensions[EXTENSION]
    parts.jobs.close()


def ask(app: Flask, page: str, source: str, address: str) -> int:
    """The status of a check."""
    answer = app.test_client().post(
        "/api/check",
        json={"source": source},
        headers={TOKEN_HEADER: page},
        environ_overrides={"REMOTE_ADDR": address},
    )
    return answer.status_code


def test_a_check_does_not_wait_for_those_who_compile(app: Flask) -> None:
    """Who asks for both is told first what is wrong, though all other workers are busy."""
    jobs = app.extensions[EXTENSION].jobs
    pool = jobs.compile_pool
    assert until(lambda: len(pool.pids()) == 2 and not pool.busy)

    def told(source: str) -> Iterator[Any]:
        body = {"source": source, "requests": [{"op": "show"}, {"op": "check"}]}
        return jobs.of(Client(f"10.0.0.1 {source}")).stream("batch", body)

    for number in range(2):
        hanging = partial(list, told(f"SLEEP {number}"))
        threading.Thread(target=hanging, daemon=True).start()
    assert until(lambda: pool.busy == 2)
    began = time.monotonic()
    first = next(told("entry main = WRONG"))
    assert first["request"] == 1
    assert first["answer"]["error"]["message"] == "Unknown name `WRONG`."
    assert pool.busy == 2
    assert time.monotonic() - began < 1.0, "after that those before it are stopped"


def test_a_page_with_too_many_jobs_is_told_so(app: Flask) -> None:
    page = "the-busy-one-00000"
    pool = app.extensions[EXTENSION].jobs.compile_pool
    assert until(lambda: len(pool.pids()) == 2 and not pool.busy)
    codes: list[int] = []
    threads = [
        threading.Thread(target=lambda k=k: codes.append(ask(app, page, f"SLOW {k}", "10.0.0.1")))
        for k in range(3)
    ]
    for number, thread in enumerate(threads):
        thread.start()
        assert until(lambda number=number: pool.busy + pool.waiting == number + 1)
    headers = {TOKEN_HEADER: page}
    client = app.test_client()
    refused = client.post(
        "/api/check",
        json={"source": "entry main = 1"},
        headers=headers,
        environ_overrides={"REMOTE_ADDR": "10.0.0.1"},
    )
    assert refused.status_code == 429
    error = refused.get_json()["error"]
    assert error["kind"] == "busy"
    assert "1 running, 2 waiting" in error["message"]
    for thread in threads:
        thread.join(20)
    assert codes == [200] * 3
    counted = 'stridescope_jobs_total{op="check",outcome="busy"} 1.0'
    assert counted in client.get("/metrics").get_data(as_text=True)


def test_who_is_stopped_for_others_is_told_so(app: Flask) -> None:
    pool = app.extensions[EXTENSION].jobs.compile_pool
    assert until(lambda: len(pool.pids()) == 2 and not pool.busy)
    stopped: list[Any] = []

    def endless(number: int) -> None:
        client = app.test_client()
        answer = client.post(
            "/api/check",
            json={"source": f"SLEEP {number}"},
            headers={TOKEN_HEADER: f"endless-number-{number:04}"},
        )
        stopped.append(answer)

    threads = [threading.Thread(target=endless, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    assert until(lambda: pool.busy == 2)
    assert ask(app, "somebody-else-0000", "entry main = 1", "10.0.0.1") == 200
    assert until(lambda: len(stopped) >= 1)
    assert stopped[0].status_code == 504
    error = stopped[0].get_json()["error"]
    assert "longer than 1 s" in error["message"]
    assert "others were waiting" in error["message"]
    assert "fewer people" in error["hint"]


def others(app: Flask) -> Counter[int]:
    """The statuses that nine people behind one address get, who ask again and again."""
    codes: Counter[int] = Counter()

    def work(person: int) -> None:
        for number in range(REQUESTS):
            source = f"entry main = {person} + {number}"
            codes[ask(app, f"person-number-{person:04}", source, "10.0.0.1")] += 1

    threads = [threading.Thread(target=work, args=(person,)) for person in range(OTHERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return codes


def test_nobody_is_turned_away_for_one_whose_programs_do_not_end(app: Flask) -> None:
    stop = threading.Event()

    def endless(number: int) -> None:
        count = 0
        while not stop.is_set():
            count += 1
            ask(app, "the-hostile-one-00", f"SLEEP {number} {count}", "10.0.0.66")
            time.sleep(0.05)

    for number in range(2):
        threading.Thread(target=endless, args=(number,), daemon=True).start()
    time.sleep(0.5)
    codes = others(app)
    stop.set()
    assert codes == {200: OTHERS * REQUESTS}


def test_nobody_is_turned_away_for_one_who_makes_up_names(app: Flask) -> None:
    stop = threading.Event()

    def endless(number: int) -> None:
        count = 0
        while not stop.is_set():
            count += 1
            ask(app, f"made-up-{number:04}-{count:08}", f"SLEEP {number} {count}", "10.0.0.66")
            time.sleep(0.05)

    for number in range(24):
        threading.Thread(target=endless, args=(number,), daemon=True).start()
    time.sleep(0.5)
    codes = others(app)
    stop.set()
    assert codes == {200: OTHERS * REQUESTS}


def test_a_class_of_scripts_behind_one_address_is_answered(make_app: MakeApp) -> None:
    """None sends a token: each is a client of its own by its connection."""
    scripts = 12
    together = threading.Barrier(scripts)

    def ask(address: str, number: int) -> int:
        port = int(address.rpartition(":")[2])
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
            together.wait()
            body = json.dumps({"source": f"SLOW {number}"})
            connection.request("POST", "/api/check", body, {"Content-Type": "application/json"})
            return connection.getresponse().status

    with serving(make_app(COMPILE_WORKERS=4)) as address, ThreadPoolExecutor(scripts) as threads:
        found = list(threads.map(partial(ask, address), range(scripts)))
    assert found == [200] * scripts
