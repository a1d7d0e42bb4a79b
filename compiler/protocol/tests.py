"""Operations about the tests that a program carries in its comments (`docs/testing.md`)."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import EXAMPLE, Answer, AtLeast, OfProgram, Operation, Own, Says, Span
from compiler.protocol.programs import Problem, Runner

TestKind = Literal["run", "refused", "warning", "structure", "property", "compiles"]
Outcome = Literal["passed", "failed", "unchecked", "skipped"]


class TestCase(TypedDict):
    """One test of a program."""

    number: int
    """from 0, in the order of the text"""
    kind: TestKind
    """`run`: an input and its results; `refused`: the compiler refuses the program; `warning`: \
it warns; `structure`: how many nodes of each kind a stage has; `property`: an entry point \
gives true for every input; `compiles`: a program without data compiles"""
    entry: str
    """the entry point that is run, or empty"""
    name: str
    """of the data set"""
    tags: list[str]
    src: Span
    """its beginning"""


class TestsAnswer(Answer):
    """The tests of a program."""

    tags: list[str]
    """of the program"""
    cases: list[TestCase]


@dataclass(frozen=True, slots=True)
class TestsRequest(OfProgram):
    """List the tests in a program's comments, in order; a malformed block is an error."""


TESTS = Operation(
    "tests",
    TestsRequest,
    TestsAnswer,
    {},
    limit="check",
    share=0.05,
    answered_in="compiler.testing.cases",
)


class Difference(TypedDict):
    """The first difference between results and expected ones."""

    says: str
    """a sentence"""
    value: NotRequired[int]
    """the number of the result, from 0"""
    at: NotRequired[list[int]]
    """the indices of the element"""
    expected: str
    found: str


class Tested(TypedDict):
    """The outcome of a test."""

    number: int
    outcome: Outcome
    """`unchecked`: it has an expectation that cannot be compared here; `skipped`: it is not \
meant for this back end, or lacks a file"""
    because: str
    """why it did not pass, or empty"""
    difference: NotRequired[Difference]
    error: NotRequired[Problem]
    """the error that ended it"""
    ms: NotRequired[float]
    """the time inside the program"""


class TestAnswer(Answer):
    """The outcome of a test."""

    tested: Tested


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRequest(OfProgram):
    """Run one of a program's tests."""

    case: Annotated[int, AtLeast(0), Says("is the number of a test")]
    """its number"""
    backend: Runner = "c"
    deadline: Annotated[float, Own(), Says("is a number of seconds")] = 60.0
    """of each run, in seconds"""


TEST = Operation(
    "test",
    TestRequest,
    TestAnswer,
    {"source": EXAMPLE + "-- ==\n-- input { [1, 2] 1i64 } output { [4, 5] }\n", "case": 0},
    limit="run",
    runs=True,
    cached=False,
    batched=False,
    answered_in="compiler.testing.cases",
)


class CaseTested(TestCase, Tested):
    """A test and its outcome."""


class ProgramTested(TypedDict):
    """The tests of one program."""

    file: str
    cases: list[CaseTested]
    error: NotRequired[Problem]
    """why its tests, or the program, could not be read"""


class TestReport(TypedDict):
    """The output of `stridescope test --json`."""

    ok: bool
    """true if nothing failed"""
    counts: dict[Outcome, int]
    programs: list[ProgramTested]
