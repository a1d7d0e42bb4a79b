"""What the rest of the world may ask of the compiler; all answers are plain data.

Each function with `@answers` is one operation of the worker protocol: it takes the request and
gives the answer that `compiler/protocol` declares. The functions raise `CompileError`; `answer` in
`worker.py` turns that into `{"ok": false, "error": ..}`.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from compiler import switches
from compiler.advice import advise
from compiler.algebra import cells as cell_sets
from compiler.algebra.disjoint import Disjoint, disjoint
from compiler.algebra.encode import document
from compiler.algebra.notation import Reader, facts_of
from compiler.algebra.plain import plain_cells
from compiler.algebra.show import verdict_json
from compiler.answers import entry_json, lines_json, remark_json, warning_json
from compiler.base.context import Options
from compiler.base.deadline import within
from compiler.base.errors import CompileError, Limitation, RuntimeError_, UsageError
from compiler.base.names import Called
from compiler.base.prim import Prim
from compiler.base.text import plain
from compiler.explain import layout, validity
from compiler.explain.bounds import Words
from compiler.explain.bounds import report as accesses_of
from compiler.explain.bounds import theorems as dropped_checks
from compiler.explain.calls import calls
from compiler.explain.graph import interference as interference_of
from compiler.explain.lifetimes import lifetimes as lifetimes_of
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.typed import TypedProg
from compiler.frontend.warnings import warnings
from compiler.ir import random_values, values
from compiler.ir.entry import bind, prims
from compiler.ir.nodes import Function, Prog
from compiler.parallel import tuning
from compiler.pipeline import BY_ID, MEMORY_STAGES, STAGES, Compilation, stage_named
from compiler.protocol import programs, proofs, runs, storage
from compiler.protocol.kinds import Json, OfProgram, Operation, R
from compiler.protocol.reading import check_options
from compiler.runtime import imp_interp
from compiler.semantics import interp
from compiler.targets import BY_ID as BACK_ENDS

P = ParamSpec("P")
A = TypeVar("A")
VALUE_STAGES = tuple(s.id for s in STAGES if s.kind == "ir")
TARGETS = tuple(BACK_ENDS)
RUNNERS = (*TARGETS, "ref")
LONGEST_RUN = 1_000_000
"""Seconds that a deadline may be."""
LONGEST_PROOF = 20
"""Seconds for one question about LMADs."""
LEAST_CHARACTERS_PER_ELEMENT = 5
"""As in `1i8, `."""
REMEMBERED, REMEMBERED_CHARACTERS = 16, 100_000
"""Compilations that a process keeps, so that `run` after `show` compiles nothing again.

One takes about 1 kB for each character of its program; the last one is kept however long it is.
"""

_recent: OrderedDict[tuple[str, Options], Compilation] = OrderedDict()
ANSWERS: dict[str, Callable[..., Any]] = {}
"""The function that answers each operation, by its id.

