"""Schedule jobs: a bounded queue that is fair to clients and to addresses.

A client has few jobs at a time, running and waiting. Abandoned ones do not count: one that it has
given up ends soon, and it may start the next meanwhile. Of the jobs that may start, the next is
that of the client with the least total: worker seconds used lately, plus those that the job is
expected to take, minus a part of the time that it has waited. So clients take turns, short jobs
overtake long ones but not for ever, and clients whose jobs had to be stopped come last.

Tokens cost nothing, so an address counts as well: as PAGES clients, such as a class behind one
address, or invented tokens. If the queue is full, the address with the most waiting jobs loses its
last one to an address with fewer: it may fill the queue while no other needs it, and never shuts
others out.

Nothing here waits or locks; `pool.py` does, and calls these methods under its lock.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

PAGES = 30
LEAST_SECONDS = 0.02
"""Worker seconds that a job counts at least."""
STOPPED = 10
"""Factor by which a stopped job counts more than a finished one."""
HALF_LIFE = 30.0
"""Seconds after which used time counts half."""
AGING, MOST_AGING = 0.25, 1.0
"""Worker seconds credited per second of waiting, and at most in total."""
GIVEN_UP = 2
"""Limit of a client's jobs including abandoned ones, as a multiple of the usual limit."""
REMEMBERED = 10_000
"""Clients and addresses whose usage is remembered."""


class Busy(Exception):
    """The queue is full, or the wait was too long; `position` is the place in the queue."""

    def __init__(self, position: int) -> None:
        super().__init__(f"position {position}")
        self.position = position


class TooMany(Exception):
    """The client has as many jobs as allowed."""


@dataclass(frozen=True, slots=True)
class Client:
    """The client of a job: a key from `clients.client_key`, and whether it is still there."""

    key: str = "-"
    gone: Callable[[], bool] = lambda: False
    is_told: bool = False
    """True if it is told its place in the queue, and so knows what it waits for."""

    @property
    def address(self) -> str:
        """Return the part of the key that cannot be made up."""
        return self.key.partition(" ")[0]


ANYONE = Client()


@dataclass(eq=False, slots=True)
class Ticket:
    """A job: waiting, running or turned away. Times by the monotonic clock."""

    client: Client
    expected: float
    """Expected seconds."""
    number: int
    since: float
    started: float = 0.0
    refused: bool = False


class Turns:
    """The waiting and the running jobs of one pool."""

    def __init__(self, limit: int, running: int, waiting: int) -> None:
        self._limit = limit
        self._most_running = running
        self._most_waiting = waiting
        self._numbers = itertools.count(1)
        self._used = Used()
        self._running: list[Ticket] = []
        self.waiting: list[Ticket] = []

    def join(self, client: Client, expected: float) -> Ticket:
        """Enter a job into the queue. Raises TooMany or Busy."""
        mine = [one for one in (*self.waiting, *self._running) if one.client.key == client.key]
        most = self._most_waiting + self._most_running
        if len(mine) >= most:
            wanted = sum(not one.client.gone() for one in mine)
            if wanted >= most or len(mine) >= GIVEN_UP * most:
                raise TooMany
        if len(self.waiting) >= self._limit:
            self._make_room(client.address)
        ticket = Ticket(client, expected, next(self._numbers), time.monotonic())
        self.waiting.append(ticket)
        return ticket

    def _make_room(self, address: str) -> None:
        """Turn away the last job of the address with the most, if that is fairer than refusing."""
        held = Counter(one.client.address for one in self.waiting)
        crowd, most = held.most_common(1)[0] if held else ("", 0)
        if most <= held[address] + 1:
            raise Busy(len(self.waiting) + 1)
        last = next(one for one in reversed(self.waiting) if one.client.address == crowd)
        last.refused = True
        self.waiting.remove(last)

    def next(self) -> Ticket | None:
        """Return the job that a free worker would get."""
        return min(filter(self._may_run, self.waiting), key=self._rank, default=None)

    def _may_run(self, ticket: Ticket) -> bool:
        mine = sum(one.client.key == ticket.client.key for one in self._running)
        return mine < self._most_running

    def _rank(self, ticket: Ticket) -> tuple[float, int]:
        now = time.monotonic()
        used = max(
            self._used.by(ticket.client.key, now),
            self._used.by(_all_of(ticket.client), now) / PAGES,
        )
        waited = min(MOST_AGING, AGING * (now - ticket.since))
        return used + ticket.expected - waited, ticket.number

    def start(self, ticket: Ticket) -> None:
        """Give a waiting job a worker."""
        self.waiting.remove(ticket)
        self._running.append(ticket)
        ticket.started = time.monotonic()

    def end(self, ticket: Ticket, stopped: bool = False) -> None:
        """End a job (`stopped`: it had to be), or remove it from the queue."""
        if ticket in self.waiting:
            self.waiting.remove(ticket)
        elif not ticket.refused:
            now, key = time.monotonic(), ticket.client.key
            self._running.remove(ticket)
            seconds = max(LEAST_SECONDS, now - ticket.started) * (STOPPED if stopped else 1)
            self._used.add(key, seconds, now)
            self._used.add(_all_of(ticket.client), seconds, now)

    def position(self, ticket: Ticket) -> int:
        """Return the place of a waiting job, after those of clients that may start one."""
        order = sorted(self.waiting, key=lambda one: (not self._may_run(one), self._rank(one)))
        return order.index(ticket) + 1

    @property
    def running(self) -> int:
        """Return the number of running jobs."""
        return len(self._running)

    def has_others(self, client: Client) -> bool:
        """Return True if another client has a job."""
        return any(one.client.key != client.key for one in (*self.waiting, *self._running))

    def others_wait(self, ticket: Ticket) -> bool:
        """Return True if another client could use the worker of this job."""
        mine = ticket.client.key
        return any(one.client.key != mine and self._may_run(one) for one in self.waiting)


def _all_of(client: Client) -> str:
    """Return the name of all clients of an address together; no client has it."""
    return f"{client.address} *"


class Used:
    """Worker seconds by name, halved every HALF_LIFE seconds."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def by(self, name: str, now: float) -> float:
        """Return the decayed seconds of a name at a time."""
        seconds, at = self._kept.get(name, (0.0, now))
        return float(seconds * 0.5 ** ((now - at) / HALF_LIFE))

    def add(self, name: str, seconds: float, now: float) -> None:
        """Add seconds to a name; the names untouched for longest are forgotten."""
        self._kept[name] = self.by(name, now) + seconds, now
        self._kept.move_to_end(name)
        while len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)
