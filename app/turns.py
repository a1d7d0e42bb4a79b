"""Whose turn it is: a bounded queue that is fair to clients and to addresses.

A client has few jobs at a time, running and waiting. Of the others, short jobs go before long ones
(a long one that has waited for PATIENCE seconds counts as short), then comes the address that was
served longest ago, then its client that was. Where the queue is full, the address with the most
waiting jobs loses its last one to an address with fewer: a client that makes itself many tokens has
the whole queue while nobody else wants it, and can never shut anyone out.

Nothing here waits or locks; `pool.py` does, and calls these methods under its lock.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

PATIENCE = 2.0
"""Seconds after which a long job that waits goes before short ones that came later."""
REMEMBERED = 10_000
"""Clients and addresses of which it is known when they were served last."""


class Busy(Exception):
    """There is no room, or the wait was too long; `position` is the place in the queue."""

    def __init__(self, position: int) -> None:
        super().__init__(f"position {position}")
        self.position = position


class TooMany(Exception):
    """The client has as many jobs here as one client may have."""


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks for a job: a key as `clients.client_key` makes it, and whether it is still there."""

    key: str = "-"
    gone: Callable[[], bool] = lambda: False

    @property
    def address(self) -> str:
        """The part of the key that cannot be made up."""
        return self.key.partition(" ")[0]


ANYONE = Client()


@dataclass(eq=False, slots=True)
class Ticket:
    """One job on its way: waiting, running or turned away."""

    client: Client
    short: bool
    number: int
    since: float
    refused: bool = False


class Turns:
    """The waiting and the running jobs of one pool."""

    def __init__(self, limit: int, running: int, waiting: int) -> None:
        self._limit = limit
        self._most_running = running
        self._most_waiting = waiting
        self._numbers = itertools.count(1)
        self._served: OrderedDict[str, int] = OrderedDict()
        self._running: Counter[str] = Counter()
        self.waiting: list[Ticket] = []

    def join(self, client: Client, short: bool) -> Ticket:
        """A place for a job. Raises TooMany or Busy."""
        mine = sum(one.client.key == client.key for one in self.waiting)
        if mine + self._running[client.key] >= self._most_waiting + self._most_running:
            raise TooMany
        if len(self.waiting) >= self._limit:
            self._make_room(client.address)
        ticket = Ticket(client, short, next(self._numbers), time.monotonic())
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
        """Whose turn it is, if a worker were free."""
        return min(filter(self._may_run, self.waiting), key=self._rank, default=None)

    def _may_run(self, ticket: Ticket) -> bool:
        return self._running[ticket.client.key] < self._most_running

    def _rank(self, ticket: Ticket) -> tuple[bool, int, int, int]:
        quick = ticket.short or time.monotonic() - ticket.since > PATIENCE
        client = ticket.client
        served = self._served.get(client.address, 0), self._served.get(client.key, 0)
        return not quick, *served, ticket.number

    def start(self, ticket: Ticket) -> None:
        """A waiting job gets a worker."""
        self.waiting.remove(ticket)
        self._running[ticket.client.key] += 1
        for name in (ticket.client.address, ticket.client.key):
            self._served[name] = next(self._numbers)
            self._served.move_to_end(name)
        while len(self._served) > REMEMBERED:
            self._served.popitem(last=False)

    def end(self, ticket: Ticket) -> None:
        """A job gives its worker back, or goes away while it waits."""
        if ticket in self.waiting:
            self.waiting.remove(ticket)
        elif not ticket.refused:
            self._running[ticket.client.key] -= 1
            if not self._running[ticket.client.key]:
                del self._running[ticket.client.key]

    def position(self, ticket: Ticket) -> int:
        """The place of a waiting job: those of clients that may start one go first."""
        order = sorted(self.waiting, key=lambda one: (not self._may_run(one), self._rank(one)))
        return order.index(ticket) + 1

    def others_wait(self, ticket: Ticket) -> bool:
        """Whether another client could use the worker that this job has."""
        mine = ticket.client.key
        return any(one.client.key != mine and self._may_run(one) for one in self.waiting)
