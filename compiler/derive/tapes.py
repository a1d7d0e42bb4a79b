"""Tapes: records of a loop's parameters in each of its iterations.

A parameter of constant size has a row for each iteration. One with changing sizes has its elements
concatenated in one row, whose length is counted before (`counted`); the start of an iteration
follows from the sizes, which are parameters themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.derive.reverse import Reverse, quiet
from compiler.ir import nodes as ir
from compiler.ir.build import full_slices, row_at
from compiler.ir.nodes import ONE, SE, ZERO, Operand, Param, Type, Var
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.types import as_operand, prim_type, shape_of, with_dims

END = "_tape"


@dataclass(frozen=True, slots=True)
class Tape:
    """The tape of one parameter.

    `total`: for changing sizes, the elements of all iterations. `total`: of one whose sizes change,
    the elements of all iterations.

    `array` is the tape itself, and `end` the number of elements written.
    """

    like: Param
    type: ir.Array
    total: Poly | None
    array: Name = ""
    end: Name = ""

    def named(self, array: Name, end: Name = "") -> Tape:
        """Return the tape in another state."""
        return Tape(self.like, self.type, self.total, array, end)

    def of(self, like: Param) -> Tape:
        """Return the tape for a copy of the loop."""
        return Tape(like, self.type, self.total, self.array, self.end)


def varying(params: Sequence[Param]) -> set[Name]:
    """Return the parameters of a loop that are sizes of others."""
    names = {p.name for p in params}
    return {n for p in params for size in shape_of(p.type) for n in size.names()} & names


def elements(kind: Type) -> Poly:
    """Return the number of elements of a value."""
    return Poly.product(shape_of(kind))


def tapes_of(params: Sequence[Param], rounds: Poly, totals: Sequence[Poly]) -> list[Tape]:
    """Make tapes of so many iterations; `totals` for parameters with changing sizes."""
    own = varying(params)
    rest = list(totals)
    made: list[Tape] = []
    for p in params:
        if any(size.names() & own for size in shape_of(p.type)):
            total = rest.pop(0)
            made.append(Tape(p, ir.Array(prim_type(p.type), (total,)), total))
        else:
            kind = with_dims((rounds,), p.type)
            assert isinstance(kind, ir.Array)
            made.append(Tape(p, kind, None))
    return made


def carried(r: Reverse, tapes: Sequence[Tape]) -> tuple[list[Tape], list[Param]]:
    """Return the tapes as new parameters of a loop."""
    found: list[Tape] = []
    params: list[Param] = []
    for tape in tapes:
        array = r.fresh(tape.like.name, tape.type, END)
        params.append(Param(array.name, array.type, True))
        end = ""
        if tape.total is not None:
            params.append(r.fresh("end", ir.I64))
            end = params[-1].name
        found.append(tape.named(array.name, end))
    return found, params


def named(tapes: Sequence[Tape], pat: Sequence[Param]) -> list[Tape]:
    """Return the tapes under the names of a loop's results."""
    rest = [p.name for p in pat]
    return [
        tape.named(rest.pop(0), rest.pop(0) if tape.total is not None else "") for tape in tapes
    ]


def operands(tapes: Sequence[Tape]) -> list[Operand]:
    """Return a loop's initial values for parameters that carry tapes."""
    found: list[Operand] = []
    for tape in tapes:
        found.append(tape.array)
        if tape.total is not None:
            found.append(Var(tape.end, "i64"))
    return found


def blank(r: Reverse, tapes: Sequence[Tape]) -> list[Operand]:
    """Return initial values for empty tapes."""
    found: list[Operand] = []
    for tape in tapes:
        nothing = ir.Scratch(tape.type.prim, tape.type.shape)
        found.append(r.bind(tape.like.name, tape.type, nothing, END))
        if tape.total is not None:
            found.append(ZERO)
    return found


