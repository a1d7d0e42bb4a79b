"""The compiler's operations; all answers are plain data.

Each function with `@answers` is one operation of the worker protocol: it takes the request and
gives the answer that `compiler/protocol` declares. The functions raise `CompileError`; `answer` in
`worker.py` turns that into `{"ok": false, "error": ..}`.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, cast, get_args

from compiler.base.context import Options
from compiler.base.deadline import Deadline, check_deadline
from compiler.base.errors import CompileError, Limitation, RuntimeError_, UsageError
from compiler.base.lazy import later
from compiler.base.prim import int_range
from compiler.base.spans import Span
from compiler.base.spans import plain as plain_span
from compiler.base.text import plain
from compiler.driver import edited, switches
from compiler.driver.answers import lines_json, remark_json
from compiler.driver.pipeline import BY_ID, MEMORY_STAGES, STAGES, Compilation, stage_named
from compiler.driver.targets import BY_ID as BACK_ENDS
from compiler.driver.targets import LISTINGS
from compiler.explain.calls import calls
from compiler.frontend import flatpack
from compiler.frontend.check.finish.attributes import parameters
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.files import FLATPACK
from compiler.frontend.types import Type
from compiler.ir import random_values, values
from compiler.ir.entry import bind
from compiler.ir.nodes import Function, Prog
from compiler.lower.external_values import Outside, divided, is_plain, possible, type_texts
from compiler.lower.external_values import outside as outside_of
from compiler.lower.external_values import show as show_values
from compiler.lower.read_external import arguments
from compiler.lower.traced import has_traces
from compiler.parallel import tuning
from compiler.protocol import programs, runs
from compiler.protocol.answering import Tell, answers
from compiler.protocol.kinds import Json, OfProgram
from compiler.protocol.reading import check_options

VALUE_STAGES = tuple(s.id for s in STAGES if s.kind == "ir")
TARGETS = tuple(BACK_ENDS)
RUNNERS = (*TARGETS, "ref")
_INTERPRETERS: dict[str, Callable[..., list[values.Value]]] = {
    "ir": later("compiler.semantics.interp", "run"),
    "imp": later("compiler.runtime.imp_interp", "run"),
}
_memory = later("compiler.runtime.runner", "default_memory")
_traces = later("compiler.explain.traces", "traces")
MOST_RUNS = 100
REMEMBERED, REMEMBERED_CHARACTERS = 16, 100_000
"""Bounds of the cache of compilations: their number, and characters of all programs.

