"""Trace the reads and writes of a run, with a race check (thesis 4.4.2, figure 4.9).

A cell that one thread of a kernel writes must not be touched by another. Threads run in order here,
so it is enough to keep each cell's first reader and last writer. Writes to computed indices and
histograms may write to one cell: the language defines the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field

from compiler.base.dataclass import dataclass
from compiler.base.errors import RuntimeError_
from compiler.base.names import Name, base_of
from compiler.base.spans import NOWHERE, Prov

Thread = tuple[int, ...]
"""A thread of a kernel: its index in the kernel's space."""

DETAIL = 4096
"""Accesses of a kernel that are kept for drawing, at most."""


@dataclass(frozen=True, slots=True)
class CellAccess:
    """An access of one thread to one cell."""

    thread: Thread
    block: str
    cell: int
    writes: bool


@dataclass(slots=True)
class KernelTrace:
    """The accesses of one run of a kernel, in order; `names` are the statement's results."""

    names: tuple[Name, ...]
    indices: tuple[Name, ...]
    accesses: list[CellAccess] = field(default_factory=list)
    complete: bool = True
    """False if there were more than `DETAIL` accesses."""


@dataclass(slots=True)
class Trace:
    """All accesses of a run: the cells per block (by name and number), and the kernels."""

    reads: dict[str, set[int]] = field(default_factory=dict)
    writes: dict[str, set[int]] = field(default_factory=dict)
    kernels: list[KernelTrace] = field(default_factory=list)
    allocated: int = 0
    """Bytes allocated, in total."""


class Race(RuntimeError_):
    """A data race: two threads of a kernel met in a cell."""

    cause = "race"

    def __init__(self, message: str, prov: Prov, cell: int) -> None:
        super().__init__(message, prov[0] if prov else NOWHERE)
        self.cell = cell


class RunningKernel:
    """A running kernel, with the readers and writers of cells so far."""

    __slots__ = ("prov", "readers", "record", "thread", "writers")

    def __init__(self, record: KernelTrace, prov: Prov) -> None:
        self.record = record
        self.prov = prov
        self.thread: Thread = ()
        self.readers: defaultdict[str, dict[int, Thread]] = defaultdict(dict)
        """By block and cell: the first reader; `writers` has the last writer."""
        self.writers: defaultdict[str, dict[int, tuple[Thread, bool]]] = defaultdict(dict)

    def read(self, block: str, cells: Sequence[int]) -> None:
        """Record a read by the current thread."""
        thread, readers, writers = self.thread, self.readers[block], self.writers[block]
        for cell in cells:
            writer = writers.get(cell)
            if writer is not None and writer[0] != thread:
                self._race(block, cell, writer[0], "writes", "reads")
            readers.setdefault(cell, thread)
        self._keep(block, cells, False)

    def write(self, block: str, cells: Sequence[int], meeting: bool) -> None:
        """Record a write; `meeting` allows concurrent writes to the same cell."""
        thread, readers, writers = self.thread, self.readers[block], self.writers[block]
        mine = thread, meeting
        for cell in cells:
            writer = writers.get(cell)
            if writer is not None and writer[0] != thread and not (meeting and writer[1]):
                self._race(block, cell, writer[0], "writes", "writes")
            reader = readers.get(cell)
            if reader is not None and reader != thread:
                self._race(block, cell, reader, "reads", "writes")
            writers[cell] = mine
        self._keep(block, cells, True)

    def _keep(self, block: str, cells: Sequence[int], writes: bool) -> None:
        room = DETAIL - len(self.record.accesses)
        for cell in cells[:room]:
            self.record.accesses.append(CellAccess(self.thread, block, cell, writes))
        if room < len(cells):
            self.record.complete = False

    def _race(self, block: str, cell: int, other: Thread, first: str, second: str) -> None:
        raise Race(
            f"Two threads meet: {self._text(other)} {first} cell {cell} of `{block}`, and "
            f"{self._text(self.thread)} {second} it.",
            self.prov,
            cell,
        )

    def _text(self, thread: Thread) -> str:
        pairs = zip(self.record.indices, thread, strict=False)
        return "(" + ", ".join(f"{base_of(name)} = {at}" for name, at in pairs) + ")"
