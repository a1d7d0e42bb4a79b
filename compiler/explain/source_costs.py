"""Rank the costs of places in the source, from the records of the compiler.

Four kinds of records are shown elsewhere in full: attempts to build in place, accesses of kernels,
bounds checks, remarks. Here each becomes a few words with a number, so that they can be compared. A
number is given if its names have values; otherwise the words say that it is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from compiler.algebra.notation import Reader
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.errors import UsageError
from compiler.base.names import base_of
from compiler.base.remarks import NOTHING
from compiler.explain.lifetimes import PROPOSED_OTHER
from compiler.explain.possible_values import PossibleValues
from compiler.explain.requests import SECTOR
from compiler.ir.nodes import Loop, Prog, Stm
from compiler.ir.walk import children, free, stms_of
from compiler.protocol.accesses import WarpAccess
from compiler.protocol.kinds import Json, Span
from compiler.protocol.polynomials import shown
from compiler.protocol.programs import Remark
from compiler.protocol.proofs import Access
from compiler.protocol.source_costs import Remedy, SourceCost
from compiler.storage.short_circuit.attempts import KERNEL_RESULT

GAINS = ("built", "fused")
_ORDER = ("copied", "fetched", "written", "allocated", "checked", "missed", "unknown", *GAINS)
_SAVED = "bytes not written"
_VERBS = {"reads": "fetches", "writes": "writes to", "both": "updates"}
_AT_RUN_TIME = "Checked when the program runs."
_MENDING = "coalesce"
"""Prefix of the switches that coalesce accesses."""
MUCH = 1.5
"""Multiple of the fewest sectors from which on a cost is reported: rows may begin within a sector.
"""
Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The compiler's records on a program."""

    attempts: Sequence[Json]
    accesses: Sequence[WarpAccess]
    checks: Sequence[Access]
    remarks: Sequence[Remark]
    repeated: frozenset[int]
    """numbers of the attempts whose statement stands in a loop"""
    possible: PossibleValues
    is_for_gpu: bool
    disabled: frozenset[str]


def source_costs(told: Gathered, sizes: Sizes) -> list[SourceCost]:
    """Return costs, worst first, then savings, most first; equal ones are merged."""
    each = (
        *(_of_attempt(one, told, sizes) for one in told.attempts),
        *_worst(_of_access(one, told.disabled) for one in told.accesses),
        *(_of_check(one) for one in told.checks if one["state"] == "kept"),
        *(_of_remark(one, sizes) for one in told.remarks),
    )
    alike: dict[str, list[SourceCost]] = {}
    for one in each:
        if one is not None and one["src"]:
            key = repr((one["kind"], one["src"], one["made"], one["says"]))
            alike.setdefault(key, []).append(one)
    return sorted(map(_together, alike.values()), key=lambda one: _rank(one, told.is_for_gpu))


def _together(alike: Sequence[SourceCost]) -> SourceCost:
    """The same, several times."""
    return {**alike[0], "times": len(alike), "bytes": sum(one["bytes"] for one in alike)}


def _worst(each: Iterable[SourceCost | None]) -> list[SourceCost]:
    """Merge the accesses of a place into the most wasteful one."""
    found: dict[str, SourceCost] = {}
    for one in each:
        if one is None:
            continue
        key = repr((one["kind"], one["src"][:1]))
        before = found.get(key)
        if before is None:
            found[key] = one
            continue
        more = max(before, one, key=lambda cost: cost["bytes"])
        found[key] = {**more, "bytes": before["bytes"] + one["bytes"]}
    return list(found.values())


def _rank(one: SourceCost, is_for_gpu: bool) -> tuple[bool, bool, bool, int, int]:
    """Sort key: costs with a number first, and among these the chosen target's."""
    kind, elsewhere = one["kind"], one["pane"] == "warps" and not is_for_gpu
    return kind in GAINS, not one["bytes"], elsewhere, -one["bytes"], _ORDER.index(kind)


def repeated(prog: Prog, attempts: Iterable[Json]) -> frozenset[int]:
    """Return the attempts whose array is copied only by statements in loops.

    `prog` is the program after the attempts, in which that statement still names the array.
    """
    inside: dict[str, set[bool]] = {}
    for fun in prog.funs:
        for stm, in_loop in _with_loops(fun.body.stms, False):
            for name in free(stm.exp) if type(stm.exp) not in _NESTED else ():
                inside.setdefault(name, set()).add(in_loop)
    return frozenset(
        one["number"] for one in attempts if inside.get(one["source"], {False}) == {True}
    )


