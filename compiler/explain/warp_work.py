"""The total work of a kernel's warps, from which its time is predicted."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
from compiler.codegen.stm_uses import cell_access
from compiler.explain.instructions import NONE, Instructions

KEPT = 64
"""Sectors of a block that the L1 cache keeps for a warp."""
WIDE = 16
"""Most bytes of a lane's request."""
TWICE = 2
"""An exchange reads the cell, and compares it when it writes."""

Numbers = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Traffic:
    """The requests of warps for a block of device memory."""

    requests: float = 0
    sectors: float = 0
    missed: float = 0
    """sectors that miss the warp's part of the L1 cache"""
    atomic: float = 0
    """of threads"""
    wide: float = 0
    """sectors of requests with WIDE bytes per lane"""


@dataclass(slots=True)
class Spent:
    """Instructions by unit, shared memory, traffic by block of memory."""

    instructions: Instructions = field(default_factory=NONE.copy)
    unsure: float = 0
    """instructions with an unknown execution count"""
    barriers: float = 0
    """of warps"""
    passes: float = 0
    """over the banks of shared memory"""
    atomics: float = 0
    """of threads, in shared memory"""
    traffic: dict[Name, Traffic] = field(default_factory=dict)

    def carry_out(self, stm: imp.Stm, takes: Instructions | None, warps: float, sure: bool) -> None:
        """Add the execution of a statement; `sure`: the count is exact."""
        if takes is not None:
            self.instructions += warps * takes
            if not sure:
                self.unsure += warps * float(takes.sum())
        if isinstance(stm, k.Barrier):
            self.barriers += warps

    def share(self, stm: imp.Stm, passes: float, lanes: float) -> None:
        """Add a request for cells of shared memory."""
        self.passes += passes
        if isinstance(stm, k.Atomic | k.Exchange):
            self.atomics += lanes

    def ask(
        self,
        stm: imp.Stm,
        block: Name,
        warps: float,
        lanes: float,
        sectors: float,
        missed: float,
        size: int,
    ) -> None:
        """Add a request for `size` bytes of device memory per lane, by so many warps."""
        traffic = self.traffic.get(block)
        if traffic is None:
            traffic = self.traffic[block] = Traffic()
        traffic.requests += warps
        traffic.sectors += sectors
        traffic.missed += missed
        traffic.wide += sectors if size >= WIDE else 0
        cells = cell_access(stm)
        if cells is None or cells.is_atomic:
            traffic.atomic += lanes * (TWICE if isinstance(stm, k.Exchange) else 1)


class FirstCache:
    """A model of the L1 cache: the recent sectors of each warp, by block of memory."""

    def __init__(self, warps: int) -> None:
        self._rows = np.arange(warps)[:, None]
        self._held: dict[Name, Numbers] = {}

    def missed(self, block: Name, ordered: Numbers, first: Mask) -> Numbers:
        """Count each warp's sectors that miss the cache, and add them."""
        held = self._held.get(block)
        if held is None:
            held = self._held[block] = np.full((len(ordered), KEPT), -1, np.int64)
        places = ordered % KEPT
        missed = first & (held[self._rows, places] != ordered)
        warps, lanes = np.nonzero(missed)
        held[warps, places[warps, lanes]] = ordered[warps, lanes]
        count: Numbers = missed.sum(axis=1)
        return count
