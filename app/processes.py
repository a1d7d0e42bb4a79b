"""What processes have used: memory, the processor, and how long they have waited for that.

All of it is read from `/proc`; where there is none it is nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple


def tree(pid: int) -> Iterator[Path]:
    """The folders in /proc of a process and its descendants; none where there is no /proc."""
    todo = [pid]
    while todo:
        folder = Path("/proc") / str(todo.pop())
        with contextlib.suppress(OSError, ValueError):
            for children in folder.glob("task/*/children"):
                todo += [int(child) for child in children.read_text().split()]
        yield folder


def memory(family: Iterable[Path]) -> int:
    """Resident bytes of processes; 0 where the system does not tell."""
    total = 0
    page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
    for folder in family:
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int((folder / "statm").read_text().split()[1]) * page
    return total


class ThreadTime(NamedTuple):
    """Seconds for which a thread has computed, and for which it has waited for a processor."""

    computed: float
    waited: float

    @classmethod
    def by(cls, thread: Path) -> ThreadTime:
        """What a thread has used so far. Raises OSError, ValueError or IndexError if it is gone."""
        try:
            computed, waited = (thread / "schedstat").read_text().split()[:2]
            return cls(int(computed) / 1e9, int(waited) / 1e9)
        except FileNotFoundError:  # a kernel that does not count this
            return cls(processor_seconds(thread), 0.0)


def processor_seconds(folder: Path) -> float:
    """What a process or a thread has computed so far."""
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Times:
    """What the threads of one job use, from look to look."""

    def __init__(self) -> None:
        self._first: dict[str, ThreadTime] = {}
        self._last: dict[str, ThreadTime] = {}
        self.waited = 0.0
        """Seconds for which the job has had no processor though it wanted one: at each look those
        of the thread that computed and waited most since the one before."""

    def look(self, family: Sequence[Path]) -> dict[int, float]:
        """Count on; what each thread that lives has computed for the job."""
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
