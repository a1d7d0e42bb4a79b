"""Store attempts with their pictures, and memory for chosen sizes, in permalinks.

Both are the worker's answers from when the link was made, so that the link shows them without a
compiler, and without JavaScript.
"""

from __future__ import annotations

from app.jobs import ClientJobs
from compiler.protocol.kinds import Json

PICTURES = 24
"""Pairs of accesses drawn in one link."""
CELLS = 600
"""Cells of the largest set that is drawn."""


def attempts(jobs: ClientJobs, program: Json) -> list[Json] | None:
    """Return all attempts to build arrays in place; None where the program does not compile."""
    answer = jobs.must("attempts", program)
    if not answer.get("ok"):
        return None
    left = PICTURES
    found: list[Json] = []
    for attempt in answer["attempts"]:
        drawn = [_drawn(jobs, one) if k < left else one for k, one in enumerate(_pairs(attempt))]
        left -= len(drawn)
        found.append({**attempt, "obligations": drawn})
    return found


def _pairs(attempt: Json) -> list[Json]:
    """Deduplicate pairs of accesses: statements that touch the same cells have equal ones."""
    each = {repr((one["write"], one["use"], one["why"])): one for one in attempt["obligations"]}
    return list(each.values())


def _drawn(jobs: ClientJobs, pair: Json) -> Json:
    """Add to a pair its cells, for values that meet the facts, or the witness's."""
    body = {
        "assumptions": {"nonnegative": pair["facts"]},
        "lmads": [pair["write"], pair["use"]],
        "values": (pair["witness"] or {}).get("values", {}),
    }
    answer = jobs.must("cells", body)
    if not answer.get("ok"):
        return pair
    sets = [[at["cell"] for at in one["points"]] for one in answer["lmads"]]
    if not any(sets) or sum(map(len, sets)) > CELLS:
        return pair
    strides = [abs(stride) for one in answer["lmads"] for size, stride in one["dims"] if size > 1]
    picture = {"values": answer["values"], "sets": sets, "strides": sorted(set(strides))}
    return {**pair, "picture": picture}


def lifetimes(jobs: ClientJobs, program: Json, manifest: list[Json], stages: Json) -> list[Json]:
    """Return blocks and arrays over the program, at each stage with memory."""
    found: list[Json] = []
    for info in manifest:
        if not info["memory"] or info["id"] not in stages:
            continue
        body = {**program, "stage": info["id"]}
        valued = jobs.must("lifetimes", {**body, "values": {}})
        if valued.get("ok"):
            kept = {key: valued[key] for key in ("values", "functions")}
            found.append({"stage": info["id"], **kept})
    return found
