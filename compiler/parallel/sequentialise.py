"""Turn parallel operators into loops: a thread's code for parallelism that no kernel uses.

    map f xs          loop over a fresh array, one update per element
    reduce op ne f xs loop with the accumulators as parameters
    scan op ne f xs   both
    scatter, hist     loop over the destination, an update guarded by the bounds
    stream            the same, with the destinations handed through branches and loops

A map, reduction or scan over the result of a scan before it is merged into the scan's loop
(`ONE_LOOP`), which has each element at hand.

Needs nothing but the statements themselves; the result holds no parallel operator at any depth and
keeps all assertions and every statement's provenance. (Thesis, listing 7.2.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.aliases import consumed_params
from compiler.ir.build import Builder, Fresh, count_loop, row_at, var
from compiler.ir.scatters import places, writes
from compiler.ir.types import as_operand, row_type
from compiler.ir.walk import NESTED, all_stms, free, map_stms, subst
from compiler.parallel.lambdas import vectorised

ONE_LOOP = Rule("flatten/one-loop", "Fuses the reader of a scan's results into the scan's loop.")
_BECAUSE = "One thread runs both over the same elements, in order."
Join = Callable[[Prov], bool]
"""Decides whether operators at a place are merged into one loop."""


def joining(ctx: Ctx) -> Join:
    """Return the decision of the rule `ONE_LOOP`, with a remark."""
    return lambda prov: ctx.commit(ONE_LOOP, prov, Applied(True, _BECAUSE)) is True


def sequentialise(
    stms: tuple[ir.Stm, ...], fresh: Fresh, join: Join | None = None
) -> tuple[ir.Stm, ...]:
    """Turn every parallel operator, at any depth, into a loop."""
    out: list[ir.Stm] = []
    changed = False
    within = partial(sequentialise, join=join)
    into: dict[int, ir.Stm] = {}
    for at, stm in enumerate(stms):
        kind = type(stm.exp)
        if at in into:
            continue
        if kind in SOACS or kind is ir.Stream:
            reader = None if join is None else _reader(stms, at)
            if reader is not None and join is not None and join(stms[reader].prov or stm.prov):
                into[reader] = stm
                out.extend(stms[at + 1 : reader])
                into |= dict.fromkeys(range(at + 1, reader), stm)
                out.extend(_one(stm, fresh, within, stms[reader]))
            else:
                out.extend(_one(stm, fresh, within))
            changed = True
        elif kind in NESTED:
            exp = map_stms(stm.exp, lambda inner: within(inner, fresh))
            changed = changed or exp is not stm.exp
            out.append(stm if exp is stm.exp else ir.Stm(stm.pat, exp, stm.prov))
        else:
            out.append(stm)
    return tuple(out) if changed else stms


_Parallel = ir.Map | ir.Reduce | ir.Scan | ir.Scatter | ir.Hist | ir.Stream
SOACS = frozenset((ir.Map, ir.Reduce, ir.Scan, ir.Scatter, ir.Hist))
"""Parallel operators that nests are made of, before flattening."""


Within = Callable[[tuple[ir.Stm, ...], "Fresh"], tuple[ir.Stm, ...]]
"""Rewrites the statements inside an operator that becomes a loop."""


def outer_loop(stm: ir.Stm, fresh: Fresh) -> list[ir.Stm]:
    """Turn a parallel operator into a loop, without changing operators inside it."""
    return _one(stm, fresh, _unchanged)


def _unchanged(stms: tuple[ir.Stm, ...], fresh: Fresh) -> tuple[ir.Stm, ...]:
    return stms


def _reader(stms: tuple[ir.Stm, ...], at: int) -> int | None:
    """Return the statement that reads a scan's result, with only scalars between them.

    It must have no checks: one that fails would come before those of the scan.
    """
    scan = stms[at].exp
    if not isinstance(scan, ir.Scan):
        return None
    results = {param.name: param for param in stms[at].pat}
    for k in range(at + 1, len(stms)):
        exp = stms[k].exp
        if isinstance(exp, ir.SE_NODES):
            continue
        if not isinstance(exp, ir.Map | ir.Reduce | ir.Scan) or exp.width != scan.width:
            return None
        read = [name for name in exp.arrays if name in results]
        scalars = all(isinstance(row_type(results[name].type), ir.Scalar) for name in read)
        elsewhere = free(replace(exp, arrays=()))
        checks = any(isinstance(stm.exp, ir.Assert) for stm in all_stms((stms[k],)))
        apart = elsewhere.isdisjoint(results)
        return k if read and scalars and apart and not checks else None
    return None


def _one(stm: ir.Stm, fresh: Fresh, within: Within, reader: ir.Stm | None = None) -> list[ir.Stm]:
    """Turn an operator into a loop, merged with the reader of its result if given."""
    exp = stm.exp
    if not isinstance(exp, _Parallel):
        return [stm]
    loop = _LoopBuilder(fresh("i"), Builder(fresh, stm.prov), within)
    loop.run(exp.fn, exp.arrays, {})
    given = loop.take(stm.pat, exp)
    if reader is not None:
        assert isinstance(reader.exp, ir.Map | ir.Reduce | ir.Scan)
        loop.body.prov = reader.prov
        loop.run(reader.exp.fn, reader.exp.arrays, given)
        loop.take(reader.pat, reader.exp)
    return loop.finish(exp.width)


@dataclass(slots=True)
class _LoopBuilder:
    """A loop under construction: its parameters, its body so far, statements before it."""

    index: Name
    body: Builder
    within: Within
    before: list[ir.Stm] = field(default_factory=list)
    params: list[ir.Param] = field(default_factory=list)
    init: list[ir.Operand] = field(default_factory=list)
    results: list[ir.Operand] = field(default_factory=list)
    pattern: list[ir.Param] = field(default_factory=list)
    prov: Prov = ()

    def __post_init__(self) -> None:
        self.prov = self.body.prov

    def let(self, param: ir.Param, exp: ir.Exp) -> None:
        """Add a statement to the body."""
        self.body.add((ir.Param(param.name, param.type),), exp)

    def fresh(self, param: ir.Param, unique: bool = False) -> ir.Param:
        """Make a new name of the same type."""
        return self.body.param(param, unique)

    def carry(self, param: ir.Param, init: ir.Operand, result: ir.Operand, bind: ir.Param) -> None:
        """Add a loop parameter with its initial and next value, and the name of its last one."""
        self.params.append(param)
        self.init.append(init)
        self.results.append(result)
        self.pattern.append(bind)

    def run(
        self, fn: ir.Lambda, arrays: tuple[Name, ...], given: Mapping[Name, ir.Operand]
    ) -> None:
        """Read the rows and run `fn`; elements of arrays in `given` need no read.

        A row that the lambda consumes is copied: the array itself stays intact.
        """
        consumed = consumed_params(fn)
        prov = self.body.prov
        for param, array in zip(fn.params, arrays, strict=True):
            at_hand = given.get(array)
            if at_hand is not None and not isinstance(at_hand, str):
                self.let(param, at_hand)
                continue
            read = row_at(array, (var(self.index),), param.type)
            if param.name in consumed:
                read = ir.Copy(self.body.bind(param.name, param.type, read).name)
            self.let(param, read)
        self.body.stms.extend(self.within(fn.body.stms, self.body.fresh))
        self.body.prov = fn.body.prov or prov

    def take(self, pat: tuple[ir.Param, ...], exp: _Parallel) -> dict[Name, ir.Operand]:
        """Combine the body's values as an operator says; return an element of each result array."""
        values = exp.fn.body.results
        given: dict[Name, ir.Operand] = {}
        at = 0
        match exp:
            case ir.Map():
                self.keep(pat, values)
            case ir.Reduce(_, ops, _, _):
                for op in ops:
                    end = at + len(op.neutral)
                    self.accumulate(op, values[at:end], pat[at:end])
                    at = end
                self.keep(pat[at:], values[at:])
            case ir.Scan(_, ops, _, _):
                for op in ops:
                    end = at + len(op.neutral)
                    totals = self.accumulate(op, values[at:end], None)
                    self.keep(pat[at:end], totals)
                    given |= zip((p.name for p in pat[at:end]), totals, strict=True)
                    at = end
                self.keep(pat[at:], values[at:])
                given |= zip((p.name for p in pat[at:]), values[at:], strict=True)
            case ir.Scatter(_, dests, _, _):
                found = writes(dests, values)
                for dest, result, to in zip(dests, pat, found, strict=False):
                    self.write(dest.array, result, to)
                self.keep(pat[len(dests) :], values[places(dests) :])
            case ir.Hist(_, hists, _, _):
                done = 0
                for hist in hists:
                    count = len(hist.dests)
                    end = at + hist.rank + count
                    self.combine(hist, pat[done : done + count], values[at:end])
                    at, done = end, done + count
            case ir.Stream(_, dests, _, _):
                self.stream(dests, pat)
        return given

    def named(self, value: ir.Operand, base: str) -> ir.Operand:
        """Bind `value` to a name unless it is atomic."""
        return value if isinstance(value, str | ir.Var | ir.Lit) else self.body.scalar(base, value)

    def first(self) -> Builder:
        """Return a builder that appends statements before the loop."""
        builder = Builder(self.body.fresh, self.prov)
        builder.stms = self.before
        return builder

    def keep(self, pattern: tuple[ir.Param, ...], values: tuple[ir.Operand, ...]) -> None:
        """Collect one value per iteration in a fresh array."""
        for bind, value in zip(pattern, values, strict=True):
            start = self.first().scratch(bind)
            here = self.fresh(bind, unique=True)
            after = self.body.update(here, (var(self.index),), value)
            self.carry(here, start.name, after.name, bind)

    def accumulate(
        self, op: ir.Operator, values: tuple[ir.Operand, ...], pattern: tuple[ir.Param, ...] | None
    ) -> tuple[ir.Operand, ...]:
        """Combine values with the accumulators and return these.

        `pattern` names the last ones, if given.
        """
        count = len(op.neutral)
        totals, rest = op.fn.params[:count], op.fn.params[count:]
        binds = pattern or tuple(map(self.fresh, totals))
        if pattern is not None and self.in_place(op, values, binds):
            return ()
        before = self.body.prov
        body = self.applied(op.fn.body, rest, values)
        self.body.prov = body.prov or before
        new = tuple(self.named(r, p.name) for r, p in zip(body.results, totals, strict=True))
        for total, start, result, bind in zip(totals, op.neutral, new, binds, strict=True):
            self.carry(ir.Param(total.name, total.type), start, result, bind)
        self.body.prov = before
        return new

    def applied(
        self, body: ir.Body, params: tuple[ir.Param, ...], values: tuple[ir.Operand, ...]
    ) -> ir.Body:
        """Add the statements of an operator with `values` for `params`; return its results."""
        names: dict[Name, ir.Operand] = {}
        for param, value in zip(params, values, strict=True):
            if isinstance(value, str):
                names[param.name] = value
            else:
                self.let(param, value)
        body = subst(body, names)
        self.body.stms.extend(self.within(body.stms, self.body.fresh))
        return body

    def in_place(
        self, op: ir.Operator, values: tuple[ir.Operand, ...], binds: tuple[ir.Param, ...]
    ) -> bool:
        """Update accumulators of an element-wise operator in place.

        Return False for other operators.
        """
        vector = vectorised(op, self.body.fresh)
        if vector is None or not all(isinstance(v, str) for v in values):
            return False
        count = len(op.neutral)
        inner = _LoopBuilder(self.body.fresh("k"), self.body.nested(), self.within)
        at = (var(inner.index),)
        outer = [ir.Param(p.name, p.type, unique=True) for p in op.fn.params[:count]]
        holds = [self.fresh(p, unique=True) for p in outer]
        rows = [*(p.name for p in holds), *(str(v) for v in values)]
        for element, row in zip(vector.fn.params, rows, strict=True):
            inner.let(element, row_at(row, at, element.type))
        inner.body.stms.extend(self.within(vector.fn.body.stms, self.body.fresh))
        for hold, total, result in zip(holds, outer, vector.fn.body.results, strict=True):
            after = inner.body.update(hold, at, result)
            inner.carry(hold, total.name, after.name, self.fresh(hold))
        self.body.stms.extend(inner.finish(vector.width))
        for total, start, end, bind in zip(outer, op.neutral, inner.pattern, binds, strict=True):
            own = self.first().bind(total.name, total.type, ir.Copy(str(start)))
            self.carry(total, own.name, end.name, bind)
        return True

    def indices(self, values: Sequence[ir.Operand]) -> tuple[ir.SE, ...]:
        """Bind indices to names unless they are atomic."""
        named = (self.named(i, "at") for i in values)
        return tuple(i for i in named if not isinstance(i, str))

    def write(
        self,
        dest: Name,
        bind: ir.Param,
        writes: Iterable[tuple[Sequence[ir.Operand], ir.Operand]],
    ) -> None:
        """Write values at indices of the destination, where they are in bounds."""
        here = after = self.fresh(bind, unique=True)
        for index, value in writes:
            at = self.indices(index)
            then = self.body.nested()
            written = then.update(after, at, value)
            (after,) = self.body.update_inside([after], at, then, [written])
        self.carry(here, dest, after.name, bind)

    def combine(
        self, hist: ir.HistOp, pattern: tuple[ir.Param, ...], values: tuple[ir.Operand, ...]
    ) -> None:
        """Combine values with elements of the destinations, if the index is in bounds."""
        count = len(hist.dests)
        at = self.indices(values[: hist.rank])
        holds = [self.fresh(p, unique=True) for p in pattern]
        branch = _LoopBuilder(self.index, self.body.nested(), self.within)
        for old, hold in zip(hist.op.fn.params[:count], holds, strict=True):
            branch.let(old, row_at(hold.name, at, old.type))
        body = branch.applied(hist.op.fn.body, hist.op.fn.params[count:], values[hist.rank :])
        branch.body.prov = body.prov or branch.body.prov
        pairs = zip(holds, body.results, strict=True)
        news = [branch.body.update(hold, at, result) for hold, result in pairs]
        afters = self.body.update_inside(holds, at, branch.body, news)
        for hold, dest, after, bind in zip(holds, hist.dests, afters, pattern, strict=True):
            self.carry(hold, dest, after.name, bind)

    def stream(self, dests: tuple[Name, ...], pattern: tuple[ir.Param, ...]) -> None:
        """Update the destinations where the body pushes to them."""
        holds = [self.fresh(p, unique=True) for p in pattern]
        now = dict(zip(dests, holds, strict=True))
        self.body.stms = updating(self.body, now)
        for dest, hold, bind in zip(dests, holds, pattern, strict=True):
            self.carry(hold, dest, now[dest].name, bind)

    def finish(self, width: Poly) -> list[ir.Stm]:
        """Return the statements before the loop, and the loop."""
        loop = count_loop(self.params, self.init, self.index, width, self.body.body(self.results))
        return [*self.before, ir.Stm(tuple(self.pattern), loop, self.prov)]


