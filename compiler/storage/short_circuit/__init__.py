"""Short-circuiting: arrays are built where they end up, where that is proved safe (thesis ch. 6).

points.py       finds the points, makes the attempts, outer and late ones first
guards.py       checks of slices by LMADs, proved to be needless (7)
in_place.py     kernels that write over what they read (6)
conditions.py   the numbered conditions
project.py      the new index functions, and what has to move up for them (1 to 4)
safety.py       access summaries, compared pair by pair (5)
access.py       one access, seen from outside of a loop or kernel
quotients.py    the same where an index is divided
covers.py       many accesses as few
touched.py      what is kept from attempt to attempt
budget.py       what proofs may take (8)
costs.py        where a copy takes less time (9)
assumptions.py  what holds at a place of the program
contexts.py     facts that grow, by their names
blocks.py       which blocks a name may stand for
terms.py        index arithmetic as polynomials
tree.py         a function as a tree that can be edited
origins.py      where the facts of a proof come from
attempts.py     attempts as plain data
refusals.py     kinds of refusals, and what each leaves the author
trial.py        refused attempts, made all the same and run
clash.py        what such a run has shown
ways_out.py     what the author could state so that an attempt is made
wording.py      what arrays are called in remarks
"""

from __future__ import annotations

import time
from typing import Any

from compiler.algebra.argument import Argument
from compiler.analysis.exact import exactness
from compiler.base.context import Ctx, Options
from compiler.base.names import NameSource
from compiler.base.rules import Pass
from compiler.ir.nodes import Prog
from compiler.storage.short_circuit.attempts import RULES, Attempt
from compiler.storage.short_circuit.budget import BUDGET, Budget
from compiler.storage.short_circuit.origins import Origins
from compiler.storage.short_circuit.points import Shortcut
from compiler.storage.short_circuit.trial import FREE, Trials
from compiler.storage.short_circuit.ways_out import holder, stated

_SECONDS = 4.0
"""After so long no further attempt of a program is tried."""
_TRIED = 32
"""Refused attempts of a program of which runs show what would go wrong."""


def short_circuit(prog: Prog, ctx: Ctx) -> Prog:
    """Build arrays in their places.

    Needs: memory, allocations inside kernels. Keeps: values, names and provenance of statements;
    results of entry points stay where they are.
    """
    return _run(prog, ctx)[0]


def attempts(
    prog: Prog, options: Options | None = None, names: NameSource | None = None
) -> list[dict[str, Any]]:
    """All attempts that `short_circuit` makes on a program of stage `funmem`, as plain data.

    `names` are those of its compilation, which know what the author called what. Refused attempts
    are tried: at most `_TRIED` of a program, on a few small inputs each.
    """
    options = options or Options()
    names = (names or NameSource()).fork(FREE)
    ctx = Ctx(options, names, stage="shortcircuit")
    found: list[dict[str, Any]] = []
    left = _TRIED
    deadline = time.monotonic() + _SECONDS
    for at, shortcut in enumerate(_run(prog, ctx)[1]):
        if not shortcut.attempts:
            continue
        trials = Trials(prog, at, options, shortcut, deadline)
        for number in range(len(shortcut.attempts)):
            if left and trials.look(number):
                left -= 1
                attempt = shortcut.attempts[number]
                attempt.stated, attempt.holder = tuple(stated(trials, number)), holder(trials)
        origins = Origins(trials.assumptions, shortcut.terms)
        found += [{**one.json(origins), "entry": trials.fun.name} for one in shortcut.attempts]
    return found


def outcomes(prog: Prog, options: Options, names: NameSource) -> list[Attempt]:
    """The attempts as `short_circuit` makes them, without trials."""
    shortcuts = _run(prog, Ctx(options, names.fork(FREE), stage="shortcircuit"))[1]
    return [attempt for shortcut in shortcuts for attempt in shortcut.attempts]


def theorems(
    prog: Prog, options: Options | None = None
) -> tuple[list[dict[str, Any]], list[Argument]]:
    """What `short_circuit` rests on: a claim with its proof for each pair of accesses.

    And the arguments for inequalities, and for what is read as polynomials.
    """
    ctx = Ctx(options or Options(), NameSource(FREE), stage="shortcircuit")
    shortcuts = _run(prog, ctx)[1]
    made = [attempt for shortcut in shortcuts for attempt in shortcut.attempts]
    pairs = [theorem for attempt in made if attempt.done for theorem in attempt.theorems()]
    shown = [argument for one in shortcuts for argument in one.assumptions.proved]
    read = [argument for fun in prog.funs for argument in exactness(fun).shown] if made else []
    return pairs, [*shown, *read]


def _run(prog: Prog, ctx: Ctx) -> tuple[Prog, list[Shortcut]]:
    budget = Budget()
    shortcuts = [Shortcut(fun, ctx, budget=budget) for fun in prog.funs]
    funs = tuple(shortcut.run() for shortcut in shortcuts)
    same = all(new is old for new, old in zip(funs, prog.funs, strict=True))
    return (prog if same else Prog(funs)), shortcuts


SHORT_CIRCUIT = Pass(
    "shortcircuit",
    "Builds arrays where they end up, where that is proved to be safe.",
    short_circuit,
    (*RULES, BUDGET),
)
