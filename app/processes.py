"""Measure what processes use: memory, CPU time, and time waiting for a processor.

All of it is read from `/proc`; without that folder every measure is 0 or empty.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple


def tree(pid: int) -> Iterator[Path]:
    """Yield the /proc folders of a process and its descendants, existing or not."""
    todo = [pid]
    while todo:
        folder = Path("/proc") / str(todo.pop())
        with contextlib.suppress(OSError, ValueError):
            for children in folder.glob("task/*/children"):
                todo += [int(child) for child in children.read_text().split()]
        yield folder


def memory(family: Iterable[Path]) -> int:
    """Return the resident bytes of processes; 0 where the system does not tell."""
    total = 0
    page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
    for folder in family:
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int((folder / "statm").read_text().split()[1]) * page
    return total


class ThreadTime(NamedTuple):
    """CPU seconds of a thread, and the seconds it was runnable and waited for a processor."""

    computed: float
    waited: float

    @classmethod
    def by(cls, thread: Path) -> ThreadTime:
        """Read the times of a thread. Raises OSError, ValueError or IndexError if it is gone."""
        try:
            computed, waited = (thread / "schedstat").read_text().split()[:2]
            return cls(int(computed) / 1e9, int(waited) / 1e9)
        except FileNotFoundError:  # a kernel that does not count this
            return cls(processor_seconds(thread), 0.0)


def processor_seconds(folder: Path) -> float:
    """Return the CPU seconds of a process or a thread so far."""
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Times:
    """The CPU times of one job's threads, sampled by `look`."""

    def __init__(self) -> None:
        self._first: dict[str, ThreadTime] = {}
        self._last: dict[str, ThreadTime] = {}
        self.waited = 0.0
        """Seconds that the job has waited for a processor: the sum over samples of those of the
        thread that computed and waited most since the previous sample."""

    def look(self, family: Sequence[Path]) -> dict[int, float]:
        """Take a sample; return the CPU seconds spent on the job, by id of the living thread."""
        now: dict[str, ThreadTime] = {}
        for thread in (thread for process in family for thread in process.glob("task/*")):
            with contextlib.suppress(OSError, ValueError, IndexError):
                now[thread.name] = ThreadTime.by(thread)
                self._first.setdefault(thread.name, now[thread.name])
        since = [_less(one, self._last.get(name, one)) for name, one in now.items()]
        self.waited += max(since, key=sum, default=ThreadTime(0.0, 0.0)).waited
        self._last = now
        return {int(name): one.computed - self._first[name].computed for name, one in now.items()}


def _less(one: ThreadTime, other: ThreadTime) -> ThreadTime:
    return ThreadTime(one.computed - other.computed, one.waited - other.waited)
