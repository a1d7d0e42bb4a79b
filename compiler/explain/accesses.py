"""Report the accesses of a CUDA program with their predicted and observed costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.base.prim import BYTES
from compiler.base.remarks import Remark
from compiler.base.text import Text
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.stm_uses import cell_access
from compiler.explain import predicted_times
from compiler.explain.lane_strides import Apart, Places, apart, shown, spelt, underlined
from compiler.explain.predictions import Prediction, kernels_of
from compiler.explain.requests import Cost
from compiler.explain.warps import WIDE_LINE, Place, all_places, lines_of
from compiler.protocol import accesses as protocol
from compiler.protocol.programs import Remark as OfRemark
from compiler.runtime.observer.records import LATE, Finding, Observation, Sample, Site
from compiler.storage.coalesce import READS, WRITES

ESTIMATED = "estimated from some launches, warps and iterations"
LANES = 32
"""Of a warp."""
COUNTS = ("requests", "lanes", "bytes", "sectors", "fewest", "passes", "least")


# --- both ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SaidBeside:
    """The compilation's remarks, names and texts beside the kernels."""

    remarks: Sequence[tuple[Remark, OfRemark]]
    """as they were made, and as data"""
    called: Callable[[Name], str]
    """the author's names of numbers"""
    texts: Mapping[str, Text]
    """of the stages with memory"""


NOTHING_BESIDE = SaidBeside((), base_of, {})


@dataclass(frozen=True, slots=True)
class _Known:
    """The analyses of a kernel's accesses."""

    kernel: k.Kernel
    text: Text
    spaces: Mapping[str, str]
    strides: Mapping[int, Apart]
    predicted: Prediction
    sites: Mapping[int, list[Site]]
    told: SaidBeside
    ended: bool
    """true if the run finished, so that all predicted accesses should have been observed"""


def report(
    prog: imp.ImpProg,
    text: Text,
    predicted: Prediction,
    seen: Observation | None,
    told: SaidBeside = NOTHING_BESIDE,
) -> protocol.Costs:
    """Report kernels, accesses (the most wasteful first) and faults."""
    launches = seen.launches if seen else predicted.launches
    kernels = kernels_of(prog, text)
    sites: dict[int, list[Site]] = {}
    for site in seen.sites if seen else ():
        sites.setdefault(site.line, []).append(site)
    found: list[protocol.WarpAccess] = []
    runs: list[protocol.KernelRun] = []
    for name in dict.fromkeys(name for name, _ in launches):
        kernel, body = kernels[name]
        strides = apart(kernel, body)
        spaces, ended = _spaces(kernel), seen is not None and seen.results is not None
        known = _Known(kernel, text, spaces, strides, predicted, sites, told, ended)
        own = [access for place in all_places(body) for access in _accesses(known, place)]
        found += own
        blocks = [blocks for launched, blocks in launches if launched == name]
        requests = sum((one.get("seen") or one["predicted"])["requests"] for one in own)
        run: protocol.KernelRun = {
            "name": name,
            "launches": len(blocks),
            "blocks": sum(blocks),
            "requests": requests,
        }
        if name in predicted.works:
            run["foretold"] = predicted_times.of_kernel(predicted.works[name])
        if seen:
            lines = range(*lines_of(text, name))
            run["barriers"] = sum(n for line, n in seen.barriers.items() if line in lines)
        runs.append(run)
    problems = seen.problems if seen else ()
    faults = [_fault(text, one) for one in problems if one.says != LATE]
    return {
        "kernels": runs,
        "accesses": sorted(found, key=_waste, reverse=True),
        "faults": faults,
        "foretold": predicted_times.of_run(predicted),
        "unsure": predicted_times.unsure(predicted),
        "how_far": predicted_times.HOW_FAR,
    }


def _fault(text: Text, one: Finding) -> protocol.Fault:
    at = text[one.line - 1] if one.line else None
    return {
        "says": one.says,
        "line": one.line,
        "text": at.text.strip() if at else "",
        "src": [list(span) for span in at.src] if at else [],
        "count": one.count,
        "block": one.block,
        "thread": one.thread,
    }


def _spaces(kernel: k.Kernel) -> dict[str, str]:
    """Return the space of each block that the kernel allocates: `shared`, or `own` of a thread."""
    found = {}
    for stm in statements(kernel.body):
        if isinstance(stm, imp.Alloc):
            found[stm.name] = "shared" if stm.space == "shared" else "own"
    return found


