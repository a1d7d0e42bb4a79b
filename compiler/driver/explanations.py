"""Answer questions about memory, proofs and the cost of accesses.

Operations like those of `api.py`; a worker imports their modules on first use.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, cast

import numpy as np

from compiler.algebra import cells as cell_sets
from compiler.algebra.as_data import plain_cells
from compiler.algebra.decide import decide
from compiler.algebra.disjoint import Disjoint
from compiler.algebra.encode import document
from compiler.algebra.show import verdict_json
from compiler.base.deadline import check_deadline, within
from compiler.base.errors import Limitation, UsageError
from compiler.base.names import Called, base_of
from compiler.base.text import Text, plain
from compiler.driver.answers import lines_json, remark_json
from compiler.driver.api import (
    compilation,
    entry_function,
    entry_named,
    for_entry,
    input_values,
    listing_info,
)
from compiler.driver.in_place_advice import advise
from compiler.driver.pipeline import MEMORY_STAGES, STAGES, Compilation, Stage, stage_named
from compiler.driver.targets import LISTINGS, target_named
from compiler.explain import accesses as access_costs
from compiler.explain import (
    cache_lines,
    imperative,
    layout,
    pair_pictures,
    predictions,
    validity,
)
from compiler.explain.bounds import Words
from compiler.explain.bounds import report as accesses_of
from compiler.explain.bounds import theorems as dropped_checks
from compiler.explain.dataflow import dataflow as dataflow_of
from compiler.explain.graph import interference as interference_of
from compiler.explain.index_functions import index_functions as index_functions_of
from compiler.explain.lifetimes import PROPOSED_OTHER, PROPOSED_SIZE
from compiler.explain.lifetimes import lifetimes as lifetimes_of
from compiler.explain.sums import sums as sums_of
from compiler.explain.warps import Effort
from compiler.frontend.typed import TypedProg
from compiler.ir import random_values
from compiler.ir.entry import bind
from compiler.ir.nodes import Function, Prog
from compiler.ir.values import Value
from compiler.optimise.fuse import FUSE, Tried
from compiler.parallel import tuning
from compiler.protocol import accesses as costs
from compiler.protocol import graphs, listings, proofs, runs, storage
from compiler.protocol.answering import answers
from compiler.protocol.kinds import Json
from compiler.runtime import device_process, imp_interp
from compiler.runtime.observer import build
from compiler.runtime.observer.records import LATE, Observation
from compiler.semantics import interp

USUAL_SIZE = 64
"""Default size of arrays when accesses are counted: two warps."""
OBSERVED_BYTES = 1 << 30
"""Bytes of random inputs of an observed run; the usual deadline allows no more."""
USUAL_NUMBER = 8
"""Default of whole numbers of such an entry point: often part of a size, or a count of rounds."""
LONGEST_PROOF = 20
"""Seconds for one question about LMADs."""
MOST_PICTURES = 24
"""Pairs of accesses that are drawn for one question."""


@answers(costs.ACCESSES)
def accesses(asked: costs.AccessesRequest) -> costs.AccessesAnswer:
    """Predict the cost of each access of the CUDA program."""
    return accesses_with(asked)


def accesses_with(
    asked: costs.AccessesRequest, effort: Effort | None = None
) -> costs.AccessesAnswer:
    """Like `accesses`. Raises TooMuch if it takes more than the `effort` left."""
    return _accesses(asked, 0, effort)


@answers(costs.OBSERVE)
def observe(asked: costs.ObserveRequest) -> costs.AccessesAnswer:
    """Predict and observe the cost of each access of the CUDA program."""
    check_deadline(asked.seconds, "seconds")
    return _accesses(asked, asked.seconds)


def _accesses(
    asked: costs.AccessesRequest | costs.ObserveRequest,
    seconds: float,
    effort: Effort | None = None,
) -> costs.AccessesAnswer:
    """Predict costs; if `seconds` > 0 and the machine can, observe a run of at most that time."""
    asked = replace(asked, options={**asked.options, "target": "cuda"})
    work = compilation(for_entry(asked, asked.entry, "cuda"))
    entry = entry_named(work, asked.entry)
    fun, text = entry_function(work, entry), work.result("cuda").text
    usual = proposed_sizes(fun) if asked.as_costs else _supposed(fun, USUAL_SIZE, USUAL_NUMBER)
    sizes = usual | (asked.sizes or {})
    random_values.check_names(fun, asked.sizes or ())
    args: list[Value] = []
    shapes, numbers = random_values.extents(fun, sizes, asked.seed)
    if seconds or asked.input is not None:
        args = input_values(replace(asked, sizes=sizes), OBSERVED_BYTES)
        found = ((base_of(name), value) for name, value in bind(fun, args).items())
        sizes |= {name: int(value) for name, value in found if name in sizes and not np.ndim(value)}
        shapes = [np.shape(v) if np.ndim(v) else None for v in args]
        numbers = [None if np.ndim(v) else v for v in args]
    prog = work.result("kernels", "cuda").prog
    predicted = predictions.predict(prog, text, entry, shapes, numbers, effort=effort)
    seen: Observation | None = None
    because = build.why_not() if seconds else ""
    if seconds and not because:
        seen = device_process.observe(plain(text), entry, args, seconds)
        because = seen.error.message if seen.error else _unended(seen, seconds, text)
    return {
        "ok": True,
        "sizes": sizes,
        **access_costs.report(prog, text, predicted, seen, _told(work)),
        "loops": _loops(work, sizes),
        "observed": seen is not None,
        "because": because,
    }


def _supposed(fun: Function, size: int, number: int) -> dict[str, int]:
    """Return these defaults for the sizes and whole numbers that an entry point takes."""
    found = dict.fromkeys(random_values.whole_numbers(fun), number)
    return found | dict.fromkeys(random_values.inputs(fun, {}, 1).sizes, size)


def proposed_sizes(fun: Function) -> dict[str, int]:
    """Propose a value for each size and whole number that an entry point takes."""
    return _supposed(fun, PROPOSED_SIZE, PROPOSED_OTHER)


def _unended(seen: Observation, seconds: float, text: Text) -> str:
    """Explain why an observed run without a failed check has no results; "" if it has."""
    if seen.results is not None:
        return ""
    for late in (one for one in seen.problems if one.says == LATE):
        where = f" in line {late.line}, `{text[late.line - 1].text.strip()}`," if late.line else ""
        until = f"The run was stopped after {seconds:g} s{where} and everything before is counted"
        return f"{until}: try smaller sizes, or a longer deadline."
    return "A problem ended the run."


@answers(listings.LISTING)
def listing(asked: listings.ListingRequest) -> listings.ListingAnswer:
    """Return another compiler's listing of a target's text, such as PTX or SASS."""
    info = listing_info(asked.listing)
    made, target = LISTINGS[asked.listing]
    text = compilation(asked).result(target.id).text
    start = time.perf_counter()
    found = made.make(text)
    ms = (time.perf_counter() - start) * 1000
    return {
        "ok": True,
        "info": info,
        "stage": {
            "text": plain(found.text),
            "lines": lines_json(found.text),
            "counts": {"line": len(found.text)},
            "same": False,
            "ms": round(ms, 3),
            "show_ms": 0.0,
        },
        "kernels": [cast(listings.KernelUse, asdict(use)) for use in found.kernels],
    }


def _loops(work: Compilation, sizes: Mapping[str, int]) -> list[costs.LoopAccess]:
    """Return the accesses of the C program; none where the program cannot be compiled to C."""
    try:
        text = work.result("c").text
    except Limitation:
        return []
    found = cache_lines.loop_accesses(text, work.names().called, sizes)
    return sorted(found, key=cache_lines.touched_lines, reverse=True)


def _told(work: Compilation) -> access_costs.SaidBeside:
    texts = {stage: work.result(stage).text for stage in MEMORY_STAGES}
    remarks = [(remark, remark_json(remark)) for remark in work.remarks()]
    return access_costs.SaidBeside(remarks, work.names().called, texts)


def _with_memory(
    asked: storage.MemoryRequest | storage.LifetimesRequest | storage.InterferenceRequest,
) -> tuple[Prog, Called]:
    """Return the program at the requested stage, and its naming function.

    Raises UsageError for a stage without memory.
    """
    if asked.stage not in MEMORY_STAGES:
        known = ", ".join(MEMORY_STAGES)
        raise UsageError(f"The stage `{asked.stage}` has no memory.", hint=f"These have: {known}.")
    work = compilation(asked)
    return work.result(asked.stage).prog, work.names().called


@answers(storage.MEMORY)
def memory(asked: storage.MemoryRequest) -> Json:
    """Describe blocks, arrays and kernels; with values also cells and their threads."""
    (prog, called), symbols = _with_memory(asked), asked.values or {}
    answer: Json = {"functions": layout.describe(prog, called)}
    if asked.array:
        answer |= layout.cells(prog, asked.array, symbols)
    if asked.kernel:
        answer |= layout.threads(prog, asked.kernel, symbols)
    return {"ok": True, **answer}


@answers(storage.LIFETIMES)
def lifetimes(asked: storage.LifetimesRequest) -> Json:
    """Return lifetimes of blocks and arrays, in bytes if values are given."""
    prog, called = _with_memory(asked)
    return {"ok": True, **lifetimes_of(prog, asked.values, called)}


@answers(storage.INTERFERENCE)
def interference(asked: storage.InterferenceRequest) -> storage.InterferenceAnswer:
    """Return which blocks interfere, and which can share memory."""
    prog, called = _with_memory(asked)
    target = target_named(compilation(asked).options.target)
    return {"ok": True, "functions": interference_of(prog, called, target)}


@answers(graphs.DATAFLOW)
def dataflow(asked: graphs.DataflowRequest) -> graphs.DataflowAnswer:
    """Return a stage as a dataflow graph.

    Raises UsageError for a stage before the core language.
    """
    stage = stage_named(asked.stage)
    if stage.kind in ("syntax", "typed"):
        known = ", ".join(one.id for one in STAGES if one.kind not in ("syntax", "typed"))
        raise UsageError(f"The stage `{asked.stage}` has no graph.", hint=f"These have: {known}.")
    work = compilation(asked)
    if stage.kind == "ir":
        functions = dataflow_of(work.result(stage.id).prog, work.names().called)
    else:
        prog = work.statements(stage).prog
        functions = imperative.dataflow(prog, work.names().called, asked.kernel)
    return {"ok": True, "functions": functions}


@answers(graphs.FUSION)
def fusion(asked: graphs.FusionRequest) -> graphs.FusionAnswer:
    """Return the graphs before and after fusion, with all attempts."""
    work = compilation(asked)
    before, after = work.result("simplified").prog, work.result("fused").prog
    tried: Iterable[Tried] = () if work.options.is_off(FUSE) else work.record("fused", FUSE.id)
    return {
        "ok": True,
        "before": dataflow_of(before, work.names().called),
        "after": dataflow_of(after, work.names().called),
        "attempts": [
            {
                "rule": one.rule,
                "kind": one.kind,
                "producer": list(one.producer),
                "reader": list(one.reader),
                "because": one.because,
                "hint": one.hint,
            }
            for one in tried
        ],
        "names": {
            name: work.names().called(name)
            for one in tried
            for name in (*one.producer, *one.reader)
        },
    }


@answers(storage.INDEX_FUNCTIONS)
def index_functions(asked: storage.IndexFunctionsRequest) -> storage.IndexFunctionsAnswer:
    """Express each change of layout in three generations of index functions."""
    work = compilation(asked)
    written, flat = work.result("simplified").prog, work.result("flat").prog
    found = index_functions_of(written, flat, work.result("funmem").prog, work.names().said)
    return {"ok": True, "functions": found}


@answers(proofs.ATTEMPTS)
def attempts(asked: proofs.AttemptsRequest) -> Json:
    """List every attempt to build an array in place, with its proof obligations."""
    work = compilation(asked)
    found = work.record("shortcircuit").told()
    advise(asked.source, work.options, found)
    if asked.pictures:
        found = pair_pictures.drawn(found, min(asked.pictures, MOST_PICTURES))
    return {"ok": True, "attempts": found}


@answers(proofs.BOUNDS)
def bounds(asked: proofs.BoundsRequest) -> proofs.BoundsAnswer:
    """List array accesses with the fate of each bounds check (dropped, hoisted, kept) and why."""
    work = compilation(asked)
    typed: TypedProg = work.result("typed").prog
    last = work.result("merged").prog
    return {"ok": True, "accesses": accesses_of(typed, last, work.fates(), _words(work))}


@answers(proofs.CERTIFICATE)
def certificate(asked: proofs.CertificateRequest) -> proofs.CertificateAnswer:
    """Return a certificate (`docs/certificates.md`) of the proofs that the program relies on."""
    work = compilation(asked)
    pairs, shown = work.record("shortcircuit").theorems()
    work.result("merged")
    proved = [*work.proved(), ("shortcircuit", shown)]
    checks = dropped_checks(work.fates(), proved, _words(work))
    return {"ok": True, "certificate": document([*pairs, *checks])}


def _words(work: Compilation) -> Words:
    """Return the author's names for the numbers in proofs, from all stages."""
    stages = (stage.id for stage in STAGES if stage.kind == "ir")
    return Words(work.names().said, (work.result(stage).prog for stage in stages))


