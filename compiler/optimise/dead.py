"""Dead code elimination: unused statements, results and functions, in one backward pass.

Effects stay: an `Assert`, and whatever contains one. The same pass counts uses, and finds the
scalars whose only use is in the same body (or a branch of it), which simplification then
substitutes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import TypeVar

from compiler.analysis.effects import must_stay
from compiler.base.by_class import handles
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.parts import VISIT
from compiler.ir.scatters import places

T = TypeVar("T")
Op = TypeVar("Op", ir.Operator, ir.HistOp)
_SCALARS = frozenset(ir.SE_NODES)
_PICK: dict[type, Callable[..., ir.Stm]] = {}


class UseCounts:
    """Use counts of a backward pass; `region` is the body whose code runs equally often."""

    __slots__ = ("counts", "holding", "last_region", "region", "regions", "removed", "single")

    def __init__(self) -> None:
        self.counts: dict[Name, int] = {}
        self.last_region: dict[Name, int] = {}
        self.single: set[Name] = set()
        self.holding: set[int] = set()
        """Statement tuples that compute a name of `single` somewhere inside, by identity."""
        self.region = 0
        self.regions = 0
        self.removed = 0

    def add(self, node: object) -> None:
        """Count all uses in a node (or tuple of nodes) without bodies."""
        names: list[Name] = []
        VISIT[type(node)](node, names.append, _ignore)
        self.use_all(names)

    def own(self, node: object) -> None:
        """Count all uses in a node (or tuple of nodes) except those in its bodies."""
        names: list[Name] = []
        walk.visit_own(node, names.append, _ignore)
        self.use_all(names)

    def use_all(self, names: list[Name]) -> None:
        """Count uses in the current region; batched, which takes half as long."""
        counts, last_region, region = self.counts, self.last_region, self.region
        for name in names:
            counts[name] = counts.get(name, 0) + 1
            last_region[name] = region

    def is_used(self, param: ir.Param) -> bool:
        """True if a later statement needs it."""
        return param.name in self.counts


def _ignore(name: Name) -> None:
    """Ignore bindings."""


def remove_dead(fun: ir.Function) -> tuple[ir.Function, UseCounts]:
    """Return the function without dead code, and the use counts of its names."""
    uses = UseCounts()
    uses.add(fun.results)
    body = _body(fun.body, uses)
    if body is fun.body:
        return fun, uses
    return ir.Function(
        fun.name, fun.params, fun.results, body, fun.entry, fun.implicit, fun.prov
    ), uses


def remove_unused(funs: tuple[ir.Function, ...]) -> tuple[ir.Function, ...]:
    """Drop functions that no entry needs; the same tuple if all are needed.

    Functions come in order of dependence.
    """
    if all(fun.entry for fun in funs):
        return funs
    kept: list[ir.Function] = []
    needed: set[str] = set()
    for fun in reversed(funs):
        if fun.entry or fun.name in needed:
            kept.append(fun)
            exps = (stm.exp for stm in walk.all_stms(fun.body.stms))
            needed.update(exp.fun for exp in exps if isinstance(exp, ir.Apply | ir.Call))
    return funs if len(kept) == len(funs) else tuple(reversed(kept))


def _body(body: ir.Body, uses: UseCounts) -> ir.Body:
    uses.add(body.results)
    stms = _stms(body.stms, uses)
    return body if stms is body.stms else ir.Body(stms, body.results, body.prov)


def _stms(stms: tuple[ir.Stm, ...], uses: UseCounts) -> tuple[ir.Stm, ...]:
    kept: list[ir.Stm] = []
    changed = False
    before = len(uses.single)
    for stm in reversed(stms):
        new = _stm(stm, uses)
        if new is not stm:
            changed = True
        if new is not None:
            kept.append(new)
    if changed:
        kept.reverse()
        stms = tuple(kept)
    if len(uses.single) > before:
        uses.holding.add(id(stms))
    return stms


def _stm(stm: ir.Stm, uses: UseCounts) -> ir.Stm | None:
    """Return the statement with only the needed results; None if it is dead."""
    exp = stm.exp
    kind = type(exp)
    counts = uses.counts
    if kind in _SCALARS:
        name = stm.pat[0].name
        count = counts.get(name)
        if count is None:
            uses.removed += 1
            return None
        if count == 1 and uses.last_region[name] == uses.region:
            uses.single.add(name)
        uses.add(exp)
        return stm
    if stm.pat and not any(p.name in counts for p in stm.pat) and not must_stay(exp):
        uses.removed += 1
        return None
    for param in stm.pat:
        if type(param.type) is ir.Array:
            uses.add(param.type)
    if kind not in walk.NESTED:
        uses.add(exp)
        return stm
    picked = _PICK[kind](stm, uses) if kind in _PICK else stm
    new = _inside(picked.exp, uses)
    if new is picked.exp:
        return picked
    return ir.Stm(picked.pat, new, picked.prov)


def _inside(exp: ir.Exp, uses: UseCounts) -> ir.Exp:
    """Count the uses of an expression with bodies, and remove dead code in them."""
    if isinstance(exp, ir.Soac):
        return _inside_soac(exp, uses)
    return _inside_other(exp, uses)


def _inside_soac(exp: ir.Soac, uses: UseCounts) -> ir.Soac:
    """Remove inputs that an operator's body does not need."""
    outer = _enter(uses)
    body = _body(exp.fn.body, uses)
    uses.region = outer
    fn = exp.fn if body is exp.fn.body else ir.Lambda(exp.fn.params, body, exp.fn.returns)
    kept = [k for k, param in enumerate(fn.params) if uses.is_used(param)]
    arrays = exp.arrays
    if len(kept) < len(fn.params):
        uses.removed += 1
        fn = ir.Lambda(select(fn.params, kept), fn.body, fn.returns)
        arrays = select(arrays, kept)
    for param in fn.params:
        uses.add(param.type)
    uses.add(fn.returns)
    uses.use_all([*arrays])
    uses.add(exp.width)
    new = exp if fn is exp.fn else replace(exp, fn=fn, arrays=arrays)
    if isinstance(new, ir.Scatter | ir.Stream):
        uses.add(new.dests)
    elif isinstance(new, ir.Hist):
        hists = _operators(new.ops, uses)
        new = new if hists is new.ops else replace(new, ops=hists)
    elif isinstance(new, ir.Fold):
        ops = _operators(new.ops, uses)
        new = new if ops is new.ops else replace(new, ops=ops)
    return new


