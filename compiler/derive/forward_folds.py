"""Forward mode of folds, histograms, scatters and accumulators: values beside their tangents.

A fold of pairs `(x, x')` by the operator's own forward mode is associative where the operator is.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.base.by_class import handles
from compiler.base.names import Name
from compiler.derive import forward
from compiler.derive.forward import Forward
from compiler.ir import nodes as ir
from compiler.ir.nodes import Operand, Param, Type
from compiler.ir.scatters import places

RULES: dict[type, forward.Rule] = {**forward.RULES}


def _pairs(f: Forward, op: ir.Operator) -> tuple[ir.Operator, list[bool]]:
    """Return an operator on values and tangents, and flags of its active components."""
    width = len(op.neutral)
    left, right = op.fn.params[:width], op.fn.params[width:]
    wanted = f.flags(left)
    neutral = [f.full(n, p.type) for n, p, yes in zip(op.neutral, left, wanted, strict=True) if yes]
    more = (f.duals(left), f.duals(right))
    fn = f.fn(op.fn, wanted, ())
    params = (*left, *more[0], *right, *more[1])
    commutative = op.commutative and _adds(op.fn)
    pair = ir.Operator(ir.Lambda(params, fn.body, fn.returns), (*op.neutral, *neutral), commutative)
    return pair, wanted


def _adds(fn: ir.Lambda) -> bool:
    """Return True if an operator only adds: then it commutes on tangents too."""
    exps = [stm.exp for stm in fn.body.stms] + [
        r for r in fn.body.results if not isinstance(r, str)
    ]
    sums = [e for e in exps if not isinstance(e, ir.Var)]
    return all(isinstance(e, ir.Bin) and e.op == "+" for e in sums)


def _results(
    f: Forward, fn: ir.Lambda, groups: Sequence[Sequence[bool]], rest: Sequence[bool]
) -> tuple[ir.Body, tuple[Type, ...]]:
    """Return a lambda's body; each group of results is followed by its wanted tangents."""
    outer = f.open()
    f.all(fn.body.stms)
    results: list[Operand] = []
    returns: list[Type] = []
    at = 0
    for wanted in (*groups, rest):
        own = list(zip(fn.body.results[at:], fn.returns[at:], wanted, strict=False))
        at += len(wanted)
        results += [r for r, _, _ in own] + [f.full(r, kind) for r, kind, yes in own if yes]
        returns += [kind for _, kind, _ in own] + [kind for _, kind, yes in own if yes]
    return f.close(outer, results), tuple(returns)


def _pattern(f: Forward, pat: Sequence[Param], groups: Sequence[Sequence[bool]]) -> list[Param]:
    """Return the pattern in the order of `_results`."""
    found: list[Param] = []
    at = 0
    for wanted in groups:
        own = pat[at : at + len(wanted)]
        at += len(wanted)
        found += [*own, *(f.dual(p) for p, yes in zip(own, wanted, strict=True) if yes)]
    return found


@handles(RULES, ir.Reduce, ir.Scan)
def _fold(f: Forward, stm: ir.Stm, exp: ir.Reduce | ir.Scan) -> None:
    """Fold pairs of values and tangents."""
    extra, slopes = f.over(exp.fn, exp.arrays)
    made = [_pairs(f, op) for op in exp.ops]
    groups = [wanted for _, wanted in made]
    kept = f.flags(stm.pat[sum(map(len, groups)) :])
    body, returns = _results(f, exp.fn, groups, kept)
    fn = ir.Lambda((*exp.fn.params, *extra), body, returns)
    ops = tuple(op for op, _ in made)
    pat = _pattern(f, stm.pat, (*groups, kept))
    f.add(pat, type(exp)(exp.width, ops, fn, (*exp.arrays, *slopes)))