It takes the request; that of one that streams also what is told of the parts of its answer.
"""
Tell = Callable[[Any], None]


def answers(
    operation: Operation[R],
) -> Callable[[Callable[Concatenate[R, P], A]], Callable[Concatenate[R, P], A]]:
    """Make a function the one that answers an operation."""

    def register(function: Callable[Concatenate[R, P], A]) -> Callable[Concatenate[R, P], A]:
        ANSWERS[operation.id] = function
        return function

    return register


@answers(programs.MANIFEST)
def manifest(_: programs.ManifestRequest) -> programs.ManifestAnswer:
    """The pipeline, as panes and documents show it."""
    stages: list[programs.StageInfo] = [
        {
            "id": s.id,
            "title": s.title,
            "explain": s.explain,
            "kind": s.kind,
            "memory": s.id in MEMORY_STAGES,
        }
        for s in STAGES
    ]
    for info, stage in zip(stages, STAGES, strict=True):
        if stage.machine:
            info["machine"] = stage.machine
    return {"ok": True, "stages": stages, "switches": switches.listing()}


@answers(programs.BACKENDS)
def backends(_: programs.BackendsRequest) -> programs.BackendsAnswer:
    """What runs programs on this machine, and what is missing."""
    found: list[programs.Backend] = [
        {"id": name, "title": one.title, "missing": "" if one.stand_in else one.missing()}
        for name, one in BACK_ENDS.items()
    ]
    reference: programs.Backend = {"id": "ref", "title": "Reference interpreter", "missing": ""}
    return {"ok": True, "backends": [*found, reference]}


def options_from(
    given: Mapping[str, Any], files: Mapping[str, str] = MappingProxyType({}), main: str = ""
) -> Options:
    """Options from their JSON form. Raises UsageError for an unknown name or a wrong value."""
    known = check_options(given)
    if known.get("target", TARGETS[0]) not in TARGETS:
        listed = ", ".join(TARGETS)
        raise UsageError(
            f"There is no target `{known['target']}`.", hint=f"The targets are {listed}."
        )
    disabled = known.get("disable", ())
    switches.check(disabled)
    return Options(
        entry=known.get("entry", ""),
        target=known.get("target", TARGETS[0]),
        disabled=frozenset(disabled),
        fuel=known.get("fuel"),
        unsafe=known.get("unsafe", False),
        verify=known.get("verify", False),
        sanitize=known.get("sanitize", False),
        files=tuple(sorted(files.items())),
        main=main,
        thresholds=tuple(sorted(known.get("thresholds", {}).items())),
    )


def compilation(asked: OfProgram) -> Compilation:
    """The compilation of a program, the one from last time if there was one.

    Raises UsageError for options that are wrong, or that name thresholds the program has not.
    """
    key = (asked.source, options_from(asked.options, asked.files, asked.main))
    if key in _recent:
        _recent.move_to_end(key)
        return _recent[key]
    work = Compilation(*key)
    _check_thresholds(work)
    _recent[key] = work
    characters = sum(map(_characters, _recent))
    while len(_recent) > REMEMBERED or (characters > REMEMBERED_CHARACTERS and len(_recent) > 1):
        characters -= _characters(_recent.popitem(last=False)[0])
    return work


def _characters(key: tuple[str, Options]) -> int:
    """How long a program is, with its files."""
    return len(key[0]) + sum(len(text) for _, text in key[1].files)


def _check_thresholds(work: Compilation) -> None:
    """Refuse values for thresholds that the program has for no target.

    A program with errors has no thresholds to compare with: whoever asks for a stage of it is told.
    """
    if not work.options.thresholds:
        return
    try:
        programs = [work.result("flat", target).prog for target in TARGETS]
    except CompileError:
        return
    known = sorted({name for prog in programs for name in tuning.names(prog)})
    for name, _ in work.options.thresholds:
        if name not in known:
            listed = f"It has {', '.join(known)}." if known else "It has no code versions."
            raise UsageError(
                f"The program has no threshold `{name}`.",
                hint=f"{did_you_mean(name, known)} {listed}".strip(),
            )


@answers(programs.CHECK)
def check(asked: programs.CheckRequest) -> programs.CheckAnswer:
    """The entry points and warnings of a program, or its errors (raised)."""
    work = compilation(asked)
    typed: TypedProg = work.result("typed").prog
    found = warnings(work.result("ast").prog, typed)
    return {
        "ok": True,
        "entries": [entry_json(e) for e in typed.entries],
        "warnings": [warning_json(w, asked.source, asked.files) for w in found],
    }


@answers(programs.SHOW)
def show(asked: programs.ShowRequest, tell: Tell | None = None) -> programs.ShowAnswer:
    """Texts, counts and times of the stages asked for, and all remarks."""
    work = compilation(asked)
    wanted = list(BY_ID) if asked.stages is None else asked.stages
    shown: dict[str, programs.Stage] = {}
    for name in [stage_named(name).id for name in wanted]:
        result = work.result(name)
        start = time.perf_counter()
        text = result.text
        shown[name] = {
            "text": plain(text),
            "lines": lines_json(text),
            "counts": result.counts,
            "ms": round(result.ms, 3),
            "show_ms": round((time.perf_counter() - start) * 1000, 3),
        }
        if asked.stream and tell:
            part: programs.ShowPart = {"ok": True, "partial": True, "stages": {name: shown[name]}}
            tell(part)
    remarks = [remark_json(remark) for remark in work.remarks()]
    return {"ok": True, "stages": shown, "remarks": remarks}


@answers(programs.RULES)
def rules(asked: programs.RulesRequest) -> programs.RulesAnswer:
    """Each rule that a remark names: what it does, and how often it was applied or missed."""
    work = compilation(asked)
    work.result("merged")
    count = Counter((remark.rule, remark.kind) for remark in work.remarks())
    found: list[programs.RuleUse] = [
        {
            "id": rule,
            "does": switches.RULES.get(rule) or switches.NECESSARY[rule],
            "equation": switches.EQUATIONS[rule],
            "optional": rule in switches.RULES,
            "applied": count[rule, "applied"],
            "missed": count[rule, "missed"],
            "notes": count[rule, "note"],
        }
        for rule in dict.fromkeys(rule for rule, _ in count)
    ]
    return {"ok": True, "rules": found}


def _values(asked: runs.OnInputs, fun: Function) -> list[values.Value]:
    """The inputs of an entry point; numbers without a type are in those of its parameters."""
    if asked.input is None and asked.sizes is not None:
        random_values.check_names(fun, asked.sizes)
        return random_values.inputs(fun, asked.sizes, asked.seed).values
    return values.parse(asked.input or "", prims(fun))


@answers(runs.RUN)
def run(asked: runs.RunRequest) -> runs.RunAnswer:
    """Run an entry point; results as text, a line for each, of about `longest` characters."""
    work = compilation(for_entry(asked, asked.entry))
    args = _values(asked, entry_function(work, asked.entry))
    start = time.perf_counter()
    outcome = run_values(asked, asked.entry, args, asked.backend, asked.stage, asked.deadline)
    results = outcome.pop("values")
    most = None if asked.longest is None else asked.longest // max(1, len(results))
    shown = [values.show(v) if most is None else values.beginning(v, most) for v in results]
    told = {
        "ok": True,
        "output": "\n".join(shown),
        "results": [values.type_text(value) for value in results],
        "total_ms": round((time.perf_counter() - start) * 1000, 3),
        **outcome,
    }
    return cast(runs.RunAnswer, told)


def run_values(
    asked: OfProgram,
    entry: str,
    args: list[values.Value],
    backend: str,
    stage: str,
    seconds: float,
) -> Json:
    """As `run`, on values; the answer holds `values`, `ms`, `backend` and what is known beside."""
    if backend not in RUNNERS:
        known = ", ".join(RUNNERS)
        raise UsageError(f"There is no back end `{backend}`.", hint=f"The back ends are {known}.")
    if not 0 < seconds <= LONGEST_RUN:
        raise UsageError(f"`deadline` is a number of seconds, up to {LONGEST_RUN}.")
    if stage and backend != "ref":
        raise UsageError("Only the reference interpreter (`ref`) runs a stage by name.")
    chosen = BACK_ENDS.get(backend)
    work = compilation(for_entry(asked, entry, stage or (backend if chosen else "soa")))
    entry = entry_named(work, entry)
    bind(entry_function(work, entry), args)
    sanitized = work.options.sanitize
    run = None if chosen is None else chosen.sanitized if sanitized else chosen.run
    if sanitized and run is None:
        able = " and ".join(f"`{name}`" for name, one in BACK_ENDS.items() if one.sanitized)
        raise UsageError(f"Only the back end {able} runs under sanitisers.")
    with _telling_calls(work, backend):
        if chosen is None or run is None:
            return _run_reference(work, entry, args, stage or "soa", seconds)
        if chosen.stand_in and not sanitized and chosen.missing():
            return {**_run_reference(work, entry, args, "soa", seconds), "note": chosen.stand_in}
        done = run(work.result(backend).text, entry, args, seconds)
    return {
        "values": done.values,
        "ms": round(done.ms, 3),
        "backend": backend,
        "peak_bytes": done.peak_bytes,
        "cores": done.cores,
    }


@contextmanager
def _telling_calls(work: Compilation, backend: str) -> Iterator[None]:
    """Give an error of a run the calls that led there."""
    try:
        yield
    except RuntimeError_ as error:
        if error.site is not None:
            error.prov = work.record(backend)[error.site]
        error.calls = calls(work.result("typed").prog, error.prov)
        raise


def _run_reference(
    work: Compilation, entry: str, args: list[values.Value], stage: str, seconds: float
) -> Json:
    kind = stage_named(stage).kind
    if kind not in ("ir", "imp"):
        known = ", ".join((*VALUE_STAGES, "imp"))
        raise UsageError(f"The stage `{stage}` cannot be run.", hint=f"These can: {known}.")
    prog = work.result(stage).prog
    start = time.perf_counter()
    interpreter: Callable[..., list[values.Value]] = interp.run if kind == "ir" else imp_interp.run
    results = within(seconds, lambda: interpreter(prog, entry, args))
    ms = (time.perf_counter() - start) * 1000
    return {"values": results, "ms": round(ms, 3), "backend": "ref", "stage": stage}


def entry_named(work: Compilation, name: str) -> str:
    """The entry point of that name; "" stands for `main`, or for the only one there is."""
    known = [e.name for e in work.result("typed").prog.entries]
    if not known:
        raise RuntimeError_(
            "The program has no entry point.",
            hint="Mark a function with `entry`, or call it `main`.",
        )
    chosen = name or ("main" if "main" in known else known[0])
    if chosen not in known:
        listed = ", ".join(f"`{k}`" for k in known)
        raise UsageError(f"There is no entry point `{chosen}`.", hint=f"There are {listed}.")
    return chosen


def entry_function(work: Compilation, name: str) -> Function:
    """The entry point's function at stage `soa`, whose parameters say what it takes."""
    prog: Prog = work.result("soa").prog
    chosen = entry_named(work, name)
    return next(fun for fun in prog.funs if fun.name == chosen)


