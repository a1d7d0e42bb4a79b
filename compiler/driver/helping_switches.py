"""Find the rule that prevents short-circuiting: compile once more without it.

Each rule applied before short-circuiting is switched off, alone. Where every
attempt of that kind at that place succeeds then, that switch helps. It may cost more than it wins:
`stridescope bench` tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from compiler.base.errors import CompileError
from compiler.base.spans import Prov, user_spans
from compiler.driver.pipeline import PASSES, STAGES, Compilation
from compiler.storage.short_circuit.attempts import GUARD, Attempt

_STAGE = "shortcircuit"


def helping(work: Compilation) -> dict[int, list[str]]:
    """Map each refused attempt, by number, to the rules without which it succeeds."""
    refused = [one for one in _attempts(work) if not one.done and one.rule is not GUARD]
    found: dict[int, list[str]] = {}
    for rule in _at_work(work) if refused else ():
        options = replace(work.options, disabled=work.options.disabled | {rule})
        try:
            other = [*_attempts(Compilation(work.source, options))]
        except CompileError:
            continue
        for one in refused:
            alike = [each.done for each in other if _place(each) == _place(one)]
            if alike and all(alike):
                found.setdefault(one.number, []).append(rule)
    return found


def _attempts(work: Compilation) -> Iterable[Attempt]:
    found: Iterable[Attempt] = work.record(_STAGE).all()
    return found


def _place(attempt: Attempt) -> tuple[str, tuple[object, ...]]:
    prov: Prov = attempt.prov
    return attempt.rule.id, tuple(map(repr, user_spans(prov)))


def _at_work(work: Compilation) -> list[str]:
    """Return the optional rules applied before short-circuiting."""
    stages = [stage.id for stage in STAGES]
    before = set(stages[: stages.index(_STAGE)])
    told = (one for one in work.remarks() if one.kind == "applied" and one.stage in before)
    optional = {rule.id for step in PASSES for rule in step.rules if rule.optional}
    return sorted({one.rule for one in told} & optional)
