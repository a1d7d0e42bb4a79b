"""Reference semantics of programs: one number at a time, threads in order.

This is the reference for all other semantics and back ends (thesis, 4.2 and figure 4.4), written to
be read and checked by eye. It takes no short cut, and is for small inputs; `interp.py` does the
same much faster and is tested against it.

- A scalar is a NumPy scalar; operators are those of `ir/scalar.py`. An array is its shape and its
  elements. Values do not change: an update makes another array, and consumption means nothing.
- Rows and threads of parallel operators are evaluated in order. Folds go from left to right and
  begin with the neutral element. Of two writes to one element the later one stays.
- Blocks have no value, and index functions are not looked at (thesis, figure 4.7).

Beyond the errors that a well-typed program can have, three things are checked: that every array has
the shape that its type says, that rows have one shape, and that no element of a `scratch` array is
read before it is written. They fail with `CompilerBug`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from compiler.algebra.poly import Poly
from compiler.base.by_class import handles
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.prim import LOGIC_OPS, Prim
from compiler.base.spans import Prov
from compiler.ir import entry as entry_points
from compiler.ir import nodes as ir
from compiler.ir.may_fail import is_division
from compiler.ir.scalar import convert
from compiler.ir.scatters import places, writes
from compiler.ir.sizes import prim_of, signed
from compiler.ir.syntax import literal_text
from compiler.ir.values import Value
from compiler.semantics import derivatives
from compiler.semantics.duals import bin_, conv_, fun_, plain, un_
from compiler.semantics.elements import (
    Data,
    Elements,
    Indices,
    cells_of,
    fresh,
    inside,
    part,
    put,
    shape_of,
)
from compiler.semantics.indices import all_indices
from compiler.semantics.limits import USUAL_BYTES, Watched, of_rows, running

Row = list[Data]
Watch = Callable[[Name, Sequence[Value], Prov], None]
_EXP: dict[type, Callable[[Interpreter, Any, Sequence[ir.Param]], Row]] = {**derivatives.EXPS}


def run(
    prog: ir.Prog,
    entry: str,
    args: Sequence[Value],
    most_bytes: int = USUAL_BYTES,
    thresholds: Mapping[str, int] | None = None,
    watch: Watch | None = None,
) -> list[Value]:
    """Run an entry point on external values; return results in order, without existential sizes.

    `watch` gets each call: the function, its arguments, and the provenance of the call.

    Raises UsageError if the arguments do not fit, and RuntimeError_ if the run fails.
    """
    machine = Interpreter(prog, most_bytes, thresholds or {})
    machine.watch = watch
    return execute(machine, entry_points.find(prog, entry), args)


def execute(machine: Interpreter, fun: ir.Function, args: Sequence[Value]) -> list[Value]:
    """Run an entry point on a fresh machine; like `run`."""
    given = entry_points.bind(fun, args)
    with running(machine):
        machine.bind(fun.params, [_inward(given.get(param.name)) for param in fun.params])
        results = machine.shown(fun, machine.body(fun.body))
    kinds = [fun.results[k].type for k in entry_points.visible_results(fun)]
    return [_outward(value, kind) for value, kind in zip(results, kinds, strict=True)]


def derived(around: Watched, exp: ir.Derivative, known: Mapping[Name, Value]) -> list[Value]:
    """Evaluate a derivative for another interpreter, with the values of free names."""
    machine = Interpreter(ir.Prog(tuple(around.funs.values())), around.most_bytes, {})
    machine.prov = around.prov
    machine.env = {name: _inward(value) for name, value in known.items()}
    results = _EXP[type(exp)](machine, exp, ())
    other = exp.fn.returns if isinstance(exp, ir.Jvp) else [p.type for p in exp.fn.params]
    kinds = (*exp.fn.returns, *other)
    return [_outward(value, kind) for value, kind in zip(results, kinds, strict=True)]


def _inward(value: Value | None) -> Data:
    if value is None or not value.shape:
        return value
    return Elements(value.shape, list(np.asarray(value).reshape(-1)))


def _outward(data: Data, kind: ir.Type) -> Value:
    if not isinstance(data, Elements):
        found: Value = data
        return found
    assert isinstance(kind, ir.Array)
    for cell in data.cells:
        _written(cell)
    return np.array(data.cells, DTYPE[kind.prim]).reshape(data.shape)


def _written(cell: Any) -> Any:
    if cell is None:
        raise CompilerBug("an element of a scratch array is read before it is written")
    return cell


class Interpreter(Watched):
    """The state of a run: values of names."""

    def __init__(self, prog: ir.Prog, most_bytes: int, thresholds: Mapping[str, int]) -> None:
        super().__init__(most_bytes, {fun.name: fun for fun in prog.funs})
        self.thresholds = thresholds
        self.watch: Watch | None = None
        self.levels = 0
        """The number of derivatives begun."""
        self.deriving: list[Any] = []
        """The active derivatives, innermost last."""

    # --- names and statements ----------------------------------------------------------------

    def bind(self, params: Sequence[ir.Param], values: Sequence[Data]) -> None:
        """Bind names to values from left to right: types may mention earlier names."""
        for param, value in zip(params, values, strict=True):
            self.env[param.name] = value
            if isinstance(param.type, ir.Array):
                self._check_shape(param, value)

    def _check_shape(self, param: ir.Param, value: Elements) -> None:
        assert isinstance(param.type, ir.Array)
        wanted = [self.size(size) for size in param.type.shape]
        # Nothing says how large a row is that does not exist.
        if list(value.shape) != wanted and 0 not in value.shape:
            raise CompilerBug(f"`{param.name}` has the shape {value.shape} and not {wanted}")

    def value(self, name: Name) -> Data:
        """Return the value of a name."""
        try:
            return self.env[name]
        except KeyError:
            raise CompilerBug(f"`{name}` has no value: not in scope") from None

    def operand(self, operand: ir.Operand) -> Data:
        """Evaluate an operand."""
        return self.value(operand) if isinstance(operand, str) else self.se(operand)

    def body(self, body: ir.Body) -> Row:
        """Run a body and return its results."""
        self.stms(body.stms)
        return [self.operand(result) for result in body.results]

    def give(self, params: Sequence[ir.Param], args: Sequence[Data]) -> None:
        """Bind parameters to their arguments."""
        self.bind(params, args)

    def tell(self, fun: ir.Function, args: Row) -> None:
        """Report a call to the watcher."""
        if self.watch:
            pairs = zip(args, fun.params, strict=True)
            self.watch(fun.name, [_outward(arg, param.type) for arg, param in pairs], self.prov)

    def stms(self, stms: Sequence[ir.Stm]) -> None:
        """Run statements in order."""
        for stm in stms:
            before, self.prov = self.prov, stm.prov or self.prov
            if isinstance(stm.exp, ir.SE_NODES):
                values = [self.se(stm.exp)]
            else:
                values = _EXP[type(stm.exp)](self, stm.exp, stm.pat)
            self.bind(stm.pat, values)
            self.prov = before

    def apply(self, fn: ir.Lambda, args: Sequence[Data]) -> Row:
        """Apply a lambda."""
        self.bind(fn.params, args)
        return self.body(fn.body)

    # --- numbers -----------------------------------------------------------------------------

    def se(self, se: ir.SE) -> Data:
        """Evaluate a scalar expression."""
        match se:
            case ir.Lit(value, prim):
                return DTYPE[prim].type(value)
            case ir.Var(name, _):
                return self.value(name)
            case ir.Bin(op, at, lhs, rhs):
                a = self.se(lhs)
                if op in LOGIC_OPS and bool(a) == (op == "||"):
                    return a
                b = self.se(rhs)
                if is_division(op, at) and plain(b) == 0:
                    raise self.error("Division by zero.")
                return bin_(op, at, a, b)
            case ir.Un(op, at, arg):
                return un_(op, at, self.se(arg))
            case ir.Conv(src, dst, arg):
                return conv_(src, dst, self.se(arg))
            case ir.Fun(fun, at, args):
                return fun_(fun, at, tuple(self.se(arg) for arg in args))
            case ir.Select(cond, then, orelse):
                return self.se(then if self.se(cond) else orelse)

    def size(self, poly: Poly) -> int:
        """Evaluate a size, in 64-bit arithmetic."""
        return signed(poly.evaluate({name: int(self.value(name)) for name in poly.names()}))

    def shape(self, sizes: Sequence[Poly], prim: Prim) -> tuple[int, ...]:
        """Evaluate a shape, and check that such an array is allowed."""
        found = of_rows(self.size(size) for size in sizes)
        self.room(found, DTYPE[prim].itemsize)
        return found

    # --- elements and parts ------------------------------------------------------------------

    def selected(
        self, dims: Sequence[ir.DimIndex], shape: tuple[int, ...]
    ) -> tuple[list[int], list[Indices]]:
        """Return the shape of a slice, and the index of every element in row-major order."""
        counts = [[self.size(count) for count in dim.counts] for dim in dims]
        extents = list(of_rows(count for each in counts for count in each))
        self.room(extents, 1)
        if 0 in extents:
            return extents, []
        axes: list[list[int]] = []
        for dim, own in zip(dims, counts, strict=True):
            start, strides = int(self.se(dim.start)), [int(self.se(s)) for s in dim.strides]
            ats = all_indices(own)
            steps = [sum(i * s for i, s in zip(at, strides, strict=True)) for at in ats]
            axes.append([start + step for step in steps])
        for axis, size in zip(axes, shape, strict=True):
            for i in axis:
                self.check_index(i, size)
        return extents, list(product(*axes))

    def check_index(self, index: int, size: int) -> None:
        """Raise an error unless an index is in bounds."""
        if not 0 <= index < size:
            raise self.error(f"Index {index} is out of bounds for size {size}.", "bounds")

    def gathered(self, shape: Sequence[int], values: Sequence[Data], kind: ir.Type) -> Data:
        """Build an array of parts over a shape; without dimensions return the part.

        If there are no parts, the type gives their size, as far as it is known.
        """
        if not shape:
            (value,) = values
            return value
        if len({shape_of(value) for value in values}) > 1:
            raise CompilerBug("rows have different shapes")
        own = shape_of(values[0]) if values else self._row_shape(kind)
        return Elements((*shape, *own), [cell for value in values for cell in cells_of(value)])

    def _row_shape(self, kind: ir.Type) -> tuple[int, ...]:
        if not isinstance(kind, ir.Array):
            return ()
        known = [all(name in self.env for name in size.names()) for size in kind.shape]
        pairs = zip(kind.shape, known, strict=True)
        shape = tuple(max(self.size(size), 0) if is_known else 0 for size, is_known in pairs)
        self.room(shape, DTYPE[kind.prim].itemsize)
        return shape

    def accumulate(self, names: Iterable[Name]) -> None:
        """Replace arrays by copies that may be written to; the old values are lost."""
        for name in names:
            self.env[name] = fresh(self.value(name))

    # --- rows of parallel operators ----------------------------------------------------------

    def rows(self, width: Poly, fn: ir.Lambda, arrays: Sequence[Name]) -> list[Row]:
        """Apply a lambda to every row."""
        count = self.size(width)
        self.room((count,), 1)
        sources = [self.value(name) for name in arrays]
        return [self.apply(fn, [part(data, (i,)) for data in sources]) for i in range(count)]

    def widths(self, exp: ir.SegOp) -> list[int]:
        """Evaluate the extents of a space.

        An empty one may have sizes that no thread would allow.
        """
        found = [self.size(bound) for _, bound in exp.space.dims]
        if 0 in found:
            return [max(width, 0) for width in found]
        self.room(found, 1)
        return found

    def threads(self, exp: ir.SegOp, widths: Sequence[int]) -> list[Row]:
        """Run a kernel's body in every thread; a `Write` gives (index, value) pairs."""
        found: list[Row] = []
        for index in all_indices(widths):
            for (name, _), i in zip(exp.space.dims, index, strict=True):
                self.env[name] = np.int64(i)
            self.stms(exp.body.stms)
            found.append([self._kernel_result(result) for result in exp.body.results])
        return found

    def _kernel_result(self, result: ir.Operand | ir.Write) -> Data:
        if not isinstance(result, ir.Write):
            return self.operand(result)
        return [
            (tuple(int(self.se(i)) for i in at), self.operand(value)) for at, value in result.writes
        ]

    def kept(self, widths: Sequence[int], rows: list[Row], body: ir.KernelBody, skip: int) -> Row:
        """Build the results of a kernel after the first `skip` from those of its threads."""
        out: Row = []
        for k, (result, kind) in enumerate(zip(body.results, body.returns, strict=True)):
            if k < skip:
                continue
            column = [row[k] for row in rows]
            if isinstance(result, ir.Write):
                writes = [write for of_thread in column for write in of_thread]
                out.append(written(self.value(result.dest), writes))
            else:
                out.append(self.gathered(widths, column, kind))
        return out

    # --- folds -------------------------------------------------------------------------------

    def neutral(self, ops: Sequence[ir.Operator]) -> Row:
        """Evaluate the neutral elements of operators."""
        return [self.operand(value) for op in ops for value in op.neutral]

    def prefixes(self, ops: Sequence[ir.Operator], rows: Sequence[Row]) -> list[Row]:
        """Return the fold after each row, from left to right."""
        found: list[Row] = []
        state = self.neutral(ops)
        for row in rows:
            new: Row = []
            for op in ops:
                low, high = len(new), len(new) + len(op.neutral)
                new += self.apply(op.fn, [*state[low:high], *row[low:high]])
            state = new
            found.append(state)
        return found

    def folded(self, ops: Sequence[ir.Operator], rows: Sequence[Row]) -> Row:
        """Fold all rows."""
        return self.prefixes(ops, rows)[-1] if rows else self.neutral(ops)

    def combined(self, ops: Sequence[ir.HistOp], before: list[Indices], rows: list[Row]) -> Row:
        """Combine the values of rows into destinations, in order.

        A row has for each operator its indices, which stand after those in `before`, then its
        values. Indices outside are ignored.
        """
        out: Row = []
        first = 0
        for op in ops:
            dests = [fresh(self.value(name)) for name in op.dests]
            middle, last = first + op.rank, first + op.rank + len(dests)
            for front, row in zip(before, rows, strict=True):
                at = (*front, *(int(i) for i in row[first:middle]))
                if inside(at, dests[0].shape):
                    old = [part(dest, at) for dest in dests]
                    for dest, new in zip(
                        dests, self.apply(op.op.fn, [*old, *row[middle:last]]), strict=True
                    ):
                        put(dest, at, new)
            out += dests
            first = last
        return out