def _waste(access: protocol.WarpAccess) -> float:
    """Return the sectors, or bank passes, beyond the minimum."""
    counts = access.get("seen") or access["predicted"]
    return counts["sectors"] - counts["fewest"] + (counts["passes"] - counts["least"]) / 32


_ONLY: Mapping[str, protocol.AccessKind] = {READS.id: "reads", WRITES.id: "writes"}
"""Rules whose remarks concern only reads, or only writes."""


def _accesses(known: _Known, place: Place) -> list[protocol.WarpAccess]:
    """Return a statement's accesses to memory outside the thread: usually one."""
    stm, text, predicted = place.stm, known.text, known.predicted
    cells = cell_access(stm)
    if cells is None or known.spaces.get(cells.block) == "own":
        return []
    found = []
    is_wide = isinstance(stm, k.Loads | k.Stores)
    main = place.lines[WIDE_LINE if is_wide else 0]
    for line in place.lines:
        seen: list[Site | None] = [*known.sites.get(line, ())]
        cost = predicted.costs.get(line)
        if not seen and (cost is None or (line != main and not is_wide)):
            continue
        for site in seen or (None,):
            shared, because = known.spaces.get(cells.block) == "shared", _because(cost, predicted)
            shared = site.shared if site else shared
            kind = site.kind if site else cells.how
            one: protocol.WarpAccess = {
                "kernel": known.kernel.name,
                "line": line,
                "text": text[line - 1].text.strip(),
                "src": [list(span) for span in text[line - 1].src],
                "kind": kind,
                "array": spelt(cells.block),
                "cell": shown(cells.at),
                "shared": shared,
                "size": site.size if site else BYTES[cells.prim] * cells.number,
                "says": _words(site or cost or Cost(), shared, kind) or because,
                "predicted": _counts(cost or Cost()),
                "because": because,
                "remarks": [] if shared else _remarks(known, cells.block, kind),
                "samples": [
                    {"warp": s.warp, "step": s.step, "lanes": list(s.lanes)}
                    for s in sorted((site or cost or Cost()).samples, key=_order)
                ],
            }
            if site:
                one["seen"] = _counts(site)
                one["partial"] = site.partial
                same = one["seen"] == one["predicted"]
                if known.ended and (same or not because):
                    one["agrees"], one["because"] = same or site.partial, ""
            stride = known.strides.get(place.lines[0])
            if stride is not None:
                one["stride"] = _stride(known, one, stride)
            found.append(one)
    return found


def _remarks(known: _Known, block: Name, kind: str) -> list[OfRemark]:
    """Return the kernel's remarks about the block, or about one that is gone.

    An update reads and writes one block: remarks about reads concern only its reads.
    """
    kernel = known.kernel
    there = {param.name for param in kernel.params}
    return [
        told
        for remark, told in known.told.remarks
        if remark.blocks and remark.at == kernel.prov
        if block in remark.blocks or not there.intersection(remark.blocks)
        if kind == "both" or _ONLY.get(told["rule"], kind) == kind
    ]


def _stride(known: _Known, one: protocol.WarpAccess, stride: Apart) -> protocol.Stride:
    """Describe a stride, with its places in the stages if it wastes sectors."""
    places: list[protocol.Underlined] = []
    if _waste(one) > 0:
        at = _within(one["text"], one["cell"], stride.factors)
        if at:
            of_line = known.text[one["line"] - 1].text
            indent = len(of_line) - len(of_line.lstrip())
            at = [[start + indent, end + indent] for start, end in at]
            places.append({"stage": "cuda", "line": one["line"], "text": of_line, "at": at})
        places += underlined(known.told.texts, one["array"], stride.elements)
    elements = stride.elements.show(known.told.called)
    return {"elements": elements, "factors": stride.factors, "places": places}


def _within(line: str, cell: str, parts: Places) -> Places:
    """Shift ranges within a cell's text to the line of CUDA that contains it."""
    start = line.find(f"[{cell}]") + 1
    return [[start + at for at in part] for part in parts] if start else []


def _order(sample: Sample) -> tuple[int, int]:
    return sample.warp, sample.step


