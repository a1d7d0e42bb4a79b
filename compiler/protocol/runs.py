"""Operations that execute the user's program, or make inputs for it."""

from __future__ import annotations

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
    """A request about an entry point and inputs of it."""

    entry: str = ""
    """its name; empty: `main`, or the first one"""
    input: str | None = None
    """values in Futhark's notation, those of records and sums too (`language.md`)"""
    sizes: Numbers | None = None
    """names of sizes and numbers: where `input` is left out, inputs are random and have these"""
    seed: int = 1
    """of random inputs"""
    distribution: Distribution = "uniform"
    """of random inputs; `sorted`: uniform, each row in order; `equal`: all elements of an array \
are the same; `borders`: the least and largest numbers, 0, infinities and NaN"""


CopyKind = Literal["block", "transposition", "general"]


class Copies(TypedDict):
    """Copies of one kind."""

    kind: CopyKind
    """`block`: all cells lie together, in the same order; `transposition`: what are neighbours in \
the one are neighbours in the other along another dimension; by the sizes and strides of the run"""
    count: int
    bytes: int


class Ran(Answer):
    """What a run gave, as text."""

    output: str
    """a line for each result"""
    results: list[str]
    """their types, with sizes"""
    ms: float
    """the time inside of the program, the best of up to three short runs"""
    times: NotRequired[list[float]]
    """of all runs in order, in milliseconds; not of the reference interpreter"""
    compile_ms: NotRequired[float]
    """what compiling took, here and in the back end's compiler; about 0 if it was done before"""
    total_ms: float
    backend: Runner
    """which ran it in the end"""
    stage: NotRequired[str]
    """of a run by the reference interpreter"""
    note: NotRequired[str]
    """why it was another back end than the one asked for; what to know of a text written by hand"""
    traces: NotRequired[Traces]
    """of a program that has `trace` or `break`: their values, by the reference interpreter"""
    peak_bytes: NotRequired[int]
    cores: NotRequired[int]
    copies: NotRequired[list[Copies]]
    """of arrays between kernels, not of what kernels do themselves; only C counts them"""


class RunAnswer(Ran):
    """What a run gave."""

    data: NotRequired[list[str | None]]
    """the results in Futhark's binary format and base64; null for those that are too large, or no \
arrays or scalars"""
    kept: NotRequired[str]
    """a server has the results for a while: `GET /api/results/<kept>/<number>?part=0:10,::2`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest(OnInputs):
    """Run an entry point on one back end."""

    backend: Runner = "c"
    stage: str = ""
    """which one the reference interpreter `ref` runs; empty: `soa`"""
    deadline: Annotated[float, Own(), Says("is a number of seconds")] = 60.0
    """in seconds"""
    runs: Annotated[int, AtLeast(1), Says("is a number of runs, 1 to 100")] = 1
    """how often a back end runs it, in one process"""
    binary: Annotated[int | None, Own()] = None
    """results are in `data`, too, as far as they have so many bytes together"""
    longest: Annotated[int | None, Own()] = None
    """about so many characters of `output` are shared by all results: of a larger one the first \
elements of each dimension are shown, and the others are counted where they would stand"""


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
    """What an expression is; of a function, and where only the type is asked for, no value."""

    type: str
    """in the notation of the program's language; of what has none, what it is"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRequest(OfProgram):
    """Evaluate an expression over the definitions of a program, in the language of the program.

    Places in it are in the file `<expression>`.
    """

    expression: Annotated[str, Says("is an expression")]
    backend: Runner = "ref"
    typed: bool = False
    """tell its type only"""
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
    """Whether a stage means what the program means."""

    valid: bool | None
    """null where the run took too long"""
    because: str
    verdict: NotRequired[Outcome]
    """of a stage with memory, whose heap is watched; so with all that follows"""
    allocated: NotRequired[int]
    """bytes"""
    reads: NotRequired[int]
    """cells"""
    writes: NotRequired[int]
    kernels: NotRequired[int]


class ValidityAnswer(Answer):
    """Whether the stages agree."""

    stages: dict[str, Verdict]
    """for each up to `imp` that can be run whether it agrees with `soa` on this input"""


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
    """of all names, those that were not given too"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest(OfProgram):
    """Inputs for an entry point, from sizes and a seed."""

    entry: str = ""
    """its name; empty: `main`, or the first one"""
    sizes: Numbers | None = None
    """by the names that the author used"""
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
