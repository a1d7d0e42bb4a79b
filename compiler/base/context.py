"""The context of a pass, given beside the program: names, remarks, fuel and options."""

from __future__ import annotations

from dataclasses import field
from typing import Any, TypeVar

from compiler.base.dataclass import dataclass
from compiler.base.fuel import Fuel
from compiler.base.names import Name, NameSource
from compiler.base.remarks import Applied, Fate, Kind, Missed, Outcome, Remark
from compiler.base.rules import Limit, Pass, Rule
from compiler.base.spans import Prov, Span, merge_prov
from compiler.base.target import Target

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """The user's options. Passes read fields of this and nothing global."""

    entry: str = ""
    """Compile only this entry point; empty: all of them."""
    expression: str = ""
    """Source of one more definition, an expression: the entry point `entry` if there is one."""
    exposed: tuple[str, ...] = ()
    """Definitions that are compiled as entry points too."""
    target: str = "c"
    """The id of the target that panes between `flat` and `imp` show."""
    disabled: frozenset[str] = frozenset()
    """Ids of passes and rules that are switched off, such as `fuse` or `fuse/map-map`.

    `driver/pipeline.py` has all of them.
    """
    enabled: frozenset[str] = frozenset()
    """Ids of opt-in rules that this compilation asks for."""
    fuel: int | None = None
    unsafe: bool = False
    """Drop bounds checks and assertions under `#[unsafe]`; heed `#[scratch]`."""
    verify: bool = False
    """Check the program after every pass."""
    sanitize: bool = False
    """Run C under sanitisers, which report each access outside its block."""
    files: tuple[tuple[str, str], ...] = ()
    """Path and text of each file that the program may import."""
    main: str = ""
    """The path of the program itself."""
    thresholds: tuple[tuple[str, int], ...] = ()
    """Tuning parameters by name; others keep their defaults."""

    limits: tuple[tuple[str, int], ...] = ()
    """Limits of rules by id, below their defaults."""
    edited: tuple[tuple[str, str], ...] = ()
    """By stage, texts that replace the output of its passes."""
    strides: tuple[str, tuple[int, ...]] | None = None
    """The entry point to compile, and the numbers of its inputs with arbitrary strides."""
    traced: bool = False
    """Keep calls of `trace` and `break`, for a run that shows their values."""

    def limit(self, of: Limit) -> int:
        """Return the value of a limit in this compilation."""
        return dict(self.limits).get(of.id, of.usual)

    def is_off(self, what: Rule | Pass) -> bool:
        """Return True if a pass, a rule or its pass is disabled, or an opt-in rule not enabled."""
        if isinstance(what, Rule) and what.asked and what.id not in self.enabled:
            return True
        if not self.disabled:
            return False
        return what.id in self.disabled or what.id.partition("/")[0] in self.disabled


@dataclass(frozen=True, slots=True)
class SourceMarks:
    """Notes of the source about its expressions, by their spans; filled while it is read."""

    attributes: dict[Span, frozenset[str]] = field(default_factory=dict)
    """Attributes `#[..]`, single words."""
    loops: set[Span] = field(default_factory=set)
    """Its loops; passes make further ones of maps and scans."""


@dataclass(slots=True)
class Ctx:
    """The mutable state of one compilation, made by the pipeline and passed to every pass."""

    options: Options = field(default_factory=Options)
    names: NameSource = field(default_factory=NameSource)
    fuel: Fuel = field(default_factory=Fuel)
    target: Target = field(default_factory=Target)
    """The target of this chain of passes."""
    is_shown: bool = True
    """False where nobody reads the remarks: panes show the stages of one target only."""
    fates: list[Fate] = field(default_factory=list)
    """Outcomes of bounds checks, in order of the stages."""
    stage: str = ""
    records: dict[str, Any] = field(default_factory=dict)
    """Records that passes keep for later questions, by the pass's id."""
    proved: dict[str, list[Any]] = field(default_factory=dict)
    """By stage, the integer facts whose proofs the checker has accepted."""
    source: SourceMarks = field(default_factory=SourceMarks)
    unchanged: Any = None
    """Terms that simplification left unchanged (`Unchanged`), to skip them next time."""
    _remarks: dict[tuple[str, Prov, str], Remark] = field(default_factory=dict)
    """By rule, place and text."""

    @property
    def remarks(self) -> list[Remark]:
        """All remarks, in the order in which they were made."""
        return list(self._remarks.values())

    def proved_here(self) -> list[Any]:
        """Return the facts of the current stage, as a list to append to."""
        return self.proved.setdefault(self.stage, [])

    def fresh(self, base: str) -> str:
        """Return a new unique name."""
        return self.names.fresh(base)

    def asked(self, prov: Prov) -> frozenset[str]:
        """Return the source attributes of a statement."""
        if not self.source.attributes:
            return frozenset()
        return frozenset().union(*[self.source.attributes.get(span, ()) for span in prov])

    def remark(self, remark: Remark) -> None:
        """Record a remark once per (rule, span, text)."""
        self._remarks.setdefault((remark.rule, remark.at, remark.because), remark)

    def tell(
        self,
        kind: Kind,
        rule: Rule,
        at: Prov,
        because: str,
        hint: str = "",
        numbers: tuple[tuple[str, str], ...] = (),
        attempt: int | None = None,
        refusal: str = "",
        fused: tuple[Prov, ...] = (),
        blocks: tuple[Name, ...] = (),
    ) -> None:
        """Record that a rule has applied or missed, where no decision remains."""
        stage = self.stage
        self.remark(
            Remark(
                kind, rule.id, at, because, hint, numbers, stage, attempt, refusal, fused, blocks
            )
        )

    def commit(
        self,
        rule: Rule,
        at: Prov,
        outcome: Outcome[T],
        attempt: int | None = None,
        fused: Prov = (),
        blocks: tuple[Name, ...] = (),
    ) -> T | None:
        """Apply the outcome of a rewrite rule.

        Records the remark, spends fuel, and returns the new term if it is to be used. `fused` are
        the places of the terms fused into the one at `at`, `blocks` the memory blocks concerned.
        """
        match outcome:
            case Applied(new, because, numbers):
                if self.options.is_off(rule) or not self.fuel.spend():
                    return None
                parts = (at, fused) if fused else ()
                at = merge_prov(at, fused) if fused else at
                self.tell(
                    "applied", rule, at, because, "", numbers, attempt, fused=parts, blocks=blocks
                )
                return new
            case Missed(because, hint, numbers, refusal):
                self.tell(
                    "missed", rule, at, because, hint, numbers, attempt, refusal, blocks=blocks
                )
        return None