def _operators(ops: tuple[Op, ...], uses: UseCounts) -> tuple[Op, ...]:
    uses.own(ops)
    bodies = _bodies(uses)
    new = tuple(walk.rewrite(op, bodies) for op in ops)
    return ops if all(a is b for a, b in zip(new, ops, strict=True)) else new


def _inside_other(exp: ir.Exp, uses: UseCounts) -> ir.Exp:
    if isinstance(exp, ir.If):
        orelse = _body(exp.orelse, uses)
        then = _body(exp.then, uses)
        uses.add(exp.cond)
        return exp if then is exp.then and orelse is exp.orelse else ir.If(exp.cond, then, orelse)
    uses.own(exp)
    return walk.rewrite(exp, _bodies(uses))


def _bodies(uses: UseCounts) -> walk.Rewrite:
    """Return a rewrite that counts uses in bodies and removes dead code there."""

    def body(x: ir.Body) -> ir.Body:
        outer = _enter(uses)
        new = _body(x, uses)
        uses.region = outer
        return new

    def fn(x: ir.Lambda) -> ir.Lambda:
        outer = _enter(uses)
        new = _body(x.body, uses)
        uses.add(x.params)
        uses.add(x.returns)
        uses.region = outer
        return x if new is x.body else ir.Lambda(x.params, new, x.returns)

    def kernel(x: ir.KernelBody) -> ir.KernelBody:
        outer = _enter(uses)
        uses.add(x.results)
        uses.add(x.returns)
        stms = _stms(x.stms, uses)
        uses.region = outer
        return x if stms is x.stms else ir.KernelBody(stms, x.results, x.returns, x.prov)

    return walk.Rewrite(body=body, fn=fn, kernel=kernel)


def _enter(uses: UseCounts) -> int:
    """Begin a region; return the enclosing one."""
    outer = uses.region
    uses.regions += 1
    uses.region = uses.regions
    return outer


# --- dropping results ------------------------------------------------------------------------


def _used(stm: ir.Stm, uses: UseCounts, first: int = 0) -> list[int] | None:
    """Return the results to keep, if not all are; the `first` ones always stay."""
    kept = [k for k, p in enumerate(stm.pat) if k < first or p.name in uses.counts]
    return kept if len(kept) < len(stm.pat) else None


@handles(_PICK, ir.If)
def _pick_if(stm: ir.Stm, uses: UseCounts) -> ir.Stm:
    exp = stm.exp
    kept = _used(stm, uses)
    if kept is None or not isinstance(exp, ir.If):
        return stm
    return _picked(stm, kept, branch_with(exp, kept), uses)


@handles(_PICK, ir.Loop)
def _pick_loop(stm: ir.Stm, uses: UseCounts) -> ir.Stm:
    """Remove parameters whose results nothing needs, after the loop or in another parameter."""
    exp = stm.exp
    if _used(stm, uses) is None or not isinstance(exp, ir.Loop):
        return stm
    needed = _needed_params(stm, exp, uses)
    kept = [k for k, p in enumerate(exp.params) if p.name in needed]
    if len(kept) == len(exp.params):
        return stm
    return _picked(stm, kept, loop_with(exp, kept), uses)


