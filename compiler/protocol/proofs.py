"""Operations about what is proved: of programs, and of LMADs alone."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import (
    Answer,
    Json,
    Length,
    Numbers,
    OfProgram,
    Operation,
    Request,
    Says,
    Span,
)
from compiler.protocol.polynomials import Cells, Polynomial, Sentence
from compiler.protocol.storage import Cell


class Product(TypedDict):
    """A product of facts."""

    coefficient: int
    factors: list[Polynomial]


class Need(TypedDict):
    """What is not negative, since it is a sum of products of facts."""

    claim: Polynomial
    scale: int
    """what the claim is multiplied by"""
    sum: list[Product]
    """products, all added; the last one may be a number above `-scale`: a whole number of which a
    multiple is above minus the factor is not negative"""


class Step(TypedDict):
    """A step of a proof that a sum is never 0."""

    rule: str
    says: Sentence
    offset: Polynomial
    dims: list[Annotated[list[Polynomial], Length(3)]]
    """stride, low, high"""
    needs: list[Need]
    parts: list[Step]


class Witness(TypedDict):
    """A cell that both sets hold."""

    values: dict[str, int]
    cell: int
    a: list[int]
    """the index in the first set"""
    b: list[int]


class Proved(TypedDict):
    """Whether two LMADs share a cell."""

    verdict: Literal["disjoint", "overlap", "unknown"]
    checked: bool
    """whether the checker, or a witness, confirms it"""
    witness: Witness | None
    reason: str
    missing: Polynomial | None
    """what would have to be not negative"""
    enough: list[Polynomial]
    """what, if not negative, implies it, without some of its names"""
    facts: list[Polynomial]
    """what is not negative"""
    steps: list[Step]


class Certificate(TypedDict):
    """Claims with their proofs, as `docs/certificates.md` says."""

    format: str
    version: int
    sha256: str
    claims: list[Json]


class ProveAnswer(Answer, Proved):
    """A verdict."""

    a: Cells
    """as it was read"""
    b: Cells
    ms: float
    certificate: NotRequired[Certificate]
    """if it was asked for; it holds no claim if none was proved"""


Assumptions = Annotated[Json | None, Says("is an object")]
Lmad = Annotated[str | Json, Says("is an LMAD, as text or as an object")]
"""in the notation of `docs/proving.md`, or as in an answer"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProveRequest(Request):
    """Whether two LMADs ever share a cell, under assumptions."""

    assumptions: Assumptions = None
    """in the notation of `docs/proving.md`"""
    a: Lmad
    b: Lmad
    certificate: bool = False


PAIR: Json = {"nonnegative": ["n"]}
PROVE = Operation(
    "prove",
    ProveRequest,
    ProveAnswer,
    {"assumptions": PAIR, "a": "{(n : 1)}", "b": "n + {(n : 1)}", "certificate": True},
    share=0.0,
    answered_in="compiler.driver.explanations",
)


class CellSet(TypedDict):
    """The cells of an LMAD for some values."""

    offset: int
    dims: list[Annotated[list[int], Length(2)]]
    """size and stride"""
    points: list[Cell]
    count: int
    complete: bool
    """whether these are all"""


class CellsOfLmadsAnswer(Answer):
    """The cells of several LMADs."""

    symbols: list[str]
    """names that need values"""
    values: dict[str, int]
    """proposed where none are given"""
    broken: list[Polynomial]
    """assumed to be not negative, and negative for these values"""
    lmads: list[CellSet]
    shared: list[int]
    """cells of the first two"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellsRequest(Request):
    """The cells of LMADs for values of their names."""

    assumptions: Assumptions = None
    """in the notation of `docs/proving.md`"""
    lmads: Annotated[list[Any], Says("is a list")]
    values: Numbers | None = None


CELLS = Operation(
    "cells",
    CellsRequest,
    CellsOfLmadsAnswer,
    {"lmads": ["{(n : 1)}", "n + {(n : 1)}"], "values": {"n": 3}},
    share=0.0,
    answered_in="compiler.driver.explanations",
)


class Origin(TypedDict):
    """Where a fact comes from, in a few words, and its places in the source."""

    why: str
    src: list[Span]


class Obligation(Proved):
    """Two accesses that must not meet."""

    write: Cells
    use: Cells
    why: str
    origins: list[Origin]
    """of each fact"""


class MemoryPlace(TypedDict):
    """Where an array lies; empty where that is not known."""

    block: NotRequired[str]
    lmad: NotRequired[Cells]


class Moved(MemoryPlace):
    """An array and where it lies now."""

    array: str


class Clash(TypedDict):
    """The inputs of a run that shows what would go wrong."""

    values: dict[str, int]
    input: str
    """all of them as text"""


class WayOut(TypedDict):
    """What to insert into the source so that an attempt succeeds."""

    line: int
    col: int
    text: str
    says: str


class Attempt(TypedDict):
    """An attempt to build an array in its place."""

    number: int
    """which remarks of it have, too"""
    names: dict[str, str]
    """what each name below is called by the program's author"""
    rule: str
    source: str
    destination: str
    src: list[Span]
    made: list[Span]
    """where the source is made"""
    done: bool
    condition: int
    """which one failed; 0: none"""
    title: str
    """of the condition"""
    refusal: str
    """its kind, by its id in the list of refusals, or empty"""
    because: str
    hint: str
    witness: Clash | None
    """what a run on small inputs has shown of a refusal"""
    way_out: WayOut | None
    place: MemoryPlace
    creation: str
    projected: MemoryPlace
    """the place of the array that is created"""
    moved: list[Moved]
    lifted: list[str]
    obligations: list[Obligation]
    copied: list[Polynomial]
    """bytes that are saved; of several, one of them"""
    allocated: list[Polynomial]