@answers(storage.SUMS)
def sums(asked: storage.SumsRequest) -> storage.SumsAnswer:
    """Describe the layout of values of sum types."""
    return {"ok": True, "sums": sums_of(compilation(asked).result("mono").prog)}


@answers(storage.TUNING)
def tuning_tree(asked: storage.TuningRequest) -> Json:
    """Return the tree of code versions under their thresholds."""
    prog = compilation(asked).result("flat").prog
    return {"ok": True, "trees": tuning.forest(prog)}


@answers(runs.VALIDITY)
def check_validity(asked: runs.ValidityRequest) -> runs.ValidityAnswer:
    """Check that all stages agree on an input; return one verdict per stage that can be run.

    A stage with an unchanged program takes the earlier verdict, if that ran the heap.
    """
    work = compilation(asked)
    entry = entry_named(work, asked.entry)
    args = input_values(replace(asked, entry=entry))
    before = work.result("soa").prog
    expected = validity.meaning(lambda: interp.run(before, entry, args))
    verdicts: dict[str, runs.Verdict] = {}
    told: runs.Verdict | None = None
    for stage in STAGES:
        if stage.id == "soa" or stage.kind not in ("ir", "imp"):
            continue
        prog = work.result(stage.id).prog
        if told is None or stage.id == MEMORY_STAGES[0] or prog != before:
            told = _agrees(stage, prog, entry, args, expected)
        before = prog
        verdicts[stage.id] = told
    return {"ok": True, "stages": verdicts}