A compilation takes about 1 kB per character; the last one is kept however long it is.
"""

_recent: OrderedDict[tuple[str, Options], Compilation] = OrderedDict()


@answers(programs.MANIFEST)
def manifest(_: programs.ManifestRequest) -> programs.ManifestAnswer:
    """Return the pipeline, as panes and documents show it."""
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
    listings = [listing_info(name) for name in LISTINGS]
    return {"ok": True, "stages": stages, "listings": listings, "switches": switches.listing()}


def listing_info(name: str) -> programs.StageInfo:
    """Describe a listing. Raises UsageError, which lists all of them."""
    if name not in LISTINGS:
        known = ", ".join(LISTINGS)
        raise UsageError(f"There is no listing `{name}`.", hint=f"The listings are {known}.")
    made, target = LISTINGS[name]
    return {
        "id": name,
        "title": made.title,
        "explain": made.explain,
        "kind": "listing",
        "memory": False,
        "of": target.id,
    }


@answers(programs.BACKENDS)
def backends(_: programs.BackendsRequest) -> programs.BackendsAnswer:
    """List the back ends, with the reason why one cannot run on this machine."""
    found: list[programs.Backend] = [
        {"id": name, "title": one.title, "missing": "" if one.stand_in else one.missing()}
        for name, one in BACK_ENDS.items()
    ]
    reference: programs.Backend = {"id": "ref", "title": "Reference interpreter", "missing": ""}
    return {"ok": True, "backends": [*found, reference]}


def check_target(name: str) -> None:
    """Raise UsageError if `name` is not a target."""
    if name not in TARGETS:
        listed = ", ".join(TARGETS)
        raise UsageError(f"There is no target `{name}`.", hint=f"The targets are {listed}.")


def options_from(
    given: Mapping[str, Any], files: Mapping[str, str] = MappingProxyType({}), main: str = ""
) -> Options:
    """Build options from their JSON form.

    Raises UsageError for an unknown name or a wrong value.
    """
    known = check_options(given)
    check_target(known.get("target", TARGETS[0]))
    disabled = known.get("disable", ())
    enabled = known.get("enable", ())
    switches.check(disabled)
    switches.check_asked(enabled)
    limits = known.get("limits", {})
    switches.check_limits(limits)
    written = known.get("edited", {})
    for stage in written:
        if stage_named(stage).kind not in edited.READERS:
            raise edited.cannot(stage)
    return Options(
        entry=known.get("entry", ""),
        target=known.get("target", TARGETS[0]),
        disabled=frozenset(disabled),
        enabled=frozenset(enabled),
        fuel=known.get("fuel"),
        unsafe=known.get("unsafe", False),
        verify=known.get("verify", False),
        sanitize=known.get("sanitize", False),
        files=tuple(sorted(files.items())),
        main=main,
        thresholds=tuple(sorted(known.get("thresholds", {}).items())),
        limits=tuple(sorted(limits.items())),
        edited=tuple(sorted(written.items())),
    )


def compilation(asked: OfProgram) -> Compilation:
    """Return the compilation of a program, from the cache if it is there.

    Raises UsageError for wrong options and for thresholds that the program does not have.
    """
    options = options_from(asked.options, asked.files, asked.main)
    expression, exposed = getattr(asked, "expression", ""), getattr(asked, "exposed", ())
    key = (asked.source, replace(options, expression=expression, exposed=exposed))
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
    """Return the length of a program with its files."""
    return len(key[0]) + sum(len(text) for _, text in key[1].files)


def tuning_parameters(asked: OfProgram) -> list[str]:
    """Return the names of a program's thresholds, for any target, and of its `#[param(name)]`."""
    return _tuning_parameters(compilation(asked))


def _tuning_parameters(work: Compilation) -> list[str]:
    own = parameters(work.result("typed").prog.defs)
    flat = [work.result("flat", target).prog for target in TARGETS]
    return sorted({*own, *(name for prog in flat for name in tuning.names(prog))})


def _check_thresholds(work: Compilation) -> None:
    """Raise UsageError for tuning parameters that the program does not have.

    A program with errors passes: the request for a stage of it reports these.
    """
    if not work.options.thresholds:
        return
    try:
        known = _tuning_parameters(work)
    except CompileError:
        return
    least, most = int_range("i64")
    for name, value in work.options.thresholds:
        if not least <= value <= most:
            raise UsageError(f"`{name}` is an i64, and {value} is out of its range.")
        if name not in known:
            listed = f"It has {', '.join(known)}." if known else "It has no code versions."
            raise UsageError(
                f"The program has no threshold `{name}`.",
                hint=f"{did_you_mean(name, known)} {listed}".strip(),
            )


@answers(programs.TRANSLATE)
def translate(asked: programs.TranslateRequest) -> programs.TranslateAnswer:
    """Translate the program to Futhark."""
    if asked.main.endswith(FLATPACK):
        made = flatpack.translate(flatpack.read(asked.source))
        return {"ok": True, "text": made.text, "src": [plain_span(span) for span in made.spans]}
    rows = asked.source.split("\n")
    spans = [Span(i, 1, i, len(row) + 1) for i, row in enumerate(rows, 1)]
    return {"ok": True, "text": asked.source, "src": [plain_span(span) for span in spans]}