def written(dest: Elements, writes: Sequence[tuple[Indices, Data]]) -> Elements:
    """Write values into a copy of an array, in order; indices out of bounds are ignored."""
    result = fresh(dest)
    for at, value in writes:
        if inside(at, dest.shape):
            put(result, at, value)
    return result


# --- array operations ------------------------------------------------------------------------


@handles(_EXP, ir.Index)
def _index(m: Interpreter, exp: ir.Index, pat: Sequence[ir.Param]) -> Row:
    data = m.value(exp.array)
    at = tuple(int(m.se(i)) for i in exp.at)
    for i, size in zip(at, data.shape, strict=True):
        m.check_index(i, size)
    return [_written(part(data, at))]


@handles(_EXP, ir.Slice)
def _slice(m: Interpreter, exp: ir.Slice, pat: Sequence[ir.Param]) -> Row:
    data = m.value(exp.array)
    shape, picked = m.selected(exp.dims, data.shape)
    return [Elements(tuple(shape), [part(data, at) for at in picked])]


@handles(_EXP, ir.Update)
def _update(m: Interpreter, exp: ir.Update, pat: Sequence[ir.Param]) -> Row:
    data, value = m.value(exp.array), m.operand(exp.value)
    shape, picked = m.selected(exp.dims, data.shape)
    if shape_of(value) != tuple(shape) and picked:
        raise CompilerBug(f"a part of shape {shape} is updated with one of {shape_of(value)}")
    return [written(data, list(zip(picked, cells_of(value), strict=bool(picked))))]


