"""Write `docs/figures.md` from the files of the other benchmarks in `bench/results`.

python -m bench.table
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from typing import Any

from bench.large import GOAL
from bench.machine import RESULTS, ROOT, words
from bench.peer.figures import peers_part
from testing import record
from testing.fuzz import KINDS

HEAD = """# Figures

Look up measured times and sizes. Each table names its machine and its command, and `bench/results/`
has the raw numbers. `python -m bench.table` writes this page. Under a table it names each entry
that is slower than its rival by more than 3 %, or misses its goal.
"""


def load(name: str) -> dict[str, Any] | None:
    """A benchmark's file, or None if it has not been run."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return found


def where(data: dict[str, Any]) -> str:
    """The line under a title."""
    m = data["machine"]
    return (
        f"`{data['command']}` on {m['cores']} cores of {m['processor']}, Python {m['python']}, "
        f"commit {m['commit']}, {m['date']}."
    )


def rows(head: list[str], body: list[list[Any]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


NOISE = 0.03
"""A difference of less than this part is none."""


def slower(what: str, than: str, factors: dict[str, float]) -> str:
    """In words, which programs take longer with `what`, from time over time for each; or none."""
    found = {name: factor for name, factor in factors.items() if factor > 1 + NOISE}
    if not found:
        return f"No program is slower with {what} than {than}."
    worst = sorted(found.items(), key=lambda one: -one[1])
    times = ", ".join(f"`{name}` takes {factor:.2f} times as long" for name, factor in worst)
    return _wrapped(f"**Slower with {what} than {than}:** {times}.")


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _over(data: dict[str, Any], time: str, base: str) -> dict[str, float]:
    """Time over time of the programs that have both."""
    return {name: r[time] / r[base] for name, r in data.items() if r.get(time) and r.get(base)}


def compile_part(data: dict[str, Any]) -> str:
    """Compile times."""
    f = data["figures"]
    examples = f["examples_ms"]
    stages = [s for s in next(iter(examples.values())) if s not in ("total", "texts")]
    medians = [[s, _median([e[s] for e in examples.values()])] for s in [*stages, "texts", "total"]]
    growth = [
        [lines, round(t["total"], 1), round(t["total"] / int(lines), 3)]
        for lines, t in f["growth_ms_by_lines"].items()
    ]
    return f"""
## Compiling, warm: all stages to C and CUDA text

{where(data)}

Median over the {len(examples)} examples {f["median_ms"]:.1f} ms, the largest
{f["largest_ms"]:.1f} ms. Memory of the process after them: {f["peak_mb_after_examples"]} MB.
A worker started cold answers its first request after {f["cold_worker_first_answer_ms"]:.0f} ms.

{rows(["stage", "median over the examples, ms"], medians)}

How it grows (many functions, each with maps, a reduction, a scan, a loop and a branch):

{rows(["lines", "ms", "ms a line"], growth)}
"""


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    return round(ordered[len(ordered) // 2], 2)


def prove_part(data: dict[str, Any]) -> str:
    """Write the part about the prover on random pairs."""
    f = data["figures"]
    families = {name: r for name, r in f.items() if name not in ("known", "constant")}
    body = [
        [
            name,
            r["pairs"],
            r["disjoint"],
            r["proved"],
            f"{100 * r['proved_share']:.2f} %",
            r["unsound"],
            r["slowest_ms"],
        ]
        for name, r in families.items()
    ]
    forged = {
        kind: sum(r["forged"][kind] for r in families.values())
        for kind in next(iter(families.values()))["forged"]
    }
    k, c = f["known"], f["constant"]
    return f"""
## Proving that accesses never meet

{where(data)}

Pairs of wavefront and LU programs: {k["proved"]} of {k["pairs"]} proved, certificates accepted;
median {k["median_ms"]} ms a pair, largest {k["largest_ms"]} ms. LMADs of numbers, up to three
dimensions: {c["pairs"]} pairs against enumeration, {c["wrong"]} wrong, {c["mean_us"]} µs a pair.
Random symbolic pairs against brute force on a grid:

{rows(["family", "pairs", "disjoint", "proved", "share", "unsound", "slowest, ms"], body)}

Certificates with one number or leaf changed: {forged["changed"]} offered for the same pair, of
which {forged["changed, still proofs"]} are proofs as well, such as one that lends a case fewer
facts; the others are refused. Certificates offered for a pair that does meet:
{forged["misapplied"]}, of which {forged["misapplied, accepted"]} are accepted.
"""


def codes_part(data: dict[str, Any]) -> str:
    """Write the part about the prover on pairs of real codes."""
    f = data["figures"]
    return f"""
## Proving that accesses of real codes never meet

{where(data)}

{f["proved"]} of {f["pairs"]} pairs proved, median {f["median_ms"]} ms, largest
{f["largest_ms"]} ms. Pairs that share a cell after a change: {f["changed and meeting"]}; pairs that
are said to be disjoint and share one: {len(f["wrong"])}. Not proved:

{chr(10).join(f"- {name}" for name in f["not proved"])}
"""


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


def walls_part(data: dict[str, Any]) -> str:
    """Write the part about the cost of the sandbox."""
    f = data["figures"]
    kinds = list(f["first_ms"])
    body = [[f"{name}, warm", *by_kind.values()] for name, by_kind in f["warm_ms"].items()]
    body.append(["first answer of a cold worker", *f["first_ms"].values()])
    process = [f["process_ms"].get(kind, "-") for kind in kinds]
    body.append(["`stridescope run` as a process", *process])
    layers = ", ".join(name for name, holds in f["layers"].items() if holds)
    return f"""
## What the walls around a run cost

{where(data)}

{rows(["request, ms", *kinds], body)}

Medians of requests with `"op": "run"`, in turns, each a new process behind walls; before, runs
shared one process without any. The worker of the command line is not confined, that of the server
is. What held: {layers}. Load of the machine before (processes that want a core): {f["load"]}.
"""


def whole_part(data: dict[str, Any]) -> str:
    """Compile times where most has to be proved."""
    body = [
        [
            name,
            r["lines"],
            r["total_ms"],
            r["goal_ms"],
            r["proving_ms"],
            f"{r['built_in_place']} of {r['attempts']}",
            r["pairs"],
            r.get("futhark_c_ms", "-"),
            r.get("futhark_cuda_ms", "-"),
        ]
        for name, r in data["figures"].items()
    ]
    head = [
        "program",
        "lines",
        "all stages, ms",
        "goal, ms",
        "of it short-circuiting for C, ms",
        "built in place",
        "pairs of accesses",
        "futhark c, ms",
        "futhark cuda, ms",
    ]
    return f"""
## Compiling with proofs, next to Futhark's compiler

{where(data)}

{rows(head, body)}

{_beyond("goal", {name: r["total_ms"] / r["goal_ms"] for name, r in data["figures"].items()})}
{slower("our compiler", "with `futhark c`", _over(data["figures"], "total_ms", "futhark_c_ms"))}

Medians, taken in turns. Ours: a warm process, every stage to C and to CUDA text, all proofs made
anew, once for both targets. Futhark's: `futhark c --library` and `futhark cuda --library`, which
end with the generated text, from the start of the process.
"""


def large_part(data: dict[str, Any]) -> str:
    """The programs of folders that take longest to compile."""
    folders = data["figures"]
    counted = [
        [
            name,
            r["compiled"],
            ", ".join(f"{count} {kind}" for kind, count in sorted(r["refused"].items())) or "-",
            r["median_ms"],
            len(r["above"]),
            *(r["machine"][key] for key in ("commit", "date", "load")),
        ]
        for name, r in folders.items()
    ]
    above = {
        f"{folder}: {name}": one
        for folder, r in folders.items()
        for name, one in r["above"].items()
    }
    body = [
        [name, r["lines"], r["total_ms"], *(r.get(f"futhark_{b}_ms", "-") for b in ("c", "cuda"))]
        for name, r in above.items()
    ]
    both = {
        name: r["total_ms"] / (r["futhark_c_ms"] + r["futhark_cuda_ms"])
        for name, r in above.items()
        if "futhark_c_ms" in r and "futhark_cuda_ms" in r
    }
    head = ["program", "lines with imports", "all stages, ms", "futhark c, ms", "futhark cuda, ms"]
    columns = ["folder", "compiled", "refused, by kind of error", "median, ms", "above the goal"]
    columns += ["commit", "date", "load"]
    total = sum(r["compiled"] for r in folders.values())
    return f"""
## Compiling large programs, next to Futhark's compiler

{where(data)}

**{len(above)} of {total} programs take more than {GOAL} ms**, which is the goal.

{rows(columns, counted)}

{rows(head, body)}

{slower("our compiler", "with both of Futhark's together", both)}

Ours: CPU time of a warm process, every stage to C and to CUDA text, all printed; the least of
three. Futhark's: `futhark c --library` and `futhark cuda --library`, once, from the start of the
process; `-` where it gave no text or was stopped. Files without an entry point, and packages in
folders `lib`, are left out. Load: processes that wanted a core in the last 15 minutes of it.
"""


def short_circuit_part(data: dict[str, Any]) -> str:
    """Write the part about building in place and merging blocks."""
    figures = data["figures"]
    times = [
        [
            name,
            r["input"],
            r["without_ms"],
            r["with_ms"],
            r["speedup"],
            r.get("futhark_ms", "-"),
        ]
        for name, r in figures.items()
    ]
    memory = [
        [
            name,
            r["built_in_place"],
            *(_change(r, key) for key in ("copied_mb", "allocations", "allocated_mb", "peak_mb")),
        ]
        for name, r in figures.items()
    ]
    problems = "".join(
        f"\nFuthark's program for `{name}`: {r['futhark_problem']}\n"
        for name, r in figures.items()
        if r.get("futhark_problem") and "no Futhark" not in r["futhark_problem"]
    )
    head = ["program", "input", "without, ms", "with, ms", "speedup", "Futhark multicore, ms"]
    counts = ["program", "rewrites", "copied, MB", "allocations", "allocated, MB", "peak, MB"]
    return f"""
## Running without and with short-circuiting and merging

{where(data)}

{rows(head, times)}

{slower("short-circuiting", "without", _over(figures, "with_ms", "without_ms"))}
{_same_twice(figures)}
{slower("our C", "with Futhark", _over(figures, "with_ms", "futhark_ms"))}

C on all cores, medians, taken in turns in one run; the results are the same. What the programs
count while they run, without and with:

{rows(counts, memory)}

Copied: what copies of arrays move (updates, concatenations, copies and rows of kernels that are
not built in place). Allocated: all blocks of one run. The peak holds the inputs as well.
{problems}"""


def _same_twice(figures: dict[str, Any]) -> str:
    """In words, where the two programs do the same, so that their times differ by chance."""
    same = [
        f"`{name}` ({row['speedup']:g})"
        for name, row in figures.items()
        if not row["built_in_place"] and row["with"] == row["without"]
    ]
    both = "Both ways copy and allocate the same, so that a difference is the machine's"
    return _wrapped(f"{both}: {', '.join(same)}.") if same else ""


def _change(row: dict[str, Any], key: str) -> str:
    """A count before and after."""
    before, after = (f"{row[way][key]:g}" for way in ("without", "with"))
    return before if before == after else f"{before} → {after}"


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


def classroom_part(data: dict[str, Any]) -> str:
    """Write the part about the waits of a class."""
    f = data["figures"]
    body = []
    for name, found in f["parts"].items():
        refused = sum(n for outcome, n in found["outcomes"].items() if outcome != "ok")
        goal = f["goals_s"].get(name, "")
        times = [found["p50_s"], found["p95_s"], goal, found["largest_s"]]
        body.append([name, found["answers"], refused, *times])
    parts = list(f["parts"].values())
    whats, missed = _class_times(f)
    head = ["class", "asked", "p50", "p95", "largest", "goal for p95"]
    by_what = (
        "By what was asked, in seconds, where the check is the first part of an edit's answer:\n\n"
        f"{rows(head, whats)}\n\n{_beyond('goal', missed)}\n\n"
        if whats
        else ""
    )
    kinds = [
        [kind, *(" / ".join(f"{seconds:g}" for seconds in p["by_kind_s"][kind]) for p in parts)]
        for kind in parts[0]["by_kind_s"]
        if all(kind in p["by_kind_s"] for p in parts)
    ]
    lines = ", ".join(map(str, f["lines"]))
    return f"""
## A class in front of one server

{where(data)}

{f["pupils"]} pupils behind one address come within {f["seconds"]:g} s, with programs of about
{lines} lines, all different; each opens the page, {f.get("asks", "checks and compiles")}, {
        f["runs"]
    } run theirs in C.
Every limit is on. The hostile client has two compiles and two runs without end at a time, again
and again, under one name or under a new one each time. {f["remark"]}

{
        rows(
            ["class", "answers", "refused", "p50, s", "p95, s", "goal for p95, s", "largest, s"],
            body,
        )
    }

{
        _beyond(
            "goal",
            {n: p["p95_s"] / f["goals_s"][n] for n, p in f["parts"].items() if n in f["goals_s"]},
        )
    }

{by_what}By length as well, p50 / p95 / largest in seconds:

{rows(["asked", *f["parts"]], kinds)}
"""


def _class_times(figures: dict[str, Any]) -> tuple[list[list[Any]], dict[str, float]]:
    """Rows of what classes wait for, by what was asked; of those with a goal the part of it."""
    found: list[list[Any]] = []
    parts_of_goal: dict[str, float] = {}
    for name, part in figures["parts"].items():
        goals = figures.get("goals_of_s", {}).get(name, {})
        for what, times in part.get("by_what_s", {}).items():
            found.append([name, what, *times, goals.get(what, "")])
            if what in goals:
                parts_of_goal[f"{what}, {name}"] = times[1] / goals[what]
        if "processor_s" in part:
            each = part["processor_s"] / max(1, part["answers"])
            found.append([name, "processor of the server, a row", f"{each:.2f}", "", "", ""])
    return found, parts_of_goal


def streaming_part(data: dict[str, Any]) -> str:
    """Write the part about the bandwidth and memory of FlatPack programs that read files."""
    parts, missed = [], []
    for place, found in data["figures"]["files"].items():
        size = f"{found['bytes'] / 1e9:.1f} GB, {place}"
        parts.append([size, "plain read", found["read_gb_per_s"], "", "", ""])
        for name, one in found["programs"].items():
            ends = " to ".join(map(str, one["least_and_most"]))
            parts.append([size, name, one["gb_per_s"], one["of_a_read"], ends, one["memory_mb"]])
            if one["of_a_read"] < STREAMING_GOAL:
                missed.append(f"{name}, {place} ({one['of_a_read']})")
    goal = (
        f"Below the goal of {STREAMING_GOAL}: {'; '.join(missed)}." if missed else "All reach it."
    )
    table = rows(
        ["file", "program", "GB/s", "of a plain read", "least to most", "memory, MB"], parts
    )
    return f"""
## Files that are read window by window

{where(data)}

A plain read copies all bytes into one buffer of 4 MB, in the same run as the programs and in turns
with them. The goal is {STREAMING_GOAL} of its bandwidth.

{_wrapped(data["figures"]["remark"])}

{table}

{_wrapped(f"**{goal}**" if missed else goal)}
"""


def flatpack_part(data: dict[str, Any]) -> str:
    """Write the part about fusion of FlatPack programs, next to NumPy."""
    body = [
        [
            name,
            *one["traversals"],
            round(one["bytes"] / 1e6),
            *(round(one[side] / 1e6, 1) for side in ("numpy_allocated", "allocated")),
            *(one[side] for side in ("numpy_ms", "ms", "faster")),
            " to ".join(map(str, one["least_and_most"])),
        ]
        for name, one in data["figures"]["programs"].items()
    ]
    head = [
        *("program", "operations", "loops", "inputs, MB", "NumPy allocates, MB", "allocated, MB"),
        *("NumPy, ms", "ms", "times faster", "least to most"),
    ]
    return f"""
## FlatPack next to NumPy

{where(data)}

Operations are those that compute, each a pass of NumPy's over arrays; loops are what fusion leaves
of them. NumPy has the same views, and makes an array of each operation. Both run in turns; NumPy
uses one core.

{_wrapped(data["figures"]["remark"])}

{rows(head, body)}
"""


STREAMING_GOAL = 0.9


def readers_part(data: dict[str, Any]) -> str:
    """Write the part about the waits of a link's readers."""
    f = data["figures"]
    body = [
        [name, form, one["bytes"], *one["seconds"], one["processor_ms_an_answer"]]
        for name, part in f["parts"].items()
        for form, one in part.items()
    ]
    refused = sum(
        count
        for part in f["parts"].values()
        for one in part.values()
        for status, count in one["statuses"].items()
        if status not in ("200", "304")
    )
    head = ["link", "form", "bytes", "p50, s", "p95, s", "largest, s"]
    head.append("processor of the server, ms an answer")
    shares = {
        f"{form}, {name}": one["seconds"][1] / f["goal_s"]
        for name, part in f["parts"].items()
        for form, one in part.items()
    }
    beside = [
        [who, *f[name]["seconds"], f[name]["web_process_mb"]]
        for name, who in (
            ("greedy", f"{f['greedy_requests']} requests at a time for its largest forms"),
            ("senders", f"{f['senders_clients']} clients that send requests of 6 and of 14 MB"),
        )
    ]
    return f"""
## {f["readers"]} readers of one permalink at once

{where(data)}

The link holds `{f["example"]}`. All readers ask for one form of it at once, compressed, and then
for the next; {refused} answers were refused. The goal for the p95 of each is {f["goal_s"]} s.
{f["remark"]}

{rows(head, body)}

{_beyond("goal", shares)}

What somebody else waits for the front page beside others, who read nothing and take no gzip, and
the memory of the web process until then, of which the goal is {f["memory_goal_mb"]} MB:

{rows(["beside", "p50, s", "p95, s", "largest, s", "MB at most"], beside)}
"""


def soak_part(data: dict[str, Any]) -> str:
    """Write the part about growth of the web process's memory."""
    f = data["figures"]
    answers = sum(f["statuses"].values())
    body = [[f"{at:.0f}", mb] for at, mb in f["samples"][9::10]]
    return f"""
## {f["seconds"]:.0f} seconds of mixed use

{where(data)}

The web process of a server with small caches, asked for what nobody has asked for before:
{answers} answers. In the last quarter of the time it had {f["last_quarter_mb"]} MB on average, in
the second {f["second_quarter_mb"]} MB, and {f["most_mb"]} MB at most. The goal is that it grows by
{f["goal_percent"]} % at most in between.
{f["remark"]}

{rows(["seconds", "MB"], body)}

{_beyond("goal", {"growth": f["growth_percent"] / f["goal_percent"]})}
"""


def follow_part(data: dict[str, Any]) -> str:
    """Write the part about the delay between a teacher and followers."""
    f = data["figures"]
    body = [[f"followers: {what}", *found] for what, found in f["delays_s"].items()]
    body += [[f"somebody else's compile, {what}", *found] for what, found in f["others_s"].items()]
    cores = ", ".join(f"{found} of a core {what}" for what, found in f["cores"].items())
    return f"""
## {f["followers"]} followers of a lecture

{where(data)}

From the teacher's change until a follower has it: the text or selection (`view`), and the answers
about a text that was compiled (`stages`). {f["changes"]} changes, {f["missed"]} not seen,
{f["failures"]} requests failed; the goal for the p95 of `view` is {f["goal_s"]} s. The server
with its workers, the compiles of somebody else included, took {cores}.
The followers ran on the same machine.
{f["remark"]}

{rows(["what", "p50, s", "p95, s", "largest, s"], body)}

{_beyond("goal", {"view": f["delays_s"]["view"][1] / f["goal_s"]})}
"""


def _beyond(goal: str, shares: dict[str, float]) -> str:
    """In words, what misses its goal."""
    missed = [f"{name} ({share:.2f} of it)" for name, share in shares.items() if share > 1]
    if not missed:
        return f"All are within the {goal}."
    return _wrapped(f"**Beyond the {goal}:** {', '.join(missed)}.")


def edits_part(data: dict[str, Any]) -> str:
    """Answers after a key."""
    body = [
        [name, r["lines"], r["first_ms"], r["median_ms"], r["longest_ms"]]
        for name, r in data["figures"].items()
    ]
    return f"""
## After a key: `check` of what has changed

{where(data)}

{rows(["edited", "lines in all", "first answer, ms", "median of edits, ms", "longest, ms"], body)}

The first edit in a module with parameters is the one that takes longest: it checks all that is in
the module once by itself, and once for each application.
"""


LISTED = 6
"""Tasks that are told one by one, the longest first."""


def page_part(data: dict[str, Any]) -> str:
    """The page in a browser."""
    f = data["figures"]
    goals, sent, longest = f["goals"], f["transferred_kb"], f["longest_task_ms"]
    told = {
        "first picture": (f["picture_ms"], goals["picture"]),
        **{
            f"{what} after a key": (times, goals[what.partition(",")[0]])
            for what, times in f["after_a_key_ms"].items()
        },
    }
    body = [[what, t["median"], t["least"], round(goal)] for what, (t, goal) in told.items()]
    shares = {what: t["median"] / goal for what, (t, goal) in told.items()}
    shares["first visit"] = sent["files"] / goals["kB"]
    shares |= {
        name: task["cpu"] / goals["task"]
        for name, task in {**longest, "scroll": f["scroll"]}.items()
    }
    most = sorted(longest, key=lambda name: -longest[name]["cpu"])
    listed = ", ".join(f"{name} {longest[name]['cpu']} ms" for name in most[:LISTED])
    by_clock = max(task["clock"] for task in longest.values())
    head = ["what, for a program of 50 lines", "median, ms", "least, ms", "goal, ms"]
    return f"""
## The page in a browser

{where(data)} {f["remark"]}

{rows(head, body)}

{
        _wrapped(
            f"A first visit gets {sent['files']} kB of files (goal: {goals['kB']:.0f}) and "
            f"{sent['data']} kB of answers, compressed. For a program of 500 lines, the "
            f"processor's time in the longest task of the page's thread: {listed}, and less for "
            f"the other {len(longest) - LISTED} panes and edits; scrolling through "
            f"{f['scroll']['lines']:,} lines of CUDA text: {f['scroll']['cpu']} ms. By the clock, "
            f"while other programs want the same cores, the longest took {by_clock} ms."
        )
    }

{_beyond("goal", shares)}
"""


def thesis_part(data: dict[str, Any]) -> str:
    """The tables of the thesis, printed and measured."""
    figures = data["figures"]
    impact = [
        [
            f"{r['table']}, {name}",
            r["input"],
            r["c"]["without_ms"],
            r["c"]["with_ms"],
            r["c"]["impact"],
            r.get("cuda", {}).get("impact", "-"),
            r["printed"],
        ]
        for name, r in figures.items()
    ]
    memory = [
        [
            name,
            *(
                _change(r["c"], key)
                for key in ("copied_mb", "allocations", "allocated_mb", "peak_mb")
            ),
        ]
        for name, r in figures.items()
    ]
    built = [
        [
            name,
            *(f"{r[to]['built']}, {r[to]['left']}" for to in ("c", "cuda")),
            r["c"]["allocations"],
            r["cuda"]["allocations"],
            "-" if r["futhark_allocations"] is None else r["futhark_allocations"],
        ]
        for name, r in figures.items()
    ]
    times = ["table", "input here", "without, ms", "with, ms", "impact, C", "impact, CUDA"]
    counts = ["program", "copied, MB", "allocations", "allocated, MB", "peak, MB"]
    places = ["program", "C: in place, not", "CUDA: in place, not", "C", "CUDA", "Futhark's"]
    busy = " Other programs kept the machine busy meanwhile." if data.get("busy") else ""
    counted = f" (counted at commit {data['counted']})" if data.get("counted") else ""
    return f"""
## The thesis's programs, without and with short-circuiting

{where(data)}

{rows([*times, "printed, A100 and MI100"], impact)}

Medians, taken in turns in one run; the results are the same.{busy} Impact is time over time, which
the thesis prints for three data sets (two of LBM and of OptionPricing) on two GPUs. Programs are
its own of 2022, in today's Futhark, with all checks. What they count while they run as C, without
and with:

{rows(counts, memory)}

Arrays that are built in their places and attempts that fail (`stridescope attempts` says why); then
the allocations in the text of the program at the end, in all its versions together, and in that of
`futhark dev --gpu-mem`{counted}:

{rows(places, built)}
"""


def tuners_part(data: dict[str, Any]) -> str:
    """The autotuner beside a search that knows no trees."""
    found = data["figures"]
    trees = [
        [
            name,
            r["trees"],
            r["runs"],
            r["search, times as many"],
            r["most"],
            f"{r['searches that never come as far']} of {5 * r['trees']}",
            ", ".join(map(str, r["slower"])),
        ]
        for name, r in found.items()
        if "trees" in r
    ]
    programs = [
        [
            name,
            r.get("thresholds", "-"),
            r["printed"]["thresholds"],
            r.get("data sets", "-"),
            r.get("runs", "-"),
            r.get("search") if r.get("search") is not None else "-",
            ", ".join(map(str, r["slower"])) if "slower" in r else "-",
            r["printed"]["times faster"],
        ]
        for name, r in found.items()
        if "printed" in r
    ]
    told = (
        """ Programs are those of table 7.1 in
futhark-benchmarks, tuned by times that are foretold for an H200. A dash: nothing to tune, or no
data here, or launches that depend on it. Printed are thresholds, and how many times less time
tuning takes."""
        if programs
        else ""
    )
    heads = ["trees", "number", "runs", "search: times as many", "most", "never as fast", "slower"]
    here = ["program", "thresholds", "printed", "data sets", "runs", "search: runs", "slower"]
    return f"""
## The autotuner beside a search that knows no trees

{where(data)}

{rows(heads, trees)}

{rows([*here, "printed: times faster"], programs) if programs else ""}

Runs of `stridescope autotune`'s procedures, and of five searches in the manner of OpenTuner
(`testing/search.py`) until they are as fast within one percent; how many times slower these are
after as many runs as the autotuner's, median and worst.{told}
"""


def public_part(data: dict[str, Any]) -> str:
    """Programs of public repositories, and which of them are refused."""
    body = [
        [name, r["commit"][:10], r["programs"], r["programs"] - len(r["refused"]), r["version"]]
        for name, r in data["figures"].items()
    ]
    told = [
        f"- {name}/{path}: {why}"
        for name, r in data["figures"].items()
        for path, why in r["refused"].items()
    ]
    count, right = (sum(row[n] for row in body) for n in (2, 3))
    return f"""
## Programs of public repositories that Futhark accepts

{where(data)}

`check` accepts {right} of {count}; `bench/public.json` has their names.

{rows(["repository", "commit", "programs", "accepted", "by our commit"], body)}
{chr(10).join(["", *told, ""]) if told else ""}"""


def computed_part(data: dict[str, Any]) -> str:
    """Write the part about tests of public programs, and their results beside Futhark's."""
    told = {
        "tests": "Of programs with test blocks, by test",
        "beside": "Of programs without, by entry point, beside Futhark's C on random inputs",
    }
    text = f"""
## What programs of public repositories compute

{where(data)}
Where results may differ from Futhark's, and why, stands in [language.md](language.md).
"""
    for of, found in data["figures"].items():
        numbers = dict(found["counts"])
        count = numbers.pop("programs")
        body = [[what, number] for what, number in sorted(numbers.items())]
        why: dict[str, int] = {}
        for said in found["others"].values():
            short = said.partition(": ")[2]
            for part in ("Cannot read", "did not finish"):
                short = part if part in short else short
            why[short] = why.get(short, 0) + 1
        lines = [f"- {number} times: {said}" for said, number in sorted(why.items())]
        note = found.get("note", "")
        text += f"""
{told[of]} ({count} programs, by our commit {found["version"]}):

{rows(["outcome", "number"], body)}

{chr(10).join([*lines, *("", note)[: 2 * bool(note)]])}
"""
    return text


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    makers = (
        ("compile", compile_part),
        ("whole", whole_part),
        ("large", large_part),
        ("peers", peers_part),
        ("short_circuit", short_circuit_part),
        ("thesis", thesis_part),
        ("tuners", tuners_part),
        ("public", public_part),
        ("computed", computed_part),
        ("edits", edits_part),
        ("page", page_part),
        ("walls", walls_part),
        ("prove", prove_part),
        ("codes", codes_part),
        ("campaign", campaign_part),
        ("mutated", mutated_part),
        ("classroom", classroom_part),
        ("readers", readers_part),
        ("soak", soak_part),
        ("streaming", streaming_part),
        ("flatpack", flatpack_part),
        ("follow", follow_part),
    )
    for name, make in makers:
        data = load(name)
        if data is not None:
            parts.append(make(data))
    fuzzed = [data for kind in KINDS if (data := load(f"fuzz-{kind}")) is not None]
    if fuzzed:
        parts.append(fuzz_part(fuzzed))
    return "\n".join(line.rstrip() for line in "".join(parts).split("\n"))


def main() -> None:
    """The command line."""
    words(__doc__)
    (ROOT / "docs" / "figures.md").write_text(page())


if __name__ == "__main__":
    main()
