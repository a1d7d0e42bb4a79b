"""What the rest of the world may ask of the compiler; all answers are plain data.

Each function is one operation of the worker protocol. Answers are JSON-shaped dictionaries; spans
are `[line, col, end_line, end_col]` in the user's text, from 1, the end exclusive. The functions
raise `CompileError`; `answer` in `worker.py` turns that into `{"ok": false, "error": ..}`.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from compiler import switches
from compiler.advice import advise
from compiler.algebra import cells as cell_sets
from compiler.algebra.disjoint import Disjoint, disjoint
from compiler.algebra.encode import document
from compiler.algebra.notation import Reader, facts_of
from compiler.algebra.show import verdict_json
from compiler.answers import entry_json, lines_json, remark_json, warning_json
from compiler.base.context import Options
from compiler.base.errors import CompileError, RuntimeError_, UsageError
from compiler.base.prim import Prim
from compiler.base.text import plain
from compiler.deadline import within
from compiler.explain import layout, validity
from compiler.explain.bounds import report as accesses_of
from compiler.explain.bounds import theorems as dropped_checks
from compiler.explain.graph import interference as interference_of
from compiler.explain.lifetimes import lifetimes as lifetimes_of
from compiler.frontend.check.scope import did_you_mean
from compiler.frontend.typed import TypedProg
from compiler.frontend.warnings import warnings
from compiler.ir import random_values, values
from compiler.ir.entry import bind, prims
from compiler.ir.nodes import Function, Prog
from compiler.parallel import tuning
from compiler.pipeline import BY_ID, STAGES, Compilation, stage_named
from compiler.runtime import imp_interp, runner
from compiler.semantics import interp
from compiler.storage.short_circuit import attempts as attempts_of
from compiler.storage.short_circuit import theorems as theorems_of

Json = dict[str, Any]
BACKENDS = ("ref", "c", "cuda")
TARGETS = ("c", "cuda")
OPTIONS = ("entry", "target", "disable", "fuel", "unsafe", "verify", "sanitize", "thresholds")
VALUE_STAGES = tuple(s.id for s in STAGES if s.kind == "ir")
MEMORY_STAGES = ("funmem", "shortcircuit", "expanded", "merged")
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


def manifest() -> list[Json]:
    """The stages in order, as panes and documents show them."""
    return [{"id": s.id, "title": s.title, "explain": s.explain, "kind": s.kind} for s in STAGES]


def switchable() -> list[Json]:
    """The passes and rules that the option `disable` takes."""
    return switches.listing()


def backends() -> list[Json]:
    """The back ends of `run`: `id`, and `missing`, why it cannot run here ("" if it can)."""
    missing = {"cuda": runner.why_no_cuda()}
    return [{"id": name, "missing": missing.get(name, "")} for name in BACKENDS]


def options_from(given: Mapping[str, Any]) -> Options:
    """Options from their JSON form. Raises UsageError for an unknown name or a wrong value."""
    for name in given:
        if name not in OPTIONS:
            known = ", ".join(OPTIONS)
            raise UsageError(f"There is no option `{name}`.", hint=f"The options are {known}.")
    target = given.get("target", "c")
    if target not in TARGETS:
        raise UsageError(f"There is no target `{target}`.", hint="The targets are c and cuda.")
    thresholds = given.get("thresholds", {})
    disabled = given.get("disable", ())
    fuel = given.get("fuel")
    if not isinstance(thresholds, Mapping) or not all(map(is_whole, thresholds.values())):
        raise UsageError("`thresholds` maps names of tuning parameters to whole numbers.")
    if fuel is not None and (not is_whole(fuel) or fuel < 0):
        raise UsageError("`fuel` is a number of rewrites, 0 or more.")
    if not isinstance(disabled, list | tuple) or not all(isinstance(d, str) for d in disabled):
        raise UsageError("`disable` is a list of ids of passes and rules.")
    if not isinstance(given.get("entry", ""), str):
        raise UsageError("`entry` is the name of an entry point.")
    for name in ("unsafe", "verify", "sanitize"):
        if not isinstance(given.get(name, False), bool):
            raise UsageError(f"`{name}` is true or false.")
    switches.check(disabled)
    return Options(
        entry=given.get("entry", ""),
        target=target,
        disabled=frozenset(disabled),
        fuel=fuel,
        unsafe=bool(given.get("unsafe", False)),
        verify=bool(given.get("verify", False)),
        sanitize=bool(given.get("sanitize", False)),
        thresholds=tuple(sorted(thresholds.items())),
    )


def is_whole(value: Any) -> bool:
    """Whether a value from outside is a whole number that some type of the language holds."""
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 64


def compilation(source: str, options: Mapping[str, Any]) -> Compilation:
    """The compilation of `source`, the one from last time if there was one.

    Raises UsageError for options that are wrong, or that name thresholds the program has not.
    """
    key = (source, options_from(options))
    if key in _recent:
        _recent.move_to_end(key)
        return _recent[key]
    work = Compilation(*key)
    _check_thresholds(work)
    _recent[key] = work
    characters = sum(len(kept) for kept, _ in _recent)
    while len(_recent) > REMEMBERED or (characters > REMEMBERED_CHARACTERS and len(_recent) > 1):
        (dropped, _), _ = _recent.popitem(last=False)
        characters -= len(dropped)
    return work


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


def check(source: str, options: Mapping[str, Any]) -> Json:
    """Parse and type check: the entry points and warnings, or the errors (raised)."""
    work = compilation(source, options)
    typed: TypedProg = work.result("typed").prog
    found = warnings(work.result("ast").prog, typed)
    return {
        "ok": True,
        "entries": [entry_json(e) for e in typed.entries],
        "warnings": [warning_json(w, source) for w in found],
    }


def show(
    source: str,
    stages: Iterable[str] | None,
    options: Mapping[str, Any],
    partial: Callable[[Json], None] | None = None,
) -> Json:
    """Texts, counts and times of the stages asked for (None: all), and all remarks.

    Each stage goes to `partial` as soon as it is there. With several stages, one that fails does
    not take the others with it: what there is comes back with the error of the first failure.
    """
    work = compilation(source, options)
    names = [stage_named(name).id for name in stages] if stages is not None else list(BY_ID)
    shown: Json = {}
    for name in names:
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
        if partial:
            partial({"ok": True, "partial": True, "stages": {name: shown[name]}})
    remarks = [remark_json(remark) for remark in work.remarks()]
    return {"ok": True, "stages": shown, "remarks": remarks}


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs as text in Futhark's notation, or random ones from sizes and a seed."""

    text: str = ""
    sizes: Mapping[str, int] | None = None
    seed: int = 1

    def values(self, fun: Function) -> list[values.Value]:
        """The values for an entry point, numbers without a type in the types of its parameters."""
        if self.sizes is not None:
            random_values.check_names(fun, self.sizes)
            return random_values.inputs(fun, self.sizes, self.seed).values
        return values.parse(self.text, prims(fun))


