"""Attempts as records: the point, its obligations and the outcome; as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from compiler.algebra.argument import Argument
from compiler.algebra.as_data import FactorOf, plain, plain_cells
from compiler.algebra.disjoint import Disjoint, Overlap, Unknown, Verdict
from compiler.algebra.poly import Poly
from compiler.algebra.show import verdict_json
from compiler.base.dataclass import dataclass
from compiler.base.names import Called, Name
from compiler.base.rules import Rule
from compiler.base.spans import Prov, user_spans
from compiler.ir.nodes import MemBind, Stm
from compiler.ir.values import show
from compiler.protocol.kinds import Json
from compiler.protocol.polynomials import names_in
from compiler.protocol.refusals import Ending, Refusal
from compiler.storage.short_circuit.access import Obligation
from compiler.storage.short_circuit.clash import Clash, Stop
from compiler.storage.short_circuit.conditions import TITLES, Failed
from compiler.storage.short_circuit.origins import Origins
from compiler.storage.short_circuit.terms import Atoms

CONCAT = Rule(
    "shortcircuit/concat",
    "Builds the parts of a concatenation or array literal in the result.",
)
COPY = Rule("shortcircuit/copy", "Builds a copied array in the place of its copy.")
GUARD = Rule("shortcircuit/guard", "Removes a check of a slice by an LMAD that is proved to hold.")
IN_PLACE_MAP = Rule(
    "shortcircuit/in-place-map", "Lets a map overwrite an array that it reads for the last time."
)
KERNEL_RESULT = Rule(
    "shortcircuit/kernel-result", "Builds the rows of a kernel in the kernel's result."
)
UPDATE = Rule("shortcircuit/update", "Builds the new value of an update in the updated array.")
RULES = (CONCAT, COPY, GUARD, IN_PLACE_MAP, KERNEL_RESULT, UPDATE)
_NEVER_SEEN = (
    "They overlap for some values of their variables, but no run with these values was found."
)


@dataclass(slots=True)
class Attempt:
    """One attempt. `because` is the outcome as a sentence; `condition` is 0 for a success."""

    number: int
    """Number among all attempts of the program, shared with its remarks."""
    rule: Rule
    source: Name
    destination: Name
    prov: Prov
    target: MemBind | None
    done: bool = False
    condition: int = 0
    refusal: Refusal | None = None
    because: str = ""
    hint: str = ""
    creation: Name = ""
    projected: MemBind | None = None
    moved: dict[Name, MemBind] = field(default_factory=dict)
    lifted: list[Name] = field(default_factory=list)
    obligations: list[Obligation] = field(default_factory=list)
    copied: tuple[Poly, ...] = ()
    """Saved bytes, in source names; of several copies, one."""
    allocated: tuple[Poly, ...] = ()
    meant: Mapping[str, Name] = field(default_factory=dict)
    """The names that are spelt so, in all amounts of the function."""
    check: Stm | None = None
    """The check of a guard."""
    missing: tuple[Poly, ...] = ()
    """Unproved claims besides the obligations: polynomials that should not be negative."""
    stated: tuple[str, ...] = ()
    """Conditions that would make the attempt succeed, in source names."""
    holder: str = ""
    """Entry point parameter that they can be attached to."""
    shown: Clash | Stop | None = None
    """Result of a run of the refused attempt on small inputs."""

    def refused(self, failed: Failed) -> None:
        """Record the failure, its reason and a hint."""
        self.refusal, self.condition = failed.refusal, failed.condition
        self.because, self.missing = failed.because, failed.missing
        self.hint = failed.refusal.hint(failed.hint)

    def json(self, origins: Origins, called: Called) -> Json:
        """Encode as a `protocol.proofs.Attempt`, without what `advice` derives.

        `called` formats names; `open`: whether a condition might help.
        """
        told = {
            "number": self.number,
            "rule": self.rule.id,
            "source": self.source,
            "destination": self.destination,
            "src": user_spans(self.prov),
            "made": origins.spans(self.source, self.creation),
            "done": self.done,
            "condition": self.condition,
            "title": TITLES.get(self.condition, ""),
            "refusal": "" if self.refusal is None else self.refusal.id,
            "because": self.because,
            "hint": self.hint,
            "place": _place(self.target, origins.factor),
            "creation": self.creation,
            "projected": _place(self.projected, origins.factor),
            "moved": [
                {"array": name, **_place(mem, origins.factor)} for name, mem in self.moved.items()
            ],
            "lifted": self.lifted,
            "witness": self._witness(called),
            "stated": list(self.stated),
            "open": self.refusal is not None and self.refusal.ending is Ending.CONDITION,
            "holder": self.holder,
            "obligations": [self._obligation(one, origins) for one in self.obligations],
            "copied": [plain(size) for size in self.copied],
            "allocated": [plain(size) for size in self.allocated],
        }
        spelt = {name for size in (*self.copied, *self.allocated) for name in size.names()}
        told["meant"] = {name: self.meant[name] for name in sorted(spelt & self.meant.keys())}
        return {**told, "names": {name: called(name) for name in sorted(_names(told))}}

    def theorems(self) -> list[Json]:
        """Return its proofs, as claims of a certificate."""
        at = next((span.position for span in self.prov if span.is_own), "-")
        return [
            one.verdict.theorem(f"{at} {self.rule.id.partition('/')[2]}: {one.why}")
            for one in self.obligations
            if isinstance(one.verdict, Disjoint)
        ]

    def _witness(self, called: Called) -> Json | None:
        if self.shown is None:
            return None
        values = {called(name): value for name, value in self.shown.inputs.items()}
        return {"values": values, "input": "\n".join(map(show, self.shown.args))}

    def _obligation(self, one: Obligation, origins: Origins) -> Json:
        verdict = self._confirmed(one)
        known = None if isinstance(verdict, Overlap) else verdict.facts
        return {
            "write": plain_cells(one.write, origins.factor),
            "use": plain_cells(one.use, origins.factor),
            "why": one.why,
            **verdict_json(verdict, origins.factor),
            "origins": [] if known is None else origins.of(known, one.write, one.use),
        }

    def _confirmed(self, one: Obligation) -> Verdict:
        """Return the verdict; an overlap only if a run has reached that cell."""
        if not isinstance(one.verdict, Overlap):
            return one.verdict
        found = self.shown.overlap(one.write, one.use) if isinstance(self.shown, Clash) else None
        return found or Unknown(_NEVER_SEEN, None)


def _place(mem: MemBind | None, factor: FactorOf) -> Json:
    return {"block": mem.block, "lmad": plain_cells(mem.lmad, factor)} if mem is not None else {}


def _names(told: Json) -> set[str]:
    """Return the names in an attempt: arrays, blocks, and names in polynomials."""
    places = (told["place"], told["projected"], *told["moved"])
    found = {told["source"], told["destination"], told["creation"], *told["lifted"]}
    found |= {place[key] for place in places for key in ("array", "block") if key in place}
    return (found | set(names_in(told))) - {""}


@dataclass(frozen=True, slots=True)
class Record:
    """Kept results of one function.

    `atoms`: names that are no variables; `proved`: inequalities, with arguments.
    """

    attempts: tuple[Attempt, ...]
    atoms: Atoms
    proved: tuple[Argument, ...]
