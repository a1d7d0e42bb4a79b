"""Cut a nest's body into kernels, and decide which values are stored between them.

Every statement gets a stage: the parallel ones of stage `s` come after the sequential segment of
stage `s` and before that of `s + 1`. A segment becomes one kernel over the nest.

    hoisted     scalar code that is the same in every thread: computed once, outside, and total:
                there may be no thread, or none may come to it
    recomputed  cheap code and views: every kernel that needs them runs them
    sequential  the rest of the segments; values used outside of their segment are stored
    parallel    an operator (or a loop around one) with kernels of its own

Conditions. (1) A statement comes after what it uses. (2) Nothing moves before an assertion that
stood before it. (3) What consumes an array comes after all that stood before it. (4) What is stored
has the same shape in every thread. (5) No kernel recomputes what reads an array that the body
updates in place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Literal

from compiler import codes
from compiler.analysis.cost import CHEAP, cost
from compiler.base.dataclass import dataclass
from compiler.base.errors import Limitation
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.aliases import consumed, roots_of
from compiler.ir.build import either
from compiler.ir.may_fail import total
from compiler.ir.slices import selected
from compiler.ir.types import prim_type, shape_of, with_dims
from compiler.ir.walk import free
from compiler.parallel.analyse import (
    SMALL,
    has_parallelism,
    invariant_names,
    is_invariant,
    is_parallel,
    is_regular,
)
from compiler.parallel.nest import At, FlatteningScope, Nest, Task, is_empty

Kind = Literal["hoisted", "recomputed", "sequential", "parallel"]
_LARGE = 64
"""Elements above which an array is updated by a kernel."""
_UNKNOWN = 1 << 20
"""The assumed size of a dimension of unknown size."""


@dataclass(slots=True)
class Step:
    """A statement with its kind, stage and free names."""

    stm: ir.Stm
    kind: Kind
    stage: int
    uses: set[Name]


@dataclass(slots=True)
class Segment:
    """The sequential statements of one stage, and the results of their kernel."""

    steps: list[Step] = field(default_factory=list)
    stored: list[ir.Param] = field(default_factory=list)
    results: list[tuple[int, ir.Operand, ir.Type]] = field(default_factory=list)
    """Results of the body that are computed here: position, value, type."""

    @property
    def is_empty(self) -> bool:
        """Return True if no kernel is needed."""
        return not self.results and all(step.kind != "sequential" for step in self.steps)


@dataclass(slots=True)
class Schedule:
    """A body cut into pieces, in order of execution."""

    hoisted: list[ir.Stm]
    segments: list[Segment]
    parallel: list[list[Step]]
    recomputed: dict[Name, Step]
    late: set[Name] = field(default_factory=set)
    """Names used by results of the body that no segment computes."""
    stored: int = 0
    """Number of values stored by one statement for another."""

    @property
    def pieces(self) -> int:
        """Count statements and segments that run over the whole nest."""
        kernels = sum(not segment.is_empty for segment in self.segments)
        return kernels + sum(map(len, self.parallel))

    @property
    def is_perfect(self) -> bool:
        """Return True if there is at most one parallel statement beside checks: a perfect nest."""
        steps = (step for segment in self.segments for step in segment.steps)
        if any(s.kind == "sequential" and not isinstance(s.stm.exp, ir.Assert) for s in steps):
            return False
        return sum(map(len, self.parallel)) <= 1 and not any(s.results for s in self.segments)


def schedule(sc: FlatteningScope, task: Task) -> Schedule | None:
    """Cut a body into kernels; None if a value to be stored is irregular."""
    scheduler = _Scheduler(sc, task.nest, task.body)
    steps = scheduler.steps()
    stages = 1 + max((s.stage + (s.kind == "parallel") for s in steps), default=0)
    result = Schedule([], [Segment() for _ in range(stages)], [[] for _ in range(stages)], {})
    for step in steps:
        match step.kind:
            case "hoisted":
                result.hoisted.append(step.stm)
            case "parallel":
                result.parallel[step.stage].append(step)
            case "sequential" | "recomputed":
                result.segments[step.stage].steps.append(step)
        if step.kind == "recomputed":
            result.recomputed.update((param.name, step) for param in step.stm.pat)
    _assign_results(result, task, {p.name: step for step in steps for p in step.stm.pat})
    return result if _store(sc, result, scheduler.invariant) else None


def _assign_results(result: Schedule, task: Task, binders: dict[Name, Step]) -> None:
    """Assign results that no parallel statement makes to segments, as early as possible."""
    for position, (value, type_) in enumerate(zip(task.body.results, task.returns, strict=True)):
        names = free((value,))
        steps = [binders[name] for name in names if name in binders]
        if isinstance(value, str) and not any(step.kind == "sequential" for step in steps):
            result.late |= names
            continue
        if isinstance(value, ir.Var) and any(step.kind == "parallel" for step in steps):
            continue
        at = max((step.stage + (step.kind == "parallel") for step in steps), default=0)
        result.segments[at].results.append((position, value, type_))


def _store(sc: FlatteningScope, result: Schedule, invariant: frozenset[Name]) -> bool:
    """Decide which values each segment stores; drop unneeded recomputation."""
    segment_of: dict[Name, tuple[Segment, ir.Param]] = {}
    for segment in result.segments:
        for step in segment.steps:
            if step.kind == "sequential":
                segment_of.update((param.name, (segment, param)) for param in step.stm.pat)
    stored: dict[Name, None] = {}
    for segment, parallel in zip(result.segments, result.parallel, strict=True):
        _drop_unused(segment)
        inside = {p.name for step in segment.steps for p in step.stm.pat}
        used = {name for step in segment.steps for name in step.uses}
        used |= free(tuple(value for _, value, _ in segment.results))
        _needed(result, used - inside, stored)
        for step in parallel:
            _needed(result, step.uses, stored)
    _needed(result, result.late, stored)
    for name in stored:
        if name in segment_of:
            segment, param = segment_of[name]
            if not is_regular(sc, param.type, invariant):
                return False
            segment.stored.append(param)
    by_parallel = {p.name for steps in result.parallel for step in steps for p in step.stm.pat}
    result.stored = sum(name in segment_of or name in by_parallel for name in stored)
    return True


def _drop_unused(segment: Segment) -> None:
    live = free(tuple(value for _, value, _ in segment.results))
    kept: list[Step] = []
    for step in reversed(segment.steps):
        if step.kind == "sequential" or any(p.name in live for p in step.stm.pat):
            kept.append(step)
            live |= step.uses
    segment.steps = kept[::-1]


def _needed(result: Schedule, names: Iterable[Name], into: dict[Name, None]) -> None:
    """Add names to `into`, with all that recomputed statements need."""
    pending = sorted(names, reverse=True)
    while pending:
        name = pending.pop()
        if name not in into:
            into[name] = None
            step = result.recomputed.get(name)
            if step is not None:
                pending.extend(sorted(step.uses))


class _Scheduler:
    """Assigns a kind and stage to every statement of a body."""

    def __init__(self, sc: FlatteningScope, nest: Nest, body: ir.Body) -> None:
        self.sc = sc
        self.nest = nest
        self.body = body
        self.invariant = invariant_names(sc, body.stms)
        self.roots, self.gone = roots_of(body.stms)
        self.ready: dict[Name, int] = {}
        self.kinds: dict[Name, Kind] = {}
        self.floor = 0
        self.latest = 0

    def steps(self) -> list[Step]:
        """Return all statements as steps, in order."""
        found = []
        for stm in self.body.stms:
            self.sc.note(stm)
            if isinstance(stm.exp, ir.Call):
                raise Limitation.at(
                    codes.limits.CALL,
                    f"A call of `{stm.exp.fun}` inside a parallel operator cannot be compiled.",
                    stm.prov,
                    "Recursive functions are not part of the language; otherwise this is a gap.",
                )
            found.append(self.step(stm))
        return found

    def step(self, stm: ir.Stm) -> Step:
        """Determine kind and stage of the next statement."""
        uses = free(stm)
        kind = self.kind(stm, uses)
        stage = max((self.ready.get(name, 0) for name in uses), default=0)
        if kind != "hoisted":
            stage = max(stage, self.floor)
            if not isinstance(stm.exp, ir.SE_NODES) and consumed(stm.exp):
                stage = max(stage, self.latest)
            if isinstance(stm.exp, ir.Assert):
                self.floor = stage
            after = stage + (kind == "parallel")
            self.latest = max(self.latest, after)
            for param in stm.pat:
                self.ready[param.name] = after
        elif isinstance(stm.exp, ir.Assert):
            stm = ir.Stm(stm.pat, self.guarded(stm.exp), stm.prov)
        elif isinstance(stm.exp, ir.SE_NODES):
            stm = ir.Stm(stm.pat, _total(stm.exp), stm.prov)
        for param in stm.pat:
            self.kinds[param.name] = kind
        return Step(stm, kind, stage, uses)

    def kind(self, stm: ir.Stm, uses: set[Name]) -> Kind:
        """Determine the kind of a statement."""
        exp = stm.exp
        if isinstance(exp, ir.SE_NODES):
            if stm.pat[0].name in self.invariant:
                return "hoisted"
            return "recomputed" if cost(exp) <= CHEAP else "sequential"
        match exp:
            case ir.Assert():
                values = (exp.cond, *(p for p in exp.message if not isinstance(p, str)))
                invariant = is_invariant(self.sc, uses, self.invariant)
                early = invariant and all(total(value) is not None for value in values)
                return "hoisted" if early else "sequential"
            case ir.Index(array, _):
                return "sequential" if self.changes(array) else "recomputed"
            case (
                ir.Slice()
                | ir.Rearrange()
                | ir.Reshape()
                | ir.Iota()
                | ir.Replicate()
                | ir.Scratch()
            ):
                return "recomputed"
            case ir.Copy(array) if not self.changes(array):
                self.sc.sources[stm.pat[0].name] = At(array, ())
                return "recomputed"
            case ir.Copy():
                return "parallel" if self.is_regular(stm.pat[0].type) else "sequential"
            case ir.Update():
                return self.kind_of_update(stm.pat[0], exp)
            case ir.Concat(arrays):
                types = [stm.pat[0].type, *(self.sc.types[array] for array in arrays)]
                return "parallel" if all(map(self.is_regular, types)) else "sequential"
        parallel = is_parallel(self.sc, stm, self.invariant, decide=True)
        return "parallel" if parallel else "sequential"

    def changes(self, array: Name) -> bool:
        """Return True if the body updates the array's memory in place."""
        return bool(self.roots.get(array, frozenset((array,))) & self.gone)

    def is_regular(self, type_: ir.Type) -> bool:
        """Return True if a value has the same shape in every thread of the nest."""
        return is_regular(self.sc, type_, self.invariant)

    def kind_of_update(self, result: ir.Param, exp: ir.Update) -> Kind:
        """Determine the kind of an update: a kernel for a large array in memory."""
        size = 1
        for dim in shape_of(result.type):
            size *= dim.constant or _UNKNOWN
        if size <= _LARGE or self.kinds.get(exp.array) == "sequential":
            return "sequential"
        value = with_dims(selected(exp.dims), ir.Scalar(prim_type(result.type)))
        regular = self.is_regular(result.type) and self.is_regular(value)
        return "parallel" if regular else "sequential"

    def guarded(self, check: ir.Assert) -> ir.Assert:
        """Guard an assertion for the whole nest: it must not fail if the nest has no threads."""
        empty = is_empty(self.nest)
        cond = _total(check.cond)
        message = tuple(p if isinstance(p, str) else _total(p) for p in check.message)
        return ir.Assert(cond if empty is None else either(empty, cond), message)