def run(
    source: str,
    entry: str,
    given: Inputs,
    backend: str,
    stage: str,
    options: Mapping[str, Any],
    seconds: float = 60.0,
    longest: int | None = None,
) -> Json:
    """Run an entry point; results as text, a line for each, of about `longest` characters if given.

    The larger ones are then shown by their first elements, and say how many more there are.
    """
    work = compilation(source, options)
    args = given.values(entry_function(work, entry))
    start = time.perf_counter()
    outcome = run_values(source, entry, args, backend, stage, options, seconds)
    results = outcome.pop("values")
    outcome["results"] = [values.type_text(value) for value in results]
    most = None if longest is None else longest // max(1, len(results))
    outcome["output"] = "\n".join(
        values.show(value) if most is None else values.beginning(value, most) for value in results
    )
    outcome["total_ms"] = round((time.perf_counter() - start) * 1000, 3)
    return {"ok": True, **outcome}


def run_values(
    source: str,
    entry: str,
    args: list[values.Value],
    backend: str,
    stage: str,
    options: Mapping[str, Any],
    seconds: float,
) -> Json:
    """As `run`, on values; the answer holds `values`, `ms`, `backend` and what is known beside."""
    if backend not in BACKENDS:
        known = ", ".join(BACKENDS)
        raise UsageError(f"There is no back end `{backend}`.", hint=f"The back ends are {known}.")
    if not 0 < seconds <= LONGEST_RUN:
        raise UsageError(f"`deadline` is a number of seconds, up to {LONGEST_RUN}.")
    if stage and backend != "ref":
        raise UsageError("Only the reference interpreter (`ref`) runs a stage by name.")
    work = compilation(source, options)
    entry = entry_named(work, entry)
    bind(entry_function(work, entry), args)
    sanitized = work.options.sanitize
    if sanitized and backend != "c":
        raise UsageError("Only the back end `c` runs under sanitisers.")
    if backend == "ref":
        return _run_reference(work, entry, args, stage or "soa", seconds)
    if backend == "c" and not sanitized and not runner.compiler_available():
        note = "No C compiler was found: the reference interpreter ran the program."
        return {**_run_reference(work, entry, args, "soa", seconds), "note": note}
    work.result("merged", backend)
    code = work.result(backend).text
    if backend == "c":
        done = runner.run_c(code, entry, args, seconds, sanitized=sanitized)
    else:
        done = runner.run_cuda(plain(code), entry, args, seconds)
    return {
        "values": done.values,
        "ms": round(done.ms, 3),
        "backend": backend,
        "peak_bytes": done.peak_bytes,
        "cores": done.cores,
    }


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


def input_prims(source: str, entry: str, options: Mapping[str, Any]) -> list[Prim]:
    """The element types of an entry point's inputs: what numbers without a type are read as."""
    return prims(entry_function(compilation(source, options), entry))


