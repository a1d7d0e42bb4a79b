"""Operations that execute the user's program, or make inputs for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired, TypedDict

from compiler.protocol.kinds import Answer, Numbers, OfProgram, Operation, Own, Says
from compiler.protocol.programs import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class OnInputs(OfProgram):
    """A request about an entry point and inputs of it."""

    entry: str = ""
    """its name; empty: `main`, or the first one"""
    input: str | None = None
    """values in Futhark's notation"""
    sizes: Numbers | None = None
    """names of sizes and numbers: where `input` is left out, inputs are random and have these"""
    seed: int = 1
    """of random inputs"""


class RunAnswer(Answer):
    """What a run gave."""

    output: str
    """a line for each result"""
    results: list[str]
    """their types, with sizes"""
    ms: float
    """the time inside of the program, the best of up to three short runs"""
    total_ms: float
    backend: Runner
    """which ran it in the end"""
    stage: NotRequired[str]
    """of a run by the reference interpreter"""
    note: NotRequired[str]
    """why it was another back end than the one asked for"""
    peak_bytes: NotRequired[int]
    cores: NotRequired[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest(OnInputs):
    """Run an entry point on one back end."""

    backend: Runner = "c"
    stage: str = ""
    """which one the reference interpreter `ref` runs; empty: `soa`"""
    deadline: Annotated[float, Own(), Says("is a number of seconds")] = 60.0
    """in seconds"""
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
    longest: Annotated[int | None, Own()] = None
    """more characters are refused"""


GENERATE = Operation(
    "generate",
    GenerateRequest,
    GenerateAnswer,
    {"entry": "main", "sizes": {"n": 4, "k": 2}},
    limit="run",
)
