"""Cost of memory accesses on a device: requests of warps, sectors, bank passes."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, Length, Operation, Own, Says, Span
from compiler.protocol.programs import Remark
from compiler.protocol.runs import OnInputs

AccessKind = Literal["reads", "writes", "both"]
Part = Annotated[list[int], Length(2)]
"""A range of a line: the index of its first character, from 0, and the one behind its last."""


class RequestCounts(TypedDict):
    """The cost of an access in all launches of its kernel."""

    requests: int
    """of warps: accesses that threads in the same iteration of all loops make at once"""
    lanes: int
    """threads that take part in them"""
    bytes: int
    """distinct ones in each request, added up"""
    sectors: int
    """of 32 bytes, fetched; 0 for shared memory"""
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
    """the first byte in the block of memory that each of the 32 lanes touches; -1 for an \
inactive one"""


class Underlined(TypedDict):
    """A line of a stage with its parts to underline."""

    stage: str
    line: int
    """from 1"""
    text: str
    at: list[Part]


class Stride(TypedDict):
    """The distance between cells of neighbouring lanes, except at the end of a row of indices."""

    elements: str
    """in the author's names"""
    factors: list[Part]
    """the factors in `cell` that cause it"""
    places: list[Underlined]
    """its places in the texts of GPU stages, if more is fetched than would do"""


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
    """true for memory that a block of threads shares"""
    size: int
    """of an element, in bytes"""
    says: str
    """average cost of a request, in words"""
    predicted: RequestCounts
    """from the index functions alone"""
    because: str
    """why a run may differ from that"""
    stride: NotRequired[Stride]
    """left out where it depends on data"""
    remarks: list[Remark]
    """reasons why accesses are coalesced, or are not"""
    samples: list[WarpRequest]
    """the first requests of the first warps, observed or else predicted"""
    seen: NotRequired[RequestCounts]
    """in the run that was observed"""
    agrees: NotRequired[bool]
    """true if both agree; a difference is a defect of this compiler"""
    partial: NotRequired[bool]
    """true if only the first requests of each block of threads were analysed"""


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
    """true if the text asks the C compiler to vectorise the loop; whether it does is not known"""
    elements: NotRequired[str]
    """distance in elements to the next iteration's cell, in the author's names; left out where \
that depends on data"""
    says: str
    touched: list[int]
    """the first bytes that 16 iterations touch, relative to the lowest; empty where not known"""


class Fault(TypedDict):
    """Undefined behaviour of a kernel, such as a race or an access out of bounds."""

    says: str
    line: int
    text: str
    src: list[Span]
    count: int
    block: int
    """the first one to do it"""
    thread: int


class ForetoldTime(TypedDict):
    """A predicted time on a device, from counts and the device's data sheet."""

    device: str
    ms: float
    bound: str
    """the bottleneck"""
    measured: bool
    """true if such predictions were compared with measurements on this device"""


class KernelRun(TypedDict):
    """A kernel of a run."""

    name: str
    launches: int
    blocks: int
    """of threads, in all launches"""
    requests: int
    """to global and shared memory"""
    barriers: NotRequired[int]
    """executed by blocks of threads, in all blocks, in the run that was observed"""
    foretold: NotRequired[list[ForetoldTime]]
    """of all launches; answers of older links have none"""


class Costs(TypedDict):
    """The cost of the accesses of a run; the most wasteful come first."""

    kernels: list[KernelRun]
    accesses: list[WarpAccess]
    faults: list[Fault]
    foretold: NotRequired[list[ForetoldTime]]
    """of the run, with the time that the host waits"""
    unsure: NotRequired[str]
    """why these times may be far off; empty if no reason is known"""
    how_far: NotRequired[str]
    """the error of such predictions on the measured device, in words"""


class AccessesAnswer(Answer, Costs):
    """The costs, and their subject."""

    loops: list[LoopAccess]
    """of the C program; those that touch most lines of 64 bytes come first"""
    sizes: dict[str, int]
    observed: bool
    because: str
    """why there was no run, or why it did not finish; empty if it did"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfWarps(OnInputs):
    """A request to count accesses."""

    as_costs: bool = False
    """sizes without a number are 100, whole numbers 10, as those of `costs`; else 64 and 8"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessesRequest(_OfWarps):
    """Predict the cost of each access of the CUDA program from the index functions alone.

    Nothing is run, so sizes may be as large as on a device.
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
    """Predict as `accesses` does, and observe a run on the processor, given a C++ compiler."""

    seconds: Annotated[float, Own(), Says("is a number of seconds")] = 5.0
    """of the run, at most; what was seen until then is reported"""


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
