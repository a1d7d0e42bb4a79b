"""Warm worker processes behind a bounded, fair queue."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from app.fair_queue import ANYONE, Busy, Client, Ticket, TooMany, Turns
from app.single_flight import ClientGone, Flights
from app.worker import (
    COMMAND,
    AnswerTooLong,
    DeadlinePassed,
    MemoryExceeded,
    Watch,
    Worker,
    WorkerDied,
)
from compiler.sandbox.policies import Policy

LOG = logging.getLogger(__name__)
START_SECONDS = 30.0
STOP_SECONDS = 2.0
LOOK = 0.2
"""Seconds between a waiting job's checks of its client."""
SPARED = 2
"""Long jobs that do not count: others get an extra worker in their stead."""
MOST_STRETCHED = 3
"""Factor by which a job may outlast its deadline: waiting for a processor does not count, up to
that."""
TOLD_SECONDS = 240.0
"""Most seconds that a job waits whose client is told its place: less than an answer may take."""
GRACE = 1.0
"""Seconds that a job may go on without its client: finishing is cheaper than a new worker."""


STARTING = threading.Semaphore(os.cpu_count() or 1)
"""As many workers start at a time as there are processors."""

Request = dict[str, Any] | Callable[[], dict[str, Any]]
"""A worker's request, or a function that builds it."""


