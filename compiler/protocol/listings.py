"""What other compilers make of the texts of back ends."""

from __future__ import annotations

from typing import TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, OfProgram, Operation
from compiler.protocol.programs import Stage, StageInfo


class KernelUse(TypedDict):
    """What a kernel takes of a device: of each thread, or of each block of threads."""

    kernel: str
    instructions: int
    registers: int
    spilled: int
    """bytes that a thread writes to memory because registers do not do"""
    shared: int
    """bytes of shared memory"""
    blocks: int
    """of threads that find room on a multiprocessor at once"""
    occupancy: float
    """what part of its warps they are"""


class ListingAnswer(Answer):
    """A listing."""

    info: StageInfo
    stage: Stage
    """its lines, with the places in the program; `ms` is what the other compilers took"""
    kernels: list[KernelUse]
    """where it is machine code for a device"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingRequest(OfProgram):
    """What another compiler makes of a target's text: assembly, PTX, SASS. Nothing is run."""

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
