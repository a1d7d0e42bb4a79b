"""Reductions, scans and histograms whose operator combines whole arrays, without such operators.

The operator's operands would need memory that no one point of the kernel owns. So each row of the
space is gone through by one thread, in a loop that carries the arrays. Programs with elementwise
operators do not get here: flattening turns them round, so that scalars are combined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.algebra.poly import Poly
from compiler.base.errors import Limitation
from compiler.base.names import Name
from compiler.base.spans import NOWHERE, Prov
from compiler.ir.nodes import (
    SE,
    Array,
    Bin,
    Body,
    Copy,
    DimFix,
    DimIndex,
    DimSlice,
    Exp,
    ForLoop,
    HistOp,
    If,
    Index,
    KernelBody,
    Lit,
    Loop,
    Operand,
    Operator,
    Param,
    Scalar,
    Scratch,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegSpace,
    Slice,
    Stm,
    Type,
    Update,
    Var,
    Write,
)
from compiler.ir.sizes import se_of
from compiler.ir.walk import subst

Folding = SegRed | SegScan | SegHist
Fresh = Callable[[str], Name]
ZERO, ONE = Lit(0, "i64"), Lit(1, "i64")


def combines_arrays(op: Operator) -> bool:
    """Whether an operator's operands are arrays."""
    return any(isinstance(param.type, Array) for param in op.fn.params)


def sequential(stm: Stm, fresh: Fresh) -> list[Stm]:
    """Statements that do the same as a `SegRed`, `SegScan` or `SegHist`, row by row in a loop.

    A histogram's destinations are copied, since a kernel cannot update an array from outside.
    """
    exp = stm.exp
    assert isinstance(exp, Folding)
    row = _Build(fresh, stm.prov)
    results = _histogram(row, exp, stm.pat) if isinstance(exp, SegHist) else _fold(row, exp)
    outer = exp.space.dims[:-1]
    if exp.level == "thread" and not outer:
        for param, result in zip(stm.pat, results, strict=True):
            row.part(param, result)
        return row.out
    space = SegSpace(outer or ((fresh("row"), Poly.const(1)),))
    operands = tuple(param_operand(result) for result in results)
    body = KernelBody(tuple(row.out), operands, tuple(result.type for result in results))
    kernel = SegMap(exp.level, space, body)
    if outer:
        return [Stm(stm.pat, kernel, stm.prov)]
    after = _Build(fresh, stm.prov)
    pat = tuple(Param(fresh(p.name), stacked(p.type, Poly.const(1))) for p in stm.pat)
    after.out.append(Stm(pat, kernel, stm.prov))
    for param, single in zip(stm.pat, pat, strict=True):
        after.part(param, single, ZERO)
    return after.out


# --- reductions and scans ---


def _fold(row: _Build, exp: SegRed | SegScan) -> list[Param]:
    """A loop along the last dimension; a reduction gives the last totals, a scan all of them."""
    index, count = exp.space.dims[-1]
    totals: list[Param] = []
    init: list[Operand] = []
    for op in exp.ops:
        for param, neutral in zip(op.fn.params, op.neutral, strict=False):
            totals.append(Param(row.fresh(param.name), param.type))
            init.append(neutral)
    turn = _Build(row.fresh, row.prov)
    turn.out += exp.body.stms
    values = [turn.plain(result) for result in exp.body.results]
    kept = values[len(totals) :]
    new: list[Operand] = []
    so_far = [param_operand(param) for param in totals]
    for op in exp.ops:
        width = len(op.neutral)
        new += turn.applied(op, so_far[:width], values[:width])
        so_far, values = so_far[width:], values[width:]
    types = list(exp.body.returns[len(totals) :])
    if isinstance(exp, SegScan):
        kept, types = new + kept, [param.type for param in totals] + types
    gathered = [Param(row.fresh("rows"), stacked(kind, count), True) for kind in types]
    at = Var(index, "i64")
    ends = [turn.written(a, v, at) for a, v in zip(gathered, kept, strict=True)]
    init += [row.scratch(array) for array in gathered]
    last = row.loop([*totals, *gathered], init, (index, count), turn, [*new, *ends])
    return last[len(totals) :] if isinstance(exp, SegScan) else last


# --- histograms ---


def _histogram(row: _Build, exp: SegHist, pat: Sequence[Param]) -> list[Param]:
    """A copy of each row's histograms, and a loop that updates them in place."""
    kinds = [row_of(param.type, len(exp.space.dims) - 1) for param in pat]
    outer = [Var(name, "i64") for name, _ in exp.space.dims[:-1]]
    turn = _Build(row.fresh, row.prov)
    turn.out += exp.body.stms
    values = [turn.plain(result) for result in exp.body.results]
    params: list[Param] = []
    init: list[Operand] = []
    ends: list[Operand] = []
    for op in exp.ops:
        bins = [row.copied(dest, kinds.pop(0), outer) for dest in op.dests]
        init += [bin_.name for bin_ in bins]
        here = [Param(row.fresh(bin_.name), bin_.type, True) for bin_ in bins]
        params += here
        places, values = values[: op.rank], values[op.rank :]
        ends += _combined(turn, op, here, places, values[: len(bins)])
        values = values[len(bins) :]
    return row.loop(params, init, exp.space.dims[-1], turn, ends)