@handles(_EXP, ir.Rearrange)
def _rearrange(m: Interpreter, exp: ir.Rearrange, pat: Sequence[ir.Param]) -> Row:
    data = m.value(exp.array)
    shape = tuple(data.shape[k] for k in exp.perm)
    cells = []
    for index in all_indices(shape):
        at = [0] * len(shape)
        for i, k in zip(index, exp.perm, strict=True):
            at[k] = i
        cells.append(part(data, tuple(at)))
    return [Elements(shape, cells)]


@handles(_EXP, ir.Reshape)
def _reshape(m: Interpreter, exp: ir.Reshape, pat: Sequence[ir.Param]) -> Row:
    data = m.value(exp.array)
    shape = of_rows(m.size(size) for size in exp.shape)
    if prod(shape) != len(data.cells) or min(shape) < 0:
        raise m.error(f"An array of shape {list(data.shape)} cannot have the shape {list(shape)}.")
    m.room(shape, DTYPE[_prim(pat)].itemsize)
    return [Elements(shape, data.cells)]


@handles(_EXP, ir.Copy)
def _copy(m: Interpreter, exp: ir.Copy, pat: Sequence[ir.Param]) -> Row:
    return [m.value(exp.array)]


@handles(_EXP, ir.Concat)
def _concat(m: Interpreter, exp: ir.Concat, pat: Sequence[ir.Param]) -> Row:
    parts = [m.value(name) for name in exp.arrays]
    if len({data.shape[1:] for data in parts}) > 1:
        raise CompilerBug("rows have different shapes")
    shape = (sum(data.shape[0] for data in parts), *parts[0].shape[1:])
    return [Elements(shape, [cell for data in parts for cell in data.cells])]


