"""Compare three procedures on two LMADs: the thesis', this prover's and Z3's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from compiler.algebra.as_data import FactorOf, plain, plain_cells
from compiler.algebra.decide import decide
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Lmad
from compiler.algebra.no_overlap import Intervals, Says, Traced, no_overlap
from compiler.algebra.notation import Reader, facts_in_ways
from compiler.algebra.poly import Poly
from compiler.algebra.second_opinion import SECONDS, ask_z3
from compiler.algebra.show import verdict_json
from compiler.base.deadline import within
from compiler.driver.explanations import LONGEST_PROOF, TOO_HARD
from compiler.protocol import proofs
from compiler.protocol.answering import answers
from compiler.protocol.polynomials import Sentence

T = TypeVar("T")


@answers(proofs.NO_OVERLAP)
def three_ways(asked: proofs.NoOverlapRequest) -> proofs.NoOverlapAnswer:
    """Return verdict, reason and time of each."""
    return within(LONGEST_PROOF, lambda: _asked(asked), "The proof", TOO_HARD)


def _asked(asked: proofs.NoOverlapRequest) -> proofs.NoOverlapAnswer:
    decided, ours_ms = _timed(lambda: decide(asked.a, asked.b, asked.assumptions))
    own = verdict_json(decided.verdict, decided.reader.factor)
    reader = Reader()
    first, second = reader.lmad(asked.a), reader.lmad(asked.b)
    thesis: proofs.ByProcedure = {"disjoint": False, "because": [], "steps": [], "ms": 0.0}
    known = Facts(())
    for known in facts_in_ways(reader, asked.assumptions):
        if not thesis["disjoint"]:
            thesis = _by_procedure(first, second, known, reader.factor, thesis["ms"])
    opinion, z3_ms = _timed(lambda: ask_z3(first, second, known, SECONDS))
    return {
        "ok": True,
        "a": plain_cells(first, reader.factor),
        "b": plain_cells(second, reader.factor),
        "thesis": thesis,
        "ours": {"verdict": own["verdict"], "because": own["reason"], "ms": round(ours_ms, 3)},
        "z3": {"verdict": opinion.verdict, "because": opinion.says, "ms": round(z3_ms, 3)},
    }


def _by_procedure(
    first: Lmad[Poly], second: Lmad[Poly], facts: Facts, factor: FactorOf, before: float
) -> proofs.ByProcedure:
    """Run the procedure under facts; add the `before` milliseconds of another reading of them."""
    (shown, steps), ms = _timed(lambda: no_overlap(first, second, facts))
    return {
        "disjoint": shown,
        "because": [] if shown else _because(steps, factor),
        "steps": [_step(step, factor) for step in steps],
        "ms": round(before + ms, 3),
    }


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of `work` and its milliseconds of CPU time."""
    start = time.thread_time()
    found = work()
    return found, (time.thread_time() - start) * 1000


def _because(steps: Sequence[Traced], factor: FactorOf) -> Sentence:
    """Return the sentence of the step at which the procedure ended."""
    last = steps[-1]
    if last.parts:
        return _because(last.parts[-1], factor)
    return _sentence(last.says, factor)


def _step(step: Traced, factor: FactorOf) -> proofs.ProcedureStep:
    return {
        "rule": step.rule,
        "says": _sentence(step.says, factor),
        "a": _sum(step.first, factor),
        "b": _sum(step.second, factor),
        "shown": [plain(one.claim, factor) for one in step.asked if one.shown],
        "missing": [plain(one.claim, factor) for one in step.asked if not one.shown],
        "failed": step.failed,
        "parts": [[_step(inner, factor) for inner in part] for part in step.parts],
    }


def _sum(one: Intervals, factor: FactorOf) -> proofs.StridedSum:
    return {
        "offset": plain(one.offset, factor),
        "intervals": [
            [plain(poly, factor) for poly in (dim.stride, dim.low, dim.high)]
            for dim in one.intervals
        ],
    }


def _sentence(says: Says, factor: FactorOf) -> Sentence:
    return [part if isinstance(part, str) else plain(part, factor) for part in says]
