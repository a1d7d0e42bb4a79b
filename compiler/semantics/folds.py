"""Reductions and scans of the fast interpreter.

An operator that is a single associative NumPy operation uses that; others combine neighbours in
about log2(n) rounds, which keeps the order of the operands.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.nodes import Bin, Exp, Operand, Operator, Var
from compiler.semantics.evaluator import Data, Evaluator
from compiler.semantics.levels import broadcast, full, inside, joined, rank_of

_UFUNCS: dict[tuple[str, str], np.ufunc] = {
    **{("+", k): np.add for k in "iuf"},
    **{("*", k): np.multiply for k in "iuf"},
    **{("min", k): np.minimum for k in "iu"},
    **{("max", k): np.maximum for k in "iu"},
    ("min", "f"): np.fmin,
    ("max", "f"): np.fmax,
    **{("&", k): np.bitwise_and for k in "iub"},
    **{("|", k): np.bitwise_or for k in "iub"},
    **{("^", k): np.bitwise_xor for k in "iub"},
    ("&&", "b"): np.logical_and,
    ("||", "b"): np.logical_or,
}


def ufunc_of(op: Operator) -> np.ufunc | None:
    """Return NumPy's function for an operator that is one scalar operation, or None."""
    fn = op.fn
    if len(fn.params) != 2 or len(fn.body.results) != 1:
        return None
    result: Exp | Operand = fn.body.results[0]
    if len(fn.body.stms) == 1 and isinstance(result, Var):
        stm = fn.body.stms[0]
        if len(stm.pat) != 1 or stm.pat[0].name != result.name:
            return None
        result = stm.exp
    elif fn.body.stms:
        return None
    match result:
        case Bin(name, at, Var(a, _), Var(b, _)) if (a, b) == tuple(p.name for p in fn.params):
            return _UFUNCS.get((name, at[0]))
    return None


def _along(
    level: int, start: int | None, stop: int | None, step: int | None = None
) -> tuple[slice, ...]:
    return (slice(None),) * level + (slice(start, stop, step),)


def combine(
    m: Evaluator, op: Operator, left: list[Data], right: list[Data], width: int
) -> list[Data]:
    """Apply the operator to two sequences of `width` values, along the next level's dimension."""

    def apply() -> list[Data]:
        return m.apply(op.fn, [*left, *right])

    def together() -> list[Data]:
        pairs = zip(inside(m, width, apply), op.fn.returns, strict=True)
        return [full(m, data, rank_of(kind), width) for data, kind in pairs]

    def alone() -> list[Data]:
        rows = [m.apply(op.fn, [v[k] for v in (*left, *right)]) for k in range(width)]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    return m.in_lanes(op.fn, together, alone)


def fold(m: Evaluator, op: Operator, values: list[Data], width: int) -> list[Data]:
    """Fold `width` values in order; at least one."""
    level = m.level
    ufunc = ufunc_of(op)
    if ufunc is not None:
        (data,) = values
        return [ufunc.reduce(data, axis=level, dtype=data.dtype)]
    while width > 1:
        half = width // 2
        left = [v[_along(level, 0, 2 * half, 2)] for v in values]
        right = [v[_along(level, 1, 2 * half, 2)] for v in values]
        merged = combine(m, op, left, right, half)
        if width % 2:
            last = [v[_along(level, width - 1, width)] for v in values]
            merged = [_append(a, b, level) for a, b in zip(merged, last, strict=True)]
        values, width = merged, half + width % 2
    return [v[(slice(None),) * level + (0,)] for v in values]


def _append(a: Data, b: Data, axis: int) -> Data:
    outer = np.broadcast_shapes(a.shape[:axis], b.shape[:axis])
    return np.concatenate([broadcast(a, outer), broadcast(b, outer)], axis=axis)


def prefixes(m: Evaluator, op: Operator, values: list[Data], width: int) -> list[Data]:
    """Return all prefixes of `width` values, folded in order."""
    level = m.level
    ufunc = ufunc_of(op)
    if ufunc is not None:
        (data,) = values
        return [ufunc.accumulate(data, axis=level, dtype=data.dtype)]
    step = 1
    while step < width:
        left = [v[_along(level, 0, width - step)] for v in values]
        right = [v[_along(level, step, width)] for v in values]
        merged = combine(m, op, left, right, width - step)
        values = [
            _append(v[_along(level, 0, step)], new, level)
            for v, new in zip(values, merged, strict=True)
        ]
        step *= 2
    return values


class Folder:
    """Folds or scans the values of the next level's lanes, chunk by chunk."""

    def __init__(self, m: Evaluator, ops: Sequence[Operator], ranks: list[int], scan: bool) -> None:
        self.m = m
        self.ops = ops
        self.ranks = ranks
        self.scan = scan
        self.state = [[m.operand(value) for value in op.neutral] for op in ops]
        self.carried = sum(len(op.neutral) for op in ops)
        self.pieces: list[list[Data]] = []

    def take(self, values: list[Data], width: int) -> None:
        """Combine the values of one chunk with the state so far."""
        m, level = self.m, self.m.level
        out: list[Data] = []
        at = 0
        for k, op in enumerate(self.ops):
            part = values[at : at + len(op.neutral)]
            at += len(op.neutral)
            if not self.scan:
                total = fold(m, op, part, width)
                self.state[k] = m.apply(op.fn, [*self.state[k], *total])
                continue
            scanned = prefixes(m, op, part, width)
            kinds = [rank_of(kind) for kind in op.fn.returns]
            start = [full(m, s, r, width) for s, r in zip(self.state[k], kinds, strict=True)]
            scanned = combine(m, op, start, scanned, width)
            self.state[k] = [v[(slice(None),) * level + (width - 1,)] for v in scanned]
            out += scanned
        self.pieces.append(out + values[at:])

    def results(self, empties: Sequence[Data]) -> list[Data]:
        """Return the folded values, then the kept arrays.

        `empties` stand for arrays of no lanes.
        """
        folded = [] if self.scan else [np.array(v)[()] for state in self.state for v in state]
        if not self.pieces:
            return folded + list(empties[0 if self.scan else self.carried :])
        columns = [list(column) for column in zip(*self.pieces, strict=True)]
        ranks = self.ranks if self.scan else self.ranks[self.carried :]
        pairs = zip(columns, ranks, strict=True)
        return folded + [joined(self.m, column, rank + 1) for column, rank in pairs]