@handles(_EXP, ir.Iota)
def _iota(m: Interpreter, exp: ir.Iota, pat: Sequence[ir.Param]) -> Row:
    shape = m.shape((exp.count,), exp.prim)
    start, step = m.se(exp.start), m.se(exp.step)
    cells = []
    for i in range(shape[0]):
        number = convert("i64", exp.prim, np.int64(i))
        offset = bin_("*", exp.prim, number, step)
        cells.append(bin_("+", exp.prim, start, offset))
    return [Elements(shape, cells)]


@handles(_EXP, ir.Replicate)
def _replicate(m: Interpreter, exp: ir.Replicate, pat: Sequence[ir.Param]) -> Row:
    value = m.operand(exp.value)
    shape = tuple(m.size(size) for size in exp.shape) + shape_of(value)
    m.room(shape, DTYPE[_prim(pat)].itemsize)
    count = prod(shape[: len(exp.shape)])
    return [Elements(shape, cells_of(value) * count)]


@handles(_EXP, ir.Scratch)
def _scratch(m: Interpreter, exp: ir.Scratch, pat: Sequence[ir.Param]) -> Row:
    shape = m.shape(exp.shape, exp.prim)
    return [Elements(shape, [None] * prod(shape))]


@handles(_EXP, ir.ArrayLit)
def _array_lit(m: Interpreter, exp: ir.ArrayLit, pat: Sequence[ir.Param]) -> Row:
    if not exp.elems:
        (param,) = pat
        assert isinstance(param.type, ir.Array)
        return [Elements(m.shape(param.type.shape, param.type.prim), [])]
    elems = [m.operand(elem) for elem in exp.elems]
    return [m.gathered((len(elems),), elems, pat[0].type)]


