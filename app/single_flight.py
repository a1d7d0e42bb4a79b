"""Share running jobs: buffer answers, so that a slow reader delays nobody.

A client with the request of a running job gets the same answers: a class that opens one program has
it compiled once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from app.fair_queue import Busy, Client, TooMany
from compiler.protocol.kinds import Json

Start = Callable[[Client], Iterator[Json]]
"""Starts a job for a client, who may leave; yields its answers."""


class ClientGone(Exception):
    """The client has closed its connection before the answer."""


class Flights:
    """The running jobs, by request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[str, _Flight] = {}

    def __len__(self) -> int:
        return len(self._all)

    def stream(self, key: str, client: Client, start: Start) -> Iterator[Json]:
        """Yield the answers of `start`, or of a running job under this key (none: "").

        A reader that stops reading counts as gone. Raises errors of `start`; if it failed because
        another client has left, or had too many jobs, start anew.
        """
        while True:
            with self._lock:
                flight = self._all.get(key) if key else None
                own = flight is None
                if flight is None:
                    flight = _Flight(client)
                    if key:
                        self._all[key] = flight
                seat = flight.board(client)
            if own:
                work = (key, flight, start)
                threading.Thread(target=self._fly, args=work, daemon=True).start()
            begun = False
            try:
                for answer in flight.read():
                    begun = begun or "queued" not in answer
                    yield answer
                return
            except (Busy, TooMany, ClientGone):
                if own or begun or client.gone():
                    raise
            finally:
                flight.leave(seat)

    def _fly(self, key: str, flight: _Flight, start: Start) -> None:
        last: Json = {}
        try:
            for answer in start(replace(flight.client, gone=flight.deserted)):
                if answer.get("partial") or "queued" in answer:
                    flight.tell(answer)
                else:
                    last = answer
            failed = None
        except BaseException as error:
            failed = error
        with self._lock:
            if self._all.get(key) is flight:
                del self._all[key]
        flight.end(last, failed)  # now that the client may have another job


@dataclass(eq=False, slots=True)
class _Flight:
    """One job, and its readers."""

    client: Client
    """The client that asked first, which owns the job."""
    _told: list[Json] = field(default_factory=list)
    _failed: BaseException | None = None
    _ended: bool = False
    _seats: dict[object, Callable[[], bool]] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def board(self, client: Client) -> object:
        seat = object()
        with self._changed:
            self._seats[seat] = client.gone
        return seat

    def leave(self, seat: object) -> None:
        with self._changed:
            del self._seats[seat]

    def deserted(self) -> bool:
        """Return True if there are no readers."""
        with self._changed:
            seats = list(self._seats.values())
        return all(gone() for gone in seats)

    def tell(self, answer: Json) -> None:
        with self._changed:
            self._told.append(answer)
            self._changed.notify_all()

    def end(self, last: Json, failed: BaseException | None) -> None:
        with self._changed:
            if failed is None:
                self._told.append(last)
            self._failed, self._ended = failed, True
            self._changed.notify_all()

    def read(self) -> Iterator[Json]:
        """Yield all answers from the first on."""
        number = 0
        while True:
            with self._changed:
                while number == len(self._told) and not self._ended:
                    self._changed.wait()
                told, ended, failed = self._told[number:], self._ended, self._failed
            number += len(told)
            yield from told
            if ended and not told:
                if failed is not None:
                    raise failed
                return
