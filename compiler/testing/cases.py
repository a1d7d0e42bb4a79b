"""Run the tests in a program's comments, and report each outcome."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.errors import (
    CompileError,
    InputError,
    RuntimeError_,
    TimeoutError_,
    UsageError,
)
from compiler.driver import api, checking
from compiler.driver.answers import error_json, span_json
from compiler.frontend.typed import Def, TypedProg
from compiler.frontend.types import PrimT, Type
from compiler.ir import entry
from compiler.ir.values import Value
from compiler.lower.components import components
from compiler.lower.external_values import divided, parts, show
from compiler.lower.read_external import check
from compiler.protocol import tests
from compiler.protocol.answering import answers
from compiler.protocol.kinds import OfProgram
from compiler.protocol.programs import CheckAnswer, CheckRequest
from compiler.protocol.tests import Outcome, Tested
from compiler.testing.blocks import Blocks, Data, Load, Trial, read
from compiler.testing.compare import difference
from compiler.testing.inputs import given, wanted
from compiler.testing.property import Property, counterexample
from compiler.testing.script import Callee, evaluate
from compiler.testing.script_values import Whole

PIPELINES = {
    "": ("fused", "c"),
    "gpu": ("flat", "cuda"),
    "gpu-mem": ("merged", "cuda"),
    "mc": ("flat", "c"),
    "mc-mem": ("merged", "c"),
}
"""By name of Futhark's pipeline, the stage (and its target) that corresponds to it."""
_LONGEST = 200
"""Characters of a value shown in a sentence."""


@dataclass(frozen=True, slots=True)
class Manner:
    """Settings of test runs: a back end, or a stage for `ref`, and seconds per run.

    `load` reads a file beside the program. `any_words`: accept errors with any message.
    """

    backend: str = "c"
    stage: str = ""
    seconds: float = 60.0
    load: Load | None = None
    any_words: bool = False


@lru_cache(maxsize=16)
def spec(source: str) -> Blocks:
    """Parse the blocks of a program. Raises InputError for a malformed one."""
    return read(source)


@answers(tests.TESTS)
def listed(asked: tests.TestsRequest) -> tests.TestsAnswer:
    """List the tests of a program, even if it has errors."""
    found = spec(asked.source)
    cases = [described(number, case) for number, case in enumerate(found.cases)]
    return {"ok": True, "tags": sorted(found.tags), "cases": cases}


def described(number: int, case: Trial) -> tests.TestCase:
    """Describe a test as plain data."""
    return {
        "number": number,
        "kind": case.kind,
        "entry": case.entry if case.kind in ("run", "property") else "",
        "name": case.name,
        "tags": sorted(case.tags),
        "src": span_json(case.span) or [],
    }


@answers(tests.TEST)
def one(asked: tests.TestRequest) -> tests.TestAnswer:
    """Run one test; files of values are among the program's.

    Errors: `UsageError` for an unknown test.
    """
    cases = spec(asked.source).cases
    if asked.case >= len(cases):
        raise UsageError(f"There is no test {asked.case}: the program has {len(cases)}.")
    manner = Manner(asked.backend, seconds=asked.deadline)
    return {"ok": True, "tested": run(asked, asked.case, manner)}


def among(asked: OfProgram) -> Load:
    """Return a reader of the program's files."""

    def load(path: str) -> bytes:
        folder = PurePosixPath(asked.main).parent
        name = str(folder / path)
        if name not in asked.files:
            raise _Missing(
                f"`{path}` is not among the program's files.",
                hint="Tests with files of values run where these are: `stridescope test`.",
            )
        return asked.files[name].encode()

    return load


class _Missing(UsageError):
    """A file that a test needs is missing."""


def skipped(tags: frozenset[str], backend: str) -> str:
    """Return why tests with these tags are skipped on a back end, or ""."""
    for tag in ("disable", "notest", f"no_{backend}"):
        if tag in tags:
            return f"It has the tag `{tag}`."
    if "compiled" in tags and backend == "ref":
        return "It is `compiled`: not for an interpreter."
    return ""


def run(asked: OfProgram, number: int, manner: Manner) -> Tested:
    """Run a test; errors become its outcome."""
    found = spec(asked.source)
    case = found.cases[number]
    if why := skipped(found.tags | case.tags, manner.backend):
        return _tested(number, "skipped", why)
    try:
        return {**_KINDS[case.kind](asked, case, manner), "number": number}
    except _Missing as error:
        return _tested(number, "skipped", error.message)
    except CompileError as error:
        return ended(number, error, asked)


def _tested(number: int, outcome: Outcome, because: str = "") -> Tested:
    return {"number": number, "outcome": outcome, "because": because}