def _prim(pat: Sequence[ir.Param]) -> Prim:
    (param,) = pat
    assert isinstance(param.type, ir.Array | ir.Scalar)
    return param.type.prim


# --- control ---------------------------------------------------------------------------------


@handles(_EXP, ir.Assert)
def _assert(m: Interpreter, exp: ir.Assert, pat: Sequence[ir.Param]) -> Row:
    if m.se(exp.cond):
        return []
    raise m.error("".join(p if isinstance(p, str) else _shown(m, p) for p in exp.message))


def _shown(m: Interpreter, se: ir.SE) -> str:
    return literal_text(plain(m.se(se)).item(), prim_of(se), suffix=False)


@handles(_EXP, ir.If)
def _if(m: Interpreter, exp: ir.If, pat: Sequence[ir.Param]) -> Row:
    return m.body(exp.then if m.se(exp.cond) else exp.orelse)


@handles(_EXP, ir.Loop)
def _loop(m: Interpreter, exp: ir.Loop, pat: Sequence[ir.Param]) -> Row:
    values = [m.operand(value) for value in exp.init]
    form = exp.form
    if isinstance(form, ir.ForLoop):
        for k in range(int(m.se(form.bound))):
            m.env[form.index] = DTYPE[form.prim].type(k)
            m.bind(exp.params, values)
            values = m.body(exp.body)
        return values
    condition = [param.name for param in exp.params].index(form.cond)
    while values[condition]:
        m.bind(exp.params, values)
        values = m.body(exp.body)
    return values


