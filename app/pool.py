"""Warm worker processes and the bounded queue before them."""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from app.worker import COMMAND, DeadlinePassed, MemoryExceeded, Worker, WorkerDied

START_SECONDS = 30.0


class Busy(Exception):
    """The queue is full, or the wait was too long; `position` is the place in the queue."""

    def __init__(self, position: int) -> None:
        super().__init__(f"position {position}")
        self.position = position


class Pool:
    """At most `size` workers, first come first served."""

    def __init__(
        self,
        name: str,
        size: int,
        command: Sequence[str] = COMMAND,
        queue_limit: int = 32,
        queue_seconds: float = 20.0,
        memory_mb: int = 0,
        worker_jobs: int = 2000,
    ) -> None:
        self.name = name
        self.size = size
        self.replaced = 0
        self._command = command
        self._queue_limit = queue_limit
        self._queue_seconds = queue_seconds
        self._memory_mb = memory_mb
        self._worker_jobs = worker_jobs
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._closed = False
        atexit.register(self.close)

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._waiting)

    @property
    def busy(self) -> int:
        """How many workers have a job (or start)."""
        return len(self._all) - len(self._idle)

    def warm(self) -> None:
        """Start all workers, in the background."""
        for _ in range(self.size - len(self._all)):
            self._start_in_background()

    def close(self) -> None:
        """Stop every worker. No job is taken afterwards."""
        with self._changed:
            self._closed = True
            workers, self._all, self._idle = self._all, set(), []
            self._changed.notify_all()
        for worker in workers:
            worker.stop()

    def stream(
        self, request: dict[str, Any], seconds: float
    ) -> Generator[dict[str, Any], None, None]:
        """The answers to a request: `{"queued": position}` while it waits, partial ones, the last.

        Raises Busy, DeadlinePassed, MemoryExceeded, WorkerDied. A worker that did not finish
        (also because the reader went away) is killed and replaced.
        """
        worker: Worker | None = None
        for step in self._acquire():
            if isinstance(step, Worker):
                worker = step
            else:
                yield {"queued": step}
        assert worker is not None
        finished = False
        try:
            if not worker.alive:
                worker.start()
            yield from worker.ask(request, seconds)
            finished = True
        finally:
            self._release(worker, finished)

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The last answer to a request, with the stages of the partial ones in it."""
        return collect(self.stream(request, seconds))

    def _acquire(self) -> Iterator[int | Worker]:
        """Yield the place in the queue whenever it changes, then a worker."""
        ticket = object()
        until = time.monotonic() + self._queue_seconds
        with self._changed:
            if len(self._waiting) >= self._queue_limit:
                raise Busy(len(self._waiting) + 1)
            self._waiting.append(ticket)
        said = 0
        try:
            while True:
                with self._changed:
                    worker = self._take(ticket)
                    if worker is not None:
                        break
                    position = self._waiting.index(ticket) + 1
                    left = until - time.monotonic()
                    if left <= 0 or self._closed:
                        raise Busy(position)
                    if position == said:
                        self._changed.wait(min(left, 1.0))
                        continue
                said = position
                yield position
        finally:
            with self._changed:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                self._changed.notify_all()
        yield worker

    def _take(self, ticket: object) -> Worker | None:
        """A worker, if it is this ticket's turn and there is one. Called with the lock held."""
        if self._waiting[0] is not ticket or self._closed:
            return None
        if self._idle:
            self._waiting.popleft()
            return self._idle.pop()
        if len(self._all) < self.size:
            self._waiting.popleft()
            worker = Worker(self._command, self._memory_mb)
            self._all.add(worker)
            return worker
        return None

    def _release(self, worker: Worker, finished: bool) -> None:
        if finished and worker.alive and worker.jobs < self._worker_jobs:
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
            if self._closed or len(self._all) >= self.size:
                return
            worker = Worker(self._command, self._memory_mb)
            self._all.add(worker)
        threading.Thread(target=self._start, args=(worker,), daemon=True).start()

    def _start(self, worker: Worker) -> None:
        worker.start(warm_up=START_SECONDS)
        with self._changed:
            if not self._closed:
                self._idle.append(worker)
                self._changed.notify_all()
                return
        worker.stop()


def collect(answers: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """The last of a stream of answers, with the stages of all of them."""
    stages: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for last in answers:
        if isinstance(last.get("stages"), dict):
            stages.update(last["stages"])
    return {**last, "stages": stages} if stages else last


__all__ = ["Busy", "DeadlinePassed", "MemoryExceeded", "Pool", "WorkerDied", "collect"]
