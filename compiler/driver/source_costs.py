"""Answer `costs`: collect records of stages for `explain/source_costs.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.base.errors import CompileError
from compiler.driver import explanations
from compiler.driver.answers import remark_json
from compiler.driver.api import compilation, entry_function
from compiler.driver.pipeline import Compilation
from compiler.driver.targets import target_named
from compiler.explain.possible_values import PossibleValues
from compiler.explain.source_costs import Gathered, repeated, source_costs
from compiler.explain.warps import Effort, TooMuch
from compiler.ir.nodes import Prog
from compiler.protocol import proofs
from compiler.protocol.accesses import AccessesAnswer, AccessesRequest, WarpAccess
from compiler.protocol.answering import answers
from compiler.protocol.source_costs import COSTS, CostsAnswer, CostsRequest, EntryTime

MOST_ENTRIES = 8
"""The most entry points whose accesses are predicted."""
MOST_STATEMENTS = 20_000
"""Effort of the prediction in statements of warps, all together: about half a second."""


@answers(COSTS)
def costs(asked: CostsRequest) -> CostsAnswer:
    """Predict the costs of all entry points for one value of each size."""
    work = compilation(asked)
    entries = [entry.name for entry in work.result("typed").prog.entries]
    of_entries = {name: _sizes(asked, name) for name in entries}
    sizes = {name: value for own in of_entries.values() for name, value in own.items()}
    program = asked.source, asked.options, asked.files, asked.main
    attempts = explanations.attempts(proofs.AttemptsRequest(*program))["attempts"]
    checks = explanations.bounds(proofs.BoundsRequest(*program))["accesses"]
    accesses: list[WarpAccess] = []
    foretold: list[EntryTime] = []
    unknown = _switched_off(asked)
    effort = Effort(MOST_STATEMENTS)
    for name, own in list(of_entries.items())[:MOST_ENTRIES]:
        try:
            request = AccessesRequest(*program, entry=name, sizes=own)
            answer = explanations.accesses_with(request, effort)
            accesses += answer["accesses"]
            foretold += _times(name, answer)
        except TooMuch:
            unknown.append(f"Counting the cost of `{name}` on a GPU takes long: see *Warps*.")
        except CompileError as error:
            unknown.append(f"The cost of `{name}` on a GPU is unknown: {error.message}")
    if left := entries[MOST_ENTRIES:]:
        names = ", ".join(f"`{name}`" for name in left)
        unknown.append(f"The cost on a GPU is not shown here for {names}.")
    told = Gathered(
        attempts,
        accesses,
        checks,
        [remark_json(remark) for remark in work.remarks()],
        repeated(work.result("shortcircuit").prog, attempts),
        _possible(work, sizes),
        target_named(work.options.target).in_step,
        work.options.disabled,
    )
    return {
        "ok": True,
        "costs": source_costs(told, sizes),
        "sizes": sizes,
        "foretold": foretold,
        "unknown": unknown,
    }


def _times(entry: str, answer: AccessesAnswer) -> Iterator[EntryTime]:
    """Yield predicted times on the device whose predictions were compared with measurements."""
    for one in answer.get("foretold", ()) if answer["kernels"] else ():
        if one["measured"]:
            words = {"how_far": answer["how_far"], "unsure": answer["unsure"]}
            yield {**one, "entry": entry, **words}  # type: ignore[typeddict-item]


def _sizes(asked: CostsRequest, entry: str) -> dict[str, int]:
    """Return a value for each size and whole number that an entry point takes."""
    fun = entry_function(compilation(asked), entry)
    found = explanations.proposed_sizes(fun)
    return found | {name: value for name, value in asked.sizes.items() if name in found}


def _possible(work: Compilation, sizes: Mapping[str, int]) -> PossibleValues:
    """Find the values of whole numbers for these sizes, before and after the attempts."""
    before, after = work.result("funmem").prog, work.result("shortcircuit").prog
    called = work.names().called
    known = {
        param.name: sizes[called(param.name)]
        for fun in after.funs
        for param in fun.params
        if fun.entry and called(param.name) in sizes
    }
    return PossibleValues(Prog((*before.funs, *after.funs)), known)


def _switched_off(asked: CostsRequest) -> list[str]:
    """Name the facts that are unknown because a pass is switched off."""
    off = sorted({"shortcircuit"} & set(asked.options.get("disable", ())))
    return [f"Avoidable copies are unknown, because `{name}` is switched off." for name in off]