def for_entry(asked: OfProgram, entry: str, stage: str = "soa") -> OfProgram:
    """The program as one compiles it for one entry point, up to a stage.

    Where something that is not built yet is in the way, the other entry points are left out.
    """
    try:
        compilation(asked).result(stage)
    except Limitation:
        alone = replace(asked, options={**asked.options, "entry": entry or "main"})
        try:
            compilation(alone).result(stage)
        except CompileError:
            alone = asked
        if alone is asked or asked.options.get("entry"):
            raise
        return alone
    return asked


def input_prims(asked: OfProgram, entry: str) -> list[Prim]:
    """The element types of an entry point's inputs: what numbers without a type are read as."""
    return prims(entry_function(compilation(for_entry(asked, entry)), entry))


@answers(runs.GENERATE)
def generate(asked: runs.GenerateRequest) -> runs.GenerateAnswer:
    """Random inputs as text. Raises UsageError for one of more than `longest` characters."""
    fun = entry_function(compilation(for_entry(asked, asked.entry)), asked.entry)
    sizes, longest = asked.sizes or {}, asked.longest
    random_values.check_names(fun, sizes)
    most = None if longest is None else longest // LEAST_CHARACTERS_PER_ELEMENT
    made = random_values.inputs(fun, sizes, asked.seed, most)
    text = "\n".join(values.show(v) for v in made.values)
    if longest is not None and len(text) > longest:
        raise UsageError(
            f"The inputs would have {len(text)} characters; at most {longest} are given as text.",
            hint=random_values.FEWER,
        )
    return {"ok": True, "input": text, "sizes": made.sizes}


