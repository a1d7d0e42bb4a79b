"""Operations that execute the user's program, or make inputs for it."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal, NotRequired, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import (
    Answer,
    AtLeast,
    Numbers,
    OfProgram,
    Operation,
    Own,
    Says,
)
from compiler.protocol.programs import Runner, Traces

Distribution = Literal["uniform", "normal", "sorted", "equal", "borders"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnInputs(OfProgram):
    """A request about an entry point with inputs."""

    entry: str = ""
    """its name; empty: `main`, or the first one"""
    input: str | None = None
    """values in Futhark's notation, those of records and sums too (`language.md`)"""
    uploads: Annotated[list[str], Says("is a list of files")] = field(default_factory=list)
    """a value in the binary format for each byte 2 in `input`: a worker takes paths, a server \
the ids that `POST /api/uploads` gave"""
    sizes: Numbers | None = None
    """names of sizes and numbers: if `input` is left out, inputs are random with these"""
    seed: int = 1
    """of random inputs"""
    distribution: Distribution = "uniform"
    """of random inputs; `sorted`: uniform, each row in order; `equal`: all elements of an array \
are the same; `borders`: the least and largest numbers, 0, infinities and NaN"""


CopyKind = Literal["block", "transposition", "general"]


class Copies(TypedDict):
    """Copies of one kind."""

    kind: CopyKind
    """`block`: all cells are contiguous, in the same order; `transposition`: neighbours in one \
array are neighbours along another dimension of the other; by the sizes and strides of the \
run"""
    count: int
    bytes: int


class Ran(Answer):
    """The result of a run, as text."""

    output: str
    """a line for each result"""
    results: list[str]
    """their types, with sizes"""
    ms: float
    """the time inside the program, the best of up to three short runs"""
    times: NotRequired[list[float]]
    """of all runs in order, in milliseconds; not for the reference interpreter"""
    compile_ms: NotRequired[float]
    """the time of compiling, here and in the back end's compiler; about 0 if it was done before"""
    total_ms: float
    backend: Runner
    """the one that ran it"""
    stage: NotRequired[str]
    """of a run by the reference interpreter"""
    note: NotRequired[str]
    """why another back end than the requested one ran it; a warning for an edited stage"""
    traces: NotRequired[Traces]
    """for a program with `trace` or `break`: their values, by the reference interpreter"""
    peak_bytes: NotRequired[int]
    cores: NotRequired[int]
    copies: NotRequired[list[Copies]]
    """of arrays between kernels, not inside kernels; only C counts them"""


class RunAnswer(Ran):
    """The result of a run."""

    data: NotRequired[list[str | None]]
    """the results in Futhark's binary format and base64; null for those that are too large, or \
neither arrays nor scalars"""
    kept: NotRequired[str]
    """the key of the results, which a server keeps for a while: `GET \
/api/results/<kept>/<number>?part=0:10,::2`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest(OnInputs):
    """Run an entry point on one back end."""

    backend: Runner = "c"
    stage: str = ""
    """the stage that the reference interpreter `ref` runs; empty: `soa`"""
    deadline: Annotated[float, Own(), Says("is a number of seconds")] = 60.0
    """in seconds"""
    runs: Annotated[int, AtLeast(1), Says("is a number of runs, 1 to 100")] = 1
    """number of runs by the back end, in one process"""
    binary: Annotated[int | None, Own()] = None
    """return results in `data`, too, while they fit in so many bytes together"""
    kept: Annotated[str, Own()] = ""
    """the key under which a server keeps what is in `data`; the answer repeats it"""
    longest: Annotated[int | None, Own()] = None
    """about so many characters of `output` are shared by all results: a larger one shows the \
first elements of each dimension, and the number of those left out"""


RUN = Operation(
    "run",
    RunRequest,
    RunAnswer,
    {"sizes": {"n": 4, "k": 2}, "backend": "ref", "stage": "funmem"},
    limit="run",
    runs=True,
    cached=False,
    batched=False,
)


class EvalAnswer(Ran):
    """The value and type of an expression.

    No value for a function, or if only the type is wanted.
    """

    type: str
    """in the notation of the program's language; for an expression without one, its kind"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRequest(OfProgram):
    """Evaluate an expression over the definitions of a program, in the program's language.

    Its places are in the file `<expression>`.
    """

    expression: Annotated[str, Says("is an expression")]
    backend: Runner = "ref"
    typed: bool = False
    """return its type only"""
    deadline: Annotated[float, Own(), Says("is a number of seconds")] = 60.0
    """in seconds"""
    longest: Annotated[int | None, Own()] = None
    """as in `run`"""


EVAL = Operation(
    "eval",
    EvalRequest,
    EvalAnswer,
    {"expression": "main [1, 2, 3] 1"},
    limit="run",
    runs=True,
    cached=False,
    batched=False,
    answered_in="compiler.driver.expressions",
)


Outcome = Literal["valid", "invalid", "race", "unknown"]


class Verdict(TypedDict):
    """The verdict on a stage: valid if it means the same as the program."""

    valid: bool | None
    """null where the run took too long"""
    because: str
    verdict: NotRequired[Outcome]
    """for a stage with memory, whose heap is observed; so for all that follows"""
    allocated: NotRequired[int]
    """bytes"""
    reads: NotRequired[int]
    """cells"""
    writes: NotRequired[int]
    kernels: NotRequired[int]


class ValidityAnswer(Answer):
    """The verdicts on all stages."""

    stages: dict[str, Verdict]
    """for each stage up to `imp` that can be run: whether it agrees with `soa` on this input"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidityRequest(OnInputs):
    """Run every stage on one input and compare the results."""


VALIDITY = Operation(
    "validity",
    ValidityRequest,
    ValidityAnswer,
    {"sizes": {"n": 4, "k": 2}},
    limit="run",
    runs=True,
    batched=False,
    answered_in="compiler.driver.explanations",
)


class GenerateAnswer(Answer):
    """Random inputs."""

    input: str
    """as text, a line for each parameter"""
    sizes: dict[str, int]
    """of all names, also those that were not given"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest(OfProgram):
    """Make random inputs for an entry point, from sizes and a seed."""

    entry: str = ""
    """its name; empty: `main`, or the first one"""
    sizes: Numbers | None = None
    """by the author's names"""
    seed: int = 1
    distribution: Distribution = "uniform"
    longest: Annotated[int | None, Own()] = None
    """more characters are refused"""


GENERATE = Operation(
    "generate",
    GenerateRequest,
    GenerateAnswer,
    {"entry": "main", "sizes": {"n": 4, "k": 2}},
    limit="run",
)
