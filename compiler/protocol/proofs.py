"""Operations about proofs: of programs, and of LMADs alone."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import (
    Answer,
    AtLeast,
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
    """A value that is not negative, as a sum of products of facts."""

    claim: Polynomial
    scale: int
    """the factor of the claim"""
    sum: list[Product]
    """products, all added; the last one may be a number above `-scale`: a whole number whose
    product with the factor is above minus the factor is not negative"""


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
    """The verdict on whether two LMADs share a cell."""

    verdict: Literal["disjoint", "overlap", "unknown"]
    checked: bool
    """true if the checker, or a witness, confirms it"""
    witness: Witness | None
    reason: str
    missing: Polynomial | None
    """a value that would have to be not negative"""
    enough: list[Polynomial]
    """values that imply it if not negative, without some of its names"""
    facts: list[Polynomial]
    """values that are not negative"""
    steps: list[Step]


class Certificate(TypedDict):
    """Claims with their proofs, in the form of `docs/certificates.md`."""

    format: str
    version: int
    sha256: str
    claims: list[Json]


class ProveAnswer(Answer, Proved):
    """A verdict."""

    a: Cells
    """as it was parsed"""
    b: Cells
    ms: float
    certificate: NotRequired[Certificate]
    """if it was asked for; it holds no claim if none was proved"""


Assumptions = Annotated[Json | None, Says("is an object")]
Lmad = Annotated[str | Json, Says("is an LMAD, as text or as an object")]
"""in the notation of `docs/proving.md`, or as in an answer"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProveRequest(Request):
    """Decide whether two LMADs ever share a cell, under assumptions."""

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
    """true if these are all"""


class CellsOfLmadsAnswer(Answer):
    """The cells of several LMADs."""

    symbols: list[str]
    """names that need values"""
    values: dict[str, int]
    """the given ones, and proposals for the others"""
    broken: list[Polynomial]
    """assumptions of the form `x >= 0` that these values violate"""
    lmads: list[CellSet]
    shared: list[int]
    """cells of the first two"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellsRequest(Request):
    """List the cells of LMADs for values of their names."""

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
    """The source of a fact, in a few words, with its places."""

    why: str
    src: list[Span]


class PairPicture(TypedDict):
    """The cells of two accesses."""

    values: dict[str, int]
    """of the names"""
    sets: list[list[int]]
    """the cells of each"""
    strides: list[int]
    """of dimensions with several cells, ascending"""


class Obligation(Proved):
    """Two accesses that must be disjoint."""

    write: Cells
    use: Cells
    why: str
    origins: list[Origin]
    """for each fact"""
    picture: NotRequired[PairPicture]
    """if it was asked for and can be drawn"""


class MemoryPlace(TypedDict):
    """The place of an array in memory; empty where unknown."""

    block: NotRequired[str]
    lmad: NotRequired[Cells]


class Moved(MemoryPlace):
    """An array and its current place."""

    array: str


class Clash(TypedDict):
    """The inputs of a run that shows the conflict."""

    values: dict[str, int]
    input: str
    """all of them as text"""


class WayOut(TypedDict):
    """A source change that makes an attempt succeed."""

    line: int
    col: int
    text: str
    says: str


class Attempt(TypedDict):
    """An attempt to build an array in place."""

    number: int
    """the number that its remarks have too"""
    names: dict[str, str]
    """the author's name for each name below"""
    rule: str
    source: str
    destination: str
    src: list[Span]
    made: list[Span]
    """where the source array is made"""
    done: bool
    condition: int
    """the condition that failed; 0: none"""
    title: str
    """of the condition"""
    refusal: str
    """the kind of refusal, by its id in the list of refusals, or empty"""
    because: str
    hint: str
    witness: Clash | None
    """the conflict that a run on small inputs has shown for a refusal"""
    way_out: WayOut | None
    place: MemoryPlace
    creation: str
    projected: MemoryPlace
    """the place of the array that is created"""
    moved: list[Moved]
    lifted: list[str]
    obligations: list[Obligation]
    copied: list[Polynomial]
    """bytes that are saved; for several alternatives, one of them"""
    allocated: list[Polynomial]
    meant: NotRequired[dict[str, str]]
    """what the program calls the names in both; answers of older links have none"""


class AttemptsAnswer(Answer):
    """All attempts."""

    attempts: list[Attempt]


@dataclass(frozen=True, slots=True)
class AttemptsRequest(OfProgram):
    """List the attempts to build arrays in place, with their proof obligations."""

    pictures: Annotated[int, AtLeast(0), Says("is a number of pairs, 0 or more")] = 0
    """draw the cells of so many different pairs of accesses, and list equal ones once"""


ATTEMPTS = Operation(
    "attempts", AttemptsRequest, AttemptsAnswer, {}, answered_in="compiler.driver.explanations"
)


class Claim(TypedDict):
    """A proved property of an access, and the facts that it follows from."""

    says: str
    facts: list[str]


AccessKind = Literal["index", "slice", "update"]
AccessState = Literal["dropped", "hoisted", "kept", "unused"]


class Access(TypedDict):
    """An index, slice or update, and the fate of its bounds check."""

    src: Span
    at: Span
    """the place of the brackets"""
    kind: AccessKind
    state: AccessState
    """`hoisted`: made once, before a loop or parallel operation; `unused`: the access is dead \
code"""
    because: str
    claims: list[Claim]
    missing: list[str]
    """the conditions checked at run time"""


class BoundsAnswer(Answer):
    """The accesses, in order of the text."""

    accesses: list[Access]


@dataclass(frozen=True, slots=True)
class BoundsRequest(OfProgram):
    """List array accesses with the fate of each bounds check and its proof."""


BOUNDS = Operation(
    "bounds", BoundsRequest, BoundsAnswer, {}, answered_in="compiler.driver.explanations"
)


class CertificateAnswer(Answer):
    """The certificate of a program."""

    certificate: Certificate


@dataclass(frozen=True, slots=True)
class CertificateRequest(OfProgram):
    """Return all proofs about the program, for `stridescope verify`."""


CERTIFICATE = Operation(
    "certificate",
    CertificateRequest,
    CertificateAnswer,
    {},
    served=False,
    answered_in="compiler.driver.explanations",
)


class StridedSum(TypedDict):
    """A sum of strided intervals: an offset, and an interval for each dimension."""

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
    """values shown not to be negative, which the step needs"""
    missing: list[Polynomial]
    """values that could not be shown not to be negative"""
    failed: bool
    parts: list[list[ProcedureStep]]
    """the steps of each case of a split"""


class ByProcedure(TypedDict):
    """The verdict of the thesis' procedure."""

    disjoint: bool
    because: Sentence
    """the reason of the step that failed"""
    steps: list[ProcedureStep]
    ms: float
    """CPU time, as for the others"""


class ByProver(TypedDict):
    """The verdict of a prover."""

    verdict: Literal["disjoint", "overlap", "unknown", "absent"]
    because: str
    """why it is undecided, or the shared cell"""
    ms: float


class NoOverlapAnswer(Answer):
    """The verdicts of three procedures on one question."""

    a: Cells
    """as it was parsed"""
    b: Cells
    thesis: ByProcedure
    ours: ByProver
    z3: ByProver


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOverlapRequest(Request):
    """Trace the thesis' NOOVERLAP on two LMADs, beside this prover and Z3."""

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
