"""What places of the source cost, and what was saved there: the answer before all detail."""

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
    """What may help."""

    says: str
    enable: NotRequired[list[str]]
    """passes and rules that are switched off, and would see to it"""
    way_out: NotRequired[WayOut]
    """what to insert into the source, which has been tried"""


class SourceCost(TypedDict):
    """Something that is paid, or (`built`, `fused`) not paid, for a place of the source."""

    kind: CostKind
    src: list[Span]
    says: str
    """in a few words, with numbers"""
    short: str
    """the same beside the line of the source"""
    because: str
    """a sentence, or empty"""
    bytes: int
    """moved or taken more than needed, or saved, as far as it is counted for these sizes"""
    pane: Literal["proof", "warps", "bounds", "remarks"]
    """where the page tells more"""
    attempt: int | None
    """the number of the attempt that it is of"""
    rule: str
    """that decided it, or empty"""
    fix: Remedy | None


class EntryTime(ForetoldTime):
    """What a run of an entry point takes on the device whose times were compared with measured."""

    entry: str
    how_far: str
    """how far off such times are, in words"""
    unsure: str
    """why this one may be far off; empty if nothing is known to speak for that"""


class CostsAnswer(Answer):
    """Costs, worst first, then what was saved, most first."""

    costs: list[SourceCost]
    sizes: dict[str, int]
    """of the entry points' arguments, by the author's names: what the numbers are for"""
    foretold: NotRequired[list[EntryTime]]
    """by entry point, for these sizes; answers of older links have none"""
    unknown: list[str]
    """what is not known of the program, in sentences"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsRequest(OfProgram):
    """What each place of the source costs: copies, sectors of a GPU, checks; worst first."""

    sizes: Numbers = field(default_factory=dict)
    """of arguments, by the author's names; others have 100, whole numbers 10"""


COSTS = Operation(
    "costs",
    CostsRequest,
    CostsAnswer,
    {"sizes": {"n": 100}},
    answered_in="compiler.driver.source_costs",
)