def generate(
    source: str,
    entry: str,
    sizes: Mapping[str, int],
    seed: int,
    options: Mapping[str, Any],
    longest: int | None = None,
) -> Json:
    """Random inputs for an entry point, as text; `sizes` by the names that the author used.

    Raises UsageError for a text of more than `longest` characters, if given.
    """
    fun = entry_function(compilation(source, options), entry)
    random_values.check_names(fun, sizes)
    most = None if longest is None else longest // LEAST_CHARACTERS_PER_ELEMENT
    made = random_values.inputs(fun, sizes, seed, most)
    text = "\n".join(values.show(v) for v in made.values)
    if longest is not None and len(text) > longest:
        raise UsageError(
            f"The inputs would have {len(text)} characters; at most {longest} are given as text.",
            hint=random_values.FEWER,
        )
    return {"ok": True, "input": text, "sizes": made.sizes}


def memory(
    source: str,
    stage: str,
    array: str,
    symbols: Mapping[str, int],
    options: Mapping[str, Any],
    kernel: str = "",
) -> Json:
    """Blocks, arrays and kernels of a memory stage.

    With `array` also its cells, and with `kernel` which points of it touch which cells, for values
    of symbols.
    """
    if stage not in MEMORY_STAGES:
        known = ", ".join(MEMORY_STAGES)
        raise UsageError(f"The stage `{stage}` has no memory.", hint=f"These have: {known}.")
    prog = compilation(source, options).result(stage).prog
    answer: Json = layout.describe(prog)
    if array:
        answer |= layout.cells(prog, array, symbols)
    if kernel:
        answer |= layout.threads(prog, kernel, symbols)
    return {"ok": True, **answer}


def lifetimes(
    source: str, stage: str, symbols: Mapping[str, int] | None, options: Mapping[str, Any]
) -> Json:
    """Which blocks and arrays of a memory stage are needed where, in bytes if sizes are given."""
    if stage not in MEMORY_STAGES:
        known = ", ".join(MEMORY_STAGES)
        raise UsageError(f"The stage `{stage}` has no memory.", hint=f"These have: {known}.")
    return {"ok": True, **lifetimes_of(compilation(source, options).result(stage).prog, symbols)}


def interference(source: str, stage: str, options: Mapping[str, Any]) -> Json:
    """Which blocks of a memory stage are needed at the same time, and which can share memory."""
    if stage not in MEMORY_STAGES:
        known = ", ".join(MEMORY_STAGES)
        raise UsageError(f"The stage `{stage}` has no memory.", hint=f"These have: {known}.")
    return {"ok": True, **interference_of(compilation(source, options).result(stage).prog)}


def attempts(source: str, options: Mapping[str, Any]) -> Json:
    """Every attempt to build an array in its place, with what had to be proved for it."""
    work = compilation(source, options)
    prog = work.result("funmem").prog
    found = attempts_of(prog, work.options, work.names())
    advise(source, work.options, found)
    return {"ok": True, "attempts": found}


def bounds(source: str, options: Mapping[str, Any]) -> Json:
    """Of each access to an array, whether its check was dropped, hoisted or kept, and why."""
    work = compilation(source, options)
    typed: TypedProg = work.result("typed").prog
    last = work.result("merged").prog
    return {"ok": True, "accesses": accesses_of(typed, last, work.fates())}


def certificate(source: str, options: Mapping[str, Any]) -> Json:
    """A certificate (`docs/certificates.md`) of the proofs that the program rests on."""
    work = compilation(source, options)
    found = theorems_of(work.result("funmem").prog, work.options)
    work.result("merged")
    return {"ok": True, "certificate": document([*found, *dropped_checks(work.fates())])}


def tuning_tree(source: str, options: Mapping[str, Any]) -> Json:
    """The code versions of the program, under their thresholds."""
    prog = compilation(source, options).result("flat").prog
    return {"ok": True, "trees": tuning.tree(prog)}


def check_validity(source: str, entry: str, given: Inputs, options: Mapping[str, Any]) -> Json:
    """Do all stages agree on this input? One verdict per stage that can be run."""
    work = compilation(source, options)
    entry = entry_named(work, entry)
    args = given.values(entry_function(work, entry))
    expected = interp.run(work.result("soa").prog, entry, args)
    verdicts: Json = {}
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


def prove(assumptions: Any, first: Any, second: Any, certified: bool = False) -> Json:
    """Whether two LMADs share a cell, in the notation of `docs/proving.md`.

    `certified`: with a `certificate`, which holds no claim if none was proved.
    """
    start = time.perf_counter()

    def work() -> Json:
        reader = Reader()
        a, b = reader.lmad(first), reader.lmad(second)
        verdict = disjoint(a, b, facts_of(reader, assumptions))
        found = [verdict.theorem()] if isinstance(verdict, Disjoint) else []
        return verdict_json(verdict) | ({"certificate": document(found)} if certified else {})

    answer = within(LONGEST_PROOF, work, "The proof", _TOO_HARD)
    return {"ok": True, **answer, "ms": round((time.perf_counter() - start) * 1000, 3)}


def cells(assumptions: Any, lmads: list[Any], symbols: Mapping[str, int]) -> Json:
    """The cells of LMADs for values of their names, in the same notation."""

    def work() -> Json:
        return cell_sets.cells(assumptions, lmads, symbols)

    return {"ok": True, **within(LONGEST_PROOF, work, "The picture", _TOO_HARD)}


_TOO_HARD = "Fewer assumptions, or smaller polynomials, may help."
