"""The parts of `docs/figures.md` about compiling, editing and proving."""

from __future__ import annotations

from typing import Any

from bench.large import GOAL
from bench.report.text import beyond, change, over, rows, slower, where, wrapped


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

{beyond("goal", {name: r["total_ms"] / r["goal_ms"] for name, r in data["figures"].items()})}
{slower("our compiler", "with `futhark c`", over(data["figures"], "total_ms", "futhark_c_ms"))}

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
            *(change(r, key) for key in ("copied_mb", "allocations", "allocated_mb", "peak_mb")),
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

{slower("short-circuiting", "without", over(figures, "with_ms", "without_ms"))}
{_same_twice(figures)}
{slower("our C", "with Futhark", over(figures, "with_ms", "futhark_ms"))}

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
    return wrapped(f"{both}: {', '.join(same)}.") if same else ""


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

{wrapped(data["figures"]["remark"])}

{rows(head, body)}
"""
