"""The part of `docs/figures.md` that `bench.peers` fills."""

from __future__ import annotations

import math
from typing import Any

Row = dict[str, Any]


def peers_part(data: dict[str, Any]) -> str:
    """Programs beside Futhark's, tasks beside the best of their rivals, what is slower by name."""
    m = data["machine"]
    parts = [_HEAD.format(command=data["command"], cores=m["cores"], processor=m["processor"])]
    for threads in sorted({row["threads"] for row in data["figures"].values()}):
        for kind in ("suite", "task"):
            rows = {
                name.rsplit(" (", 1)[0]: row
                for name, row in data["figures"].items()
                if row["threads"] == threads and row["kind"] == kind
            }
            if rows:
                parts.append(_table(kind, threads, rows))
    return "".join(parts)


_HEAD = """
## Running: C beside its rivals

`{command}`, on {cores} cores of {processor}. The least of runs that take turns: of one
thread the time of the processor, of more that of the clock, on a machine that other programs may
have used as well. Ratios are the rival's time over ours. Ours makes all checks; Futhark's leave out
those that a program calls `#[unsafe]`.
"""
_TITLES = {
    "suite": "Programs of the futhark-benchmarks, {threads}",
    "task": "Small tasks beside libraries, {threads}",
}


def _table(kind: str, threads: int, rows: dict[str, Row]) -> str:
    shown: dict[str, tuple[float, str, float]] = {}
    lines = []
    for name, row in rows.items():
        best = best_of(kind, row)
        if best is None:
            lines.append(f"| {name} | {row.get('problem', 'nothing beside it')} | | | |")
            continue
        shown[name] = best
        ours, rival, ratio = best
        others = ", ".join(
            f"{other} {ms / ours:.2f}"
            for other, ms in row["ms"].items()
            if other not in ("ours", rival) and other not in row["problems"]
        )
        lines.append(f"| {name} | {ours:.4g} | {rival} | {ratio:.2f} | {others} |")
    title = _TITLES[kind].format(threads="one thread" if threads == 1 else f"{threads} threads")
    commits = sorted({(row["date"], row["commit"]) for row in rows.values()})
    below = {name: ratio for name, (_, _, ratio) in shown.items() if ratio < 1}
    named = ", ".join(f"{name} {ratio:.2f}" for name, ratio in sorted(below.items(), key=_second))
    wrong = [f"{name}: {who} {why}" for name, row in rows.items() for who, why in _wrong(row)]
    return f"""
### {title}

Rows: {len(shown)}. Geometric mean of the ratios: {mean([r for *_, r in shown.values()]):.2f}.
Commits: {", ".join(f"{commit} ({date})" for date, commit in commits)}.

| program | ours, ms | best rival | ratio | others |
| --- | --- | --- | --- | --- |
{chr(10).join(lines)}

{f"**Slower than the best rival, {len(below)}:** {named}." if below else "None is slower."}
{f"Left out: {'; '.join(wrong)}." if wrong else ""}
"""


def _second(one: tuple[str, float]) -> float:
    return one[1]


def _wrong(row: Row) -> list[tuple[str, str]]:
    return list(row.get("problems", {}).items())


def best_of(kind: str, row: Row) -> tuple[float, str, float] | None:
    """Our milliseconds, the fastest rival and its time over ours; None where there is none.

    Beside a task Futhark is no rival, since its tasks are for libraries.
    """
    ours = row.get("ms", {}).get("ours")
    rivals = {
        name: ms
        for name, ms in row.get("ms", {}).items()
        if name != "ours"
        and name not in row["problems"]
        and (kind == "suite" or not name.startswith("futhark"))
    }
    if not ours or not rivals:
        return None
    best = min(rivals, key=lambda name: rivals[name])
    return ours, best, rivals[best] / ours


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
