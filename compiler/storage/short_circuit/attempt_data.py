"""Encode attempts as plain data; forces refused ones to show their failure and what would help."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from compiler.base.context import Ctx
from compiler.ir.nodes import Prog
from compiler.protocol.kinds import Json
from compiler.storage.short_circuit.attempts import Record
from compiler.storage.short_circuit.origins import Origins
from compiler.storage.short_circuit.sufficient_facts import holder, sufficient_facts
from compiler.storage.short_circuit.trial import Trials

_SECONDS = 4.0
"""Time after which no further attempt of a program is run."""
_TRIED = 32
"""Number of refused attempts of a program that are run, on a few small inputs each."""


def all_attempts(prog: Prog, ctx: Ctx, records: Sequence[Record]) -> Iterator[Json]:
    """Yield all attempts on a program, function by function."""
    left = _TRIED
    deadline = time.monotonic() + _SECONDS
    for at, record in enumerate(records):
        if not record.attempts:
            continue
        made = record.attempts
        trials = Trials(prog, at, ctx, made, deadline)
        for k, attempt in enumerate(made):
            if left and trials.look(k):
                left -= 1
                attempt.stated, attempt.holder = tuple(sufficient_facts(trials, k)), holder(trials)
        origins = Origins(trials.assumptions, record.atoms)
        for one in made:
            yield {**one.json(origins, ctx.names.called), "entry": trials.fun.name}
