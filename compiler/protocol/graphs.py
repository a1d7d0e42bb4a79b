"""Operations about programs as graphs: dataflow, and fusion."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, OfProgram, Operation, Span
from compiler.protocol.polynomials import Polynomial


class FlowNode(TypedDict):
    """A statement, an input of a body, or the results of a body."""

    label: str
    kind: str
    """of a statement, such as `map`, `segred` or `launch`; `given` or `results`"""
    names: list[str]
    """the names that it binds; in IMP and kernels also the blocks that it writes itself"""
    src: list[Span]
    bodies: NotRequired[list[int]]
    """in IMP and kernels: the numbers of its bodies"""
    kernel: NotRequired[str]
    """in a large program: the name by which the kernel's bodies can be requested"""


class FlowEdge(TypedDict):
    """An array, from producer to consumer; a block or scalar, from its last writer."""

    source: int
    """the number of a node"""
    target: int
    array: str
    base: str
    """the author's name for it"""
    bytes: NotRequired[Polynomial]
    """left out for scalars and for blocks of unknown size"""
    carried: NotRequired[bool]
    """true: from the previous iteration of a loop, or from another thread"""
    written: NotRequired[bool]
    """true: the target writes cells of the block, and reads none"""


class FlowBody(TypedDict):
    """The statements of a body, and their dataflow."""

    where: str
    src: list[Span]
    nodes: list[FlowNode]
    edges: list[FlowEdge]
    scalars: int
    """number of statements left out: they concern no array, or their results are unused"""


class FlowFunction(TypedDict):
    """The bodies of a function, outer ones first; in the core language those that the host runs."""

    name: str
    names: dict[str, str]
    """the author's names in sizes, by name"""
    bodies: list[FlowBody]


class DataflowAnswer(Answer):
    """A stage as a graph."""

    functions: list[FlowFunction]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowRequest(OfProgram):
    """Return the dataflow graph of a stage: arrays, blocks and scalars between statements."""

    stage: str = "flat"
    """of the core language, IMP or kernels; for a target's text: the one that it is printed from"""
    kernel: str = ""
    """in IMP and kernels: return only the bodies of the kernel with this name"""


DATAFLOW = Operation(
    "dataflow", DataflowRequest, DataflowAnswer, {}, answered_in="compiler.driver.explanations"
)


class FusionAttempt(TypedDict):
    """An attempt to fuse two operators."""

    rule: str
    kind: Literal["applied", "missed"]
    producer: list[str]
    """the names that it binds, or that the first of two neighbours binds"""
    reader: list[str]
    """the names that the consumer binds"""
    because: str
    hint: str


class FusionAnswer(Answer):
    """The graphs before and after fusion, and the attempts."""

    before: list[FlowFunction]
    after: list[FlowFunction]
    attempts: list[FusionAttempt]
    names: dict[str, str]
    """the author's names for bound names"""


@dataclass(frozen=True, slots=True)
class FusionRequest(OfProgram):
    """Return producers and consumers before and after fusion, with reasons for refusals."""


FUSION = Operation(
    "fusion", FusionRequest, FusionAnswer, {}, answered_in="compiler.driver.explanations"
)
