"""Refusals of random programs that name values, each checked to be real.

Every attempt that is refused for what it would overwrite is tried, and what the text then says is
checked by other means: the array is built in its place all the same, and the whole program run by
the heap semantics, which knows nothing of attempts. `differs`: the results are others, or the run
fails. `unseen`: the results are the same, since what was overwritten did not matter for them.
A witness whose program does not run through as it is, is `false`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from compiler.algebra.disjoint import Overlap
from compiler.base.context import Ctx, Options
from compiler.base.errors import CompileError
from compiler.base.names import NameSource
from compiler.driver.pipeline import Compilation
from compiler.explain import validity
from compiler.ir.nodes import Prog
from compiler.semantics import heap, interp
from compiler.storage.short_circuit.attempts import Attempt
from compiler.storage.short_circuit.conditions import CELLS, GUARD
from compiler.storage.short_circuit.points import Shortcut
from compiler.storage.short_circuit.trial import FREE, Trials
from testing.generators.storage import program


def refusals(prog: Prog) -> Iterator[tuple[Trials, int, Attempt]]:
    """The refused attempts of a program of stage `funmem` about which a run may show something."""
    for at, fun in enumerate(prog.funs):
        ctx = Ctx(Options(), NameSource(FREE), stage="shortcircuit")
        shortcut = Shortcut(fun, ctx)
        shortcut.run()
        trials = Trials(prog, at, ctx, shortcut.attempts)
        for number, attempt in enumerate(shortcut.attempts):
            if not attempt.done and attempt.condition in (CELLS, GUARD):
                yield trials, number, attempt


def judged(trials: Trials, number: int, attempt: Attempt) -> str:
    """Judge a witness: `differs`, `unseen` or `false`; `stops` for a check."""
    assert attempt.shown is not None
    entry, args = trials.fun.name, attempt.shown.args
    try:
        expected = interp.run(trials.prog, entry, args)
    except CompileError:
        return "stops" if attempt.condition == GUARD else "false"
    if attempt.condition == GUARD:
        return "false"
    forced = trials.forced(number)
    assert forced is not None
    try:
        found, _ = heap.run(forced[0], entry, args)
    except CompileError:
        return "differs"
    return "unseen" if validity.compare(found, expected)["valid"] else "differs"


def measure(seeds: range) -> Counter[str]:
    """Counts over the random programs of some seeds."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        try:
            prog = Compilation(program(seed).source).result("funmem").prog
        except CompileError:
            counts["not compiled"] += 1
            continue
        counts["programs"] += 1
        for trials, number, attempt in refusals(prog):
            counts["refused"] += 1
            verdicts = [one.verdict for one in attempt.obligations]
            counts["meet on paper"] += any(isinstance(one, Overlap) for one in verdicts)
            start = time.perf_counter()
            trials.look(number)
            counts["ms"] += round((time.perf_counter() - start) * 1000)
            if attempt.shown is not None:
                counts["shown"] += 1
                counts[judged(trials, number, attempt)] += 1
    return counts