@answers(programs.SHOW)
def show(asked: programs.ShowRequest, tell: Tell | None = None) -> programs.ShowAnswer:
    """Return texts, counts and times of the stages asked for, and all remarks."""
    work = compilation(asked)
    wanted = list(BY_ID) if asked.stages is None else asked.stages
    with_text = wanted if asked.texts is None else [stage_named(name).id for name in asked.texts]
    shown: dict[str, programs.Stage] = {}
    for name in [stage_named(name).id for name in wanted]:
        shown[name] = stage_json(work, name, name in with_text)
        if asked.stream and tell:
            lines_alone: programs.Stage = {**shown[name], "text": None}
            tell({"ok": True, "partial": True, "stages": {name: lines_alone}})
    remarks = [remark_json(remark) for remark in work.remarks()]
    return {"ok": True, "stages": shown, "remarks": remarks}


def stage_json(work: Compilation, name: str, with_text: bool) -> programs.Stage:
    """Describe a stage of a program, with its text or without."""
    result = work.result(name)
    start = time.perf_counter()
    text = result.text if with_text else None
    return {
        "text": None if text is None else plain(text),
        "lines": None if text is None else lines_json(text),
        "counts": result.counts,
        "same": work.is_unchanged(name),
        "ms": round(result.ms, 3),
        "show_ms": round((time.perf_counter() - start) * 1000, 3),
    }


@answers(programs.RULES)
def rules(asked: programs.RulesRequest) -> programs.RulesAnswer:
    """List the rules that have left remarks: descriptions, and counts of applied and missed."""
    work = compilation(asked)
    work.result(work.options.target)
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


def input_values(asked: runs.OnInputs, room: int | None = None) -> list[values.Value]:
    """Make the inputs of an entry point; random ones take at most `room` bytes."""
    if asked.input is None and asked.sizes is not None:
        made = random_inputs(
            asked, asked.entry, asked.sizes, asked.seed, None, asked.distribution, room
        )
        return made.values
    text = asked.input or ""
    data = values.with_files(text, asked.uploads) if asked.uploads else text
    return inputs(asked, asked.entry, data)


@answers(runs.RUN)
def run(asked: runs.RunRequest) -> runs.RunAnswer:
    """Run an entry point; return results as text, one line each, of about `longest` characters.

    Errors: of the program, of the run, and `UsageError` for inputs or `runs` that do not fit.
    """
    if asked.input is None and asked.sizes is not None:
        check_present(asked.backend)
    if asked.runs > MOST_RUNS:
        raise UsageError(f"`runs` must be a number from 1 to {MOST_RUNS}.")
    check_deadline(asked.deadline)
    deadline = Deadline.of(asked.deadline)
    args = deadline.within(partial(input_values, asked), INPUTS, FEWER)
    start = time.perf_counter()
    seen = traced(asked, asked.entry, args, deadline.left())
    how = asked.backend, asked.stage, deadline, asked.runs
    try:
        outcome = run_values(asked, asked.entry, args, *how)
    except CompileError as error:
        error.traces = seen
        raise
    results = outcome.pop("values")
    kinds = outside(asked, asked.entry).results
    if asked.binary is not None:
        outcome["data"] = _in_base64(kinds, results, asked.binary)
        if asked.kept and any(outcome["data"]):
            outcome["kept"] = asked.kept
    most = None if asked.longest is None else asked.longest // max(1, len(kinds))
    told = {
        "ok": True,
        "output": "\n".join(show_values(kinds, results, most)),
        "results": type_texts(kinds, results),
        "total_ms": round((time.perf_counter() - start) * 1000, 3),
        **outcome,
        **({"traces": seen} if seen else {}),
    }
    return cast(runs.RunAnswer, told)


INPUTS, FEWER = "Making the inputs", "Choose smaller sizes, or a longer deadline."
COMPILING, SMALLER = "Compiling the program", "Try a smaller program, or a longer deadline."


