"""Whose turn it is: few jobs a client, turns, short before long, no address shut out."""

import pytest

from app import fair_queue
from app.fair_queue import Busy, Client, Ticket, TooMany, Turns

HOME, AWAY = "10.0.0.1", "10.0.0.66"


class Clock:
    """The time that the queue sees."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(fair_queue, "time", made)
    return made


def client(name: str, address: str = HOME) -> Client:
    return Client(f"{address} {name}")


def serve(queue: Turns, clock: Clock, seconds: float = 0.1, most: int = 100) -> list[str]:
    """The clients' names in the order in which one worker takes their jobs, all equally long."""
    order: list[str] = []
    while len(order) < most and (ticket := queue.next()) is not None:
        queue.start(ticket)
        order.append(ticket.client.key.split(" ")[-1])
        clock.now += seconds
        queue.end(ticket)
    return order


def test_a_client_has_one_running_and_two_waiting_jobs() -> None:
    queue = Turns(limit=10, running=1, waiting=2)
    first = queue.join(client("a"), 1)
    queue.start(first)
    queue.join(client("a"), 0)
    queue.join(client("a"), 1)
    with pytest.raises(TooMany):
        queue.join(client("a"), 1)
    assert queue.next() is None, "a second job would run beside the first"
    queue.join(client("b"), 1)
    queue.end(first)
    queue.join(client("a"), 1)


def test_a_job_that_was_given_up_leaves_room_for_the_next() -> None:
    """A page that goes on typing ends what it has asked: the server sees that later."""
    queue = Turns(limit=100, running=1, waiting=2)
    there = Client(f"{HOME} a")
    gone = Client(f"{HOME} a", lambda: True)
    queue.start(queue.join(gone, 1))
    queue.join(gone, 1)
    kept = [queue.join(there, 1) for _ in range(3)]
    with pytest.raises(TooMany):
        queue.join(there, 1)
    assert queue.next() is None, "one of them has not ended"
    for one in kept:
        queue.end(one)
    for _ in range(4):
        queue.join(gone, 1)
    with pytest.raises(TooMany):  # who only gives up has no end of places
        queue.join(there, 1)


def test_clients_take_turns(clock: Clock) -> None:
    queue = Turns(limit=10, running=1, waiting=3)
    for name in ("a", "a", "a", "b", "b", "c"):
        queue.join(client(name), 0.1)
    assert serve(queue, clock) == ["a", "b", "c", "a", "b", "a"]


def test_short_jobs_go_first(clock: Clock) -> None:
    queue = Turns(limit=10, running=1, waiting=3)
    for name, expected in (("large", 1.0), ("middle", 0.2), ("small", 0.02)):
        queue.join(client(name), expected)
    assert serve(queue, clock) == ["small", "middle", "large"]


def test_who_has_used_much_comes_last_until_that_is_forgotten(clock: Clock) -> None:
    queue = Turns(limit=10, running=1, waiting=2)
    queue.join(client("hog"), 0.1)
    assert serve(queue, clock, seconds=5.0) == ["hog"]
    queue.join(client("hog"), 0.02)
    queue.join(client("light"), 1.0)
    assert serve(queue, clock) == ["light", "hog"]
    clock.now += 10 * fair_queue.HALF_LIFE
    queue.join(client("hog"), 0.02)
    queue.join(client("light"), 1.0)
    assert serve(queue, clock) == ["hog", "light"]


def test_a_job_that_had_to_be_stopped_counts_more(clock: Clock) -> None:
    queue = Turns(limit=10, running=1, waiting=2)
    for name in ("honest", "hog"):
        ticket = queue.join(client(name, f"10.0.0.{len(name)}"), 0.1)
        queue.start(ticket)
        clock.now += 2.0
        queue.end(ticket, stopped=name == "hog")
    queue.join(client("hog", "10.0.0.3"), 0.1)
    queue.join(client("honest", "10.0.0.6"), 9.0)
    assert serve(queue, clock) == ["honest", "hog"]


