"""Where the time of a run goes: kernels, copies and allocations, with their place and their origin.

The C of the program is written once more, with a clock around each of these (`codegen/c/profile`).
Of CUDA nothing is measured: what its kernels fetch is counted where they are observed.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler import api
from compiler.base.errors import UsageError
from compiler.base.spans import Prov, user_spans
from compiler.codegen.c.profile import Section, emit_measured
from compiler.codegen.c.runtime import SECTIONS
from compiler.ir.entry import bind
from compiler.ir.values import Value
from compiler.pipeline import STAGES, Compilation
from compiler.protocol import accesses, runs
from compiler.protocol.answering import answers
from compiler.protocol.kinds import OfProgram
from compiler.runtime import runner

WARM_UP_AND_RUN = 2


@answers(runs.PROFILE)
def profiled(asked: runs.ProfileRequest) -> runs.ProfileAnswer:
    """Run an entry point in C, and tell what its parts take. Errors: as those of a run."""
    return measured(asked, asked.entry, api.input_values(asked), asked.deadline)


def measured(asked: OfProgram, entry: str, args: list[Value], seconds: float) -> runs.ProfileAnswer:
    """As `profiled`, on values.

    Errors: `UsageError` where there is no C compiler, and those of the run.
    """
    if missing := runner.why_not():
        raise UsageError(missing, hint="The program is measured in C.")
    work = api.compilation(api.for_entry(asked, entry, "c"))
    entry = api.entry_named(work, entry)
    bind(api.entry_function(work, entry), args)
    text, sections = emit_measured(work.result("imp", "c").prog)
    settings = runner.Settings(runs=WARM_UP_AND_RUN, measured=2 * SECTIONS)
    with api.telling_calls(work, "c"):
        done = runner.run_c(text, entry, args, seconds, settings)
    counted = zip(sections, done.profile[::2], done.profile[1::2], strict=False)
    found = [_part(work, *one) for one in counted if one[2]]
    found.sort(key=lambda one: -one["ms"])
    rest = max(0.0, done.times[-1] - sum(one["ms"] for one in found))
    return {"ok": True, "ms": done.times[-1], "rest_ms": rest, "parts": found}


def table(found: runs.ProfileAnswer) -> str:
    """A profile as text: by line, then by part."""
    whole = found["ms"] or 1.0
    lines: dict[str, float] = {}
    for one in found["parts"]:
        lines[_line(one)] = lines.get(_line(one), 0.0) + one["ms"]
    ranked = [*sorted(lines.items(), key=lambda pair: -pair[1]), ("between", found["rest_ms"])]
    rows = [f"{found['ms']:.3f} ms"]
    rows += [f"{ms:10.3f} ms {ms / whole:6.1%}  {line}" for line, ms in ranked]
    rows.append("")
    rows += [
        f"{one['ms']:10.3f} ms {one['ms'] / whole:6.1%}  {one['calls']}x {one['kind']}"
        f" {one['name']}, {_line(one)}, since {one['stage']}"
        for one in found["parts"]
    ]
    return "\n".join(rows)


def counted(found: accesses.AccessesAnswer) -> str:
    """What a run of the CUDA program fetches and launches, as text: by line, then by kernel."""
    lines: dict[str, int] = {}
    for one in found["accesses"]:
        if not one["shared"]:
            sectors = (one.get("seen") or one["predicted"])["sectors"]
            lines[_line(one)] = lines.get(_line(one), 0) + sectors
    whole = sum(lines.values())
    launches = sum(one["launches"] for one in found["kernels"])
    how = "counted in a run on the processor" if found["observed"] else "predicted"
    rows = [f"{whole} sectors of 32 bytes, {launches} launches, {how}: no times"]
    rows += [found["because"]] if found["because"] else []
    rows += [one["says"] for one in found["faults"]]
    ranked = sorted(lines.items(), key=lambda pair: -pair[1])
    rows += [f"{n:10} sectors {n / (whole or 1):6.1%}  {line}" for line, n in ranked]
    rows.append("")
    rows += [
        f"{one['launches']:10}x {one['name']}, {one['blocks']} blocks, {one['requests']} requests"
        for one in found["kernels"]
    ]
    return "\n".join(rows)


def _line(one: runs.ProfilePart | accesses.WarpAccess) -> str:
    """Where a part is from, in a few words."""
    if not one["src"]:
        return "the prelude"
    first = one["src"][0]
    return f"line {first[0]}" + "".join(f" of {file}" for file in first[4:] if file)


def _part(work: Compilation, section: Section, nanoseconds: int, calls: int) -> runs.ProfilePart:
    return {
        "kind": section.kind,
        "name": section.name,
        "src": user_spans(section.prov),
        "stage": origin(work, section.prov),
        "calls": calls,
        "ms": nanoseconds / 1e6,
    }


def origin(work: Compilation, prov: Prov) -> str:
    """The first stage that has something which is from exactly these places."""
    for stage in STAGES:
        if stage.kind in ("ir", "imp") and _stands(work, stage.id, prov):
            return stage.id
    return "imp"


def _stands(work: Compilation, stage: str, prov: Sequence[object]) -> bool:
    wanted = set(prov)
    return any(set(line.src) == wanted for line in work.result(stage, "c").text)
