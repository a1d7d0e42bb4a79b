"""Activity analysis: find names that depend smoothly on a derivative's inputs.

A name that depends on an input only through comparisons, indices, sizes and the like is constant
where a derivative exists. So is one that depends only through integer bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.base.names import Name
from compiler.derive.partials import edges
from compiler.ir import nodes as ir
from compiler.ir.aliases import viewed_array
from compiler.ir.nodes import SE, Lit, Operand, Var
from compiler.ir.scatters import writes


def is_smooth(se: SE, active: set[Name]) -> bool:
    """Return True if a scalar expression depends smoothly on an active variable."""
    if isinstance(se, Var):
        return se.name in active
    if isinstance(se, Lit):
        return False
    return any(is_smooth(edge.part, active) for edge in edges(se, se))


class Activity:
    """The active names, closed over statements."""

    def __init__(self, inputs: Iterable[Name]) -> None:
        self.active = set(inputs)

    def learn(self, stms: Sequence[ir.Stm]) -> None:
        """Add the active names that statements bind, until a fixed point."""
        before = -1
        while before < len(self.active):
            before = len(self.active)
            self.once(stms)

    def has(self, operand: Operand) -> bool:
        """Return True if an operand is active."""
        if isinstance(operand, str):
            return operand in self.active
        return is_smooth(operand, self.active)

    def once(self, stms: Sequence[ir.Stm]) -> None:
        """Walk statements once."""
        for stm in stms:
            flags = self._of(stm)
            pairs = zip(stm.pat, flags, strict=True)
            self.active.update(param.name for param, yes in pairs if yes)

    def mark(self, params: Iterable[ir.Param], values: Iterable[Operand]) -> None:
        """Mark parameters whose values are active."""
        pairs = zip(params, values, strict=True)
        self.active.update(p.name for p, value in pairs if self.has(value))

    def _of(self, stm: ir.Stm) -> Sequence[bool]:
        exp = stm.exp
        if isinstance(exp, ir.SE_NODES):
            return (is_smooth(exp, self.active),)
        view = viewed_array(exp)
        if view is not None:
            return (view in self.active,)
        match exp:
            case ir.Index(array, _) | ir.Copy(array):
                return (array in self.active,)
            case ir.Update(array, _, value):
                return (array in self.active or self.has(value),)
            case ir.Concat(arrays):
                return (not self.active.isdisjoint(arrays),)
            case ir.Replicate(_, value):
                return (self.has(value),)
            case ir.ArrayLit(elems):
                return (any(map(self.has, elems)),)
            case ir.Iota(_, start, step, _):
                return (self.has(start) or self.has(step),)
            case ir.If(_, then, orelse):
                self.once(then.stms)
                self.once(orelse.stms)
                pairs = zip(then.results, orelse.results, strict=True)
                return [self.has(a) or self.has(b) for a, b in pairs]
            case ir.Loop(params, init, _, body):
                self.mark(params, init)
                self.once(body.stms)
                self.mark(params, body.results)
                return [p.name in self.active for p in params]
            case ir.WithVjp(args, _, _):
                return [any(map(self.has, args))] * len(stm.pat)
            case ir.Map() | ir.Reduce() | ir.Scan() | ir.Scatter() | ir.Hist() | ir.Stream():
                return self._soac(exp)
            case ir.Push(dests, _, values, ops):
                return self._push(dests, values, ops)
        return [False] * len(stm.pat)

    def _soac(self, exp: ir.Soac) -> Sequence[bool]:
        self.mark(exp.fn.params, exp.arrays)
        self.once(exp.fn.body.stms)
        found = [self.has(r) for r in exp.fn.body.results]
        match exp:
            case ir.Reduce(_, ops, _, _) | ir.Scan(_, ops, _, _):
                at = 0
                for op in ops:
                    width = len(op.neutral)
                    found[at : at + width] = self.operator(op, found[at : at + width])
                    at += width
            case ir.Scatter(_, dests, _, _):
                count = sum(d.times * (d.rank + 1) for d in dests)
                each = writes(dests, found)
                written = [any(value for _, value in ws) for ws in each]
                pairs = zip(dests, written, strict=True)
                return [d.array in self.active or yes for d, yes in pairs] + found[count:]
            case ir.Hist(_, hists, _, _):
                out: list[bool] = []
                at = 0
                for one in hists:
                    at += one.rank
                    values = found[at : at + len(one.dests)]
                    at += len(one.dests)
                    given = [v or d in self.active for v, d in zip(values, one.dests, strict=True)]
                    out += self.operator(one.op, given)
                return out
            case ir.Stream(_, dests, _, _):
                return [d in self.active for d in dests]
        return found

    def operator(self, op: ir.Operator, given: Sequence[bool]) -> list[bool]:
        """Return which components of a fold are active, given those of its elements."""
        width = len(op.neutral)
        both = (op.fn.params[:width], op.fn.params[width:])
        flags = [yes or self.has(n) for yes, n in zip(given, op.neutral, strict=True)]
        while True:
            for side in both:
                self.active.update(p.name for p, yes in zip(side, flags, strict=True) if yes)
            self.once(op.fn.body.stms)
            new = [a or self.has(r) for a, r in zip(flags, op.fn.body.results, strict=True)]
            if new == flags:
                return flags
            flags = new

    def _push(
        self, dests: Sequence[Name], values: Sequence[Operand], ops: Sequence[ir.Lambda]
    ) -> Sequence[bool]:
        flags = [d in self.active or self.has(v) for d, v in zip(dests, values, strict=True)]
        for fn in ops:
            flags = self.operator(ir.Operator(fn, tuple(values)), flags)
        self.active.update(d for d, yes in zip(dests, flags, strict=True) if yes)
        return ()