def _words(of: Cost | Site, shared: bool, kind: protocol.AccessKind) -> str:
    """Describe an average request; "" where its cells are unknown."""
    units, least = (of.passes, of.least) if shared else (of.sectors, of.fewest)
    if not units:
        return ""
    if isinstance(of, Cost) and of.exact and of.full and of.low == of.high:
        return _of_all(of, shared, kind, units, least)
    each = [_few(number / of.requests) for number in (of.lanes, units, least)]
    would = f"; {each[2]} would do" if each[1] != each[2] else ""
    differ = of.requests > 1 and of.lanes != LANES * of.requests
    mean = " on average" if differ or "." in "".join(each[:2]) else ""
    one, lanes = each[0] == "1", _several(each[0], "lane")
    if shared:
        return f"{lanes} in {_several(each[1], 'pass', 'passes')} over the banks{mean}{would}"
    plain, of_one = _VERBS[kind]
    used = round(100 * of.bytes / (32 * units))
    sectors = _several(each[1], "sector") + mean
    return f"{lanes} {of_one if one else plain} {sectors}, {used} % used{would}"


def _of_all(of: Cost, shared: bool, kind: protocol.AccessKind, units: float, least: float) -> str:
    """Describe full warps, and others of equally many lanes, with what all of them ask for."""
    full, others = int(of.full), int(of.requests - of.full)
    warps = f"{_several(f'{full:,}', 'warp')} of {LANES} lanes and {others:,} of {of.low}"
    would = f"; {least:,.0f} would do" if least != units else ""
    if shared:
        return f"{warps} in {units:,.0f} passes over the banks in all{would}"
    used = round(100 * of.bytes / (32 * units))
    return f"{warps} {_VERBS[kind][0]} {units:,.0f} sectors in all, {used} % used{would}"


_VERBS = {
    "reads": ("fetch", "fetches"),
    "writes": ("write to", "writes to"),
    "both": ("update", "updates"),
}


def _several(number: str, one: str, many: str = "") -> str:
    return f"{number} {one if number == '1' else many or f'{one}s'}"


def _few(number: float) -> str:
    """Format a number with one decimal, unless it is whole."""
    return f"{number:.1f}".removesuffix(".0")


def _because(cost: Cost | None, predicted: Prediction) -> str:
    """Explain why a run may differ from the prediction."""
    because = (cost.because if cost is not None else "") or predicted.because
    return because or (ESTIMATED if cost is not None and not cost.exact else "")


def _counts(of: Cost | Site) -> protocol.RequestCounts:
    counts: Any = {name: round(getattr(of, name)) for name in COUNTS}
    made: protocol.RequestCounts = counts
    return made


# --- as text ---------------------------------------------------------------------------------


def told(answer: protocol.AccessesAnswer) -> Iterator[str]:
    """Format the answer as lines of text."""
    if answer["sizes"]:
        yield ", ".join(f"{name} = {size}" for name, size in answer["sizes"].items())
    for fault in answer["faults"]:
        where = f"line {fault['line']}, `{fault['text']}`" if fault["line"] else "the host"
        who = f"thread {fault['thread']} of block {fault['block']}, {fault['count']} in all"
        yield f"FAULT in {where}: {fault['says']} ({who})"
    if answer["because"]:
        yield answer["because"]
    for run in answer["kernels"]:
        met = f", {run['barriers']:,} barriers" if "barriers" in run else ""
        launches = _several(f"{run['launches']:,}", "launch", "launches")
        blocks = _several(f"{run['blocks']:,}", "block of threads", "blocks of threads")
        yield f"kernel {run['name']}: {launches}, {blocks}, {run['requests']:,} requests{met}"
    if not answer["kernels"]:
        yield "No kernel is launched."
        return
    yield from predicted_times.told(answer)
    head = ("kernel", "line", "access", "requests", "sectors", "fewest", "passes", "least", "")
    rows = [head, *map(_row, answer["accesses"])]
    widths = [max(len(row[at]) for row in rows) for at in range(len(head) - 1)]
    for row in rows:
        cells = [
            cell.ljust(width) if at in (0, 2) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        yield "  ".join([*cells, row[-1]]).rstrip()


def _row(one: protocol.WarpAccess) -> tuple[str, ...]:
    counts = one.get("seen") or one["predicted"]
    numbers = [f"{counts['requests']:,}"]
    for name in ("sectors", "fewest", "passes", "least"):
        is_its = one["shared"] == (name in ("passes", "least"))
        numbers.append(f"{counts[name]:,}" if is_its else "")
    differs = "" if one.get("agrees", True) else f" PREDICTED {one['predicted']}"
    because = f" ({one['because']})" if one["because"] and one["because"] != one["says"] else ""
    access = f"{one['kind']} {one['array']}[{one['cell']}]"
    access = access if len(access) <= 60 else f"{access[:57]}..."
    return (one["kernel"], str(one["line"]), access, *numbers, one["says"] + because + differs)