_NESTED = (Loop,)


def _with_loops(stms: Sequence[Stm], in_loop: bool) -> Iterator[tuple[Stm, bool]]:
    """Yield all statements, with True for those in a loop."""
    for stm in stms:
        yield stm, in_loop
        for child in children(stm.exp):
            yield from _with_loops(stms_of(child), in_loop or isinstance(stm.exp, Loop))


# --- attempts ------------------------------------------------------------------------------------


def _of_attempt(one: Json, told: Gathered, sizes: Sizes) -> SourceCost | None:
    """Describe the bytes copied or allocated, or saved, by an attempt to build in place."""
    copied = one["copied"]
    amounts = copied or one["allocated"]
    if not amounts:
        return None
    words, count, formula = _bytes_of(amounts[0], one, told, sizes)
    verb, often = "copied" if copied else "allocated", _how_often(one, told)
    says = (
        f"built in place{often}: {words} never {verb}" if one["done"] else f"{verb}{often}: {words}"
    )
    kind = "built" if one["done"] else "copied" if copied else "allocated"
    short = f"{words} {'saved' if one['done'] else verb}"
    cost = _cost(kind, one["src"], says, one["because"], count, "proof", one, _fix_of(one), short)
    return {**cost, "made": _places(one["made"]), "formula": formula}


def _how_often(one: Json, told: Gathered) -> str:
    if one["rule"] == KERNEL_RESULT.id:
        return " by each thread"
    return " in each round" if one["number"] in told.repeated else ""


def _fix_of(one: Json) -> Remedy | None:
    if one["done"]:
        return None
    if one["way_out"]:
        return {"says": one["way_out"]["says"], "way_out": one["way_out"]}
    return {"says": one["hint"]} if one["hint"] and one["hint"] != NOTHING else None


# --- accesses ------------------------------------------------------------------------------------


def _of_access(one: WarpAccess, disabled: frozenset[str]) -> SourceCost | None:
    """Describe the wasted sectors of an access, or that their number depends on data."""
    counts, because = one["predicted"], one["because"]
    if one["shared"] or not one["src"]:
        return None
    if not counts["requests"]:
        if not because:
            return None
        says = "on a GPU: number of sectors unknown"
        return _cost("unknown", one["src"], says, _sentence(because), 0, "warps")
    mean, sectors, fewest = _of_a_warp(one)
    if counts["sectors"] < MUCH * counts["fewest"] or sectors == fewest:
        return None
    about = "about " if because else ""
    fetches = f"{_VERBS[one['kind']]} {mean}{about}{sectors} sectors"
    says = f"on a GPU a warp {fetches} where {fewest} would do"
    missed = next((remark for remark in one["remarks"] if remark["kind"] == "missed"), None)
    return _cost(
        "written" if one["kind"] == "writes" else "fetched",
        one["src"],
        says,
        missed["because"] if missed else _apart(one),
        SECTOR * (counts["sectors"] - counts["fewest"]),
        "warps",
        missed or {},
        _fix_of_access(missed, disabled),
        f"{sectors} sectors for {fewest}",
    )


