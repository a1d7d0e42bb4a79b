"""What a pass is given beside the program: names, remarks, fuel and options."""

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
    """What a user can switch. Passes read fields of this and nothing global."""

    entry: str = ""
    """Compile only this entry point; empty: all of them."""
    expression: str = ""
    """A text that is read as one more definition: the entry point `entry`, or none."""
    exposed: tuple[str, ...] = ()
    """Names of definitions that are entry points as well."""
    target: str = "c"
    """The id of the target that panes between `flat` and `imp` show."""
    disabled: frozenset[str] = frozenset()
    """Ids of passes and rules that are switched off, such as `fuse` or `fuse/map-map`.

    `driver/pipeline.py` has all of them.
    """
    enabled: frozenset[str] = frozenset()
    """Ids of rules that are done only where they are asked for, and here are."""
    fuel: int | None = None
    unsafe: bool = False
    """Drop bounds checks and assertions where the program says `#[unsafe]`; heed `#[scratch]`."""
    verify: bool = False
    """Check the program after every pass."""
    sanitize: bool = False
    """Run C under sanitisers, which report each access outside of its block."""
    files: tuple[tuple[str, str], ...] = ()
    """The files that the program may import: path and text."""
    main: str = ""
    """The path of the program itself."""
    thresholds: tuple[tuple[str, int], ...] = ()
    """Tuning parameters by name; others keep their defaults."""

    limits: tuple[tuple[str, int], ...] = ()
    """Limits of rules by id, below the usual ones."""
    edited: tuple[tuple[str, str], ...] = ()
    """Texts that take the place of what the passes of a stage make, by stage."""
    strides: tuple[str, tuple[int, ...]] | None = None
    """The entry point that is compiled, and the numbers of its inputs that have any strides."""
    traced: bool = False
    """Keep the calls of `trace` and `break`, for a run that shows their values."""

    def limit(self, of: Limit) -> int:
        """The number that a limit is for this compilation."""
        return dict(self.limits).get(of.id, of.usual)

    def is_off(self, what: Rule | Pass) -> bool:
        """Whether a pass is switched off, or a rule or its pass, or a rule is not asked for."""
        if isinstance(what, Rule) and what.asked and what.id not in self.enabled:
            return True
        if not self.disabled:
            return False
        return what.id in self.disabled or what.id.partition("/")[0] in self.disabled


@dataclass(slots=True)
class Ctx:
    """One compilation's mutable state, made by the pipeline and passed to every pass."""

    options: Options = field(default_factory=Options)
    names: NameSource = field(default_factory=NameSource)
    fuel: Fuel = field(default_factory=Fuel)
    target: Target = field(default_factory=Target)
    """What this chain of passes compiles for."""
    is_shown: bool = True
    """Whether anybody reads what is said here: panes show the stages of one target only."""
    remarks: list[Remark] = field(default_factory=list)
    fates: list[Fate] = field(default_factory=list)
    """What became of the checks of accesses, in order of the stages."""
    stage: str = ""
    records: dict[str, Any] = field(default_factory=dict)
    """What passes keep of their work for those who ask about it later, by the pass's id."""
    proved: dict[str, list[Any]] = field(default_factory=dict)
    """By stage, the arguments about integers that the checker has accepted."""
    attributes: dict[Span, frozenset[str]] = field(default_factory=dict)
    """What the author asked for with `#[..]`, by the span of the expression: single words."""
    loops: set[Span] = field(default_factory=set)
    """Where the author wrote loops; passes make others of maps and scans."""
    unchanged: Any = None
    """What simplification has left as it was (`Unchanged`), for when it comes again."""
    _seen: set[tuple[str, Prov, str]] = field(default_factory=set)

    def proved_here(self) -> list[Any]:
        """Those of this stage, to which more may be added."""
        return self.proved.setdefault(self.stage, [])

    def fresh(self, base: str) -> str:
        """A new unique name."""
        return self.names.fresh(base)

    def asked(self, prov: Prov) -> frozenset[str]:
        """The attributes of what a statement came from."""
        if not self.attributes:
            return frozenset()
        return frozenset().union(*[self.attributes.get(span, ()) for span in prov])

    def remark(self, remark: Remark) -> None:
        """Record a remark once per (rule, span, text)."""
        key = (remark.rule, remark.at, remark.because)
        if key not in self._seen:
            self._seen.add(key)
            self.remarks.append(remark)

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
        """Record what a rule has done, or has not, where nothing is left to decide."""
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
        """What a rewrite engine does with a rule's outcome.

        Records the remark, spends fuel, and answers the new thing if it is to be used. `fused` are
        the places of what is fused with what is at `at`, `blocks` those of memory that it is about.
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
