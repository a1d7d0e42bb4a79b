"""Judge refusals for cells in a fixed set of programs: whether their accesses ever meet.

Each refused attempt is made all the same, and the program run on many small inputs beside the one
as it is. A refusal is justified if a result differs in some run; one of which none ever does may be
for a proof that was not found, or for a meeting that no small input has.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from compiler.base.context import Ctx, Options
from compiler.base.errors import CompileError
from compiler.base.names import NameSource
from compiler.driver.pipeline import Compilation
from compiler.explain import validity
from compiler.ir.nodes import Prog
from compiler.ir.values import Value
from compiler.semantics import heap, interp
from compiler.storage.short_circuit.attempts import Attempt
from compiler.storage.short_circuit.conditions import CELLS
from compiler.storage.short_circuit.points import Shortcut
from compiler.storage.short_circuit.trial import FREE, Trial, Trials, given_numbers, make_inputs
from testing.attempts import versions

FILE = Path(__file__).parent.parent / "bench" / "refusals.txt"
INPUTS = 120
"""Random inputs for one refusal."""
_LARGEST = 9
_FEW, _MANY = 4, 1000
"""Elements are below the first in half of the inputs, so that they may be indices."""
Verdict = Literal["justified", "unjustified", "barred"]
"""`barred`: it cannot be tried, as more than cells is in the way, or no input is one that runs."""


@dataclass(frozen=True)
class Program:
    """One program of the set."""

    name: str
    source: str


@dataclass(frozen=True)
class Refused:
    """One refusal and what runs say of it."""

    program: str
    rule: str
    because: str
    verdict: Verdict


def programs() -> list[Program]:
    """All programs of the file."""
    found: list[Program] = []
    for line in FILE.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, given, body = line.split(" | ", 2)
            sizes = " ".join(size for size in ("[n]", "[m]") if size in given)
            found.append(Program(name, f"entry main {sizes} {given} =\n  {body}\n"))
    return found


def refusals(program: Program) -> Iterator[Refused]:
    """Yield the attempts of a program refused for cells, each judged by runs."""
    prog = Compilation(program.source).result("funmem").prog
    for at, fun in enumerate(prog.funs):
        ctx = Ctx(Options(), NameSource(FREE), stage="shortcircuit")
        shortcut = Shortcut(fun, ctx)
        shortcut.run()
        trials = Trials(prog, at, ctx, shortcut.attempts)
        for number, attempt in enumerate(shortcut.attempts):
            if not attempt.done and attempt.condition == CELLS:
                verdict = judged(trials, number, attempt)
                yield Refused(program.name, attempt.rule.id, attempt.because, verdict)


def judged(trials: Trials, number: int, attempt: Attempt) -> Verdict:
    """Return whether a refusal is justified, by running the forced attempt."""
    forced = trials.forced(number)
    if forced is None:
        return "barred"
    runs = False
    for trial in (*trials.inputs(attempt), *islice(_random(trials), INPUTS)):
        try:
            expected = interp.run(trials.prog, trial[0].name, trial[2])
        except CompileError:
            continue
        runs = True
        if _differs(forced[0], trial, expected):
            return "justified"
    return "unjustified" if runs else "barred"


def _random(trials: Trials) -> Iterator[Trial]:
    """Inputs with random sizes and numbers."""
    rng = random.Random(1)
    fun = trials.fun if trials.fun.entry else next(f for f in trials.prog.funs if f.entry)
    for seed in range(INPUTS):
        numbers = {name: rng.randint(0, _LARGEST) for name in sorted(given_numbers(fun))}
        trial = make_inputs(fun, numbers, seed, _FEW if seed % 2 else _MANY)
        if trial is not None:
            yield trial


def _differs(forced: Prog, trial: Trial, expected: Sequence[Value]) -> bool:
    """Return True if a changed program gives another result, or fails, in some code version."""
    fun, _, args = trial
    for thresholds in versions(forced):
        try:
            found, _ = heap.run(forced, fun.name, args, thresholds=thresholds)
        except CompileError:
            return True
        if not validity.compare(found, expected)["valid"]:
            return True
    return False