def write(r: Reverse, tapes: Sequence[Tape], at: SE) -> list[Operand]:
    """Record the parameters; return the operands that carry the tapes on."""
    found: list[Operand] = []
    for tape in tapes:
        p, name = tape.like, tape.like.name
        if tape.total is None:
            row = (ir.DimFix(at), *full_slices(shape_of(p.type)))
            update = ir.Update(tape.array, row, as_operand(p))
            found.append(r.bind(name, tape.type, update, END))
            continue
        count = elements(p.type)
        flat = r.bind("flat", ir.Array(tape.type.prim, (count,)), ir.Reshape((count,), name))
        dims = (ir.DimSlice(Var(tape.end, "i64"), count, ONE),)
        found.append(r.bind(name, tape.type, ir.Update(tape.array, dims, flat), END))
        found.append(ir.Bin("+", "i64", Var(tape.end, "i64"), se_of(count)))
    return found


def read(r: Reverse, tapes: Sequence[Tape], at: SE) -> list[Operand]:
    """Restore the parameters of an iteration; return the ends of the tapes before it."""
    ends: list[Operand] = []
    sizes = varying([tape.like for tape in tapes])
    for tape in sorted(tapes, key=lambda tape: tape.like.name not in sizes):
        p = tape.like
        if tape.total is None:
            r.add((Param(p.name, p.type),), row_at(tape.array, (at,), p.type))
            continue
        count = elements(p.type)
        start = r.scalar("start", ir.Bin("-", "i64", Var(tape.end, "i64"), se_of(count)))
        dims = (ir.DimSlice(start, count, ONE),)
        flat = r.bind("flat", ir.Array(tape.type.prim, (count,)), ir.Slice(tape.array, dims))
        r.add((Param(p.name, p.type),), ir.Reshape(shape_of(p.type), str(flat)))
        ends.append(start)
    return ends


def counted(r: Reverse, exp: ir.Loop) -> tuple[SE, list[Poly]]:
    """Count the iterations of a loop, and the elements of its arrays with changing sizes.

    This runs the loop once for counting; iterations are counted only for `while` loops.
    """
    own = varying(exp.params)
    again: ir.Loop = r.copied(exp)
    r.learn(again.params)
    pairs = zip(exp.params, again.params, strict=True)
    changing = [copy for p, copy in pairs if any(size.names() & own for size in shape_of(p.type))]
    loops = isinstance(exp.form, ir.WhileLoop)
    numbers = [r.fresh("rounds", ir.I64)] if loops else []
    steps: list[SE] = [ONE] if loops else []
    numbers += [r.fresh("elements", ir.I64) for _ in changing]
    steps += [se_of(elements(p.type)) for p in changing]
    if not numbers:
        assert isinstance(exp.form, ir.ForLoop)
        return exp.form.bound, []
    more = [
        ir.Bin("+", "i64", Var(n.name, "i64"), step) for n, step in zip(numbers, steps, strict=True)
    ]
    body = ir.Body(quiet(again.body.stms), (*again.body.results, *more))
    init = (*again.init, *[ZERO] * len(numbers))
    loop = ir.Loop((*again.params, *numbers), init, again.form, body)
    kinds = (*again.params, *numbers)
    names = {p.name: r.ctx.fresh(p.name) for p in kinds}
    pat = pattern(kinds, names)
    r.add(pat, loop)
    found: list[SE] = [Var(p.name, "i64") for p in pat[len(again.params) :]]
    rounds = found.pop(0) if loops else None
    if rounds is None:
        assert isinstance(exp.form, ir.ForLoop)
        rounds = exp.form.bound
    totals = [poly_of(n) for n in found]
    return rounds, [t for t in totals if t is not None]


def pattern(params: Sequence[Param], names: dict[Name, Name]) -> list[Param]:
    """Return a loop's parameters as a pattern under new names, also in their types."""
    return [Param(names[p.name], renamed(p.type, names)) for p in params]


def renamed(kind: Type, names: dict[Name, Name]) -> Type:
    """Rename the sizes in a type."""
    if not isinstance(kind, ir.Array):
        return kind
    return ir.Array(kind.prim, tuple(size.renamed(names) for size in kind.shape))
