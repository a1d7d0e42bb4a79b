"""Find the cells that each thread of a kernel reads and writes.

It evaluates the index functions. Accesses in loops count for all iterations; those under a
condition are marked as uncertain; data-dependent accesses are listed with the reason, without
cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.errors import RuntimeError_
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.explain.possible_blocks import Ways
from compiler.ir import nodes as ir
from compiler.ir.known import Known
from compiler.ir.show_scalar import show_se
from compiler.ir.sizes import poly_of
from compiler.ir.slices import sliced_poly
from compiler.ir.walk import all_stms, bound, children, free, se_parts
from compiler.protocol.kinds import Json
from compiler.semantics.indices import all_indices
from compiler.semantics.machine import Step, compile_se

Counters = tuple[tuple[Name, Poly], ...]
"""Names that count from 0 below a bound; inner bounds may contain outer names."""

STEPS = 100_000
"""Iterations of loops and visits of cells counted for one access."""

_DATA = "computed at run time"
_OWN = "each point has a block of its own"
_CONDITION = "only where a condition holds"
_TOGETHER = "combined from all its points"
_WAY = "only where the array lies in this block"


@dataclass(frozen=True, slots=True)
class Touch:
    """Cells that a point touches through `array`, for all values of the counters in `over`.

    `lmad` is None where the cells depend on data. `because` is empty if all of them are touched by
    that point in every run.
    """

    array: Name
    writes: bool
    lmad: Lmad[Poly] | None
    over: Counters = ()
    because: str = ""


def touches(
    stm: ir.Stm,
    exp: ir.SegOp,
    mems: Mapping[Name, ir.MemBind],
    known: Known,
    values: Mapping[Name, int],
    limit: int,
) -> list[Json]:
    """List each access: array, block, read or write, formula, and points with cells.

    `because` explains why there are none, or why some may not be touched; `certain` is True if all
    are. `complete` is False if there are more than `limit` pairs of a point and a cell.
    """
    walk = _Walk(mems, known)
    made = [one for one in all_stms(exp.body.stms) if isinstance(one.exp, ir.Alloc)]
    own = {param.name for one in made for param in one.pat}
    inner = set(bound(exp)) - {index for index, _ in exp.space.dims}
    found: list[Json] = []
    for block, touch in list(dict.fromkeys(walk.touches(stm, exp))):
        entry: Json = {"array": touch.array, "block": block, "writes": touch.writes}
        nothing = {"cell": "", "points": [], "complete": False, "certain": False}
        if block in own:
            entry |= {**nothing, "because": _OWN}
        elif touch.lmad is None:
            entry |= {**nothing, "because": _DATA}
        else:
            scalars = IndexScalars(walk.computed, inner, values)
            entry |= _cells_of(exp, touch, scalars, known, values, limit)
        found.append(entry)
    return found


def arrays_of(exp: ir.Exp) -> tuple[Name, ...]:
    """Return the arrays that an array operation names."""
    match exp:
        case ir.Index(array) | ir.Slice(array) | ir.Update(array) | ir.Copy(array):
            return (array,)
        case ir.Rearrange(_, array) | ir.Reshape(_, array):
            return (array,)
        case ir.Concat(arrays):
            return arrays
    return ()


class IndexScalars:
    """Numbers that a kernel computes from its indices and sizes, without data."""

    def __init__(
        self, computed: Mapping[Name, ir.SE], inner: set[Name], values: Mapping[Name, int]
    ) -> None:
        self.computed = computed
        self.inner = inner
        self.sizes = {name: np.int64(value) for name, value in values.items()}
        self.steps: list[tuple[Name, Step]] = []

    def prepare(self, names: Iterable[Name], given: frozenset[Name]) -> set[Name] | None:
        """Return the further symbols that these names need; None if they depend on data.

        `given` are indices and counters.
        """
        missing: set[Name] = set()
        done = {name for name, _ in self.steps}
        for name in names:
            if name in given or name in done or name in self.sizes:
                continue
            se = self.computed.get(name)
            if se is None:
                if name in self.inner:
                    return None
                missing.add(name)
                continue
            variables = variables_of(se)
            if any(prim != "i64" for prim in variables.values()):
                return None
            more = self.prepare(variables, given)
            if more is None:
                return None
            missing |= more
            self.steps.append((name, compile_se(se)))
            done.add(name)
        return missing

    def at(self, env: Mapping[Name, int]) -> dict[Name, int]:
        """Evaluate all of them at one point."""
        if not self.steps:
            return dict(env)
        scalars: dict[Name, Any] = {**self.sizes, **{k: np.int64(v) for k, v in env.items()}}
        with np.errstate(all="ignore"):
            for name, step in self.steps:
                scalars[name] = step(scalars)
        return {name: int(value) for name, value in scalars.items()}


def variables_of(se: ir.SE) -> dict[Name, Prim]:
    """Return the variables of a scalar expression with their types."""
    if isinstance(se, ir.Var):
        return {se.name: se.prim}
    return {name: prim for part in se_parts(se) for name, prim in variables_of(part).items()}


class _Walk:
    """Walks the body of one point."""

    def __init__(self, mems: Mapping[Name, ir.MemBind], known: Known) -> None:
        self.mems = mems
        self.known = known
        self.computed: dict[Name, ir.SE] = {}
        """Index expressions that are not polynomials, under new names, and all scalars by name."""

    def touches(self, stm: ir.Stm, exp: ir.SegOp) -> Iterator[tuple[Name, Touch]]:
        """Yield all touches of one point, with the blocks that they may be in."""
        ways = Ways(all_stms(exp.body.stms), self.index)
        for touch in self.kernel(stm, exp, ()):
            block = self.mems[touch.array].block
            yield block, touch
            for other, lmad in ways.of(block, touch.lmad):
                yield other, replace(touch, lmad=lmad, because=touch.because or _WAY)

    def kernel(self, stm: ir.Stm, exp: ir.SegOp, over: Counters) -> Iterator[Touch]:
        """Yield touches of the body, the operators, and the results."""
        for inner in all_stms(exp.body.stms):
            if (
                len(inner.pat) == 1
                and inner.pat[0].type == ir.I64
                and isinstance(inner.exp, ir.SE_NODES)
            ):
                self.computed[inner.pat[0].name] = inner.exp
        yield from self.stms(exp.body.stms, over)
        yield from self.operators(exp, over)
        thread = [Poly.var(index) for index, _ in exp.space.dims]
        # A reduction's own results lie over the outer dimensions; kept ones over all of them.
        folded = sum(len(op.neutral) for op in exp.ops) if isinstance(exp, ir.SegRed) else 0
        for k, (param, result) in enumerate(zip(stm.pat, exp.body.results, strict=False)):
            mem = self.mems.get(param.name)
            if mem is None or not isinstance(param.type, ir.Array):
                continue
            if isinstance(result, ir.Write) and not result.writes:
                continue  # An accumulator: what is pushed to it is seen there.
            if isinstance(result, ir.Write) or isinstance(exp, ir.SegHist):
                yield Touch(param.name, True, None)
                continue
            together = _TOGETHER if k < folded else ""
            target = mem.lmad.fix(*(thread[:-1] if k < folded else thread))
            source = self.mems.get(result) if isinstance(result, str) else None
            if source is not None and k >= folded:
                yield from self.copied(str(result), param.name, target, over)
            else:
                yield Touch(param.name, True, target, over, together)

    def operators(self, exp: ir.SegOp, over: Counters) -> Iterator[Touch]:
        """Yield touches of the operators, which only some threads run."""
        for fn in children(exp):
            if isinstance(fn, ir.Lambda):
                yield from self.sometimes(self.stms(fn.body.stms, over))

    def stms(self, stms: Iterable[ir.Stm], over: Counters) -> Iterator[Touch]:
        for stm in stms:
            yield from self.statement(stm, over)

    def statement(self, stm: ir.Stm, over: Counters) -> Iterator[Touch]:
        exp = stm.exp
        if any(name not in self.mems for name in arrays_of(exp)):
            return  # values of an operator, which are in no block
        match exp:
            case ir.Index(array, at):
                indices = [self.index(index) for index in at]
                yield Touch(array, False, self.mems[array].lmad.fix(*indices), over)
            case ir.Update(array, dims, value):
                yield from self.stored(value, array, sliced_poly(self.mems[array].lmad, dims), over)
            case ir.Slice() | ir.Rearrange() | ir.Reshape():
                yield from self.moved(stm, exp.array, over)
            case ir.Copy(array):
                yield from self.moved(stm, array, over)
            case ir.Concat(arrays):
                yield from self.concatenated(stm, arrays, over)
            case ir.ArrayLit(elems) if stm.pat[0].name in self.mems:
                full = self.mems[stm.pat[0].name].lmad
                for k, elem in enumerate(elems):
                    yield from self.stored(elem, stm.pat[0].name, full.fix(Poly.const(k)), over)
            case ir.Iota() | ir.Replicate() if stm.pat[0].name in self.mems:
                if isinstance(exp, ir.Replicate) and isinstance(exp.value, str):
                    yield Touch(exp.value, False, self.mems[exp.value].lmad, over)
                yield Touch(stm.pat[0].name, True, self.mems[stm.pat[0].name].lmad, over)
            case ir.If(_, then, orelse):
                yield from self.sometimes(self.stms((*then.stms, *orelse.stms), over))
            case ir.Loop():
                yield from self.loop(exp, over)
            case _ if isinstance(exp, ir.SegOp):
                yield from self.kernel(stm, exp, (*over, *exp.space.dims))
            case ir.Push():
                yield from self.sometimes(self.pushed(exp, over))
            case ir.Scratch() | ir.Alloc():
                pass
            case _:
                yield from self.unknown(stm)

    def loop(self, exp: ir.Loop, over: Counters) -> Iterator[Touch]:
        """Yield touches of a loop's body; the number of iterations may be unknown."""
        form = exp.form
        bound = poly_of(form.bound) if isinstance(form, ir.ForLoop) else None
        if isinstance(form, ir.ForLoop) and bound is not None:
            yield from self.stms(exp.body.stms, (*over, (form.index, bound)))
        else:
            yield from self.sometimes(self.stms(exp.body.stms, over))

    def pushed(self, exp: ir.Push, over: Counters) -> Iterator[Touch]:
        """Yield touches of a cell of an accumulator, which is read and written if in bounds."""
        at = [self.index(index) for index in exp.at]
        for dest, value in zip(exp.dests, exp.values, strict=True):
            part = self.mems[dest].lmad.fix(*at)
            if exp.op:
                yield Touch(dest, False, part, over)
            yield from self.stored(value, dest, part, over)
        for fn in exp.op:
            yield from self.stms(fn.body.stms, over)

    def index(self, se: ir.SE) -> Poly:
        """Return an index as a polynomial, possibly of a new name."""
        poly = poly_of(se)
        if poly is None:
            name = show_se(se)
            self.computed[name] = se
            poly = Poly.var(name)
        return poly

    def sometimes(self, found: Iterable[Touch]) -> Iterator[Touch]:
        return (replace(touch, because=touch.because or _CONDITION) for touch in found)

    def stored(
        self, value: ir.Operand, target: Name, part: Lmad[Poly] | None, over: Counters
    ) -> Iterator[Touch]:
        """Yield touches of storing a number, or copying an array, to part of an array."""
        if isinstance(value, str) and value in self.mems:
            yield from self.copied(value, target, part, over)
        else:
            yield Touch(target, True, part, over)

    def copied(
        self, source: Name, target: Name, part: Lmad[Poly] | None, over: Counters
    ) -> Iterator[Touch]:
        """Yield touches of a copy to part of an array; none if the source is there already."""
        mem = self.mems[source]
        normal = self.known.normal_lmad
        same_block = mem.block == self.mems[target].block
        if same_block and part is not None and normal(mem.lmad) == normal(part):
            return
        yield Touch(source, False, mem.lmad, over)
        yield Touch(target, True, part, over)

    def moved(self, stm: ir.Stm, source: Name, over: Counters) -> Iterator[Touch]:
        """Yield touches of a view in another block, which is a copy."""
        target = stm.pat[0].name
        if self.mems[source].block != self.mems[target].block:
            yield from self.copied(source, target, self.mems[target].lmad, over)

    def concatenated(
        self, stm: ir.Stm, arrays: tuple[Name, ...], over: Counters
    ) -> Iterator[Touch]:
        target = stm.pat[0].name
        full, start = self.mems[target].lmad, Poly.const(0)
        for array in arrays:
            count = self.mems[array].lmad.shape[0]
            yield from self.copied(array, target, full.slice(0, start, count, Poly.const(1)), over)
            start += count

    def unknown(self, stm: ir.Stm) -> Iterator[Touch]:
        """Yield touches of any other statement, of unknown cells of its arrays."""
        for name in sorted(free(stm.exp) & self.mems.keys()):
            yield Touch(name, False, None)
        for param in stm.pat:
            if param.name in self.mems:
                yield Touch(param.name, True, None)