@handles(RULES, ir.Hist)
def _hist(f: Forward, stm: ir.Stm, exp: ir.Hist) -> None:
    """Extend a histogram by tangents, with the operator on both."""
    dests = [[f.full(d) for d in one.dests] for one in exp.ops]
    extra, slopes = f.over(exp.fn, exp.arrays)
    groups: list[list[bool]] = []
    hists: list[ir.HistOp] = []
    wants: list[list[bool]] = []
    for one, given in zip(exp.ops, dests, strict=True):
        op, wanted = _pairs(f, one.op)
        more = [str(d) for d, yes in zip(given, wanted, strict=True) if yes]
        hists.append(ir.HistOp((*one.dests, *more), one.rank, op))
        groups += [[False] * one.rank, wanted]
        wants.append(wanted)
    body, returns = _results(f, exp.fn, groups, ())
    fn = ir.Lambda((*exp.fn.params, *extra), body, returns)
    pat = _pattern(f, stm.pat, wants)
    f.add(pat, ir.Hist(exp.width, tuple(hists), fn, (*exp.arrays, *slopes)))


@handles(RULES, ir.Scatter)
def _scatter(f: Forward, stm: ir.Stm, exp: ir.Scatter) -> None:
    """Write tangents where values are written."""
    wanted = f.flags(stm.pat[: len(exp.dests)])
    dests: list[ir.Dest] = []
    for dest, yes in zip(exp.dests, wanted, strict=True):
        dests.append(dest)
        if yes:
            dests.append(ir.Dest(str(f.full(dest.array)), dest.rank, dest.times))
    extra, slopes = f.over(exp.fn, exp.arrays)
    outer = f.open()
    f.all(exp.fn.body.stms)
    results: list[Operand] = []
    returns: list[Type] = []
    at = 0
    for dest, yes in zip(exp.dests, wanted, strict=True):
        end = at + dest.times * (dest.rank + 1)
        own = list(zip(exp.fn.body.results[at:end], exp.fn.returns[at:end], strict=True))
        value = [k % (dest.rank + 1) == dest.rank for k in range(len(own))]
        more = [f.full(r, kind) if v else r for (r, kind), v in zip(own, value, strict=True)]
        results += [r for r, _ in own] + (more if yes else [])
        returns += [kind for _, kind in own] * (2 if yes else 1)
        at = end
    kept = f.flags(stm.pat[len(exp.dests) :])
    rest = list(zip(exp.fn.body.results[at:], exp.fn.returns[at:], kept, strict=True))
    results += [r for r, _, _ in rest] + [f.full(r, kind) for r, kind, yes in rest if yes]
    returns += [kind for _, kind, _ in rest] + [kind for _, kind, yes in rest if yes]
    assert at == places(exp.dests)
    fn = ir.Lambda((*exp.fn.params, *extra), f.close(outer, results), tuple(returns))
    groups = [*([yes] for yes in wanted), kept]
    pat = _pattern(f, stm.pat, groups)
    f.add(pat, ir.Scatter(exp.width, tuple(dests), fn, (*exp.arrays, *slopes)))


@handles(RULES, ir.Stream)
def _stream(f: Forward, stm: ir.Stm, exp: ir.Stream) -> None:
    """Extend an accumulator by one of tangents."""
    wanted = f.flags(stm.pat)
    more: list[Name] = []
    for dest, yes in zip(exp.dests, wanted, strict=True):
        if yes:
            slope = str(f.full(dest))
            own = f.fresh(dest, f.types[dest], forward.END)
            f.add((own,), ir.Copy(slope))
            f.tangents[dest] = own.name
            more.append(own.name)
    extra, slopes = f.over(exp.fn, exp.arrays)
    fn = f.fn(exp.fn, (), extra)
    pat = (*stm.pat, *f.duals(stm.pat))
    f.add(pat, ir.Stream(exp.width, (*exp.dests, *more), fn, (*exp.arrays, *slopes)))


@handles(RULES, ir.Push)
def _push(f: Forward, stm: ir.Stm, exp: ir.Push) -> None:
    """Push the tangents beside the values."""
    wanted = [d in f.active for d in exp.dests]
    if not any(wanted):
        f.stms.append(stm)
        return
    pairs = [(d, v) for d, v, yes in zip(exp.dests, exp.values, wanted, strict=True) if yes]
    dests = (*exp.dests, *(str(f.tangents[d]) for d, _ in pairs))
    values = (*exp.values, *(f.full(v) for _, v in pairs))
    ops = [_pairs(f, ir.Operator(fn, exp.values))[0].fn for fn in exp.op]
    f.add((), ir.Push(dests, exp.at, values, tuple(ops)))