def _of_a_warp(one: WarpAccess) -> tuple[str, str, str]:
    """Sectors of a request, and how many would do: of a whole warp that wastes, or on average.

    Which of them it is, in words, comes first.
    """
    for sample in one["samples"]:
        lanes = sample["lanes"]
        if min(lanes) >= 0:
            cells = {byte + k for byte in lanes for k in range(one["size"])}
            sectors, fewest = len({at // SECTOR for at in cells}), -(-len(cells) // SECTOR)
            if sectors > fewest:
                return "", str(sectors), str(fewest)
    counts = one["predicted"]
    numbers = ((counts["sectors"]) / counts["requests"], counts["fewest"] / counts["requests"])
    mean, least = (f"{number:.1f}".removesuffix(".0") for number in numbers)
    return "on average " if counts["requests"] > 1 else "", mean, least


def _apart(one: WarpAccess) -> str:
    """Explain the distance of neighbouring lanes in a sentence."""
    elements = one["stride"]["elements"] if "stride" in one else ""
    array = base_of(one["array"]).removesuffix("_mem")
    if elements in ("", "0", "1"):
        return _sentence(one["because"]) if one["because"] else ""
    return f"Neighbouring threads are `{elements}` elements apart in `{array}`."


def _fix_of_access(missed: Remark | None, disabled: frozenset[str]) -> Remedy | None:
    if missed is not None:
        hint = missed["hint"]
        return {"says": hint} if hint and hint != NOTHING else None
    off = sorted(one for one in disabled if one.startswith(_MENDING))
    if not off:
        return None
    return {"says": f"{_listed(off)} is switched off, so it was not tried here.", "enable": off}


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(f"`{one}`" for one in ids)


# --- checks and remarks --------------------------------------------------------------------------


def _of_check(one: Access) -> SourceCost:
    because = one["because"].removeprefix(_AT_RUN_TIME)
    if one["missing"]:
        because = f"{because} Not proved: {_listed(one['missing'])}.".strip()
    src: list[Span] = [one["src"]]
    says = f"{one['kind']} checked when it runs"
    return _cost("checked", src, says, because, 0, "bounds", short="checked")


def _of_remark(one: Remark, sizes: Sizes) -> SourceCost | None:
    """Describe the array that a fusion saves, or the missed rewrite of another rule."""
    if one["attempt"] is not None:
        return None
    if one["kind"] == "missed":
        is_fusion = one["rule"].startswith("fuse/")
        says = "not fused" if is_fusion else f"`{one['rule']}` not done"
        hint = one["hint"]
        fix: Remedy | None = {"says": hint} if hint and hint != NOTHING else None
        return _cost("missed", one["src"], says, one["because"], 0, "remarks", one, fix)
    saved = next((text for name, text in one["numbers"] if name == _SAVED), "")
    if one["kind"] != "applied" or not saved:
        return None
    words, count = _evaluated(saved, sizes)
    says, because = f"fused: {words} never written", one["because"]
    short = f"{words} saved"
    return _cost("fused", one["src"], says, because, count, "remarks", one, short=short)


def _cost(
    kind: Any,
    src: list[Span],
    says: str,
    because: str,
    count: int,
    pane: Any,
    of: Mapping[str, Any] | None = None,
    fix: Remedy | None = None,
    short: str = "",
) -> SourceCost:
    """Make a cost; `of`: the attempt or remark that it comes from."""
    of = of or {}
    return {
        "kind": kind,
        "src": _places(src),
        "made": [],
        "says": says,
        "short": short or says,
        "formula": "",
        "times": 1,
        "because": because,
        "bytes": count,
        "pane": pane,
        "attempt": of.get("number", of.get("attempt")),
        "rule": of.get("rule", ""),
        "fix": fix,
    }


def _places(src: Iterable[Span]) -> list[Span]:
    return [list(span) if len(span) < 5 or span[4] else list(span[:4]) for span in src]


# --- numbers -------------------------------------------------------------------------------------


def _bytes_of(amount: Any, one: Json, told: Gathered, sizes: Sizes) -> tuple[str, int, str]:
    """An amount of an attempt in words, for ranking, and as a formula of its names."""

    def spell(name: str) -> str:
        return str(one["names"].get(name, base_of(name)))

    poly, text = Reader(opaque=True).poly(amount), shown(amount, spell)
    formula = f"{_written(text)} bytes" if poly.names() else ""
    meant = {name: Poly.var(own) for name, own in one["meant"].items()}
    found = told.possible.range_of(poly.subst(meant))
    if found is None:
        return *_words(poly, text, spell, sizes), formula
    low, high = (max(0, end) for end in found)
    words = in_bytes(high) if low == high else f"{in_bytes(low)} to {in_bytes(high)}"
    return words, high, formula


def _evaluated(text: str, sizes: Sizes) -> tuple[str, int]:
    """Render and estimate an amount given as text."""
    plain = text.removesuffix(" B").removesuffix(" bytes")
    try:
        return _words(Reader().poly(plain), plain, str, sizes)
    except UsageError:
        return f"{_written(plain)} bytes", 0


def _words(amount: Poly, text: str, spell: Callable[[str], str], sizes: Sizes) -> tuple[str, int]:
    names = {name: spell(name) for name in amount.names()}
    values = {name: sizes.get(plain, PROPOSED_OTHER) for name, plain in names.items()}
    count = max(0, amount.evaluate(values))
    if any(plain not in sizes for plain in names.values()):
        return f"{_written(text)} bytes", count
    return in_bytes(count), count


def _written(formula: str) -> str:
    """Typeset a formula: `4·n²`."""
    squared = re.sub(r"\*\*(\d)", lambda power: power[1].translate(_RAISED), formula)
    return squared.replace("*", "·")


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def in_bytes(count: int) -> str:
    """Format bytes as `400 B`, `1.20 kB`, like the pictures."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""
