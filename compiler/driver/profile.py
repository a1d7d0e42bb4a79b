"""Profile a run: time of kernels, copies and allocations, with place and origin.

The C of the program is written once more, with a clock around each of these (`codegen/c/profile`).
CUDA is not timed: sectors are counted where its kernels are observed.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.base.errors import UsageError
from compiler.base.spans import Prov, user_spans
from compiler.codegen.c.profile import Section, emit_measured
from compiler.codegen.c.program import TARGET as C
from compiler.codegen.c.runtime import SECTIONS
from compiler.driver import api, explanations
from compiler.driver.pipeline import STAGES, Compilation
from compiler.ir.entry import bind
from compiler.ir.values import Value
from compiler.protocol import accesses
from compiler.protocol.answering import answers
from compiler.protocol.kinds import OfProgram
from compiler.protocol.profiles import (
    PROFILE,
    LineSectors,
    ProfileAnswer,
    ProfileCounts,
    ProfilePart,
    ProfileRequest,
)
from compiler.runtime import runner

WARM_UP_AND_RUN = 2


@answers(PROFILE)
def profiled(asked: ProfileRequest) -> ProfileAnswer:
    """Profile an entry point by time or memory traffic. Errors: as those of a run."""
    api.check_target(asked.backend)
    if asked.backend != C.id:
        return _counted(asked)
    return measured(asked, asked.entry, api.input_values(asked), asked.deadline)


def measured(asked: OfProgram, entry: str, args: list[Value], seconds: float) -> ProfileAnswer:
    """Like `profiled`, on values.

    Errors: `UsageError` where there is no C compiler, and those of the run.
    """
    if missing := runner.why_not():
        raise UsageError(missing, hint="The program is measured in C.")
    work = api.compilation(api.for_entry(asked, entry, "c"))
    entry = api.entry_named(work, entry)
    bind(api.entry_function(work, entry), args)
    text, sections = emit_measured(work.result("imp", "c").prog)
    settings = runner.Settings(runs=WARM_UP_AND_RUN, measured=2 * SECTIONS * bool(sections))
    with api.telling_calls(work, "c"):
        done = runner.run_c(text, entry, args, seconds, settings)
    counted = zip(sections, done.profile[::2], done.profile[1::2], strict=False)
    found = [_part(work, *one) for one in counted if one[2]]
    found.sort(key=lambda one: -one["ms"])
    rest = max(0.0, done.times[-1] - sum(one["ms"] for one in found))
    return {"ok": True, "ms": done.times[-1], "rest_ms": rest, "parts": found}


def _counted(asked: ProfileRequest) -> ProfileAnswer:
    """Count the sectors that a run of the CUDA program fetches by line, and kernel launches."""
    seen = explanations.observe(
        accesses.ObserveRequest(
            asked.source,
            asked.options,
            asked.files,
            asked.main,
            entry=asked.entry,
            input=asked.input,
            seed=asked.seed,
            sizes=asked.sizes,
            seconds=asked.seconds,
        )
    )
    lines: dict[str, LineSectors] = {}
    for one in seen["accesses"]:
        if not one["shared"]:
            line = lines.setdefault(_line(one["src"]), {"src": one["src"][:1], "sectors": 0})
            line["sectors"] += (one.get("seen") or one["predicted"])["sectors"]
    counts: ProfileCounts = {
        "observed": seen["observed"],
        "because": seen["because"],
        "faults": [one["says"] for one in seen["faults"]],
        "lines": sorted(lines.values(), key=lambda one: -one["sectors"]),
        "kernels": seen["kernels"],
    }
    return {"ok": True, "ms": 0.0, "rest_ms": 0.0, "parts": [], "counts": counts}


def table(found: ProfileAnswer) -> str:
    """Format a profile as text: by line, then by part or kernel."""
    if "counts" in found:
        return _table_of_counts(found["counts"])
    whole = found["ms"] or 1.0
    lines: dict[str, float] = {}
    for one in found["parts"]:
        name = _line(one["src"])
        lines[name] = lines.get(name, 0.0) + one["ms"]
    ranked = [*sorted(lines.items(), key=lambda pair: -pair[1]), ("between", found["rest_ms"])]
    rows = [f"{found['ms']:.3f} ms"]
    rows += [f"{ms:10.3f} ms {ms / whole:6.1%}  {line}" for line, ms in ranked]
    rows.append("")
    rows += [
        f"{one['ms']:10.3f} ms {one['ms'] / whole:6.1%}  {one['calls']}x {one['kind']}"
        f" {one['name']}, {_line(one['src'])}, since {one['stage']}"
        for one in found["parts"]
    ]
    return "\n".join(rows)


def _table_of_counts(found: ProfileCounts) -> str:
    whole = sum(one["sectors"] for one in found["lines"])
    launches = sum(one["launches"] for one in found["kernels"])
    how = "counted in a run on the processor" if found["observed"] else "predicted"
    rows = [f"{whole} sectors of 32 bytes, {launches} launches, {how}: no times"]
    rows += [found["because"]] if found["because"] else []
    rows += found["faults"]
    rows += [
        f"{one['sectors']:10} sectors {one['sectors'] / (whole or 1):6.1%}  {_line(one['src'])}"
        for one in found["lines"]
    ]
    rows.append("")
    rows += [
        f"{one['launches']:10}x {one['name']}, {one['blocks']} blocks, {one['requests']} requests"
        for one in found["kernels"]
    ]
    return "\n".join(rows)


def _line(src: Sequence[Sequence[object]]) -> str:
    """Name the source line of a part."""
    if not src:
        return "the prelude"
    return f"line {src[0][0]}" + "".join(f" of {file}" for file in src[0][4:] if file)


def _part(work: Compilation, section: Section, nanoseconds: int, calls: int) -> ProfilePart:
    return {
        "kind": section.kind,
        "name": section.name,
        "src": user_spans(section.prov),
        "stage": origin(work, section.prov),
        "calls": calls,
        "ms": nanoseconds / 1e6,
    }


def origin(work: Compilation, prov: Prov) -> str:
    """Return the first stage with a statement of exactly this provenance."""
    for stage in STAGES:
        if stage.kind in ("ir", "imp") and _stands(work, stage.id, prov):
            return stage.id
    return "imp"


def _stands(work: Compilation, stage: str, prov: Sequence[object]) -> bool:
    wanted = set(prov)
    return any(set(line.src) == wanted for line in work.result(stage, "c").text)
