"""The parts of `docs/figures.md` about programs made and changed at random."""

from __future__ import annotations

from collections import Counter
from typing import Any

from bench.report.text import rows, where
from testing import record

ATTEMPTS = ("update", "concat", "copy", "kernel-result", "in-place-map")


def campaign_part(data: dict[str, Any]) -> str:
    """Random programs at every stage, in kernels and beside Futhark: all that was run."""
    by: dict[tuple[str, str], list[tuple[str, record.Row]]] = {}
    for (generator, compared, commit), row in sorted(record.rows(data).items()):
        by.setdefault((compared, generator), []).append((commit, row))
    body = []
    for (compared, generator), found in sorted(by.items()):
        total = sum((row.counts for _, row in found), Counter[str]())
        at = ", ".join(f"{commit} ({row.counts['programs']})" for commit, row in found)
        timed = [row.counts for _, row in found if row.counts["milliseconds"]]
        many = sum(one["programs"] + one["refused"] for one in timed)
        pace = round(total["milliseconds"] / many) if many else "-"
        numbers = [total[name] for name in ("programs", "refused", "failing", "late")]
        differences = sum(len(row.differences) for _, row in found)
        body.append([generator, compared, *numbers, differences, pace, at])
    heads = ["generator", "compared with", "programs", "refused", "fail in all", "late"]
    heads += ["differences", "ms each"]
    return f"""
## Random programs

`python -m bench.campaign` and `python -m bench.kernels`, with `--save`, which go on where they were
stopped; the last run: {where(data)}

{rows([*heads, "at commits (programs)"], body)}

A program is compared with what it means: at every later stage, in the heap semantics with its race
check, in IMP and C; in the kernel IR with each access watched; as CUDA's text under the observer;
beside Futhark's compiler. Refused programs are those of the type checker; `late` is what took more
than a minute. Programs of one seed are other ones where the generator was changed. The milliseconds
are those of a processor, without what C's runs take.
{_differences(data)}
Attempts to build arrays in place, by outcome (the conditions are those of the thesis that failed):

{_attempts(data)}
"""


def _differences(data: dict[str, Any]) -> str:
    """Write the differences found, with the explanations in the file's notes."""
    notes = data["figures"].get("notes", {})
    lines = [
        f"| {generator} {seed} | {commit} | {where} | {notes.get(f'{generator} {seed}', 'open')} |"
        for (generator, _, commit), row in sorted(record.rows(data).items())
        for seed, where, _ in row.differences
    ]
    if not lines:
        return ""
    head = ["| program | commit | where | what it was |", "| --- | --- | --- | --- |"]
    return "\nThe differences:\n\n" + "\n".join([*head, *lines]) + "\n"


def _attempts(data: dict[str, Any]) -> str:
    """Write the table of attempts to build in place, by outcome, where these were counted."""
    total = sum((row.counts for row in record.rows(data).values()), Counter[str]())
    kinds: dict[str, dict[str, int]] = {kind: {} for kind in ATTEMPTS}
    for name, n in total.items():
        kind, _, outcome = name.partition(": ")
        if kind in kinds:
            kinds[kind][outcome] = n
    outcomes = sorted({outcome for kind in kinds.values() for outcome in kind})
    body = [[kind, *(found.get(o, 0) for o in outcomes)] for kind, found in kinds.items() if found]
    return rows(["attempt", *outcomes], body)


def mutated_part(data: dict[str, Any]) -> str:
    """Mutants of other people's programs."""
    f = data["figures"]
    body = [[why, count] for why, count in f["explained"].items()]
    asked = f["refused_by_both"] + f["accepted_elsewhere"]
    return f"""
## Mutants of Futhark's tests and benchmarks, next to Futhark's C

{where(data)}

{f["run"]} mutants of {f["programs"]} programs ran.
{f["agrees"]} give the same with `futhark c`, with our C, and as CUDA text
under the observer in two code versions; {f["fails"]} fail everywhere, on all inputs.
{f["limit"]} more need too much time or memory, and of {f["refused"]} seeds
no mutant was accepted. {asked} mutants that we refuse were shown to Futhark's checker, which
accepts {f["accepted_elsewhere"]} of them.
{f["differences"]} differences, **{f["not_explained"]} of them not explained**:

{rows(["explanation", "differences"], body)}
"""


def fuzz_part(kinds: list[dict[str, Any]]) -> str:
    """Write the part about bad input."""
    body = []
    for data in kinds:
        f = data["figures"]
        outcomes = ", ".join(f"{name} {count}" for name, count in f["outcomes"].items())
        slowest = f"{cpu} of CPU" if (cpu := f.get("slowest_cpu_s")) is not None else f["slowest_s"]
        body.append([f["kind"], f["cases"], f["reports"], outcomes, slowest])
    commands = "\n".join(f"- {where(data)}" for data in kinds)
    return f"""
## Bad input

Programs, lines of the worker's protocol, values in both notations and questions to the prover,
valid ones and changed ones. A report is an answer of kind `internal`, none, no JSON, a span outside
of the text, or an answer that takes a minute. The slowest case is told by the wall clock of a busy
machine, or by what it computed, where it says so.

{rows(["input", "cases", "reports", "answers", "slowest, s"], body)}

{commands}
"""