def _with_memory(
    asked: storage.MemoryRequest | storage.LifetimesRequest | storage.InterferenceRequest,
) -> tuple[Prog, Called]:
    """The program at the stage that is asked about, and what its names are called.

    Raises UsageError for one without memory.
    """
    if asked.stage not in MEMORY_STAGES:
        known = ", ".join(MEMORY_STAGES)
        raise UsageError(f"The stage `{asked.stage}` has no memory.", hint=f"These have: {known}.")
    work = compilation(asked)
    return work.result(asked.stage).prog, work.names().called


@answers(storage.MEMORY)
def memory(asked: storage.MemoryRequest) -> Json:
    """Blocks, arrays and kernels; for values an array's cells, and which threads touch which."""
    (prog, called), symbols = _with_memory(asked), asked.values or {}
    answer: Json = {"functions": layout.describe(prog, called)}
    if asked.array:
        answer |= layout.cells(prog, asked.array, symbols)
    if asked.kernel:
        answer |= layout.threads(prog, asked.kernel, symbols)
    return {"ok": True, **answer}


@answers(storage.LIFETIMES)
def lifetimes(asked: storage.LifetimesRequest) -> Json:
    """Which blocks and arrays are needed where, in bytes if values are given."""
    prog, called = _with_memory(asked)
    return {"ok": True, **lifetimes_of(prog, asked.values, called)}