def updating(code: Builder, now: dict[Name, ir.Param]) -> list[ir.Stm]:
    """Turn pushes to accumulators into updates of arrays.

    Branches and loops pass the arrays on; `now` has their names, before and after.
    """
    out = code.nested()
    for stm in code.stms:
        exp = stm.exp
        touched = [name for name in now if _pushes_to(stm, name)]
        if not touched:
            out.stms.append(stm)
            continue
        out.prov = stm.prov
        if isinstance(exp, ir.Push):
            _update(out, exp, now)
            continue
        pat = [out.param(now[name]) for name in touched]
        if isinstance(exp, ir.If):
            arms = [_handing_on(out, body, dict(now), touched) for body in (exp.then, exp.orelse)]
            exp = ir.If(exp.cond, *arms)
        else:
            assert isinstance(exp, ir.Loop)
            params = [out.param(now[name], unique=True) for name in touched]
            inside = now | dict(zip(touched, params, strict=True))
            body = _handing_on(out, exp.body, inside, touched)
            init = (*exp.init, *(now[name].name for name in touched))
            exp = ir.Loop((*exp.params, *params), init, exp.form, body)
        out.add((*stm.pat, *pat), exp)
        now.update(zip(touched, pat, strict=True))
    return out.stms


def _pushes_to(stm: ir.Stm, name: Name) -> bool:
    return any(isinstance(s.exp, ir.Push) and name in s.exp.dests for s in all_stms((stm,)))


def _handing_on(
    out: Builder, body: ir.Body, now: dict[Name, ir.Param], touched: list[Name]
) -> ir.Body:
    """Make a body return arrays too, in their state at its end."""
    inner = out.nested()
    inner.stms = updating(out.nested(body.stms), now)
    return inner.body((*body.results, *(now[name].name for name in touched)))


def _update(out: Builder, exp: ir.Push, now: dict[Name, ir.Param]) -> None:
    """Update the arrays of an accumulator at an index, if it is in bounds."""
    holds = [now[name] for name in exp.dests]
    at = [i if isinstance(i, ir.Var | ir.Lit) else out.scalar("at", i) for i in exp.at]
    then, values = out.nested(), exp.values
    for op in exp.op:
        old = [then.read(hold, at) for hold in holds]
        own = [p if isinstance(p.type, ir.Scalar) else then.copy(p) for p in old]
        body = then.applied(op, (*map(as_operand, own), *values))
        values = body.results
    changed = [then.update(hold, at, value) for hold, value in zip(holds, values, strict=True)]
    now.update(zip(exp.dests, out.update_inside(holds, at, then, changed), strict=True))
