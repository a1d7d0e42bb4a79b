"""Cost of each place of the source, and savings: the summary before all detail."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.accesses import ForetoldTime
from compiler.protocol.kinds import Answer, Numbers, OfProgram, Operation, Span
from compiler.protocol.proofs import WayOut

CostKind = Literal[
    "copied", "fetched", "written", "allocated", "checked", "missed", "unknown", "built", "fused"
]


class Remedy(TypedDict):
    """A remedy."""

    says: str
    enable: NotRequired[list[str]]
    """passes and rules that are switched off and would help"""
    way_out: NotRequired[WayOut]
    """the source change, which has been tried"""


class SourceCost(TypedDict):
    """A cost of a place of the source, or (`built`, `fused`) a cost saved."""

    kind: CostKind
    src: list[Span]
    made: NotRequired[list[Span]]
    """where the array is made that is put there; empty where that is no part of it"""
    says: str
    """in a few words, with numbers"""
    formula: NotRequired[str]
    """the number as a formula; empty where it is none"""
    times: NotRequired[int]
    """how often the same is paid there; answers of older links have none of these three"""
    short: str
    """the same in short, beside the line of the source"""
    because: str
    """a sentence, or empty"""
    bytes: int
    """bytes copied or allocated beyond need, or saved, as far as known for these sizes"""
    pane: Literal["proof", "warps", "bounds", "remarks"]
    """the pane of the page with details"""
    attempt: int | None
    """the number of the attempt concerned"""
    rule: str
    """the rule that decided it, or empty"""
    fix: Remedy | None


class EntryTime(ForetoldTime):
    """The predicted time of an entry point on the device with measurements."""

    entry: str
    how_far: str
    """the error of such predictions, in words"""
    unsure: str
    """why this one may be far off; empty if no reason is known"""


class CostsAnswer(Answer):
    """Costs, worst first, then what was saved, most first."""

    costs: list[SourceCost]
    sizes: dict[str, int]
    """of the entry points' arguments, by the author's names, for which the numbers hold"""
    foretold: NotRequired[list[EntryTime]]
    """by entry point, for these sizes; answers of older links have none"""
    unknown: list[str]
    """facts of the program that are unknown, in sentences"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsRequest(OfProgram):
    """List the costs of each place of the source: copies, GPU sectors, checks; worst first."""

    sizes: Numbers = field(default_factory=dict)
    """of arguments, by the author's names; others have 100, whole numbers 10"""


COSTS = Operation(
    "costs",
    CostsRequest,
    CostsAnswer,
    {"sizes": {"n": 100}},
    answered_in="compiler.driver.source_costs",
)
