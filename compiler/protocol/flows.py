"""The values of every statement of a stage, step by step, on a small input."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, Operation
from compiler.protocol.runs import OnInputs


class FlowValue(TypedDict):
    """The value bound to a name."""

    name: str
    text: str
    block: NotRequired[int]
    """the number of the block that the array lies in, one of `blocks`"""
    at: NotRequired[list[int]]
    """the cells of its elements, in row-major order"""


class FlowStep(TypedDict):
    """A statement that has been executed."""

    node: int
    """its number in the stage's text"""
    values: list[FlowValue]
    cells: NotRequired[list[list[str]]]
    """the contents of the blocks of `values` after it, in that order; the first cells of a large \
one"""


class FlowAnswer(Answer):
    """The steps of a run in order, each execution inside loops and operators included."""

    heap: bool
    """true if arrays are cells of blocks, as from the first stage with memory on"""
    steps: list[FlowStep]
    blocks: list[str]
    """names of blocks, by number"""
    note: str
    """why these are not all steps, or empty"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRequest(OnInputs):
    """Run an entry point by the interpreter of a stage; record the values of all statements."""

    stage: str = ""
    """one of kind `ir`; empty: `soa`"""


FLOW = Operation(
    "flow",
    FlowRequest,
    FlowAnswer,
    {"sizes": {"n": 4, "k": 2}, "stage": "funmem"},
    limit="run",
    runs=True,
    batched=False,
    answered_in="compiler.driver.flows",
)