def _agrees(
    stage: Stage, prog: Any, entry: str, args: list[Value], expected: validity.Meaning
) -> runs.Verdict:
    """Compare a stage's result on an input with the expected one."""
    if stage.id in MEMORY_STAGES:
        return validity.verdict(prog, entry, args, expected)
    run = interp.run if stage.kind == "ir" else imp_interp.run
    return validity.by_value(lambda: run(prog, entry, args), expected)


@answers(proofs.PROVE)
def prove(asked: proofs.ProveRequest) -> Json:
    """Decide whether two LMADs share a cell, in the notation of `docs/proving.md`."""
    start = time.perf_counter()

    def work() -> Json:
        decided = decide(asked.a, asked.b, asked.assumptions)
        verdict, factor = decided.verdict, decided.reader.factor
        found = [verdict.theorem()] if isinstance(verdict, Disjoint) else []
        more = {"certificate": document(found)} if asked.certificate else {}
        read = {"a": plain_cells(decided.a, factor), "b": plain_cells(decided.b, factor)}
        return verdict_json(verdict, factor) | read | more

    answer = within(LONGEST_PROOF, work, "The proof", TOO_HARD)
    return {"ok": True, **answer, "ms": round((time.perf_counter() - start) * 1000, 3)}


@answers(proofs.CELLS)
def cells(asked: proofs.CellsRequest) -> Json:
    """List the cells of LMADs for given values of their names, in the same notation."""

    def work() -> Json:
        return cell_sets.cells(asked.assumptions, asked.lmads, asked.values or {})

    return {"ok": True, **within(LONGEST_PROOF, work, "The picture", TOO_HARD)}


TOO_HARD = "Fewer assumptions, or smaller polynomials, may help."
