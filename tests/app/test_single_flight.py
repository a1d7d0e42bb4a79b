"""Who asks for what somebody else is told already gets the same answers."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.fair_queue import Client, TooMany
from app.single_flight import ClientGone, Flights
from testing.waiting import until

PART, LAST = {"ok": True, "partial": True}, {"ok": True}
Made = list[Client]


def job(made: Made, go: threading.Event) -> Callable[[Client], Iterator[dict[str, Any]]]:
    """Tells a part; the rest when it may, unless its client leaves."""

    def start(client: Client) -> Iterator[dict[str, Any]]:
        made.append(client)
        yield dict(PART)
        while not go.wait(0.01):
            if client.gone():
                raise ClientGone
        yield dict(LAST)

    return start


def test_a_job_is_started_once_and_told_to_all() -> None:
    flights, made, go = Flights(), Made(), threading.Event()
    readers = [flights.stream("key", Client(f"c{n}"), job(made, go)) for n in range(3)]
    other = flights.stream("another", Client("other"), job(made, go))
    assert [next(one) for one in (*readers, other)] == [PART] * 4
    assert len(made) == 2
    go.set()
    assert [list(one) for one in (*readers, other)] == [[LAST]] * 4
    assert until(lambda: not len(flights))
    assert list(flights.stream("key", Client("late"), job(made, go))) == [PART, LAST]
    assert len(made) == 3


def test_it_goes_on_until_the_last_reader_has_left() -> None:
    flights, made, go = Flights(), Made(), threading.Event()
    gone = threading.Event()
    first = flights.stream("key", Client("a", gone.is_set), job(made, go))
    second = flights.stream("key", Client("b"), job(made, go))
    assert next(first) == next(second) == PART
    gone.set()
    first.close()
    go.wait(0.05)
    assert len(flights) == 1
    second.close()
    assert until(lambda: not len(flights)), "nobody reads any more"
    assert len(made) == 1


def test_a_slow_reader_holds_up_nobody() -> None:
    flights, made, go = Flights(), Made(), threading.Event()
    slow = flights.stream("key", Client("slow"), job(made, go))
    assert next(slow) == PART
    go.set()
    assert list(flights.stream("key", Client("b"), job(made, go))) == [PART, LAST]
    assert list(slow) == [LAST]


def test_what_is_refused_to_one_is_not_refused_to_others() -> None:
    flights, asked = Flights(), []
    meet = threading.Barrier(2)

    def start(client: Client) -> Iterator[dict[str, Any]]:
        asked.append(client.key)
        if client.key == "greedy":
            meet.wait(5)
            raise TooMany
        yield dict(LAST)

    def greedy() -> None:
        with pytest.raises(TooMany):
            list(flights.stream("key", Client("greedy"), start))
        told.append("refused")

    told: list[Any] = []
    thread = threading.Thread(target=greedy)
    thread.start()
    assert until(lambda: asked == ["greedy"])

    def honest() -> None:
        told.extend(flights.stream("key", Client("honest"), start))

    other = threading.Thread(target=honest)
    other.start()
    flight = flights._all["key"]
    assert until(lambda: len(flight._seats) == 2)
    meet.wait(5)
    thread.join(5)
    other.join(5)
    assert asked == ["greedy", "honest"]
    assert "refused" in told
    assert LAST in told


def test_jobs_without_a_key_are_their_own() -> None:
    flights, made, go = Flights(), Made(), threading.Event()
    go.set()
    for _ in range(2):
        assert list(flights.stream("", Client("a"), job(made, go))) == [PART, LAST]
    assert len(made) == 2
    assert not len(flights)