@handles(_EXP, ir.Call, ir.Apply)
def _call(m: Interpreter, exp: ir.Call | ir.Apply, pat: Sequence[ir.Param]) -> Row:
    fun = m.funs[exp.fun]
    args = [m.operand(arg) for arg in exp.args]
    m.tell(fun, args)
    return m.called(fun, args)


@handles(_EXP, ir.Threshold)
def _threshold(m: Interpreter, exp: ir.Threshold, pat: Sequence[ir.Param]) -> Row:
    return [np.bool_(m.se(exp.amount) >= m.thresholds.get(exp.name, exp.default))]


@handles(_EXP, ir.Alloc)
def _alloc(m: Interpreter, exp: ir.Alloc, pat: Sequence[ir.Param]) -> Row:
    return [None]


# --- parallel operators, before flattening ---------------------------------------------------


def _columns(m: Interpreter, exp: ir.Soac, rows: list[Row]) -> Row:
    width = m.size(exp.width)
    kinds = enumerate(exp.fn.returns)
    return [m.gathered((width,), [row[k] for row in rows], kind) for k, kind in kinds]


@handles(_EXP, ir.Map)
def _map(m: Interpreter, exp: ir.Map, pat: Sequence[ir.Param]) -> Row:
    return _columns(m, exp, m.rows(exp.width, exp.fn, exp.arrays))


@handles(_EXP, ir.Reduce)
def _reduce(m: Interpreter, exp: ir.Reduce, pat: Sequence[ir.Param]) -> Row:
    rows = m.rows(exp.width, exp.fn, exp.arrays)
    folded = m.folded(exp.ops, rows)
    return folded + _columns(m, exp, rows)[len(folded) :]


@handles(_EXP, ir.Scan)
def _scan(m: Interpreter, exp: ir.Scan, pat: Sequence[ir.Param]) -> Row:
    rows = m.rows(exp.width, exp.fn, exp.arrays)
    prefixes = m.prefixes(exp.ops, rows)
    replaced = [scanned + row[len(scanned) :] for scanned, row in zip(prefixes, rows, strict=True)]
    return _columns(m, exp, replaced)