@answers(storage.INTERFERENCE)
def interference(asked: storage.InterferenceRequest) -> storage.InterferenceAnswer:
    """Which blocks are needed at the same time, and which can share memory."""
    return {"ok": True, "functions": interference_of(*_with_memory(asked))}


@answers(proofs.ATTEMPTS)
def attempts(asked: proofs.AttemptsRequest) -> Json:
    """Every attempt to build an array in its place, with what had to be proved for it."""
    work = compilation(asked)
    found = work.record("shortcircuit").told()
    advise(asked.source, work.options, found)
    return {"ok": True, "attempts": found}


@answers(proofs.BOUNDS)
def bounds(asked: proofs.BoundsRequest) -> proofs.BoundsAnswer:
    """Of each access to an array, whether its check was dropped, hoisted or kept, and why."""
    work = compilation(asked)
    typed: TypedProg = work.result("typed").prog
    last = work.result("merged").prog
    return {"ok": True, "accesses": accesses_of(typed, last, work.fates(), _words(work))}


@answers(proofs.CERTIFICATE)
def certificate(asked: proofs.CertificateRequest) -> proofs.CertificateAnswer:
    """A certificate (`docs/certificates.md`) of the proofs that the program rests on."""
    work = compilation(asked)
    pairs, shown = work.record("shortcircuit").theorems()
    work.result("merged")
    proved = [*work.proved(), ("shortcircuit", shown)]
    checks = dropped_checks(work.fates(), proved, _words(work))
    return {"ok": True, "certificate": document([*pairs, *checks])}


def _words(work: Compilation) -> Words:
    """What the author calls the numbers that proofs are about, which any stage may have made."""
    stages = (stage.id for stage in STAGES if stage.kind == "ir")
    return Words(work.names().said, (work.result(stage).prog for stage in stages))


@answers(storage.TUNING)
def tuning_tree(asked: storage.TuningRequest) -> Json:
    """The code versions of the program, under their thresholds."""
    prog = compilation(asked).result("flat").prog
    return {"ok": True, "trees": tuning.forest(prog)}


@answers(runs.VALIDITY)
def check_validity(asked: runs.ValidityRequest) -> runs.ValidityAnswer:
    """Do all stages agree on this input? One verdict per stage that can be run."""
    work = compilation(asked)
    entry = entry_named(work, asked.entry)
    args = _values(asked, entry_function(work, entry))
    expected = interp.run(work.result("soa").prog, entry, args)
    verdicts: dict[str, runs.Verdict] = {}
    for stage in STAGES:
        if stage.id == "soa" or stage.kind not in ("ir", "imp"):
            continue
        prog = work.result(stage.id).prog
        if stage.id in MEMORY_STAGES:
            verdicts[stage.id] = validity.verdict(prog, entry, args, expected)
        else:
            interpreter = interp.run if stage.kind == "ir" else imp_interp.run
            found = interpreter(prog, entry, args)
            verdicts[stage.id] = validity.compare(found, expected)
    return {"ok": True, "stages": verdicts}


@answers(proofs.PROVE)
def prove(asked: proofs.ProveRequest) -> Json:
    """Whether two LMADs share a cell, in the notation of `docs/proving.md`."""
    start = time.perf_counter()

    def work() -> Json:
        reader = Reader()
        a, b = reader.lmad(asked.a), reader.lmad(asked.b)
        verdict = disjoint(a, b, facts_of(reader, asked.assumptions))
        found = [verdict.theorem()] if isinstance(verdict, Disjoint) else []
        more = {"certificate": document(found)} if asked.certificate else {}
        read = {"a": plain_cells(a, reader.factor), "b": plain_cells(b, reader.factor)}
        return verdict_json(verdict, reader.factor) | read | more

    answer = within(LONGEST_PROOF, work, "The proof", _TOO_HARD)
    return {"ok": True, **answer, "ms": round((time.perf_counter() - start) * 1000, 3)}


@answers(proofs.CELLS)
def cells(asked: proofs.CellsRequest) -> Json:
    """The cells of LMADs for values of their names, in the same notation."""

    def work() -> Json:
        return cell_sets.cells(asked.assumptions, asked.lmads, asked.values or {})

    return {"ok": True, **within(LONGEST_PROOF, work, "The picture", _TOO_HARD)}


_TOO_HARD = "Fewer assumptions, or smaller polynomials, may help."