class AttemptsAnswer(Answer):
    """All attempts."""

    attempts: list[Attempt]


@dataclass(frozen=True, slots=True)
class AttemptsRequest(OfProgram):
    """Attempts to build arrays in their places, and what had to be proved."""


ATTEMPTS = Operation(
    "attempts", AttemptsRequest, AttemptsAnswer, {}, answered_in="compiler.driver.explanations"
)


class Claim(TypedDict):
    """What is proved of an access, and the facts that it rests on."""

    says: str
    facts: list[str]


AccessKind = Literal["index", "slice", "update"]
AccessState = Literal["dropped", "hoisted", "kept", "unused"]


class Access(TypedDict):
    """An index, slice or update, and what became of its check."""

    src: Span
    at: Span
    """what stands in brackets"""
    kind: AccessKind
    state: AccessState
    """`hoisted`: made once, before a loop or parallel operation; `unused`: nothing is made of it"""
    because: str
    claims: list[Claim]
    missing: list[str]
    """what is checked when the program runs"""


class BoundsAnswer(Answer):
    """The accesses, in order of the text."""

    accesses: list[Access]


@dataclass(frozen=True, slots=True)
class BoundsRequest(OfProgram):
    """What became of the check of each access to an array, and on what proof."""


BOUNDS = Operation(
    "bounds", BoundsRequest, BoundsAnswer, {}, answered_in="compiler.driver.explanations"
)


class CertificateAnswer(Answer):
    """What was proved."""

    certificate: Certificate


@dataclass(frozen=True, slots=True)
class CertificateRequest(OfProgram):
    """All that was proved of the program, for `stridescope verify`."""


CERTIFICATE = Operation(
    "certificate",
    CertificateRequest,
    CertificateAnswer,
    {},
    served=False,
    answered_in="compiler.driver.explanations",
)


class StridedSum(TypedDict):
    """A sum of strided intervals: an offset, and for each dimension what may be added."""

    offset: Polynomial
    intervals: list[Annotated[list[Polynomial], Length(3)]]
    """stride, low, high"""


class ProcedureStep(TypedDict):
    """A step of the thesis' procedure, with both sets after it."""

    rule: Literal["normalise", "match", "distribute", "split", "apart"]
    says: Sentence
    a: StridedSum
    b: StridedSum
    shown: list[Polynomial]
    """not negative, which the step rests on"""
    missing: list[Polynomial]
    """what could not be shown not to be negative"""
    failed: bool
    parts: list[list[ProcedureStep]]
    """the steps of each case that a split makes"""


class ByProcedure(TypedDict):
    """What the procedure comes to."""

    disjoint: bool
    because: Sentence
    """why not, of the step that failed"""
    steps: list[ProcedureStep]
    ms: float
    """of the processor, as the others"""


class ByProver(TypedDict):
    """What a prover comes to."""

    verdict: Literal["disjoint", "overlap", "unknown", "absent"]
    because: str
    """why it is not decided, or the cell that both hold"""
    ms: float


class NoOverlapAnswer(Answer):
    """One question, asked of three."""

    a: Cells
    """as it was read"""
    b: Cells
    thesis: ByProcedure
    ours: ByProver
    z3: ByProver


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOverlapRequest(Request):
    """The steps of the thesis' NOOVERLAP for two LMADs, beside this prover and Z3."""

    assumptions: Assumptions = None
    """in the notation of `docs/proving.md`"""
    a: Lmad
    b: Lmad


NO_OVERLAP = Operation(
    "no_overlap",
    NoOverlapRequest,
    NoOverlapAnswer,
    {"assumptions": PAIR, "a": "{(n : 1)}", "b": "n + {(n : 1)}"},
    share=0.0,
    answered_in="compiler.driver.three_ways",
)
