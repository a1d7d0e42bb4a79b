"""Tapes: what the parameters of a loop were in each of its iterations.

A parameter whose size stays has a row for each iteration. One whose sizes change has its elements
one iteration after the other in one row, whose length is counted before (`counted`); where an
iteration starts follows from the sizes, which are parameters themselves.
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
    """What one parameter was. `total`: of one whose sizes change, the elements of all iterations.

    `array` is the tape itself, and `end` behind which element it is written.
    """

    like: Param
    type: ir.Array
    total: Poly | None
    array: Name = ""
    end: Name = ""

    def named(self, array: Name, end: Name = "") -> Tape:
        """The same tape in another state."""
        return Tape(self.like, self.type, self.total, array, end)

    def of(self, like: Param) -> Tape:
        """The same tape for a copy of the loop."""
        return Tape(like, self.type, self.total, self.array, self.end)


def varying(params: Sequence[Param]) -> set[Name]:
    """The parameters of a loop that are sizes of others."""
    names = {p.name for p in params}
    return {n for p in params for size in shape_of(p.type) for n in size.names()} & names


def elements(kind: Type) -> Poly:
    """How many elements a value has."""
    return Poly.product(shape_of(kind))


def tapes_of(params: Sequence[Param], rounds: Poly, totals: Sequence[Poly]) -> list[Tape]:
    """Tapes of so many rounds for parameters; `totals`: for those of which sizes change."""
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
    """Tapes under the names of new parameters of a loop."""
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
    """Tapes as a loop leaves them, under the names of what it gives."""
    rest = [p.name for p in pat]
    return [
        tape.named(rest.pop(0), rest.pop(0) if tape.total is not None else "") for tape in tapes
    ]


def operands(tapes: Sequence[Tape]) -> list[Operand]:
    """What a loop is given for parameters that carry tapes."""
    found: list[Operand] = []
    for tape in tapes:
        found.append(tape.array)
        if tape.total is not None:
            found.append(Var(tape.end, "i64"))
    return found


def blank(r: Reverse, tapes: Sequence[Tape]) -> list[Operand]:
    """The same for tapes on which nothing is written yet."""
    found: list[Operand] = []
    for tape in tapes:
        nothing = ir.Scratch(tape.type.prim, tape.type.shape)
        found.append(r.bind(tape.like.name, tape.type, nothing, END))
        if tape.total is not None:
            found.append(ZERO)
    return found


def write(r: Reverse, tapes: Sequence[Tape], at: SE) -> list[Operand]:
    """Write down what the parameters are; what carries the tapes from here on."""
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
    """Bind the parameters to what they were; where the tapes end before this iteration."""
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
    """How often a loop goes round, and how many elements its arrays have that change sizes.

    It is run for that alone; without the first if it is no `while` loop.
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
    """Parameters of a loop as the names of what it gives, of which some are sizes of others."""
    return [Param(names[p.name], renamed(p.type, names)) for p in params]


def renamed(kind: Type, names: dict[Name, Name]) -> Type:
    """A type under other names of sizes."""
    if not isinstance(kind, ir.Array):
        return kind
    return ir.Array(kind.prim, tuple(size.renamed(names) for size in kind.shape))