@handles(_EXP, ir.Scatter)
def _scatter(m: Interpreter, exp: ir.Scatter, pat: Sequence[ir.Param]) -> Row:
    rows = m.rows(exp.width, exp.fn, exp.arrays)
    each = [writes(exp.dests, row) for row in rows]
    out: Row = []
    for k, dest in enumerate(exp.dests):
        pairs = [row[k][time] for time in range(dest.times) for row in each]
        found = [(tuple(map(int, at)), value) for at, value in pairs]
        out.append(written(m.value(dest.array), found))
    return out + _columns(m, exp, rows)[places(exp.dests) :]


@handles(_EXP, ir.Hist)
def _hist(m: Interpreter, exp: ir.Hist, pat: Sequence[ir.Param]) -> Row:
    rows = m.rows(exp.width, exp.fn, exp.arrays)
    return m.combined(exp.ops, [()] * len(rows), rows)


# --- kernels ---------------------------------------------------------------------------------


# --- accumulators ----------------------------------------------------------------------------


@handles(_EXP, ir.Stream)
def _stream(m: Interpreter, exp: ir.Stream, pat: Sequence[ir.Param]) -> Row:
    m.accumulate(exp.dests)
    m.rows(exp.width, exp.fn, exp.arrays)
    return [m.value(name) for name in exp.dests]


@handles(_EXP, ir.Push)
def _push(m: Interpreter, exp: ir.Push, pat: Sequence[ir.Param]) -> Row:
    at = tuple(int(m.se(i)) for i in exp.at)
    dests = [m.value(name) for name in exp.dests]
    values = [m.operand(value) for value in exp.values]
    if inside(at, dests[0].shape):
        for op in exp.op:
            values = m.apply(op, [*(part(dest, at) for dest in dests), *values])
        for dest, value in zip(dests, values, strict=True):
            put(dest, at, value)
    return []


@handles(_EXP, ir.SegMap)
def _segmap(m: Interpreter, exp: ir.SegMap, pat: Sequence[ir.Param]) -> Row:
    m.accumulate(r.dest for r in exp.body.results if isinstance(r, ir.Write) and not r.writes)
    widths = m.widths(exp)
    return m.kept(widths, m.threads(exp, widths), exp.body, 0)


def _segments(widths: list[int], rows: list[Row]) -> list[list[Row]]:
    """Group rows by the index of the outer dimensions."""
    last = widths[-1]
    return [rows[k * last : (k + 1) * last] for k in range(prod(widths[:-1]))]


@handles(_EXP, ir.SegRed)
def _segred(m: Interpreter, exp: ir.SegRed, pat: Sequence[ir.Param]) -> Row:
    widths = m.widths(exp)
    rows = m.threads(exp, widths)
    folded = [m.folded(exp.ops, segment) for segment in _segments(widths, rows)]
    kinds = [kind for op in exp.ops for kind in op.fn.returns]
    out = [m.gathered(widths[:-1], [f[k] for f in folded], kind) for k, kind in enumerate(kinds)]
    return out + m.kept(widths, rows, exp.body, len(kinds))


@handles(_EXP, ir.SegScan)
def _segscan(m: Interpreter, exp: ir.SegScan, pat: Sequence[ir.Param]) -> Row:
    widths = m.widths(exp)
    rows = m.threads(exp, widths)
    prefixes = [row for segment in _segments(widths, rows) for row in m.prefixes(exp.ops, segment)]
    kinds = [kind for op in exp.ops for kind in op.fn.returns]
    out = [m.gathered(widths, [row[k] for row in prefixes], kind) for k, kind in enumerate(kinds)]
    return out + m.kept(widths, rows, exp.body, len(kinds))


@handles(_EXP, ir.SegHist)
def _seghist(m: Interpreter, exp: ir.SegHist, pat: Sequence[ir.Param]) -> Row:
    widths = m.widths(exp)
    rows = m.threads(exp, widths)
    return m.combined(exp.ops, [index[:-1] for index in all_indices(widths)], rows)
