"""Count what a run of the reference interpreter costs, for comparison with formulas.

The same is counted as `explain/cost_formulas.py` tells: operators, elements read and written, their
bytes, and the longest chain. Numbers of rows and rounds, sizes of arrays and which branches are
taken are those of the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any

import numpy as np

from compiler.algebra.poly import Poly
from compiler.analysis.cost import size
from compiler.base.by_class import handles
from compiler.base.prim import BYTES, Prim
from compiler.explain.cost_formulas import CostFormulas, evaluate
from compiler.ir import nodes as ir
from compiler.ir.scatters import places
from compiler.ir.types import shape_of
from compiler.ir.values import Value
from compiler.semantics.elements import part
from compiler.semantics.indices import all_indices
from compiler.semantics.value import Interpreter, execute


@dataclass
class Measured:
    """The counts of a run, and the values of the names in formulas."""

    work: int = 0
    span: int = 0
    moved: int = 0
    made: int = 0
    empty: bool = False
    """True if an operator had no rows: formulas tell the span of one."""
    env: dict[str, Any] = field(default_factory=dict)


def measure(
    prog: ir.Prog,
    entry: ir.Function,
    args: Sequence[Value],
    formulas: CostFormulas,
    thresholds: Mapping[str, int],
) -> Measured:
    """Run an entry point and return its counts, with what its formulas leave to a run."""
    machine = _Counting(prog, formulas, thresholds)
    execute(machine, entry, args)
    found = machine.found
    found.env = _integers(machine.env)
    for name, atom in formulas.atoms.items():
        seen = machine.seen.get(name, [])
        if atom.op == "rounds":
            runs = machine.starts[atom.body]
            found.env[name] = Fraction(machine.rounds[atom.body], runs) if runs else 0
        elif atom.op == "most":
            found.env[name] = machine.most[atom.body]
        elif atom.op == "average":
            found.env[name] = sum(seen, Fraction(0)) / len(seen) if seen else 0
        elif atom.op == "largest":
            found.env[name] = max(seen, default=0)
    return found


def _integers(env: Mapping[str, Any]) -> dict[str, Any]:
    return {name: int(value) for name, value in env.items() if isinstance(value, np.integer)}


class _Counting(Interpreter):
    """An interpreter that counts."""

    def __init__(
        self, prog: ir.Prog, formulas: CostFormulas, thresholds: Mapping[str, int]
    ) -> None:
        super().__init__(prog, 1 << 30, thresholds)
        self.formulas = formulas
        self.found = Measured()
        self.collected = range(0)
        self.dests: tuple[ir.Dest, ...] = ()
        self.rounds: dict[int, int] = defaultdict(int)
        self.starts: dict[int, int] = defaultdict(int)
        self.most: dict[int, int] = defaultdict(int)
        self.chains: list[int] = []
        """Spans of the folds of a statement, which run at once."""
        self.seen: dict[str, list[Fraction]] = defaultdict(list)

    # --- counting ----------------------------------------------------------------------------

    def operators(self, operands: Iterable[object]) -> None:
        """Count the operators of expressions."""
        many = sum(size(one) for one in operands if isinstance(one, ir.SE_NODES))
        self.found.work += many
        self.found.span += many

    def move(self, prim: Prim, cells: int, step: bool = True) -> None:
        """Count elements that are read or written, in one step."""
        self.found.work += cells
        self.found.moved += cells * BYTES[prim]
        self.found.span += step

    def longest(self, runs: Iterable[Callable[[], Any]]) -> list[Any]:
        """Do all at once: the longest counts."""
        before, most, out = self.found.span, 0, []
        for one in runs:
            self.found.span = before
            out.append(one())
            most = max(most, self.found.span - before)
        self.found.span = before + most
        return out

    # --- what is run -------------------------------------------------------------------------

    def stms(self, stms: Sequence[ir.Stm]) -> None:
        """Run statements in order, and count each."""
        for stm in stms:
            self.collected, self.dests = _collected(stm.exp)
            outer, self.chains = self.chains, []
            body = id(stm.exp.body) if isinstance(stm.exp, ir.Loop) else 0
            before = self.rounds[body]
            super().stms((stm,))
            self.starts[body] += 1
            self.most[body] = max(self.most[body], self.rounds[body] - before)
            self.charge(stm)
            self.found.span += max(self.chains, default=0)
            self.chains = outer

    def body(self, body: ir.Body) -> list[Any]:
        """Run a body, and count its results and rounds."""
        out = super().body(body)
        self.operators(body.results)
        self.rounds[id(body)] += 1
        self.look(id(body))
        return out

    def look(self, body: int) -> None:
        """Take down the numbers that formulas want at the end of a body."""
        for atom in self.formulas.averages.get(body, ()):
            value = evaluate(atom.of, _integers(self.env), self.formulas.atoms)
            self.seen[atom.name].append(Fraction(value))

    def rows(self, width: Poly, fn: ir.Lambda, arrays: Sequence[str]) -> list[Any]:
        """Apply a lambda to every row, at once."""
        count, which, dests = self.size(width), self.collected, self.dests
        self.found.empty |= count == 0
        sources = [self.value(name) for name in arrays]

        def row(i: int) -> Any:
            for param in fn.params:
                if isinstance(param.type, ir.Scalar):
                    self.move(param.type.prim, 1)
            out = self.apply(fn, [part(data, (i,)) for data in sources])
            self.collect(fn.returns, out, which)
            at = 0
            for dest in dests:
                for _ in range(dest.times):
                    self.write(fn.returns[at + dest.rank], out[at + dest.rank])
                    at += dest.rank + 1
            return out

        return self.longest([partial(row, i) for i in range(count)])

    def collect(self, kinds: Sequence[ir.Type], values: Sequence[Any], which: range) -> None:
        """Count values of a row that become elements of arrays."""
        for k in which:
            self.write(kinds[k], values[k])

    def write(self, kind: ir.Type, value: Any) -> None:
        """Count a number or a row that is put into an array."""
        assert isinstance(kind, ir.Scalar | ir.Array)
        self.move(kind.prim, 2 * len(value.cells) if isinstance(kind, ir.Array) else 1)

    def threads(self, exp: ir.SegOp, widths: Sequence[int]) -> list[Any]:
        """Run a kernel's body in every thread, at once."""
        which = self.collected
        self.found.empty |= 0 in widths

        def thread(index: Sequence[int]) -> Any:
            for (name, _), i in zip(exp.space.dims, index, strict=True):
                self.env[name] = np.int64(i)
            self.stms(exp.body.stms)
            self.operators(exp.body.results)
            out = [self._kernel_result(result) for result in exp.body.results]
            for k, (result, kind) in enumerate(
                zip(exp.body.results, exp.body.returns, strict=True)
            ):
                if not isinstance(result, ir.Write):
                    self.collect(exp.body.returns, out, range(k, k + (k in which)))
                    continue
                for at, value in result.writes:
                    self.operators((*at, value))
                    many = 2 * len(self.value(value).cells) if isinstance(value, str) else 1
                    assert isinstance(kind, ir.Scalar | ir.Array)
                    self.move(kind.prim, many)
            self.look(id(exp.body))
            return out

        return self.longest([partial(thread, at) for at in all_indices(widths)])

    def prefixes(self, ops: Sequence[ir.Operator], rows: Sequence[Any]) -> list[Any]:
        """Fold rows; the longest step of each operator counts, lg n times."""
        before, found, state = self.found.span, list[Any](), self.neutral(ops)
        most = [0] * len(ops)
        for row in rows:
            new: list[Any] = []
            for k, op in enumerate(ops):
                low, high = len(new), len(new) + len(op.neutral)
                start = self.found.span
                new += self.apply(op.fn, [*state[low:high], *row[low:high]])
                most[k] = max(most[k], self.found.span - start)
            state = new
            found.append(state)
        self.found.span = before
        self.chains.append(sum(most) * max(0, (len(rows) - 1).bit_length()))
        return found

    def combined(self, ops: Any, before: Any, rows: Any) -> Any:
        """Put values into bins; of the chain of one bin no step is counted."""
        start = self.found.span
        out = super().combined(ops, before, rows)
        self.found.span = start
        for op in ops:
            for name, param in zip(op.dests, op.op.fn.params, strict=False):
                shape = self.value(name).shape
                row = prod(shape[len(shape) - len(shape_of(param.type)) :])
                assert isinstance(param.type, ir.Scalar | ir.Array)
                self.move(param.type.prim, 2 * row * len(rows))
        return out

    def charge(self, stm: ir.Stm) -> None:
        """Count the statement that has been run, but for what is inside."""
        exp = stm.exp
        if isinstance(exp, ir.SE_NODES):
            self.operators((exp,))
            return
        kinds = [param.type for param in stm.pat]
        values = [self.env[param.name] for param in stm.pat]
        charge = _CHARGES.get(type(exp))
        made = charge(self, exp, kinds, values) if charge else ()
        for k in made:
            kind = kinds[k]
            if isinstance(kind, ir.Array):
                self.found.made += len(values[k].cells) * BYTES[kind.prim]

    def fill(self, kind: ir.Type, value: Any, times: int) -> Sequence[int]:
        """Count the elements of a new array, so many times."""
        self.move(_prim(kind), times * len(value.cells))
        return (0,)

    def neutral_values(self, ops: Iterable[ir.Operator]) -> int:
        """Count the neutral elements; return how many there are."""
        values = [value for op in ops for value in op.neutral]
        self.operators(values)
        return len(values)


