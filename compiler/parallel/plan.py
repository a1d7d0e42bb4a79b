"""How a nest's body is cut into kernels: what runs together, and what is stored between.

Every statement gets a stage: the parallel ones of stage `s` come after the sequential group of
stage `s` and before that of `s + 1`. A group becomes one kernel over the nest.

    hoisted   scalar code that is the same everywhere: computed once, outside
    again     cheap code and views: run again in every kernel that needs them
    group     everything sequential; values used outside of its group are stored
    parallel  an operator (or a loop around one) that becomes kernels of its own

Conditions. (1) A statement comes after what it uses. (2) Nothing moves before an assertion that
stood before it. (3) What consumes an array comes after all that stood before it. (4) What is stored
has the same shape at every point of the nest. (5) Nothing that reads an array which the body
updates in place is run again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from compiler.analysis.cost import CHEAP, cost
from compiler.base.errors import Limitation
from compiler.base.names import Name
from compiler.base.remarks import Applied
from compiler.base.spans import NOWHERE
from compiler.ir.aliases import consumed, roots_of
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import (
    SE_NODES,
    Assert,
    Bin,
    Body,
    Call,
    Concat,
    Copy,
    If,
    Index,
    Iota,
    Loop,
    Operand,
    Param,
    Rearrange,
    Replicate,
    Reshape,
    Scalar,
    Scratch,
    Slice,
    Stm,
    Type,
    Update,
    Var,
)
from compiler.ir.slices import selected
from compiler.ir.types import prim_type, shape_of, with_dims
from compiler.ir.walk import free
from compiler.parallel.analyse import (
    INTERCHANGE_IF,
    INTERCHANGE_LOOP,
    has_parallelism,
    invariant_names,
    is_known,
    is_parallel,
    is_regular_type,
)
from compiler.parallel.nest import At, Nest, Scope, is_empty

Kind = Literal["hoisted", "again", "group", "parallel"]


@dataclass(slots=True)
class Step:
    """A statement with its kind, stage and what it uses."""

    stm: Stm
    kind: Kind
    stage: int
    uses: set[Name]


@dataclass(slots=True)
class Group:
    """The sequential statements of one stage, and what the kernel made of them returns."""

    steps: list[Step] = field(default_factory=list)
    stored: list[Param] = field(default_factory=list)
    results: list[tuple[int, Operand, Type]] = field(default_factory=list)
    """Results of the body that are computed here: position, value, type."""


@dataclass(slots=True)
class Plan:
    """A body cut into pieces, in the order in which they are to run."""

    hoisted: list[Stm]
    groups: list[Group]
    parallel: list[list[Step]]
    again: dict[Name, Step]
    late: set[Name] = field(default_factory=set)
    """What results of the body use that no group computes."""
    between: int = 0
    """How many values of one statement are stored for another."""

    @property
    def is_perfect(self) -> bool:
        """Whether one parallel statement is all there is, but for checks: the nest just goes on."""
        steps = (step for group in self.groups for step in group.steps)
        if any(s.kind == "group" and not isinstance(s.stm.exp, Assert) for s in steps):
            return False
        return sum(map(len, self.parallel)) <= 1 and not any(g.results for g in self.groups)


def plan(sc: Scope, nest: Nest, body: Body, returns: tuple[Type, ...]) -> Plan | None:
    """Cut a body into kernels; None if something that would have to be stored is not regular."""
    scheduler = _Scheduler(sc, nest, body)
    steps = scheduler.steps()
    stages = 1 + max((s.stage + (s.kind == "parallel") for s in steps), default=0)
    result = Plan([], [Group() for _ in range(stages)], [[] for _ in range(stages)], {})
    stage_of: dict[Name, tuple[int, Kind]] = {}
    for step in steps:
        for param in step.stm.pat:
            stage_of[param.name] = (step.stage + (step.kind == "parallel"), step.kind)
        match step.kind:
            case "hoisted":
                result.hoisted.append(step.stm)
            case "parallel":
                result.parallel[step.stage].append(step)
            case "group":
                result.groups[step.stage].steps.append(step)
            case "again":
                result.groups[step.stage].steps.append(step)
                for param in step.stm.pat:
                    result.again[param.name] = step
    _place_results(result, body, returns, stage_of)
    return result if _store(sc, result, scheduler.known) else None


def _place_results(
    result: Plan, body: Body, returns: tuple[Type, ...], stage_of: dict[Name, tuple[int, Kind]]
) -> None:
    """Results that no parallel statement makes are computed in the earliest group that can."""
    for position, (value, type_) in enumerate(zip(body.results, returns, strict=True)):
        names = free((value,))
        stages = [stage_of.get(name, (0, "hoisted")) for name in names]
        if isinstance(value, str) and (not stages or stages[0][1] != "group"):
            result.late |= names
            continue
        if isinstance(value, Var) and stages and stages[0][1] == "parallel":
            continue
        at = max((stage for stage, _ in stages), default=0)
        result.groups[at].results.append((position, value, type_))


def _store(sc: Scope, result: Plan, known: frozenset[Name]) -> bool:
    """Decide what each group stores; drop what is run again and not needed in a group."""
    made_by: dict[Name, tuple[int, Param]] = {}
    for stage, group in enumerate(result.groups):
        for step in group.steps:
            if step.kind == "group":
                for param in step.stm.pat:
                    made_by[param.name] = (stage, param)
    stored: dict[Name, None] = {}
    for stage, group in enumerate(result.groups):
        _drop_unused(group)
        inside = {p.name for step in group.steps for p in step.stm.pat}
        wanted: set[Name] = set()
        for step in group.steps:
            wanted |= step.uses
        wanted |= free(tuple(value for _, value, _ in group.results))
        _needed(result, wanted - inside, stored)
        for step in result.parallel[stage]:
            _needed(result, step.uses, stored)
    _needed(result, result.late, stored)
    for name in stored:
        if name in made_by:
            stage, param = made_by[name]
            if not is_regular_type(sc, param.type, known):
                return False
            result.groups[stage].stored.append(param)
    made = {p.name for steps in result.parallel for step in steps for p in step.stm.pat}
    result.between = sum(name in made_by or name in made for name in stored)
    return True


def _drop_unused(group: Group) -> None:
    live = free(tuple(value for _, value, _ in group.results))
    kept: list[Step] = []
    for step in reversed(group.steps):
        if step.kind == "group" or any(p.name in live for p in step.stm.pat):
            kept.append(step)
            live |= step.uses
    group.steps = kept[::-1]


def _needed(result: Plan, names: Iterable[Name], into: dict[Name, None]) -> None:
    """Add the names to `into`, and what the statements that are run again for them need."""
    pending = sorted(names, reverse=True)
    while pending:
        name = pending.pop()
        if name not in into:
            into[name] = None
            again = result.again.get(name)
            if again is not None:
                pending.extend(sorted(again.uses))


class _Scheduler:
    """Gives every statement of a body its kind and stage."""

    def __init__(self, sc: Scope, nest: Nest, body: Body) -> None:
        self.sc = sc
        self.nest = nest
        self.body = body
        self.known = invariant_names(sc, body.stms)
        self.roots, self.gone = roots_of(body.stms)
        self.ready: dict[Name, int] = {}
        self.kinds: dict[Name, Kind] = {}
        self.floor = 0
        self.latest = 0

    def steps(self) -> list[Step]:
        """All statements, in order."""
        found = []
        for stm in self.body.stms:
            self.sc.note(stm)
            if isinstance(stm.exp, Call):
                raise Limitation(
                    f"A call of `{stm.exp.fun}` inside a parallel operator cannot be compiled.",
                    stm.prov[0] if stm.prov else NOWHERE,
                    "Recursive functions are not part of the language; otherwise this is a gap.",
                )
            found.append(self.step(stm))
        return found

    def step(self, stm: Stm) -> Step:
        """Kind and stage of the next statement."""
        uses = free(stm)
        stm, kind = self.kind(stm, uses)
        stage = max((self.ready.get(name, 0) for name in uses), default=0)
        if kind != "hoisted":
            stage = max(stage, self.floor)
            if not isinstance(stm.exp, SE_NODES) and consumed(stm.exp):
                stage = max(stage, self.latest)
            if isinstance(stm.exp, Assert):
                self.floor = stage
            after = stage + (kind == "parallel")
            self.latest = max(self.latest, after)
            for param in stm.pat:
                self.ready[param.name] = after
        for param in stm.pat:
            self.kinds[param.name] = kind
        return Step(stm, kind, stage, uses)

    def kind(self, stm: Stm, uses: set[Name]) -> tuple[Stm, Kind]:
        """What becomes of a statement; assertions that are hoisted look different."""
        exp = stm.exp
        if isinstance(exp, SE_NODES):
            if stm.pat[0].name in self.known:
                return stm, "hoisted"
            return stm, "again" if cost(exp) <= CHEAP else "group"
        match exp:
            case Assert():
                if is_known(self.sc, uses, self.known) and cannot_fail(exp.cond):
                    return Stm(stm.pat, self.guarded(exp), stm.prov), "hoisted"
                return stm, "group"
            case Index(array, _):
                changes = self.roots.get(array, frozenset((array,))) & self.gone
                return stm, "group" if changes else "again"
            case Slice() | Rearrange() | Reshape() | Iota() | Replicate() | Scratch():
                return stm, "again"
            case Copy(array):
                changes = self.roots.get(array, frozenset((array,))) & self.gone
                if not changes:
                    self.sc.sources[stm.pat[0].name] = At(array, ())
                if changes and self.is_regular(stm.pat[0].type):
                    return stm, "parallel"
                return stm, "group" if changes else "again"
            case Update():
                return stm, self.update_kind(stm.pat[0], exp)
            case Concat(arrays):
                types = [stm.pat[0].type, *(self.sc.types[array] for array in arrays)]
                return stm, "parallel" if all(map(self.is_regular, types)) else "group"
        if is_parallel(self.sc, self.nest, stm, self.known) and self.may_interchange(stm):
            return stm, "parallel"
        return stm, "group"

    def may_interchange(self, stm: Stm) -> bool:
        """Whether a loop or branch around parallelism may go outside the nest."""
        if isinstance(stm.exp, Loop):
            rule = INTERCHANGE_LOOP
            because = (
                "Every element of the map runs the loop equally often, so the loop goes outside "
                "and each of its iterations runs the map's kernels."
            )
        elif isinstance(stm.exp, If):
            rule = INTERCHANGE_IF
            because = "The condition is the same for every element of the map: it is tested once."
        else:
            return True
        return self.sc.ctx.commit(rule, stm.prov, Applied(True, because)) is not None

    def is_regular(self, type_: Type) -> bool:
        """Whether a value has the same shape at every point of the nest."""
        return is_regular_type(self.sc, type_, self.known)

    def update_kind(self, result: Param, exp: Update) -> Kind:
        """An update of a large array that lies in memory is spread over the threads."""
        size = 1
        for dim in shape_of(result.type):
            size *= dim.constant or 1 << 20
        in_memory = self.kinds.get(exp.array) != "group"
        value = with_dims(selected(exp.dims), Scalar(prim_type(result.type)))
        types = (result.type, value)
        spread = size > 64 and in_memory and all(map(self.is_regular, types))
        return "parallel" if spread else "group"

    def guarded(self, check: Assert) -> Assert:
        """An assertion for the whole nest: it must not fail where the nest has no points."""
        empty = is_empty(self.nest)
        cond = check.cond if empty is None else Bin("||", "bool", empty, check.cond)
        return Assert(cond, check.message)


def returns_views(sc: Scope, body: Body) -> bool:
    """Whether a body picks rows: on a GPU all threads copy them, element by element."""
    if sc.ctx.options.target != "cuda" or sc.level != "grid":
        return False
    results = {r for r in body.results if isinstance(r, str)}
    return any(
        isinstance(stm.exp, Slice | Rearrange | Copy) and stm.pat[0].name in results
        for stm in body.stms
    )


def offers_parallelism(sc: Scope, nest: Nest, body: Body) -> bool:
    """Whether cutting a body into kernels gains parallelism."""
    if has_parallelism(sc, nest, body.stms):
        return True
    results = {r for r in body.results if isinstance(r, str)}
    known = invariant_names(sc, body.stms)
    for stm in body.stms:
        if isinstance(stm.exp, Iota | Replicate | Concat) and stm.pat[0].name in results:
            size = shape_of(stm.pat[0].type)[0].constant
            if (size is None or size > 16) and is_regular_type(sc, stm.pat[0].type, known):
                return True
    return False
