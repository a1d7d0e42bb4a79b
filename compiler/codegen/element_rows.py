"""Turn a histogram of row elements into two loops, over rows and columns, without division.

An elementwise combined histogram of rows has a point for each element `i` of rows of width `d`,
with row `i // d` and column `i %% d`. As two loops nothing is divided, row-invariant code is
computed once, and the elements of a row, which have separate bins, vectorise. Each bin still gets
its values in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from compiler.algebra.divide import exact
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.codegen.free_names import FreeNames
from compiler.codegen.imp import nodes as imp
from compiler.codegen.index import add, mul, poly_exp
from compiler.codegen.interior import rewrite
from compiler.codegen.sequential import next_name
from compiler.codegen.traits import reads, traits_of
from compiler.ir.build import conjunction
from compiler.ir.nodes import SE, ZERO, Bin, Lit, Var
from compiler.ir.sizes import poly_of
from compiler.ir.walk import map_subexpressions, se_parts

_QUOTIENT, _REMAINDER = ("/", "//"), ("%", "%%")


@dataclass(frozen=True, slots=True)
class ElementRows:
    """`kernel` iterates over rows; `nest` makes the statements of a row from its body."""

    kernel: imp.Kernel
    column: Name
    width: SE

    def nest(self, updates: Iterable[imp.Stm]) -> imp.Stms:
        """Return the statements of a row; `updates` are those of each element."""
        varying = {self.column}
        uniform: list[imp.Stm] = []
        own: list[imp.Stm] = []
        for stm in self.kernel.body:
            uses = FreeNames()
            uses.stms((stm,))
            if varying.isdisjoint(uses.scalars):
                uniform.append(stm)
            else:
                own.append(stm)
                varying |= uses.bound
        guard, last = self._guard(tuple(updates), varying)
        loop = imp.For(self.column, "i64", self.width, (*own, *last), self.kernel.prov)
        inner: imp.Stms = (loop,) if guard is None else (imp.If(guard, (loop,)),)
        some = Bin("<", "i64", ZERO, self.width)
        return (imp.If(some, (*uniform, *inner), (), self.kernel.prov),)

    def _guard(self, updates: imp.Stms, varying: set[Name]) -> tuple[SE | None, imp.Stms]:
        """Split the condition of a single update into its row-invariant part and the rest."""
        if len(updates) != 1 or not isinstance(updates[0], imp.If):
            return None, updates
        update = updates[0]
        conds = [one for one in _conjuncts(update.cond) if not self._holds(one)]
        row = [one for one in conds if not reads(one) & varying]
        rest = [one for one in conds if one not in row]
        own = (replace(update, cond=conjunction(rest)),) if rest else update.then
        return (conjunction(row) if row else None), own

    def _holds(self, cond: SE) -> bool:
        """True if a condition only says that a column is in bounds."""
        column = Var(self.column, "i64")
        return cond in (Bin("<=", "i64", ZERO, column), Bin("<", "i64", column, self.width))


def element_rows(kernel: imp.Kernel, bound: SE) -> ElementRows | None:
    """Return a histogram's kernel as one over rows; None if its points are no row elements.

    `bound`: number of points of the last dimension.
    """
    if not isinstance(kernel.work, imp.HistWork) or not traits_of(kernel.body).straight:
        return None
    *outer, (index, _) = kernel.dims
    width = _divisor(kernel, index)
    total = poly_of(bound)
    by = None if width is None else poly_of(width)
    count = None if total is None or by is None else exact(total, by)
    if width is None or count is None or by == total:
        return None
    base = next_name(index)
    row, column = base.replace("_next", "_row", 1), base.replace("_next", "_column", 1)
    change = _change(index, width, row, column)
    known = {stm.name: stm.value for stm in kernel.body if isinstance(stm, imp.Define)}
    hists = tuple(_changed(hist, change, known) for hist in kernel.work.hists)
    if not all(_bins_apart(hist, column) for hist in hists):
        return None
    rows = replace(
        kernel,
        dims=(*outer, (row, poly_exp(count))),
        body=rewrite(kernel.body, change),
        work=imp.HistWork(hists),
    )
    return ElementRows(rows, column, width)


def _divisor(kernel: imp.Kernel, index: Name) -> SE | None:
    """Return the invariant divisor of the index, or None."""
    assert isinstance(kernel.work, imp.HistWork)
    parts = [se for hist in kernel.work.hists for se in hist.bins]
    parts += [stm.value for stm in kernel.body if isinstance(stm, imp.Define)]
    fixed = traits_of(kernel.body).bound | {index}
    for se in parts:
        for one in _all_parts(se):
            match one:
                case Bin(op, "i64", Var(name), by) if name == index and op in _REMAINDER:
                    return by if not reads(by) & fixed and isinstance(by, Var | Lit) else None
    return None


def _all_parts(se: SE) -> Iterable[SE]:
    yield se
    for part in se_parts(se):
        yield from _all_parts(part)


def _change(index: Name, width: SE, row: Name, column: Name) -> Callable[[SE], SE]:
    """Return a rewriting of an index to row and column."""

    def change(se: SE) -> SE:
        match se:
            case Bin(op, "i64", Var(name), by) if name == index and by == width:
                if op in _QUOTIENT:
                    return Var(row, "i64")
                if op in _REMAINDER:
                    return Var(column, "i64")
            case Var(name) if name == index:
                return add(mul(Var(row, "i64"), width), Var(column, "i64"))
        return map_subexpressions(se, change)

    return change


def _changed(
    hist: imp.Histogram, change: Callable[[SE], SE], known: Mapping[Name, SE]
) -> imp.Histogram:
    """Return a histogram over rows; a bin equal to the column is named so."""
    bins: list[SE] = []
    for one in hist.bins:
        value = known.get(one.name) if isinstance(one, Var) else None
        is_column = isinstance(value, Bin) and value.op in _REMAINDER
        bins.append(change(value if value is not None and is_column else one))
    return replace(hist, bins=tuple(bins), values=tuple(map(change, hist.values)))


def _bins_apart(hist: imp.Histogram, column: Name) -> bool:
    """True if different columns have different bins, and the operator is straight."""
    own = Var(column, "i64")
    return own in hist.bins and traits_of(hist.op.body).straight


def _conjuncts(cond: SE) -> Sequence[SE]:
    """Return the conjuncts of a condition."""
    if isinstance(cond, Bin) and cond.op == "&&":
        return (*_conjuncts(cond.lhs), *_conjuncts(cond.rhs))
    return (cond,)