def _total(se: ir.SE) -> ir.SE:
    """Make a hoisted expression total."""
    found = total(se)
    assert found is not None
    return found


def returns_views(sc: FlatteningScope, body: ir.Body) -> bool:
    """Return True if a body returns views of rows, which lockstep threads copy together."""
    if sc.level != "grid":
        return False
    results = {r for r in body.results if isinstance(r, str)}
    views = any(
        isinstance(stm.exp, ir.Slice | ir.Rearrange | ir.Copy) and stm.pat[0].name in results
        for stm in body.stms
    )
    return views and sc.ctx.target.in_step


def offers_parallelism(sc: FlatteningScope, body: ir.Body) -> bool:
    """Return True if cutting a body into kernels gains parallelism."""
    if has_parallelism(sc, body.stms):
        return True
    results = {r for r in body.results if isinstance(r, str)}
    for stm in reversed(body.stms):
        if isinstance(stm.exp, ir.Rearrange | ir.Reshape) and stm.pat[0].name in results:
            results.add(stm.exp.array)
    invariant = invariant_names(sc, body.stms)
    for stm in body.stms:
        if isinstance(stm.exp, ir.Iota | ir.Replicate | ir.Concat) and stm.pat[0].name in results:
            size = shape_of(stm.pat[0].type)[0].constant
            if (size is None or size > SMALL) and is_regular(sc, stm.pat[0].type, invariant):
                return True
    return False
