"""What a program is compiled for, as a value: passes ask what it can do, and never which it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.prim import Prim

TILE_THREADS, TILE_BYTES = 256, 24 << 10
"""Threads of a block that go through an array tile by tile, and what they share of one.

A multiprocessor has room for eight such blocks at once.
"""
SHORT_SEGMENT = 512
"""Elements of a reduction or scan that the lanes of one warp take, 16 each: more have a block."""
PRIVATE_BYTES = 8 << 10
"""What a thread may have of its own in registers or on its stack: arrays of constant sizes.

A GPU sets stacks aside for all threads that it can run at once, which may be 270,000.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A machine that runs kernels. The defaults are those of a processor with a few cores.

    `title` names its text, `explain` says what that is, `machine` what runs it.
    `saturation`: points of a kernel that keep all of it busy. Below, inner parallelism is needed.
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
        """Whether threads work in blocks."""
        return self.most_threads > 0

    @property
    def in_step(self) -> bool:
        """Whether neighbouring threads run in step."""
        return self.warp > 1

    def answers_alike(self, answers: Mapping[str, Any]) -> bool:
        """Whether this target gives the answers that another one gave (`AskedTarget`)."""
        return all(getattr(self, name) == value for name, value in answers.items())


class AskedTarget(Target):
    """A target that notes what it is asked: each attribute that was read, with its value.

    A pass makes the same program for every target that answers alike.
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