Kinds = Sequence[ir.Type]
_CHARGES: dict[type, Callable[[_Counting, Any, Kinds, list[Any]], Sequence[int]]] = {}
"""Count a statement by its kind, and return which of its results are new arrays."""


@handles(_CHARGES, ir.Index)
def _index(m: _Counting, exp: ir.Index, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    m.operators(exp.at)
    m.write(kinds[0], values[0])
    return ()


@handles(_CHARGES, ir.Update)
def _update(m: _Counting, exp: ir.Update, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    if isinstance(exp.value, str):
        m.move(_prim(kinds[0]), 2 * len(m.value(exp.value).cells))
        return ()
    m.operators((*(dim.start for dim in exp.dims), exp.value))
    m.move(_prim(kinds[0]), 1)
    return ()


@handles(_CHARGES, ir.Copy, ir.Concat)
def _copy(m: _Counting, exp: ir.Exp, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    return m.fill(kinds[0], values[0], 2)


@handles(_CHARGES, ir.Iota)
def _iota(m: _Counting, exp: ir.Iota, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    m.operators((exp.start, exp.step))
    return m.fill(kinds[0], values[0], 1)


@handles(_CHARGES, ir.Replicate, ir.ArrayLit)
def _given(m: _Counting, exp: Any, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    given = (exp.value,) if isinstance(exp, ir.Replicate) else exp.elems
    m.operators(given)
    return m.fill(kinds[0], values[0], 1 + any(isinstance(one, str) for one in given))


@handles(_CHARGES, ir.Scratch)
def _scratch(m: _Counting, exp: ir.Exp, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    return (0,)


@handles(_CHARGES, ir.If, ir.Assert, ir.Threshold)
def _asked(m: _Counting, exp: Any, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    m.operators((exp.amount if isinstance(exp, ir.Threshold) else exp.cond,))
    return ()


@handles(_CHARGES, ir.Loop)
def _loop(m: _Counting, exp: ir.Loop, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    m.operators(exp.init)
    m.operators((exp.form.bound,) if isinstance(exp.form, ir.ForLoop) else ())
    return ()


@handles(_CHARGES, ir.Call, ir.Apply)
def _call(m: _Counting, exp: Any, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    m.operators(exp.args)
    return ()


@handles(_CHARGES, ir.Push)
def _push(m: _Counting, exp: ir.Push, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    m.operators((*exp.at, *exp.values))
    for name in exp.dests:
        data = m.value(name)
        if data.cells:
            row = prod(data.shape[len(exp.at) :])
            m.found.work += row
            m.found.moved += row * data.cells[0].dtype.itemsize
    return ()


@handles(_CHARGES, ir.Map, ir.Reduce, ir.Scan, ir.Scatter)
def _rows(m: _Counting, exp: Any, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    if isinstance(exp, ir.Scatter):
        return range(len(exp.dests), len(kinds))
    folded = m.neutral_values(exp.ops) if isinstance(exp, ir.Reduce | ir.Scan) else 0
    return range(folded if isinstance(exp, ir.Reduce) else 0, len(kinds))


@handles(_CHARGES, ir.Hist, ir.SegHist)
def _hist(m: _Counting, exp: Any, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    m.neutral_values(op.op for op in exp.ops)
    return ()


@handles(_CHARGES, ir.SegMap, ir.SegRed, ir.SegScan)
def _kernel(m: _Counting, exp: Any, kinds: Kinds, values: list[Any]) -> Sequence[int]:
    folded = 0 if isinstance(exp, ir.SegMap) else m.neutral_values(exp.ops)
    if isinstance(exp, ir.SegRed) and len(exp.space.dims) > 1:
        for kind, value in zip(kinds[:folded], values, strict=False):
            m.fill(kind, value, 1)
    results = enumerate(exp.body.results)
    return [k for k, one in results if not isinstance(one, ir.Write)]


def _prim(kind: ir.Type) -> Prim:
    assert isinstance(kind, ir.Scalar | ir.Array)
    return kind.prim


def _collected(exp: ir.Exp) -> tuple[range, tuple[ir.Dest, ...]]:
    """Return which results of the rows become elements, and the destinations of writes."""
    match exp:
        case ir.Map() | ir.Scan():
            return range(len(exp.fn.returns)), ()
        case ir.Reduce():
            values = sum(len(op.neutral) for op in exp.ops)
            return range(values, len(exp.fn.returns)), ()
        case ir.Scatter():
            return range(places(exp.dests), len(exp.fn.returns)), exp.dests
        case ir.SegMap() | ir.SegScan():
            return range(len(exp.body.returns)), ()
        case ir.SegRed():
            values = sum(len(op.neutral) for op in exp.ops)
            return range(values, len(exp.body.returns)), ()
    return range(0), ()
