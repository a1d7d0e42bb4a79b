"""Profiles: the time of a run by place, or its memory traffic."""

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
    """the first one with a statement of exactly these places"""
    calls: int
    ms: float
    """of all calls"""


class LineSectors(TypedDict):
    """Sectors that the accesses of one place fetch from a device's memory."""

    src: list[Span]
    sectors: int
    """of 32 bytes"""


class ProfileCounts(TypedDict):
    """Counts, for targets that are not timed."""

    observed: bool
    """true: in a run of the kernels on the processor; false: predicted from index functions"""
    because: str
    """why there was no run, or why it did not finish; empty if it did"""
    faults: list[str]
    """undefined behaviour that was observed"""
    lines: list[LineSectors]
    """those that fetch most come first"""
    kernels: list[KernelRun]


class ProfileAnswer(Answer):
    """Times of the parts of a run, the slowest first; or counts without times."""

    ms: float
    """the whole run, inside the program"""
    rest_ms: float
    """time between the parts"""
    parts: list[ProfilePart]
    counts: NotRequired[ProfileCounts]
    """for a target whose kernels are not timed; there are no `parts` then"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequest(OnInputs):
    """Run an entry point in C, and measure its kernels, copies and allocations.

    CUDA kernels run on the processor under observation; the sectors that they fetch are counted.
    """

    backend: Target = "c"
    deadline: Annotated[float, Own(), Says("is a number of seconds")] = 60.0
    """in seconds"""
    seconds: Annotated[float, Own(), Says("is a number of seconds")] = 15.0
    """of an observed run, at most; what was seen until then is reported"""


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
