"""Run short-circuiting for its attempts, and choose thresholds for its code versions."""

from __future__ import annotations

from typing import Any

from compiler.base.context import Ctx, Options
from compiler.base.names import NameSource
from compiler.driver.targets import target_named
from compiler.ir.nodes import Prog
from compiler.parallel.tuning import names
from compiler.storage.short_circuit import ID, short_circuit
from compiler.storage.short_circuit.trial import FREE


def always(prog: Prog) -> dict[str, int]:
    """Thresholds of a program that every amount of parallelism reaches."""
    return dict.fromkeys(names(prog), 0)


def versions(prog: Prog) -> tuple[dict[str, int], ...]:
    """Thresholds of runs: the usual ones, and those that every amount reaches."""
    reached = always(prog)
    return ({}, reached) if reached else ({},)


def attempts(
    prog: Prog, options: Options | None = None, fresh: NameSource | None = None
) -> list[dict[str, Any]]:
    """The attempts of short-circuiting on a program of stage `funmem`, as plain data."""
    options = options or Options()
    tags, target = (fresh or NameSource()).fork(FREE), target_named(options.target)
    ctx = Ctx(options, tags, target=target, stage="shortcircuit")
    short_circuit(prog, ctx)
    found: list[dict[str, Any]] = ctx.records[ID].told()
    return found