def ended(number: int, error: CompileError, asked: OfProgram) -> Tested:
    """Return the outcome of a test with an unexpected error."""
    problem = error_json(error, asked.source, asked.files)
    return {**_tested(number, "failed", error.message), "error": problem}


def _matching(
    number: int, case: Trial, error: CompileError, asked: OfProgram, manner: Manner
) -> Tested:
    """Return the outcome of a test with an expected error; it passes if the message matches."""
    said = "\n".join(one.render(asked.source, asked.files) for one in (error, *error.others))
    if manner.any_words or re.search(case.regex, said, re.DOTALL):
        return _tested(number, "passed")
    because = f"It fails as expected, but `{case.regex}` is not in the message."
    return {
        **_tested(number, "failed", because),
        "difference": {"says": because, "expected": case.regex, "found": said},
    }


# --- the kinds of tests ----------------------------------------------------------------------


def _refused(asked: OfProgram, case: Trial, manner: Manner) -> Tested:
    try:
        _checked(asked)
    except CompileError as error:
        if error.kind in ("syntax", "type", "usage"):
            return _matching(0, case, error, asked, manner)
        raise
    return _tested(0, "failed", "The compiler takes the program, and should refuse it.")


def _checked(asked: OfProgram) -> CheckAnswer:
    return checking.check(CheckRequest(asked.source, asked.options, asked.files, asked.main))


def _warning(asked: OfProgram, case: Trial, _: Manner) -> Tested:
    said = "\n".join(warning["rendered"] for warning in _checked(asked)["warnings"])
    if re.search(case.regex, said, re.DOTALL):
        return _tested(0, "passed")
    because = f"No warning has `{case.regex}`."
    told = said or "There is no warning."
    differs: tests.Difference = {"says": because, "expected": case.regex, "found": told}
    return {**_tested(0, "failed", because), "difference": differs}


def _structure(asked: OfProgram, case: Trial, _: Manner) -> Tested:
    if case.pipeline not in PIPELINES:
        return _tested(0, "unchecked", f"There is no stage like Futhark's `{case.pipeline}`.")
    stage, target = PIPELINES[case.pipeline]
    counts = api.compilation(asked).result(stage, target).counts
    strange = [f"`{name}`" for name, _ in case.counts if name.lower() not in counts]
    if strange:
        return _tested(0, "unchecked", f"The stage `{stage}` counts no {', '.join(strange)}.")
    wrong = [(name, want) for name, want in case.counts if counts[name.lower()] != want]
    if not wrong:
        return _tested(0, "passed")
    expected = ", ".join(f"{name} {want}" for name, want in wrong)
    found = ", ".join(f"{name} {counts[name.lower()]}" for name, _ in wrong)
    says = f"The stage `{stage}` should have {expected} and has {found}."
    differs: tests.Difference = {"says": says, "expected": expected, "found": found}
    return {**_tested(0, "failed", says), "difference": differs}


def _compiles(asked: OfProgram, _: Trial, manner: Manner) -> Tested:
    work = api.compilation(asked)
    typed: TypedProg = work.result("typed").prog
    if typed.entries and manner.backend in api.TARGETS:
        work.result(manner.backend)
    return _tested(0, "passed")


def _property(asked: OfProgram, case: Trial, manner: Manner) -> Tested:
    known = _definitions(asked, case.entry)
    if case.entry not in known:
        raise UsageError(f"There is no entry point `{case.entry}`.")
    how = Property.of(case.entry, known[case.entry].attrs)

    def call(name: str, args: list[Value | int]) -> list[Value]:
        if name not in known:
            raise UsageError(f"There is no entry point `{name}`, which `#[prop]` names.")
        values = _numbers(args, api.outside(asked, name).params)
        found: list[Value] = run_on(asked, name, values, manner, manner.backend)["values"]
        return found

    of = api.outside(asked, case.entry)
    against = counterexample(how, of, call)
    if against is None:
        return _tested(0, "passed")
    shown = "\n".join(show(of.params, against, _LONGEST))
    says = "It is false for\n" + shown
    differs: tests.Difference = {"says": says, "expected": "true", "found": "false"}
    return {**_tested(0, "failed", says), "difference": differs}


def _numbers(args: list[Value | int], kinds: tuple[Type, ...]) -> list[Value]:
    """Convert plain numbers to the types of the last parameters."""
    of = [None] * (len(args) - len(kinds)) + list(kinds[-len(args) :])
    return [
        DTYPE[kind.prim if isinstance(kind, PrimT) else "i64"].type(arg)
        if isinstance(arg, int)
        else arg
        for arg, kind in zip(args, of, strict=True)
    ]


