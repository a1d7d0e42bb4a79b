"""Where a run spends its time, or what it fetches."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.accesses import KernelRun
from compiler.protocol.kinds import Answer, Operation, Own, Says, Span, Target
from compiler.protocol.runs import OnInputs


class ProfilePart(TypedDict):
    """A kernel, a copy or an allocation of a run."""

    kind: Literal["kernel", "copy", "allocation"]
    name: str
    src: list[Span]
    stage: str
    """the first one that has something from exactly these places"""
    calls: int
    ms: float
    """of all calls"""


class LineSectors(TypedDict):
    """What the accesses of one place fetch from a device's memory."""

    src: list[Span]
    sectors: int
    """of 32 bytes"""


class ProfileCounts(TypedDict):
    """What was counted where nothing is timed."""

    observed: bool
    """in a run of the kernels on the processor; else predicted from index functions"""
    because: str
    """why there was no run, or why it did not come to its end; empty if it did"""
    faults: list[str]
    """what no program may do on a device"""
    lines: list[LineSectors]
    """those that fetch most come first"""
    kernels: list[KernelRun]


class ProfileAnswer(Answer):
    """What the parts of a run took, the slowest first; or what was counted, and no times."""

    ms: float
    """the whole run, inside of the program"""
    rest_ms: float
    """what was between the parts"""
    parts: list[ProfilePart]
    counts: NotRequired[ProfileCounts]
    """of a target whose kernels are not timed; there are no `parts` then"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequest(OnInputs):
    """Run an entry point in C, and measure its kernels, copies and allocations.

    Of CUDA the kernels run on the processor, each access watched, and what they fetch is counted.
    """

    backend: Target = "c"
    deadline: Annotated[float, Own(), Says("is a number of seconds")] = 60.0
    """in seconds"""
    seconds: Annotated[float, Own(), Says("is a number of seconds")] = 15.0
    """of a run that is watched, at most; what was seen up to then is told"""


PROFILE = Operation(
    "profile",
    ProfileRequest,
    ProfileAnswer,
    {"sizes": {"n": 4, "k": 2}},
    limit="run",
    runs=True,
    cached=False,
    batched=False,
    answered_in="compiler.driver.profile",
)
