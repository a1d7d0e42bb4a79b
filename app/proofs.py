"""Attempts, proofs and memory of a frozen state as words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler.protocol.kinds import Json
from compiler.protocol.polynomials import (
    Polynomial,
    Spell,
    as_called,
    identity,
    names_in,
    shown,
    shown_cells,
    shown_sentence,
)

Row = tuple[int, list[str]]

_POINTS = {
    "concat": "concatenation",
    "kernel-result": "result of a kernel",
    "in-place-map": "map in place",
    "guard": "check of a slice",
}
_PROVED = "They never share a cell: proved"
_VERDICTS = {
    "overlap": "They share a cell.",
    "unknown": "The prover could not decide if they share a cell.",
}
_FIRST_REFUSAL = 3
"""The first condition that is not about the program's form; earlier ones mean no attempt."""
_NARROWEST, _WIDEST, _USUAL = 4, 48, 16


@dataclass(frozen=True, slots=True)
class PairView:
    """Two accesses: the verdict in words, the facts, the steps, and the cells in rows."""

    write: str
    use: str
    why: str
    verdict: str
    more: str
    values: str
    rows: list[Row]
    facts: list[tuple[str, str, str]]
    steps: list[Json]


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt: its outcome, and its proof obligations."""

    sign: str
    outcome: str
    source: str
    destination: str
    point: str
    place: str
    because: str
    hint: str
    bytes: list[tuple[str, str]]
    pairs: list[PairView]


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A function at a stage: its allocations, the peak, and each block with its arrays."""

    title: str
    made: int
    bytes: int
    peak: int
    blocks: list[tuple[str, int, str]]


@dataclass(frozen=True, slots=True)
class FunctionView:
    """The memory of one function: the values of its sizes in words, and its stages."""

    name: str
    sizes: str
    stages: list[MemoryView]


def attempt_view(attempt: Json) -> AttemptView:
    """Prepare one attempt."""
    done, condition = attempt["done"], attempt["condition"]
    rule = str(attempt["rule"]).rpartition("/")[2]
    open_pairs = any(one["verdict"] != "disjoint" for one in attempt["obligations"])
    refused = not done and (open_pairs or condition >= _FIRST_REFUSAL)
    outcome = ("✓", "built in place") if done else ("–", "does not apply")
    if refused:
        outcome = "✗", "refused"
    if rule == "guard":
        outcome = ("✓", "proved") if done else ("!", "checked when it runs")
    names = attempt["names"]
    amounts = [("to copy", attempt["copied"]), ("to allocate", attempt["allocated"])]
    spell = as_called(names_in([sizes for _, sizes in amounts]), names)
    return AttemptView(
        sign=outcome[0],
        outcome=outcome[1],
        source=names.get(attempt["source"], attempt["source"]),
        destination=names.get(attempt["destination"], attempt["destination"]),
        point=_POINTS.get(rule, rule),
        place=place(attempt["src"]),
        because=attempt["because"],
        hint=_way_out(attempt),
        bytes=[
            (f"less {what}" if done else what, _amount(sizes, spell))
            for what, sizes in amounts
            if sizes
        ],
        pairs=[_pair(one, names) for one in attempt["obligations"]],
    )


def _amount(sizes: Sequence[Polynomial], spell: Spell) -> str:
    return " or ".join(f"{shown(size, spell)} B" for size in sizes)


def _pair(one: Json, names: dict[str, str]) -> PairView:
    picture = one.get("picture") or {"values": {}, "sets": [], "strides": []}
    witness, missing = one.get("witness"), one.get("missing")
    spell = as_called([*names_in(one), *(witness or picture)["values"]], names)
    origins = one.get("origins") or [{"why": "", "src": []}] * len(one["facts"])
    facts = {
        claim: (claim, str(origin["why"]), place(origin["src"]))
        for fact, origin in zip(one["facts"], origins, strict=False)
        for claim in (_claim(fact, spell),)
    }
    more = f"Witness: cell {witness['cell']}{_values(witness['values'], spell)}." if witness else ""
    if missing:
        more = f"Not proved: `{_claim(missing, spell)}`."
    return PairView(
        write=shown_cells(one["write"], spell),
        use=shown_cells(one["use"], spell),
        why=one["why"],
        verdict=_verdict(one),
        more=more,
        values=_values(picture["values"], spell).strip(),
        rows=grid(picture["sets"], picture["strides"]),
        facts=list(facts.values()),
        steps=[_step(step, spell) for step in one["steps"]],
    )


