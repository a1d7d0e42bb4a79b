"""The parts of `docs/figures.md` about the thesis, tuning, and programs of others."""

from __future__ import annotations

from typing import Any

from bench.report.text import change, rows, where


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
                change(r["c"], key)
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
