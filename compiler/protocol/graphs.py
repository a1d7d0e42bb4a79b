"""Operations about programs as graphs: what passes which array to what, and what was fused."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, OfProgram, Operation, Span
from compiler.protocol.polynomials import Polynomial


class FlowNode(TypedDict):
    """A statement; an array or block that a body is given; or its results."""

    label: str
    kind: str
    """of a statement, such as `map`, `segred` or `launch`; `given` or `results`"""
    names: list[str]
    """what it binds; in IMP and kernels also the blocks that it writes itself"""
    src: list[Span]
    bodies: NotRequired[list[int]]
    """in IMP and kernels: the numbers of the bodies that it has"""
    kernel: NotRequired[str]
    """in a large program: under this name the bodies of the kernel can be asked for"""


class FlowEdge(TypedDict):
    """An array, from what makes it to what takes it; a block or scalar, from its last writer."""

    source: int
    """the number of a node"""
    target: int
    array: str
    base: str
    """what its author called it"""
    bytes: NotRequired[Polynomial]
    """not of scalars, and not of blocks whose size is not known there"""
    carried: NotRequired[bool]
    """true: from the round before of a loop, or from another thread"""
    written: NotRequired[bool]
    """true: the target writes cells of the block, and reads none"""


class FlowBody(TypedDict):
    """The statements of a body, and what they hand on."""

    where: str
    src: list[Span]
    nodes: list[FlowNode]
    edges: list[FlowEdge]
    scalars: int
    """how many statements are left out: they have to do with no array, or hand nothing on"""


class FlowFunction(TypedDict):
    """The bodies of a function, outer ones first; in the core language those that the host runs."""

    name: str
    names: dict[str, str]
    """what the author calls the names in sizes"""
    bodies: list[FlowBody]


class DataflowAnswer(Answer):
    """A stage as a graph."""

    functions: list[FlowFunction]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowRequest(OfProgram):
    """Which statement hands which array, block or scalar on to which, at a stage."""

    stage: str = "flat"
    """of the core language, IMP or kernels; of a target's text: those that it is printed from"""
    kernel: str = ""
    """in IMP and kernels: the name of one, whose bodies are told and no others"""


DATAFLOW = Operation(
    "dataflow", DataflowRequest, DataflowAnswer, {}, answered_in="compiler.driver.explanations"
)


class FusionAttempt(TypedDict):
    """Two operators that were to become one."""

    rule: str
    kind: Literal["applied", "missed"]
    producer: list[str]
    """what it binds, or the first of two neighbours"""
    reader: list[str]
    """what that binds"""
    because: str
    hint: str


class FusionAnswer(Answer):
    """The graph before fusion and after it, and what was tried between them."""

    before: list[FlowFunction]
    after: list[FlowFunction]
    attempts: list[FusionAttempt]
    names: dict[str, str]
    """what the author calls what those bind"""


@dataclass(frozen=True, slots=True)
class FusionRequest(OfProgram):
    """Producers and consumers before fusion and after it, and why not where it was not done."""


FUSION = Operation(
    "fusion", FusionRequest, FusionAnswer, {}, answered_in="compiler.driver.explanations"
)
