"""Draw the pairs of accesses of attempts: the cells of both, for values that meet the facts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from compiler.algebra import cells as cell_sets
from compiler.base.deadline import within
from compiler.base.errors import CompileError
from compiler.protocol.kinds import Json

CELLS = 600
"""Cells of the largest picture."""
SECONDS = 5.0
"""Longest time of all pictures; pairs that are left then have none."""


def drawn(attempts: Sequence[Json], count: int) -> list[Json]:
    """Return attempts with equal pairs once, and pictures of the first `count` pairs."""
    found: list[Json] = []
    until = time.monotonic() + SECONDS
    for attempt in attempts:
        pairs = _different(attempt)
        with_pictures = [_drawn(one, until) if k < count else one for k, one in enumerate(pairs)]
        count -= len(pairs)
        found.append({**attempt, "obligations": with_pictures})
    return found


def _different(attempt: Json) -> list[Json]:
    """Return the different pairs: statements that touch the same cells have equal ones."""
    each = {repr((one["write"], one["use"], one["why"])): one for one in attempt["obligations"]}
    return list(each.values())


def _drawn(pair: Json, until: float) -> Json:
    """Add its picture to a pair, for the witness's values or proposed ones."""

    def work() -> Json:
        assumptions = {"nonnegative": pair["facts"]}
        values = (pair["witness"] or {}).get("values", {})
        return cell_sets.cells(assumptions, [pair["write"], pair["use"]], values)

    with suppress(CompileError):
        told = within(max(0.0, until - time.monotonic()), work)
        sets = [[at["cell"] for at in one["points"]] for one in told["lmads"]]
        if any(sets) and sum(map(len, sets)) <= CELLS:
            dims = (dim for one in told["lmads"] for dim in one["dims"])
            strides = sorted({abs(stride) for size, stride in dims if size > 1})
            picture = {"values": told["values"], "sets": sets, "strides": strides}
            return {**pair, "picture": picture}
    return pair