class Stopping(Exception):
    """The pool refuses new jobs, and ends its own."""


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Bounds of a pool. Memory in MB (0: any), times in seconds."""

    queue: int = 32
    """Waiting jobs."""
    queue_seconds: float = 20.0
    client_running: int = 1
    client_waiting: int = 2
    memory_mb: int = 0
    answer_mb: int = 0
    worker_jobs: int = 2000
    """Jobs after which a worker is replaced."""
    hurry_seconds: float = float("inf")
    """Deadline of a job while another client waits for a worker, without what it has waited for a
    processor."""


class Pool:
    """Workers, confined if there is a policy, scheduled by `app/fair_queue.py`.

    Turns are as `app/fair_queue.py` says.

    They run `size` jobs at a time, and up to SPARED long ones beside these.
    """

    def __init__(
        self,
        name: str,
        size: int,
        command: Sequence[str] = COMMAND,
        bounds: PoolLimits = PoolLimits(),
        policy: Policy | None = None,
        ready: Callable[[], None] | None = None,
        folder: str = "",
    ) -> None:
        """No worker is started before `ready` has returned; results are files in `folder`."""
        self.name = name
        self.size = size
        self.replaced = 0
        self.peers: Sequence[Pool] = (self,)
        """The pools of the same machine."""
        self.before: Sequence[Pool] = ()
        """Pools whose jobs come first: while any waits there, this one has a single job, beside
        those that have become long."""
        self._command = command
        self._bounds = bounds
        self._policy = policy
        self._ready = ready
        self._folder = folder
        self._turns = Turns(bounds.queue, bounds.client_running, bounds.client_waiting)
        self._changed = threading.Condition()
        self._flights = Flights()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._spared: set[Worker] = set()
        self._closed = False
        self._ended = False
        atexit.register(self.close)

    @property
    def waiting(self) -> int:
        """Return the number of waiting jobs."""
        return len(self._turns.waiting)

    @property
    def is_full(self) -> bool:
        """Return True if the next job would wait."""
        with self._changed:
            return self.busy >= self._room or bool(self._turns.waiting)

    @property
    def busy(self) -> int:
        """Return the number of workers that have a job or start."""
        return len(self._all) - len(self._idle)

    def pids(self) -> list[int]:
        """Return the worker processes."""
        with self._changed:
            return [pid for pid in (worker.pid for worker in self._all) if pid is not None]

    def has_others(self, client: Client) -> bool:
        """Return True if another client has a job, waiting or running."""
        with self._changed:
            return self._turns.has_others(client)

    def warm(self) -> None:
        """Start all workers, in the background."""
        for _ in range(self.size - len(self._all)):
            self._start_in_background()

    def close(self, grace: float = 0.0) -> None:
        """Refuse new jobs; stop every worker when it is idle, or after `grace` seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self.busy, grace)
            self._ended = True
            idle, self._idle = self._idle, []
            self._all.difference_update(idle)
            busy = list(self._all)
        for worker in idle:
            worker.stop()
        for worker in busy:
            worker.kill()
        with self._changed:  # who asked for their jobs stops them
            self._changed.wait_for(lambda: not self._all, STOP_SECONDS)

    def stream(
        self,
        request: Request,
        seconds: float,
        client: Client = ANYONE,
        expected: float = 0.0,
        same: str = "",
        followed: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Send a request and yield its answers: partial ones, and the last.

        While it waits, `{"queued": position}` comes before them, then `{"queued": 0}`.

        A long request may be put together (by a call) when there is a worker for it, so that those
        that wait are not held in memory. `expected` seconds help to find whose turn it is. A worker
        that did not finish is killed and replaced; of a request that is `followed`, or asks for a
        `stream`, no worker waits for who reads the answers, and clients whose request is the `same`
        share them.

        Raises Busy, TooMany, DeadlinePassed, MemoryExceeded, AnswerTooLong, WorkerDied, ClientGone,
        Stopping.
        """
        if callable(request) or not (followed or request.get("stream")):
            return self._answers(request, seconds, client, expected)
        return self._flights.stream(
            same, client, lambda client: self._answers(request, seconds, client, expected)
        )

    def ask(
        self, request: dict[str, Any], seconds: float, client: Client = ANYONE
    ) -> dict[str, Any]:
        """Return the last answer to a request, with the stages of the partial ones."""
        return collect(self.stream(request, seconds, client))

    def _answers(
        self, request: Request, seconds: float, client: Client, expected: float
    ) -> Iterator[dict[str, Any]]:
        with self._changed:
            if self._closed:
                raise Stopping
            ticket = self._turns.join(client, expected)
            self._changed.notify_all()
        worker: Worker | None = None
        finished = False
        try:
            for step in self._acquire(ticket):
                if isinstance(step, Worker):
                    worker = step
                else:
                    yield {"queued": step}
            assert worker is not None
            if not worker.alive:
                self._start(worker)
            if self._ended:
                raise Stopping
            worker.client = client.key
            finished = True  # should there be no request, the worker has done nothing
            asked = request() if callable(request) else request
            finished = False
            yield from worker.ask(asked, self._watch(ticket, worker, seconds))
            finished = True
        except WorkerDied:
            if self._closed:
                raise Stopping from None
            raise
        finally:
            if worker is not None:
                self._release(worker, finished)
            with self._changed:
                self._turns.end(ticket, stopped=not finished)
                self._changed.notify_all()

    def _watch(self, ticket: Ticket, worker: Worker, seconds: float) -> Watch:
        """Return a watch that stops a job at its deadline, or when its client has left."""
        gone_since = float("inf")

        def watch(elapsed: float, waited: float) -> bool:
            nonlocal gone_since
            hurry = self._bounds.hurry_seconds
            had = max(elapsed - waited, elapsed / MOST_STRETCHED)
            if had >= seconds:
                raise DeadlinePassed(seconds)
            if worker.long:
                self._spare(worker)
            if had >= hurry and self._others_wait(ticket, worker):
                raise DeadlinePassed(hurry, hurried=True)
            if ticket.client.gone():
                gone_since = min(gone_since, elapsed)
                if elapsed - gone_since >= GRACE:
                    raise ClientGone
            return any(pool.has_others(ticket.client) for pool in self.peers)

        return watch

    def _others_wait(self, ticket: Ticket, worker: Worker) -> bool:
        """Return True if another client could get this worker."""
        with self._changed:
            return worker not in self._spared and self._turns.others_wait(ticket)

    def _spare(self, worker: Worker) -> None:
        """Stop counting a job that has become long, up to SPARED of them."""
        with self._changed:
            if worker in self._spared or len(self._spared) >= SPARED:
                return
            self._spared.add(worker)
            self._changed.notify_all()
        self._start_in_background()

    @property
    def _room(self) -> int:
        """Return the number of workers that may have a job or start."""
        return self.size + len(self._spared)

    def _acquire(self, ticket: Ticket) -> Iterator[int | Worker]:
        """Yield the place in the queue whenever it changes, then 0, then a worker."""
        told = ticket.client.is_told
        until = ticket.since + (TOLD_SECONDS if told else self._bounds.queue_seconds)
        said = 0
        while True:
            with self._changed:
                if self._closed:
                    raise Stopping
                if ticket.refused:
                    raise Busy(self.waiting + 1)
                worker = self._take(ticket)
                if worker is not None:
                    break
                position = self._turns.position(ticket)
                left = until - time.monotonic()
                if left <= 0:
                    raise Busy(position)
                if position == said:
                    self._changed.wait(min(left, LOOK))
                    if ticket.client.gone():
                        raise ClientGone
                    continue
            said = position
            yield position
        if said:
            yield 0
        yield worker

    def _take(self, ticket: Ticket) -> Worker | None:
        """Return a worker, if it is this job's turn and one is free.

        Called with the lock held. It prefers the client's last worker, which may have its program
        cached; else the one that has been idle longest.
        """
        if self._turns.next() is not ticket or self.busy >= self._room:
            return None
        if self._turns.running > len(self._spared) and any(pool.waiting for pool in self.before):
            return None
        if self._idle:
            worker = next((w for w in self._idle if w.client == ticket.client.key), self._idle[0])
            self._idle.remove(worker)
        else:
            worker = self._new_worker()
        self._turns.start(ticket)
        self._changed.notify_all()
        return worker

    def _new_worker(self) -> Worker:
        bounds = self._bounds
        worker = Worker(
            self._command, bounds.memory_mb, bounds.answer_mb, self._policy, self._folder
        )
        self._all.add(worker)
        return worker

    def _release(self, worker: Worker, finished: bool) -> None:
        with self._changed:
            self._spared.discard(worker)
        if finished and worker.alive and worker.jobs < self._bounds.worker_jobs:
            with self._changed:
                if not self._closed:
                    self._idle.append(worker)
                    self._changed.notify_all()
                    return
        worker.stop()
        with self._changed:
            self._all.discard(worker)
            self.replaced += 1
            self._changed.notify_all()
        self._start_in_background()

    def _start_in_background(self) -> None:
        with self._changed:
            if self._closed or len(self._all) >= self._room:
                return
            worker = self._new_worker()
        threading.Thread(target=self._prepare, args=(worker,), daemon=True).start()

    def _prepare(self, worker: Worker) -> None:
        """Start a worker and make it idle."""
        with contextlib.suppress(WorkerDied):
            self._start(worker)
            with self._changed:
                if not self._closed:
                    self._idle.append(worker)
                    self._changed.notify_all()
                    return
        worker.stop()
        with self._changed:
            self._all.discard(worker)
            self._changed.notify_all()

    def _start(self, worker: Worker) -> None:
        """Start a worker. Raises WorkerDied where the machine has no room for one.

        Where many are to be started, the first are ready sooner if the rest wait.
        """
        try:
            with STARTING:
                if self._ready is not None:
                    self._ready()
                worker.start(START_SECONDS)
        except OSError as error:
            LOG.warning("a worker could not be started: %s", error)
            raise WorkerDied(None) from None


def collect(answers: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return the last of a stream of answers, with the stages of all."""
    stages: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for last in answers:
        if isinstance(last.get("stages"), dict):
            stages.update(last["stages"])
    return {**last, "stages": stages} if stages else last


__all__ = [
    "AnswerTooLong",
    "Busy",
    "Client",
    "ClientGone",
    "DeadlinePassed",
    "MemoryExceeded",
    "Pool",
    "PoolLimits",
    "Stopping",
    "TooMany",
    "WorkerDied",
    "collect",
]
