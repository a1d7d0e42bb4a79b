"""What every statement of a stage gives, one step after the other, on a small input."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, Operation
from compiler.protocol.runs import OnInputs


class FlowValue(TypedDict):
    """What a name is bound to."""

    name: str
    text: str
    block: NotRequired[int]
    """the number of the block that the array lies in, one of `blocks`"""
    at: NotRequired[list[int]]
    """the cells of its elements, in row-major order"""


class FlowStep(TypedDict):
    """A statement that has been run."""

    node: int
    """its number, as lines of the stage's text have it"""
    values: list[FlowValue]
    cells: NotRequired[list[list[str]]]
    """what the blocks of `values` hold after it, in that order; of a large one the first cells"""


class FlowAnswer(Answer):
    """The steps of a run in order, those inside of loops and operators each time."""

    heap: bool
    """whether arrays are cells of blocks, as they are from the first stage with memory on"""
    steps: list[FlowStep]
    blocks: list[str]
    """names of blocks, by number"""
    note: str
    """why these are not all steps, or empty"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRequest(OnInputs):
    """Run an entry point by the interpreter of a stage, and tell what every statement gives."""

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