def traced(
    asked: OfProgram,
    entry: str,
    args: list[values.Value],
    seconds: float,
    tell: Callable[[programs.Traced, str], None] | None = None,
) -> programs.Traces | None:
    """Run a program for its calls of `trace` and `break`; return None if it has none."""
    plain = compilation(for_entry(asked, entry))
    if not has_traces(plain.result("typed").prog):
        return None
    work = Compilation(plain.source, replace(plain.options, traced=True))
    mono, soa = work.result("mono").prog, work.result("soa").prog
    found: programs.Traces = _traces(mono, soa, entry_named(work, entry), args, seconds, tell)
    return found if found["places"] else None


def check_present(backend: str) -> None:
    """Raise UsageError where a back end is missing and nothing stands in for it.

    Call it before making inputs, which may take long.
    """
    chosen = BACK_ENDS.get(backend)
    if chosen and not chosen.stand_in and (because := chosen.missing()):
        raise UsageError(because, hint="Choose another backend, such as `c`.")


def run_values(
    asked: OfProgram,
    entry: str,
    args: list[values.Value],
    backend: str,
    stage: str,
    deadline: float | Deadline,
    times: int = 1,
) -> Json:
    """Run on values; the answer holds `values`, `ms`, `backend` and notes.

    A number of seconds starts with the run; a `Deadline` that runs already covers compiling too.
    Errors: as `run`, and `UsageError` for a back end that is missing or cannot run that stage.
    """
    if backend not in RUNNERS:
        known = ", ".join(RUNNERS)
        raise UsageError(f"There is no backend `{backend}`.", hint=f"The backends are {known}.")
    check_deadline(deadline.seconds if isinstance(deadline, Deadline) else deadline)
    if stage and backend != "ref":
        raise UsageError("Only the reference interpreter (`ref`) runs a stage by name.")
    chosen = BACK_ENDS.get(backend)
    if backend == "ref" and not stage:
        stage = edited.interpreted(asked.options.get("edited", {}))
    began = time.perf_counter()
    work = compilation(for_entry(asked, entry, stage or (backend if chosen else "soa")))
    entry = entry_named(work, entry)
    bind(entry_function(work, entry), args)
    sanitized = work.options.sanitize
    run = None if chosen is None else chosen.sanitized if sanitized else chosen.run
    if sanitized and run is None:
        able = " and ".join(f"`{name}`" for name, one in BACK_ENDS.items() if one.sanitized)
        raise UsageError(f"Only the backend {able} runs under sanitisers.")
    with telling_calls(work, backend):
        if chosen is None or run is None:
            return _run_reference(work, entry, args, stage or "soa", deadline)
        if chosen.stand_in and not sanitized and chosen.missing():
            return {**_run_reference(work, entry, args, "soa", deadline), "note": chosen.stand_in}
        text = work.result(backend).text
        compiled = (time.perf_counter() - began) * 1000
        done = run(text, entry, args, deadline, **({"runs": times} if times > 1 else {}))
    answer = {
        "values": done.values,
        "ms": round(done.ms, 3),
        "times": [round(ms, 6) for ms in done.times],
        "compile_ms": round(compiled + done.compile_ms, 3),
        "backend": backend,
        "peak_bytes": done.peak_bytes,
        "cores": done.cores,
    }
    if (written := asked.options.get("edited", {})) and not sanitized:
        answer["note"] = edited.unchecked(written)
    if done.copies:
        each = zip(get_args(runs.CopyKind), done.copies[::2], done.copies[1::2], strict=False)
        found = [{"kind": kind, "count": n, "bytes": size} for kind, n, size in each if n]
        answer["copies"] = found
    return answer


def _in_base64(kinds: Sequence[Type], results: list[values.Value], most: int) -> list[str | None]:
    """Encode arrays in the binary format and base64 while they fit in `most` bytes; else None."""
    found: list[str | None] = []
    for kind, flat in zip(kinds, divided(kinds, results), strict=True):
        most -= sum(one.nbytes for one in flat)
        fits = most >= 0 and is_plain(kind)
        found.append(b64encode(values.to_binary(flat)).decode() if fits else None)
        most += 0 if fits else sum(one.nbytes for one in flat)
    return found


