"""Operations about programs as graphs: what passes which array to what, and what was fused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from compiler.protocol.kinds import Answer, OfProgram, Operation, Span
from compiler.protocol.polynomials import Polynomial


class FlowNode(TypedDict):
    """A statement that takes or gives arrays; the arrays that a body is given, and its results."""

    label: str
    kind: str
    """of a statement, such as `map` or `segred`; `given` or `results`"""
    names: list[str]
    """what it binds"""
    src: list[Span]


class FlowEdge(TypedDict):
    """An array, from what makes it to what takes it."""

    source: int
    """the number of a node"""
    target: int
    array: str
    base: str
    """what its author called it"""
    bytes: Polynomial


class FlowBody(TypedDict):
    """The statements of a body, and the arrays that they hand on."""

    where: str
    src: list[Span]
    nodes: list[FlowNode]
    edges: list[FlowEdge]
    scalars: int
    """how many statements are left out, since they have to do with no array"""


class FlowFunction(TypedDict):
    """The bodies of a function that the host runs, outer ones first."""

    name: str
    names: dict[str, str]
    """what the author calls the names in sizes"""
    bodies: list[FlowBody]


class DataflowAnswer(Answer):
    """A stage as a graph."""

    functions: list[FlowFunction]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowRequest(OfProgram):
    """Which statement hands which array on to which, at a stage of the core language."""

    stage: str = "flat"


DATAFLOW = Operation(
    "dataflow", DataflowRequest, DataflowAnswer, {}, answered_in="compiler.explanations"
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


FUSION = Operation("fusion", FusionRequest, FusionAnswer, {}, answered_in="compiler.explanations")
