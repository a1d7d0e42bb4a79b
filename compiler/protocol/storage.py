"""Operations about memory: layout of arrays, lifetimes of blocks, code versions."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, Length, Numbers, OfProgram, Operation, Span
from compiler.protocol.polynomials import Cells, Polynomial


class ArrayInfo(TypedDict):
    """An array and its place."""

    name: str
    base: str
    """the author's name"""
    prim: str
    shape: list[Polynomial]
    block: str
    lmad: Cells
    symbols: list[str]
    """names that a picture needs values for"""
    src: list[Span]


class BlockInfo(TypedDict):
    """A block of memory."""

    name: str
    prim: str
    space: str
    count: Polynomial | None
    """elements; null where the block comes from outside"""
    bytes: Polynomial | None
    kind: Literal["parameter", "alloc", "carried"]
    src: list[Span]


class Width(TypedDict):
    """A dimension of a kernel's threads."""

    index: str
    bound: Polynomial


class KernelInfo(TypedDict):
    """A kernel."""

    name: str
    """of its first result"""
    kind: str
    level: str
    space: list[Width]
    src: list[Span]


class MemoryFunction(TypedDict):
    """A function with its memory."""

    name: str
    names: dict[str, str]
    """the author's name for each name below"""
    blocks: list[BlockInfo]
    arrays: list[ArrayInfo]
    kernels: list[KernelInfo]


class MemoryAnswer(Answer):
    """The layout of arrays."""

    functions: list[MemoryFunction]


class Cell(TypedDict):
    """An element and the cell of the block that holds it."""

    index: list[int]
    cell: int


class CellsAnswer(MemoryAnswer):
    """With `array`: the cell of each of its elements."""

    array: str
    block: str
    lmad: Cells
    """for these values"""
    shape: list[int]
    cells: list[Cell]
    first: int
    last: int
    complete: bool
    """true if these are all"""


class Touch(TypedDict):
    """Cells that a thread touches."""

    point: list[int]
    """the thread"""
    cells: list[int]


class ThreadAccess(TypedDict):
    """An access of a kernel to an array."""

    array: str
    block: str
    writes: bool
    cell: str
    points: list[Touch]
    complete: bool
    """true if these are all"""
    certain: bool
    """true if all of these are touched in every run"""
    because: str
    """why there are no points, or why some may not be touched"""


class ThreadsAnswer(MemoryAnswer):
    """With `kernel`: the cells that each thread touches."""

    kernel: str
    space: list[Width]
    accesses: list[ThreadAccess]


class BothAnswer(CellsAnswer, ThreadsAnswer):
    """With `array` and `kernel`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRequest(OfProgram):
    """Describe blocks and arrays; an array's cells, or a kernel's, for given sizes."""

    stage: str = "funmem"
    """one with memory"""
    array: str = ""
    """its name"""
    kernel: str = ""
    """the name of its first result"""
    values: Numbers | None = None
    """of the symbols"""


MEMORY = Operation(
    "memory",
    MemoryRequest,
    MemoryAnswer | CellsAnswer | ThreadsAnswer | BothAnswer,
    {"stage": "funmem"},
    answered_in="compiler.driver.explanations",
)


class LifePoint(TypedDict):
    """A statement."""

    label: str
    depth: int
    """of loops and branches"""
    src: list[Span]


class LifeBlock(TypedDict):
    """A block and the points where it is live."""

    name: str
    prim: str
    space: str
    kind: str
    bytes: Polynomial
    size: NotRequired[int]
    """in bytes, for the values"""
    at: int
    until: int
    per_point: bool
    """true if each thread of a kernel makes one"""
    src: list[Span]


class LifeArray(TypedDict):
    """An array and the points where it is live."""

    name: str
    base: str
    prim: str
    shape: list[Polynomial]
    lmad: Cells
    block: str
    blocks: list[str]
    """its block; several if it is in one of them"""
    first: int
    last: int
    src: list[Span]


class Peak(TypedDict):
    """The point where most memory is live."""

    bytes: int
    point: int


class LifeFunction(TypedDict):
    """A function's memory over its statements."""

    name: str
    names: dict[str, str]
    """the author's name for each name below"""
    points: list[LifePoint]
    blocks: list[LifeBlock]
    arrays: list[LifeArray]
    symbols: list[str]
    live: NotRequired[list[int]]
    """bytes at each point, for the values"""
    peak: NotRequired[Peak]


class LifetimesAnswer(Answer):
    """Lifetimes of blocks."""

    functions: list[LifeFunction]
    values: NotRequired[dict[str, int]]
    """of all symbols: names that were not given one get 100 as sizes of arguments, else 10"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifetimesRequest(OfProgram):
    """Return the lifetimes of blocks and arrays, and the bytes that are live."""

    stage: str = "funmem"
    """one with memory"""
    values: Numbers | None = None
    """of symbols; there are no bytes if it is left out"""


LIFETIMES = Operation(
    "lifetimes",
    LifetimesRequest,
    LifetimesAnswer,
    {"stage": "funmem", "values": {"n": 5}},
    answered_in="compiler.driver.explanations",
)


class Place(TypedDict):
    """A statement."""

    label: str
    src: list[Span]


Node = TypedDict(
    "Node",
    {
        "name": str,
        "base": str,
        "bytes": Polynomial,
        "prim": str,
        "space": str,
        "from": int,
        "until": int,
        "escapes": bool,
        "colour": int,
        "src": list[Span],
    },
)
"""A block with its lifetime."""


class Edge(TypedDict):
    """Two blocks that are live at the same time."""

    a: int
    b: int
    at: int
    """from this point"""
    until: int


class Colour(TypedDict):
    """Blocks that can share memory."""

    members: list[int]
    bytes: Polynomial
    """of their shared memory"""
    saved: Polynomial


class Interference(TypedDict):
    """The interference graph of the blocks of one body."""

    where: str
    src: list[Span]
    points: list[Place]
    nodes: list[Node]
    edges: list[Edge]
    colours: list[Colour]


class FunctionGraphs(TypedDict):
    """The bodies of a function that have several blocks."""

    name: str
    names: dict[str, str]
    """the author's name for each name in `bodies`"""
    bodies: list[Interference]