def _needed_params(stm: ir.Stm, exp: ir.Loop, uses: UseCounts) -> set[Name]:
    """Return parameters needed by used results, effects, the condition, or each other."""
    sources: dict[Name, Set[Name]] = {}
    always: set[Name] = set()
    for inner in exp.body.stms:
        read = walk.mentioned(inner)
        if must_stay(inner.exp):
            always |= read
        for param in inner.pat:
            sources[param.name] = read
    for pat, param, result in zip(stm.pat, exp.params, exp.body.results, strict=True):
        sources[param.name] = walk.free(result) | walk.free(param.type)
        if pat.name in uses.counts:
            always.add(param.name)
    if isinstance(exp.form, ir.WhileLoop):
        always.add(exp.form.cond)
    todo = list(always)
    reached = set(always)
    while todo:
        for name in sources.get(todo.pop(), ()):
            if name not in reached:
                reached.add(name)
                todo.append(name)
    return reached


@handles(_PICK, ir.Map)
def _pick_map(stm: ir.Stm, uses: UseCounts) -> ir.Stm:
    exp = stm.exp
    kept = _used(stm, uses)
    if kept == [] and stm.pat:
        kept = [0]  # A map kept for its checks keeps a result, as kernels need one.
    if kept is None or len(kept) == len(stm.pat) or not isinstance(exp, ir.Map):
        return stm
    return _picked(stm, kept, ir.Map(exp.width, lambda_with(exp.fn, kept), exp.arrays), uses)


@handles(_PICK, ir.Reduce, ir.Scan)
def _pick_reduce(stm: ir.Stm, uses: UseCounts) -> ir.Stm:
    """Remove whole operators and kept arrays of a reduction or scan."""
    exp = stm.exp
    if _used(stm, uses) is None or not isinstance(exp, ir.Fold):
        return stm
    kept: list[int] = []
    ops: list[ir.Operator] = []
    at = 0
    for op in exp.ops:
        group = range(at, at + len(op.neutral))
        at += len(op.neutral)
        if any(uses.is_used(stm.pat[k]) for k in group):
            kept.extend(group)
            ops.append(op)
    kept.extend(k for k in range(at, len(stm.pat)) if uses.is_used(stm.pat[k]))
    if len(kept) == len(stm.pat):
        return stm
    fn = lambda_with(exp.fn, kept)
    if not ops:
        return _picked(stm, kept, ir.Map(exp.width, fn, exp.arrays), uses)
    return _picked(stm, kept, type(exp)(exp.width, tuple(ops), fn, exp.arrays), uses)


@handles(_PICK, ir.Scatter)
def _pick_scatter(stm: ir.Stm, uses: UseCounts) -> ir.Stm:
    """Remove kept arrays of a scatter; every destination must be written."""
    exp = stm.exp
    if not isinstance(exp, ir.Scatter):
        return stm
    first = len(exp.dests)
    kept = _used(stm, uses, first)
    if kept is None:
        return stm
    fixed = places(exp.dests)
    results = [*range(fixed), *(k - first + fixed for k in kept if k >= first)]
    new = ir.Scatter(exp.width, exp.dests, lambda_with(exp.fn, results), exp.arrays)
    return _picked(stm, kept, new, uses)


@handles(_PICK, ir.SegMap, ir.SegRed, ir.SegScan)
def _pick_seg(stm: ir.Stm, uses: UseCounts) -> ir.Stm:
    """Remove results of a kernel that are neither reduced nor pushed to."""
    exp = stm.exp
    if not isinstance(exp, ir.SegMapping):
        return stm
    first = 0 if isinstance(exp, ir.SegMap) else sum(len(op.neutral) for op in exp.ops)
    kept = [
        k
        for k, (p, r) in enumerate(zip(stm.pat, exp.body.results, strict=True))
        if k < first or uses.is_used(p) or (isinstance(r, ir.Write) and not r.writes)
    ]
    if len(kept) == len(stm.pat) or not kept:
        return stm
    results, returns = select(exp.body.results, kept), select(exp.body.returns, kept)
    body = replace(exp.body, results=results, returns=returns)
    return _picked(stm, kept, replace(exp, body=body), uses)


def _picked(stm: ir.Stm, kept: list[int], exp: ir.Exp, uses: UseCounts) -> ir.Stm:
    uses.removed += 1
    return ir.Stm(select(stm.pat, kept), exp, stm.prov)


def select(items: Sequence[T], kept: list[int]) -> tuple[T, ...]:
    """Return the items at the positions `kept`."""
    return tuple([items[k] for k in kept])


def body_with(body: ir.Body, kept: list[int]) -> ir.Body:
    """Return the body with only some of its results."""
    return ir.Body(body.stms, select(body.results, kept), body.prov)


def branch_with(exp: ir.If, kept: list[int]) -> ir.If:
    """Return the branch with only some of its results."""
    return ir.If(exp.cond, body_with(exp.then, kept), body_with(exp.orelse, kept))


def loop_with(exp: ir.Loop, kept: list[int]) -> ir.Loop:
    """Return the loop with only some of its parameters."""
    params, init = select(exp.params, kept), select(exp.init, kept)
    return ir.Loop(params, init, exp.form, body_with(exp.body, kept))


def lambda_with(fn: ir.Lambda, kept: list[int]) -> ir.Lambda:
    """Return the lambda with only some of its results."""
    return ir.Lambda(fn.params, body_with(fn.body, kept), select(fn.returns, kept))