def _claim(poly: Polynomial, spell: Spell) -> str:
    return f"{shown(poly, spell)} >= 0"


def _step(step: Json, spell: Spell) -> Json:
    """Render a proof step as text."""
    return {
        "says": shown_sentence(step["says"], spell),
        "offset": shown(step["offset"], spell),
        "dims": [[shown(part, spell) for part in dim] for dim in step["dims"]],
        "needs": [identity(need, spell) for need in step["needs"]],
        "parts": [_step(part, spell) for part in step["parts"]],
    }


def _verdict(one: Json) -> str:
    if one["verdict"] != "disjoint":
        return _VERDICTS[one["verdict"]]
    return (
        f"{_PROVED}, and confirmed by an independent checker."
        if one.get("checked")
        else f"{_PROVED}."
    )


def _way_out(attempt: Json) -> str:
    """Return the author's way out, if there is one."""
    change = attempt.get("way_out")
    said = f"{change['says']} `{change['text'].strip()}`" if change else ""
    return " ".join(text for text in (str(attempt["hint"]), said) if text)


def _values(values: Json, spell: Spell) -> str:
    texts = [f"{spell(name)} = {value}" for name, value in values.items() if name.isidentifier()]
    return f" for {', '.join(texts)}" if texts else ""


def grid(sets: list[list[int]], strides: list[int]) -> list[Row]:
    """Return the first rows of a block with cells of a set: their first cells, a mark for each."""
    if not sets:
        return []
    width = next((s for s in strides if _NARROWEST <= s <= _WIDEST), _USUAL)
    first, second = (set(cells) for cells in sets)
    return [
        (
            row * width,
            [_mark(cell, first, second) for cell in range(row * width, (row + 1) * width)],
        )
        for row in sorted({cell // width for cell in first | second})
    ]


def _mark(cell: int, first: set[int], second: set[int]) -> str:
    return "a" * (cell in first) + "b" * (cell in second)


def memory_views(kept: Sequence[Json], titles: dict[str, str]) -> list[FunctionView]:
    """Return the memory of each function with blocks, at the stages where it changes.

    `kept` has the functions of each stage, and the values of their sizes.
    """
    found = [(one, fun) for one in kept for fun in one["functions"]]
    views: list[FunctionView] = []
    for name in dict.fromkeys(fun["name"] for _, fun in found if fun["blocks"]):
        own = [(one, fun) for one, fun in found if fun["name"] == name]
        values = {symbol: one["values"][symbol] for one, fun in own for symbol in fun["symbols"]}
        stages: list[MemoryView] = []
        for one, fun in own:
            view = _memory_view(fun, titles.get(str(one["stage"]), str(one["stage"])))
            if not stages or stages[-1].blocks != view.blocks or stages[-1].peak != view.peak:
                stages.append(view)
        called = {name: base for _, fun in own for name, base in fun["names"].items()}
        spell = as_called(values, called)
        sizes = (f"{spell(at)} = {value}" for at, value in values.items())
        views.append(FunctionView(name, ", ".join(sizes), stages))
    return views


def _memory_view(fun: Json, title: str) -> MemoryView:
    made = [block for block in fun["blocks"] if block["kind"] == "alloc"]
    return MemoryView(
        title=title,
        made=len(made),
        bytes=sum(block.get("size") or 0 for block in made),
        peak=(fun.get("peak") or {}).get("bytes", 0),
        blocks=[
            (
                block["name"],
                block.get("size") or 0,
                ", ".join(a["name"] for a in fun["arrays"] if block["name"] in a["blocks"]),
            )
            for block in fun["blocks"]
        ],
    )


def place(spans: list[list[Any]]) -> str:
    """Return `line 3`, or ``line 3 of `lib/sums.fut` ``, for the first place; "" without one."""
    if not spans:
        return ""
    line, _, _, _, *file = spans[0]
    return f"line {line} of `{file[0]}`" if file else f"line {line}"