class InterferenceAnswer(Answer):
    """The interference graphs, with blocks that can share memory."""

    functions: list[FunctionGraphs]


@dataclass(frozen=True, slots=True, kw_only=True)
class InterferenceRequest(OfProgram):
    """Return which blocks are live at the same time, and which can share memory."""

    stage: str = "expanded"
    """one with memory"""


INTERFERENCE = Operation(
    "interference",
    InterferenceRequest,
    InterferenceAnswer,
    {},
    answered_in="compiler.driver.explanations",
)


Generation = Literal["structural", "composed", "single"]


class IndexForm(TypedDict):
    """An array's index function as one generation expresses it."""

    generation: Generation
    text: str
    """empty where the compiler has none: elements are computed on demand"""
    cell: str
    """of the element at the change's `index`"""
    copies: bool
    """true if the array has to be copied for it"""
    because: str
    """the reason, or the values that branches and loops return for it"""


class LayoutChange(TypedDict):
    """An array that is not row-major in a block of its own."""

    array: str
    does: str
    """such as `transpose`, `branches`, `result`"""
    index: str
    """of any element, such as `i, j`"""
    forms: list[IndexForm]
    in_memory: bool
    """true if stage `funmem` has it; if not, it is fused away"""
    tiles: str
    """the LMAD that the array's cells can be permuted to, so that they fill its block exactly \
once"""
    src: list[Span]


class IndexFunctions(TypedDict):
    """The changes of layout in a function."""

    name: str
    changes: list[LayoutChange]
    copies: dict[str, int]
    """number of copies that each generation needs"""


class IndexFunctionsAnswer(Answer):
    """Changes of layout by generation of index functions."""

    functions: list[IndexFunctions]


@dataclass(frozen=True, slots=True)
class IndexFunctionsRequest(OfProgram):
    """Express each change of layout in three generations of index functions."""


INDEX_FUNCTIONS = Operation(
    "index_functions",
    IndexFunctionsRequest,
    IndexFunctionsAnswer,
    {},
    answered_in="compiler.driver.explanations",
)


class TreeNode(TypedDict):
    """A node of a tuning tree; its kind decides its fields."""

    kind: Literal["branch", "kernel", "loop", "choice"]
    spans: list[Span]
    threshold: NotRequired[str]
    """for a branch, with what follows: the amount of parallelism compared with it"""
    amount: NotRequired[str]
    work: NotRequired[Polynomial]
    """the same as data"""
    default: NotRequired[int]
    """the threshold's value"""
    also: NotRequired[str]
    """a further condition"""
    condition: NotRequired[str]
    """for a choice"""
    times: NotRequired[str]
    """for a loop"""
    number: NotRequired[int]
    """for a kernel, with what follows"""
    operator: NotRequired[str]
    level: NotRequired[str]
    per_block: NotRequired[bool]
    space: NotRequired[list[Annotated[list[str], Length(2)]]]
    """index and bound"""
    points: NotRequired[str]
    """number of threads"""
    results: NotRequired[list[str]]
    loops: NotRequired[int]
    """sequential ones in each thread"""
    then: NotRequired[list[TreeNode]]
    orelse: NotRequired[list[TreeNode]]
    body: NotRequired[list[TreeNode]]


class Forest(TypedDict):
    """The tuning trees of a function."""

    function: str
    trees: list[TreeNode]


class TuningAnswer(Answer):
    """The code versions."""

    trees: list[Forest]


@dataclass(frozen=True, slots=True)
class TuningRequest(OfProgram):
    """Return the tree of code versions under their thresholds."""


TUNING = Operation(
    "tuning", TuningRequest, TuningAnswer, {}, answered_in="compiler.driver.explanations"
)


class Constructor(TypedDict):
    """A constructor of a sum type."""

    name: str
    tag: int
    holds: list[str]
    """for each slot, the value that this constructor keeps in it: its number and type; or empty, \
where the slot holds zeros"""
    src: list[Span]
    """its applications and matches"""


class SumInfo(TypedDict):
    """The layout of a sum type: an `i8` for the constructor's tag, then slots.

    In an array of such values each component is an array of its own.
    """

    type: str
    slots: list[str]
    """their types"""
    constructors: list[Constructor]
    """by their tags"""
    bytes: NotRequired[int]
    """of a value; left out where it holds arrays"""
    apart: NotRequired[int]
    """bytes of a value without slots shared by constructors"""


class SumsAnswer(Answer):
    """The sum types."""

    sums: list[SumInfo]


@dataclass(frozen=True, slots=True)
class SumsRequest(OfProgram):
    """List the sum types of the program's values: constructors, and the slots that they share."""


SUMS = Operation("sums", SumsRequest, SumsAnswer, {}, answered_in="compiler.driver.explanations")