def _cells_of(
    exp: ir.SegOp,
    touch: Touch,
    scalars: IndexScalars,
    known: Known,
    values: Mapping[Name, int],
    limit: int,
) -> Json:
    """Return the points with their cells, for given values of the symbols."""
    assert touch.lmad is not None
    lmad = known.normal_lmad(touch.lmad)
    bounds = [known.normal(size) for _, size in exp.space.dims]
    counters = [(name, known.normal(size)) for name, size in touch.over]
    indices = [index for index, _ in exp.space.dims]
    parts = [*(size.names() for size in bounds), *(size.names() for _, size in counters)]
    given = frozenset([*indices, *(name for name, _ in counters)])
    sizes = frozenset[Name]().union(*parts) - given
    missing = scalars.prepare(sorted(lmad.names()), given)
    answer: Json = {
        "cell": str(lmad.offset) if not lmad.dims else str(lmad),
        "points": [],
        "complete": False,
        "certain": False,
    }
    if missing is None or sizes & scalars.inner:
        return answer | {"because": _DATA}
    missing |= sizes - values.keys()
    if missing:
        return answer | {"because": f"values are needed for {', '.join(sorted(missing))}"}
    pairs: list[Json] = []
    left, visits = limit, _Visits(lmad, scalars)
    for thread in all_indices([size.evaluate(values) for size in bounds]):
        if left <= 0 or visits.left <= 0:
            break
        env = {**values, **dict(zip(indices, thread, strict=True))}
        cells: dict[int, None] = {}
        try:
            for cell in visits.cells(counters, env):
                cells[cell] = None
                if len(cells) == left:
                    break
        except RuntimeError_:  # a division by zero: the point does not get there
            cells.clear()
        left -= max(len(cells), 1)
        pairs.append({"point": list(thread), "cells": list(cells)})
    done = {"points": pairs, "complete": left > 0 < visits.left, "certain": not touch.because}
    return answer | done | {"because": touch.because}


class _Visits:
    """The cells that one point visits, within a budget of steps."""

    def __init__(self, lmad: Lmad[Poly], scalars: IndexScalars) -> None:
        self.lmad = lmad
        self.scalars = scalars
        self.left = STEPS

    def cells(self, counters: list[tuple[Name, Poly]], env: Mapping[Name, int]) -> Iterator[int]:
        """Yield the cells for all values of the counters, whose bounds may contain outer ones."""
        if counters:
            (name, count), *rest = counters
            for value in range(count.evaluate(env)):
                self.left -= 1
                if self.left <= 0:
                    return
                yield from self.cells(rest, {**env, name: value})
            return
        here = self.lmad.evaluate(self.scalars.at(env))
        for at in all_indices(here.shape):
            self.left -= 1
            if self.left <= 0:
                return
            yield here.index(*at)
