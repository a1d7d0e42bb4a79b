"""Compilation targets as values: passes ask for capabilities, never for a target's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.prim import Prim

TILE_THREADS, TILE_BYTES = 256, 24 << 10
"""Threads of a block that tiles an array, and bytes of shared memory for the tile.

A multiprocessor has room for eight such blocks at once.
"""
SHORT_SEGMENT = 512
"""Elements of a reduction or scan done by one warp, 16 per lane; longer ones get a block."""
PRIVATE_BYTES = 8 << 10
"""Bytes of private arrays (of constant size) per thread, in registers or on its stack.

A GPU reserves stacks for all threads that it can run at once, up to 270,000.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A machine that runs kernels. The defaults are those of a processor with a few cores.

    `title` names its code, `explain` describes that, `machine` names the hardware.
    `saturation`: kernel points that keep it busy; below that, exploit inner parallelism.
    `warp`: threads that run in step, as lanes of one vector, so that neighbours should touch
    neighbouring cells; 1 where each thread has vector registers and a cache of its own.
    `most_threads`: threads of the largest block, which share memory and wait for each other; 0
    where there are no blocks.
    `threads`: threads of the blocks that are launched.
    `shared_bytes`: memory that the threads of a block share.
    `atomics`: operators that update a cell at once, by the cell's type.
    `allocates_in_kernels`: whether a thread can make a block whose size only it knows.
    """

    id: str = ""
    title: str = ""
    explain: str = ""
    machine: str = ""
    saturation: int = 32
    warp: int = 1
    most_threads: int = 0
    threads: int = 1
    shared_bytes: int = 0
    atomics: frozenset[tuple[str, Prim]] = frozenset()
    allocates_in_kernels: bool = True

    @property
    def has_blocks(self) -> bool:
        """Return True if threads work in blocks."""
        return self.most_threads > 0

    @property
    def in_step(self) -> bool:
        """Return True if neighbouring threads run in lockstep."""
        return self.warp > 1

    def answers_alike(self, answers: Mapping[str, Any]) -> bool:
        """Return True if the target gives the recorded answers of another one (`AskedTarget`)."""
        return all(getattr(self, name) == value for name, value in answers.items())


class AskedTarget(Target):
    """A target that records each attribute read, with its value.

    A pass makes the same program for every target with the same answers.
    """

    __slots__ = ("answers", "real")
    answers: dict[str, Any]

    def __init__(self, real: Target) -> None:
        object.__setattr__(self, "real", real)
        object.__setattr__(self, "answers", {})

    def __getattribute__(self, name: str) -> Any:
        answers = object.__getattribute__(self, "answers")
        if name == "answers":
            return answers
        value = answers[name] = getattr(object.__getattribute__(self, "real"), name)
        return value
