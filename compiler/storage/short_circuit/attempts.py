"""Attempts as records: what was tried, what had to be shown, and how it ended; as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from compiler.base.names import Name
from compiler.base.spans import Prov, user_spans
from compiler.ir.nodes import MemBind
from compiler.prove.disjoint import Overlap
from compiler.prove.show import unambiguous, verdict_json
from compiler.storage.short_circuit.access import Obligation
from compiler.storage.short_circuit.conditions import TITLES
from compiler.storage.short_circuit.origins import Origins

Rule = Literal["update", "concat", "kernel-result", "copy", "in-place-map", "guard"]
Json = dict[str, Any]


@dataclass(slots=True)
class Attempt:
    """One attempt. `because` is the outcome in a sentence; `condition` is 0 for a success."""

    rule: Rule
    source: Name
    destination: Name
    prov: Prov
    target: MemBind | None
    done: bool = False
    condition: int = 0
    because: str = ""
    hint: str = ""
    creation: Name = ""
    projected: MemBind | None = None
    moved: dict[Name, MemBind] = field(default_factory=dict)
    lifted: list[Name] = field(default_factory=list)
    obligations: list[Obligation] = field(default_factory=list)
    copied: str = ""
    allocated: str = ""

    def json(self, origins: Origins) -> Json:
        """As plain data.

        rule, source, destination (names in the program), src (the point's spans), made (those of
        the statements that make the source); done, condition (0: none failed) with its title,
        because, hint; place, creation, projected (the place of the array that is created), moved
        (each array's new place), lifted; obligations: write and use (LMADs), why, what `prove`
        says, origins (of each fact: why, src); copied and allocated: what is saved, in bytes.
        """
        return {
            "rule": f"shortcircuit/{self.rule}",
            "source": self.source,
            "destination": self.destination,
            "src": user_spans(self.prov),
            "made": origins.places(self.source, self.creation),
            "done": self.done,
            "condition": self.condition,
            "title": TITLES.get(self.condition, ""),
            "because": self.because,
            "hint": self.hint,
            "place": _place(self.target),
            "creation": self.creation,
            "projected": _place(self.projected),
            "moved": [{"array": name, **_place(mem)} for name, mem in self.moved.items()],
            "lifted": self.lifted,
            "obligations": [unambiguous(_obligation(o, origins)) for o in self.obligations],
            "copied": unambiguous(self.copied),
            "allocated": unambiguous(self.allocated),
        }


def _obligation(one: Obligation, origins: Origins) -> Json:
    verdict = one.verdict
    known = None if isinstance(verdict, Overlap) else verdict.facts
    return {
        "write": str(one.write),
        "use": str(one.use),
        "why": one.why,
        **verdict_json(verdict),
        "origins": [] if known is None else origins.of(known, one.write, one.use),
    }


def _place(mem: MemBind | None) -> Json:
    return {"block": mem.block, "lmad": unambiguous(str(mem.lmad))} if mem is not None else {}
