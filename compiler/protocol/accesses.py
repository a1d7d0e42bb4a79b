"""What accesses cost on a device: requests of warps, sectors, passes over banks."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, Length, Operation, Own, Says, Span
from compiler.protocol.programs import Remark
from compiler.protocol.runs import OnInputs

AccessKind = Literal["reads", "writes", "both"]
Part = Annotated[list[int], Length(2)]
"""Of a line: its first character, counted from 0, and the one behind its last."""


class RequestCounts(TypedDict):
    """What an access costs in all launches of its kernel."""

    requests: int
    """of warps: what the threads that are in the same iteration of all loops ask for at once"""
    lanes: int
    """threads that take part in them"""
    bytes: int
    """different ones in each request, added up"""
    sectors: int
    """of 32 bytes that are fetched; of shared memory none"""
    fewest: int
    """sectors that would do for as many bytes"""
    passes: int
    """over the banks of shared memory"""
    least: int
    """passes that would do"""


class WarpRequest(TypedDict):
    """One request of a warp."""

    warp: int
    step: int
    """the number of the request among those of the warp for this access, from 0"""
    lanes: list[int]
    """the first byte in the block of memory that each of the 32 lanes touches; -1 of one that \
rests"""


class Underlined(TypedDict):
    """Where a line of a stage has something."""

    stage: str
    line: int
    """from 1"""
    text: str
    at: list[Part]


class Stride(TypedDict):
    """How far apart the cells of neighbouring lanes are, but at the end of a row of indices."""

    elements: str
    """in the author's names"""
    factors: list[Part]
    """what makes that so in `cell`"""
    places: list[Underlined]
    """where it stands in the texts of stages for a GPU, if more is fetched than would do"""


class WarpAccess(TypedDict):
    """An access of a kernel."""

    kernel: str
    line: int
    """of stage `cuda`, from 1"""
    text: str
    src: list[Span]
    kind: AccessKind
    array: str
    """the block of memory"""
    cell: str
    """the number of the cell in it"""
    shared: bool
    """whether it is memory that a block of threads shares"""
    size: int
    """of an element, in bytes"""
    says: str
    """what a request costs on average, in words"""
    predicted: RequestCounts
    """from the index functions alone"""
    because: str
    """why a run may differ from that"""
    stride: NotRequired[Stride]
    """left out where it depends on data"""
    remarks: list[Remark]
    """what was done so that neighbours find their elements next to each other, or why not"""
    samples: list[WarpRequest]
    """the first requests of the first warps, as they were seen or else as predicted"""
    seen: NotRequired[RequestCounts]
    """in the run that was observed"""
    agrees: NotRequired[bool]
    """whether both say the same; a difference is a defect of this compiler"""
    partial: NotRequired[bool]
    """whether only the first requests of each block of threads were taken apart"""


class LoopAccess(TypedDict):
    """An access in a loop of stage `c`, which asks for cells one iteration after the other."""

    line: int
    """from 1"""
    text: str
    src: list[Span]
    kind: AccessKind
    array: str
    cell: str
    size: int
    """of an element, in bytes"""
    index: str
    """the variable of the innermost loop that it is in"""
    simd: bool
    """whether the text asks the C compiler for vector code there; what it makes is not known"""
    elements: NotRequired[str]
    """how many elements further on the next iteration's cell is, in the author's names; left out \
where that depends on data"""
    says: str
    touched: list[int]
    """the first bytes that 16 iterations touch, counted from the lowest; none where not known"""


class Fault(TypedDict):
    """What no program may do on a device."""

    says: str
    line: int
    text: str
    src: list[Span]
    count: int
    block: int
    """the first one to do it"""
    thread: int


class ForetoldTime(TypedDict):
    """A time on a device that is not at hand, told from counts and the device's data sheet."""

    device: str
    ms: float
    bound: str
    """what takes longest"""
    measured: bool
    """whether such times were compared with measured ones on this device"""


class KernelRun(TypedDict):
    """A kernel that runs."""

    name: str
    launches: int
    blocks: int
    """of threads, in all launches"""
    requests: int
    """to memory of the device and of blocks"""
    barriers: NotRequired[int]
    """that all threads of a block came to, in all blocks, in the run that was observed"""
    foretold: NotRequired[list[ForetoldTime]]
    """of all launches; answers of older links have none"""


class Costs(TypedDict):
    """What the accesses of a run cost; those that waste most come first."""

    kernels: list[KernelRun]
    accesses: list[WarpAccess]
    faults: list[Fault]
    foretold: NotRequired[list[ForetoldTime]]
    """of the run, with what the host waits for"""
    unsure: NotRequired[str]
    """why these times may be far off; empty if nothing is known to speak for that"""
    how_far: NotRequired[str]
    """how far off those of the device that was measured are, in words"""


class AccessesAnswer(Answer, Costs):
    """The costs, and of what."""

    loops: list[LoopAccess]
    """of the C program; those that touch most lines of 64 bytes come first"""
    sizes: dict[str, int]
    observed: bool
    because: str
    """why there was no run, or why it did not come to its end; empty if it did"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfWarps(OnInputs):
    """Whose accesses are counted."""

    as_costs: bool = False
    """sizes without a number are 100, whole numbers 10, as those of `costs`; else 64 and 8"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessesRequest(_OfWarps):
    """What each access of the CUDA program costs, from the index functions alone.

    Nothing is run, so that sizes may be as large as on a device.
    """


ACCESSES = Operation(
    "accesses",
    AccessesRequest,
    AccessesAnswer,
    {"sizes": {"n": 64}},
    answered_in="compiler.driver.explanations",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveRequest(_OfWarps):
    """As `accesses`, and what is seen in a run on the processor, where there is a C++ compiler."""

    seconds: Annotated[float, Own(), Says("is a number of seconds")] = 5.0
    """of the run, at most; what was seen up to then is told"""


OBSERVE = Operation(
    "observe",
    ObserveRequest,
    AccessesAnswer,
    {"sizes": {"n": 64}},
    limit="run",
    runs=True,
    cached=False,
    batched=False,
    answered_in="compiler.driver.explanations",
)