def _combined(
    turn: _Build,
    op: HistOp,
    bins: Sequence[Param],
    places: Sequence[Operand],
    values: Sequence[Operand],
) -> list[Operand]:
    """The histograms with values put in at a place, if it lies inside."""
    at = [place for place in places if not isinstance(place, str)]
    kind = bins[0].type
    assert isinstance(kind, Array)
    inside: SE = Lit(True, "bool")
    for place, size in zip(at, kind.shape, strict=False):
        low, high = Bin(">=", "i64", place, ZERO), Bin("<", "i64", place, se_of(size))
        inside = Bin("&&", "bool", inside, Bin("&&", "bool", low, high))
    then = _Build(turn.fresh, turn.prov)
    old = [then.taken(bin_, at) for bin_ in bins]
    new = then.applied(op.op, [param_operand(param) for param in old], values)
    ends = [then.written(b, v, *at) for b, v in zip(bins, new, strict=True)]
    pat = tuple(Param(turn.fresh(bin_.name), bin_.type) for bin_ in bins)
    same = Body((), tuple(bin_.name for bin_ in bins))
    turn.add(pat, If(inside, Body(tuple(then.out), tuple(ends)), same))
    return [param.name for param in pat]


# --- building ---


class _Build:
    """Statements under construction."""

    def __init__(self, fresh: Fresh, prov: Prov) -> None:
        self.fresh = fresh
        self.prov = prov
        self.out: list[Stm] = []

    def add(self, pat: tuple[Param, ...], exp: Exp) -> None:
        """Append a statement."""
        self.out.append(Stm(pat, exp, self.prov))

    def plain(self, result: Operand | Write) -> Operand:
        """A result that is no `Write`, which a loop inside a kernel cannot do."""
        if isinstance(result, Write):
            raise Limitation(
                "An operator on whole arrays together with a scatter is not supported.",
                self.prov[0] if self.prov else NOWHERE,
                "Compute the two in separate steps.",
            )
        return result

    def part(self, param: Param, array: Param, *at: SE) -> None:
        """Bind `param` to what lies at indices of the first dimensions; all of it without any."""
        if isinstance(array.type, Scalar):
            self.add((param,), Var(array.name, array.type.prim))
        elif isinstance(param.type, Scalar):
            self.add((param,), Index(array.name, at))
        else:
            self.add((param,), Slice(array.name, dims(param.type, at)))

    def applied(
        self, op: Operator, left: Sequence[Operand], right: Sequence[Operand]
    ) -> list[Operand]:
        """The operator's body, which occurs nowhere else any more, on the given operands."""
        given: dict[Name, Operand] = {}
        for param, value in zip(op.fn.params, [*left, *right], strict=True):
            if isinstance(value, str | Var | Lit):
                given[param.name] = value
            else:
                assert isinstance(param.type, Scalar)
                self.add((param,), value)
        body = subst(op.fn.body, given)
        self.out += body.stms
        return list(body.results)

    def written(self, array: Param, value: Operand, *at: SE) -> Name:
        """`array` with `value` at indices of the first dimensions."""
        new = Param(self.fresh(array.name), array.type)
        self.add((new,), Update(array.name, dims(row_of(array.type, len(at)), at), value))
        return new.name

    def scratch(self, like: Param) -> Name:
        """An array of that type with any contents."""
        assert isinstance(like.type, Array)
        new = Param(self.fresh(like.name), like.type)
        self.add((new,), Scratch(like.type.prim, like.type.shape))
        return new.name

    def copied(self, dest: Name, kind: Type, outer: Sequence[SE]) -> Param:
        """A copy of the part of a destination that belongs to one row."""
        seen = Param(self.fresh(dest), kind)
        self.add((seen,), Slice(dest, dims(kind, outer)))
        new = Param(self.fresh(dest), seen.type)
        self.add((new,), Copy(seen.name))
        return new

    def taken(self, array: Param, at: Sequence[SE]) -> Param:
        """The element or a copy of the row at indices of the first dimensions."""
        kind = row_of(array.type, len(at))
        new = Param(self.fresh(array.name), kind)
        self.part(new, array, *at)
        if isinstance(kind, Scalar):
            return new
        copied = Param(self.fresh(array.name), kind)
        self.add((copied,), Copy(new.name))
        return copied

    def loop(
        self,
        params: Sequence[Param],
        init: Sequence[Operand],
        turns: tuple[Name, Poly],
        turn: _Build,
        ends: Sequence[Operand],
    ) -> list[Param]:
        """A loop over an index; what its results are called."""
        index, count = turns
        body = Body(tuple(turn.out), tuple(ends))
        pat = tuple(Param(self.fresh(param.name), param.type) for param in params)
        form = ForLoop(index, "i64", se_of(count))
        self.add(pat, Loop(tuple(params), tuple(init), form, body))
        return list(pat)


def param_operand(param: Param) -> Operand:
    """A parameter as an operand."""
    return Var(param.name, param.type.prim) if isinstance(param.type, Scalar) else param.name


def stacked(kind: Type, count: Poly) -> Array:
    """The type of that many values."""
    assert isinstance(kind, Scalar | Array)
    return Array(kind.prim, (count, *(kind.shape if isinstance(kind, Array) else ())))


def row_of(kind: Type, fixed: int) -> Type:
    """The type of what is left of an array when the first dimensions are indexed."""
    assert isinstance(kind, Array)
    return Array(kind.prim, kind.shape[fixed:]) if fixed < kind.rank else Scalar(kind.prim)


def dims(rest: Type, at: Sequence[SE]) -> tuple[DimIndex, ...]:
    """Indices of the first dimensions, and all of the `rest`."""
    shape = rest.shape if isinstance(rest, Array) else ()
    return (*(DimFix(index) for index in at), *(DimSlice(ZERO, size, ONE) for size in shape))
