"""Listings: other compilers' output for the texts of back ends."""

from __future__ import annotations

from typing import TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, OfProgram, Operation
from compiler.protocol.programs import Stage, StageInfo


class KernelUse(TypedDict):
    """A kernel's use of a device's resources, per thread or per block of threads."""

    kernel: str
    instructions: int
    registers: int
    spilled: int
    """bytes per thread spilled to memory for lack of registers"""
    shared: int
    """bytes of shared memory"""
    blocks: int
    """of threads that fit on a multiprocessor at once"""
    occupancy: float
    """the part of its warps that are resident"""


class ListingAnswer(Answer):
    """A listing."""

    info: StageInfo
    stage: Stage
    """its lines, with the places in the program; `ms` is the time of the other compilers"""
    kernels: list[KernelUse]
    """where it is machine code for a device"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingRequest(OfProgram):
    """Return another compiler's output for a target's text: assembly, PTX, SASS. Nothing is run."""

    listing: str
    """its id in the manifest"""


LISTING = Operation(
    "listing",
    ListingRequest,
    ListingAnswer,
    {"listing": "asm"},
    limit="run",
    runs=True,
    batched=False,
    answered_in="compiler.driver.explanations",
)
