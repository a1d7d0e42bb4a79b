"""Whose turn it is: few jobs a client, round robin, short before long, no address shut out."""

import pytest

from app import turns
from app.turns import Busy, Client, Ticket, TooMany, Turns


def client(name: str, address: str = "10.0.0.1") -> Client:
    return Client(f"{address} {name}")


def served(queue: Turns) -> list[str]:
    """The clients' names in the order in which they get a worker, one job at a time."""
    order = []
    while (ticket := queue.next()) is not None:
        queue.start(ticket)
        order.append(ticket.client.key.split(" ")[-1])
        queue.end(ticket)
    return order


def test_a_client_has_one_running_and_two_waiting_jobs() -> None:
    queue = Turns(limit=10, running=1, waiting=2)
    first = queue.join(client("a"), short=False)
    queue.start(first)
    queue.join(client("a"), short=True)
    queue.join(client("a"), short=False)
    with pytest.raises(TooMany):
        queue.join(client("a"), short=False)
    assert queue.next() is None, "a second job would run beside the first"
    queue.join(client("b"), short=False)
    queue.end(first)
    queue.join(client("a"), short=False)


def test_clients_take_turns_and_short_jobs_go_first() -> None:
    queue = Turns(limit=10, running=1, waiting=3)
    for name in ("a", "a", "a", "b", "b", "c"):
        queue.join(client(name), short=False)
    queue.join(client("quick"), short=True)
    assert served(queue) == ["quick", "a", "b", "c", "a", "b", "a"]


def test_a_long_job_is_not_overtaken_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Turns(limit=10, running=1, waiting=2)
    long = queue.join(client("long"), short=False)
    queue.join(client("quick"), short=True)
    assert queue.position(long) == 2
    monkeypatch.setattr(turns.time, "monotonic", lambda: long.since + turns.PATIENCE + 0.1)
    assert queue.next() is long
    assert queue.position(long) == 1


def test_addresses_take_turns_before_their_clients_do() -> None:
    queue = Turns(limit=20, running=1, waiting=2)
    for number in range(4):
        queue.join(client(f"forged{number}", "10.0.0.66"), short=False)
    queue.join(client("x", "10.0.0.1"), short=False)
    queue.join(client("y", "10.0.0.1"), short=False)
    assert served(queue) == ["forged0", "x", "forged1", "y", "forged2", "forged3"]


def test_made_up_tokens_shut_nobody_out() -> None:
    queue = Turns(limit=4, running=1, waiting=2)
    forged = [queue.join(client(f"forged{k}", "10.0.0.66"), short=False) for k in range(4)]
    with pytest.raises(Busy) as caught:
        queue.join(client("forged4", "10.0.0.66"), short=False)
    assert caught.value.position == 5
    honest = queue.join(client("x", "10.0.0.1"), short=False)
    assert [ticket.refused for ticket in forged] == [False, False, False, True]
    assert len(queue.waiting) == 4
    queue.join(client("y", "10.0.0.2"), short=False)
    queue.join(client("z", "10.0.0.3"), short=False)
    assert [ticket.refused for ticket in forged] == [False, True, True, True]
    with pytest.raises(Busy):
        queue.join(client("w", "10.0.0.4"), short=False)
    assert not honest.refused


def test_a_class_behind_one_address_has_the_whole_queue() -> None:
    queue = Turns(limit=30, running=1, waiting=2)
    for number in range(30):
        queue.join(client(f"pupil{number}"), short=False)
    assert served(queue) == [f"pupil{number}" for number in range(30)]


def test_what_is_turned_away_or_leaves_is_counted_no_more() -> None:
    queue = Turns(limit=2, running=1, waiting=2)
    one = queue.join(client("a"), short=False)
    two = queue.join(client("b"), short=False)
    queue.join(client("x", "10.0.0.9"), short=False)
    assert two.refused
    queue.end(two)
    queue.end(one)
    assert [ticket.client.key for ticket in queue.waiting] == ["10.0.0.9 x"]
    assert queue.next() is queue.waiting[0]


def test_only_who_could_use_the_worker_makes_others_hurry() -> None:
    queue = Turns(limit=10, running=1, waiting=2)
    mine: Ticket = queue.join(client("a"), short=False)
    queue.start(mine)
    queue.join(client("a"), short=False)
    assert not queue.others_wait(mine)
    other = queue.join(client("b"), short=False)
    assert queue.others_wait(mine)
    queue.start(other)
    queue.join(client("b"), short=False)
    assert not queue.others_wait(mine), "b has as many running jobs as it may"


def test_only_so_many_clients_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "REMEMBERED", 5)
    queue = Turns(limit=10, running=1, waiting=2)
    for number in range(40):
        ticket = queue.join(client(f"{number}", f"10.0.1.{number}"), short=True)
        queue.start(ticket)
        queue.end(ticket)
    assert len(queue._served) == 5
    assert not queue._running