def _run(asked: OfProgram, case: Trial, manner: Manner) -> Tested:
    args = prepared(asked, case, manner)
    try:
        found = run_on(asked, case.entry, args, manner, manner.backend)
    except CompileError as error:
        if case.error and error.kind in ("runtime", "usage"):
            return _matching(0, case, error, asked, manner)
        raise
    ms = float(found["ms"])
    if case.error:
        kinds = api.outside(asked, case.entry).results
        shown = "\n".join(show(kinds, found["values"], _LONGEST))
        because = "It should fail and does not."
        differs: tests.Difference = {"says": because, "expected": case.regex, "found": shown}
        return {**_tested(0, "failed", because), "difference": differs, "ms": ms}
    if found["backend"] != manner.backend:
        return _tested(0, "unchecked", str(found["note"]))
    expected = expectation(asked, case, args, manner)
    if isinstance(expected, str):
        return {**_tested(0, "unchecked", expected), "ms": ms}
    kinds = api.outside(asked, case.entry).results
    wrong = None if expected is None else difference(found["values"], expected, kinds)
    if wrong is None:
        return {**_tested(0, "passed"), "ms": ms}
    return {**_tested(0, "failed", wrong["says"]), "difference": wrong, "ms": ms}


_KINDS: Mapping[str, Callable[[OfProgram, Trial, Manner], Tested]] = {
    "run": _run,
    "refused": _refused,
    "warning": _warning,
    "structure": _structure,
    "property": _property,
    "compiles": _compiles,
}


# --- inputs and outputs ----------------------------------------------------------------------


def prepared(asked: OfProgram, case: Trial, manner: Manner) -> list[Value]:
    """Make the inputs of a test. Raises their errors."""
    of = api.outside(asked, case.entry)
    load = manner.load or among(asked)
    data = case.input
    if data is not None and data.form in ("script", "script file"):
        args = scripted(asked, case.entry, data, manner, load)
    else:
        args = given(case, of, load)
    try:
        entry.check_types(of.fun, args)
        check(of.params, args)
    except InputError as error:
        error.span = case.span if data is None else data.span
        raise
    return args


def scripted(asked: OfProgram, name: str, data: Data, manner: Manner, load: Load) -> list[Value]:
    """Evaluate a script for its inputs."""
    known = callees(asked, name, manner)
    if data.form == "script file":
        text = load(data.text).decode("utf-8", errors="replace")
        data = replace(data, text=text)
    return evaluate(data, known, load, known[name])


def callees(asked: OfProgram, name: str, manner: Manner) -> dict[str, Callee]:
    """Return the entry points of a program that scripts can call."""
    return {
        one: _callee(asked, definition, manner)
        for one, definition in _definitions(asked, name).items()
    }


def _definitions(asked: OfProgram, name: str) -> dict[str, Def]:
    """Return the entry points of a program, in monomorphic types."""
    prog: TypedProg = api.compilation(api.for_entry(asked, name)).result("mono").prog
    return {one.source_name: one for one in prog.defs if one.is_entry}


def _callee(asked: OfProgram, definition: Def, manner: Manner) -> Callee:
    """Return an entry point for scripts, run by the test's back end."""
    params = tuple(tuple(prim for prim, *_ in components(p.type)) for p in definition.params)
    kinds = parts(definition.ret)

    def call(args: list[Value]) -> list[list[Value]]:
        name = definition.source_name
        flat = run_on(asked, name, args, manner, manner.backend)["values"]
        if sum(len(components(kind)) for kind in kinds) != len(flat):
            raise UsageError(f"What `{name}` gives cannot be passed on: a size is part of it.")
        return [Whole(*one) for one in zip(kinds, divided(kinds, flat), strict=True)]

    return Callee(params, call)


def run_on(
    asked: OfProgram, name: str, args: list[Value], manner: Manner, backend: str
) -> dict[str, Any]:
    """Like `api.run_values`."""
    stage = manner.stage if backend == manner.backend else ""
    return api.run_values(asked, name, args, backend, stage, manner.seconds)


def expectation(
    asked: OfProgram, case: Trial, args: list[Value], manner: Manner
) -> list[Value] | str | None:
    """Return expected results; None for any, a sentence if they cannot be computed.

    `auto output` comes from the reference interpreter, or from C to test that one.
    """
    if case.output is not None:
        return wanted(case, api.outside(asked, case.entry), manner.load or among(asked))
    if not case.auto:
        return None
    other = "c" if manner.backend == "ref" else "ref"
    try:
        found = run_on(asked, case.entry, args, manner, other)
    except TimeoutError_:
        return f"The reference did not finish within {manner.seconds:g} s: it is not compared."
    except RuntimeError_ as error:
        if error.cause != "memory":
            error.message = f"`{other}` fails, and `{manner.backend}` does not: {error.message}"
            raise
        return "The reference has too little memory for it: it is not compared."
    if found["backend"] != other:
        return str(found["note"])
    expected: list[Value] = found["values"]
    return expected