@contextmanager
def telling_calls(work: Compilation, backend: str) -> Iterator[None]:
    """Attach to an error of a run the calls that led to it."""
    try:
        yield
    except RuntimeError_ as error:
        if error.site is not None:
            error.prov = work.record(backend)[error.site]
        error.calls = calls(work.result("typed").prog, error.prov)
        raise


def _run_reference(
    work: Compilation,
    entry: str,
    args: list[values.Value],
    stage: str,
    deadline: float | Deadline,
) -> Json:
    kind = stage_named(stage).kind
    if kind not in _INTERPRETERS:
        known = ", ".join((*VALUE_STAGES, "imp"))
        raise UsageError(f"The stage `{stage}` cannot be run.", hint=f"These can: {known}.")
    prog = work.result(stage).prog
    deadline = Deadline.of(deadline)
    deadline.left(COMPILING, SMALLER)
    start = time.perf_counter()
    results = deadline.within(lambda: _INTERPRETERS[kind](prog, entry, args))
    ms = (time.perf_counter() - start) * 1000
    return {"values": results, "ms": round(ms, 3), "backend": "ref", "stage": stage}


def entry_named(work: Compilation, name: str) -> str:
    """Return the name of an entry point; "" stands for `main`, or for the only one.

    Errors: `UsageError` for an unknown one, `RuntimeError_` for a program without any.
    """
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
    """Return the entry point's function at stage `soa`, whose parameters give its input types."""
    prog: Prog = work.result("soa").prog
    chosen = entry_named(work, name)
    return next(fun for fun in prog.funs if fun.name == chosen)


def for_entry(asked: OfProgram, entry: str, stage: str = "soa") -> OfProgram:
    """Restrict the program to one entry point if others prevent compiling up to a stage.

    So a limitation in one entry point does not affect another.
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


def outside(asked: OfProgram, entry: str) -> Outside:
    """Return the entry point with its external types."""
    work = compilation(for_entry(asked, entry))
    return outside_of(work.result("mono").prog, entry_function(work, entry))


def inputs(asked: OfProgram, entry: str, data: bytes | str) -> list[values.Value]:
    """Parse the inputs of an entry point; untyped numbers take the parameter's type."""
    return arguments(outside(asked, entry), data)


def random_inputs(
    asked: OfProgram,
    entry: str,
    sizes: Mapping[str, int],
    seed: int,
    most: int | None = None,
    distribution: str = "uniform",
    room: int | None = None,
) -> random_values.RandomInputs:
    """Make random inputs of an entry point, as `random_values.inputs`; reject unknown names.

    Without `room` they take at most half of a run's memory, since the run gets a copy.
    """
    found = outside(asked, entry)
    random_values.check_names(found.fun, sizes)
    room = _memory() // 2 if room is None else room
    made = random_values.inputs(found.fun, sizes, seed, most, distribution, room)
    return replace(made, values=possible(found.params, made.values))


@answers(runs.GENERATE)
def generate(asked: runs.GenerateRequest) -> runs.GenerateAnswer:
    """Make random inputs as text. Raises UsageError for more than `longest` characters."""
    longest = asked.longest
    most = None if longest is None else longest // values.LEAST_CHARACTERS
    made = random_inputs(
        asked, asked.entry, asked.sizes or {}, asked.seed, most, asked.distribution
    )
    text = "\n".join(show_values(outside(asked, asked.entry).params, made.values))
    if longest is not None and len(text) > longest:
        raise UsageError(
            f"The inputs would have {len(text)} characters, but at most {longest} are "
            "returned as text.",
            hint=random_values.FEWER,
        )
    return {"ok": True, "input": text, "sizes": made.sizes}