def test_a_long_job_is_not_overtaken_for_ever(clock: Clock) -> None:
    queue = Turns(limit=100, running=1, waiting=2)
    queue.join(client("long"), 0.9)
    served: list[str] = []
    for number in range(100):  # a new client as soon as the worker is free
        queue.join(client(f"new{number}", f"10.0.1.{number}"), 0.05)
        served += serve(queue, clock, 0.1, most=1)
    assert 20 < served.index("long") < 60


def test_an_address_counts_as_thirty_clients_however_many_names_it_makes_up(clock: Clock) -> None:
    """Thirty pupils who always ask again, beside as many and many more made-up names."""
    for names in (30, 300):
        queue = Turns(limit=1000, running=1, waiting=1)
        for number in range(30):
            queue.join(client(f"pupil{number}"), 0.1)
        for number in range(names):
            queue.join(client(f"forged{number}", AWAY), 0.1)
        served: list[str] = []
        for number in range(2000):
            served += serve(queue, clock, most=1)
            pupil = served[-1].startswith("pupil")
            queue.join(client(served[-1]) if pupil else client(f"forged_{number}", AWAY), 0.1)
        forged = sum(name.startswith("forged") for name in served[500:])
        assert 0.4 < forged / 1500 < 0.6, names


def test_made_up_names_shut_nobody_out() -> None:
    queue = Turns(limit=4, running=1, waiting=2)
    forged = [queue.join(client(f"forged{k}", AWAY), 1) for k in range(4)]
    with pytest.raises(Busy) as caught:
        queue.join(client("forged4", AWAY), 1)
    assert caught.value.position == 5
    honest = queue.join(client("x", "10.0.0.1"), 1)
    assert [ticket.refused for ticket in forged] == [False, False, False, True]
    assert len(queue.waiting) == 4
    queue.join(client("y", "10.0.0.2"), 1)
    queue.join(client("z", "10.0.0.3"), 1)
    assert [ticket.refused for ticket in forged] == [False, True, True, True]
    with pytest.raises(Busy):
        queue.join(client("w", "10.0.0.4"), 1)
    assert not honest.refused


def test_a_class_behind_one_address_has_the_whole_queue(clock: Clock) -> None:
    queue = Turns(limit=30, running=1, waiting=2)
    for number in range(30):
        queue.join(client(f"pupil{number}"), 0.3)
    assert serve(queue, clock) == [f"pupil{number}" for number in range(30)]


def test_what_is_turned_away_or_leaves_is_counted_no_more() -> None:
    queue = Turns(limit=2, running=1, waiting=2)
    one = queue.join(client("a"), 1)
    two = queue.join(client("b"), 1)
    queue.join(client("x", AWAY), 1)
    assert two.refused
    queue.end(two)
    queue.end(one)
    assert [ticket.client.key for ticket in queue.waiting] == [f"{AWAY} x"]
    assert queue.next() is queue.waiting[0]


def test_only_who_could_use_the_worker_makes_others_hurry() -> None:
    queue = Turns(limit=10, running=1, waiting=2)
    mine: Ticket = queue.join(client("a"), 1)
    queue.start(mine)
    queue.join(client("a"), 1)
    assert not queue.others_wait(mine)
    other = queue.join(client("b"), 1)
    assert queue.others_wait(mine)
    queue.start(other)
    queue.join(client("b"), 1)
    assert not queue.others_wait(mine), "b has as many running jobs as it may"


def test_only_so_many_clients_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_queue, "REMEMBERED", 5)
    queue = Turns(limit=10, running=1, waiting=2)
    for number in range(40):
        ticket = queue.join(client(f"{number}", f"10.0.1.{number}"), 0)
        queue.start(ticket)
        queue.end(ticket)
    assert len(queue._used) == 5
    assert not queue._running
