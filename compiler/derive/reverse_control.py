"""Reverse mode of branches and loops.

A branch is run once more, with its adjoints behind it. A loop keeps what its parameters were in
each iteration, its *tape*, and goes back over the iterations: each is run once more from there.
How often a `while` loop goes round is counted before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.algebra.poly import Poly
from compiler.derive.reverse import END, AdjointScope, Back, Contribution, Reverse, pushes, quiet
from compiler.ir import nodes as ir
from compiler.ir.aliases import of_body
from compiler.ir.build import full_slices, row_at
from compiler.ir.nodes import SE, ZERO, Lit, Operand, Param, Type, Var
from compiler.ir.sizes import poly_of
from compiler.ir.types import as_operand, prim_type, row_type, shape_of, with_dims

OUTSIDE = Lit(-1, "i64")
"""A place that no array has."""


class Exports:
    """What a body hands out to free names: dense adjoints, and parts of arrays."""

    def __init__(self, r: Reverse, scope: AdjointScope, bound_inside: set[str]) -> None:
        self.dense: dict[str, Operand] = {}
        self.parts: list[tuple[str, Contribution]] = []
        outer, r.scope = r.scope, scope
        for name, found in list(scope.parts.items()):
            kept: list[Contribution] = []
            for one in found:
                here = any(size.names() & bound_inside for size in one.batch)
                kept += [] if here else [one]
                if here:
                    scope.parts[name] = []
                    scope.adjoints[name] = r._with(name, one)
            self.parts += [(name, one) for one in kept]
        r.scope = outer
        for name, value in scope.adjoints.items():
            if not scope.owns(name):
                self.dense[name] = value

    def operands(self, r: Reverse) -> tuple[list[Operand], list[Type]]:
        """All of it as results, with their types."""
        values: list[Operand] = []
        kinds: list[Type] = []
        for name, value in self.dense.items():
            values.append(value)
            kinds.append(r.types[name])
        for name, one in self.parts:
            values += [*one.at, one.value]
            row = row_type(r.types[name], len(one.at))
            kinds += [with_dims(one.batch, ir.I64) for _ in one.at] + [with_dims(one.batch, row)]
        return values, kinds

    def blank(self, r: Reverse) -> list[Operand]:
        """Results of a body that hands out nothing."""
        values: list[Operand] = [r.zero(r.types[name]) for name in self.dense]
        for name, one in self.parts:
            row = row_type(r.types[name], len(one.at))
            for _ in one.at:
                kind = with_dims(one.batch, ir.I64)
                there = ir.Replicate(one.batch, OUTSIDE)
                values.append(r.bind("at", kind, there) if one.batch else OUTSIDE)
            values.append(r.zero(with_dims(one.batch, row)))
        return values

    def receive(self, r: Reverse, values: Sequence[Operand], outer: tuple[Poly, ...] = ()) -> None:
        """Hand on what stands around the body for these results; `outer`: it ran so often."""
        rest = list(values)
        for name in self.dense:
            value = rest.pop(0)
            if outer:
                value = _summed(r, str(value), outer[0], r.types[name])
            r.give(_operand(r, name), value)
        for name, one in self.parts:
            at = tuple(rest.pop(0) for _ in one.at)
            r.parts(name, Contribution((*outer, *one.batch), at, rest.pop(0)))


def _operand(r: Reverse, name: str) -> Operand:
    kind = r.types[name]
    return Var(name, kind.prim) if isinstance(kind, ir.Scalar) else name


def _summed(r: Reverse, array: str, width: Poly, row: Type) -> Operand:
    op = ir.Operator(r.adder(row), (r.zero(row),), True)
    return r.bind("sum", row, ir.Reduce(width, (op,), r.identity((row,)), (array,)), END)


def inner_names(stms: Sequence[ir.Stm]) -> set[str]:
    """What statements bind."""
    return {p.name for stm in stms for p in stm.pat}


# --- branches ----------------------------------------------------------------------------------


def _if(r: Reverse, stm: ir.Stm, exp: ir.If) -> Back:
    """Adjoints go back through the branch that was taken."""
    r.stms += quiet((stm,))

    def back() -> None:
        adjoints = [r.adjoint(p.name) for p in stm.pat]
        if all(a is None for a in adjoints) and not pushes(stm):
            return
        made = [_branch(r, side, adjoints) for side in (exp.then, exp.orelse)]
        results: list[list[Operand]] = []
        names = list(dict.fromkeys(n for _, ex in made for n in ex.dense))
        for (stms, ex), (_, other) in ((made[0], made[1]), (made[1], made[0])):
            outer, r.stms = r.stms, stms
            own = [ex.dense.get(n) for n in names]
            given = [
                r.zero(r.types[n]) if v is None else v for n, v in zip(names, own, strict=True)
            ]
            parts = _parts_only(ex).operands(r)[0]
            blank = _parts_only(other).blank(r)
            given += [*parts, *blank] if ex is made[0][1] else [*blank, *parts]
            results.append(given)
            r.stms = outer
        kinds = [r.types[n] for n in names]
        kinds += [kind for _, ex in made for kind in _parts_only(ex).operands(r)[1]]
        pat = [r.fresh("back", kind) for kind in kinds]
        sides = [ir.Body(tuple(s), tuple(g)) for (s, _), g in zip(made, results, strict=True)]
        r.add(pat, ir.If(exp.cond, sides[0], sides[1]))
        values = [as_operand(p) for p in pat]
        for name, value in zip(names, values, strict=False):
            r.give(_operand(r, name), value)
        rest = values[len(names) :]
        for _, ex in made:
            only = _parts_only(ex)
            count = len(only.operands(r)[1])
            only.receive(r, rest[:count])
            rest = rest[count:]

    return back


def _parts_only(ex: Exports) -> Exports:
    made = Exports.__new__(Exports)
    made.dense, made.parts = {}, ex.parts
    return made


def _branch(
    r: Reverse, body: ir.Body, adjoints: Sequence[Operand | None]
) -> tuple[list[ir.Stm], Exports]:
    """A branch there and back: its statements, and what it hands out."""
    body = r.copied(body)
    stms, outer = r.open(), r.inside(())

    def seeds() -> None:
        for result, adjoint in zip(body.results, adjoints, strict=True):
            if adjoint is not None:
                r.give(result, adjoint)

    r.there_and_back(body.stms, seeds)
    scope = r.outside(outer)
    exports = Exports(r, scope, inner_names(r.stms))
    _named_parts(r, exports)
    inner, r.stms = r.stms, stms
    return inner, exports


def _named_parts(r: Reverse, exports: Exports) -> None:
    """Places that are expressions under names of their own."""
    for _, one in exports.parts:
        one.at = tuple(a if isinstance(a, str) else r.scalar("at", a) for a in one.at)


# --- loops -------------------------------------------------------------------------------------


def _loop(r: Reverse, stm: ir.Stm, exp: ir.Loop) -> Back:
    """Iterations are gone back over, each from what its parameters were."""
    _check_sizes(r, exp)
    if isinstance(exp.form, ir.WhileLoop):
        count = _counted(r, exp)
        index = r.ctx.fresh("i")
        exp = ir.Loop(exp.params, exp.init, ir.ForLoop(index, "i64", count), exp.body)
    return _for(r, stm, exp)


def _check_sizes(r: Reverse, exp: ir.Loop) -> None:
    names = {p.name for p in exp.params}
    if any(size.names() & names for p in exp.params for size in shape_of(p.type)):
        raise r.refuse(
            "The sizes of an array change from one iteration of this loop to the next.",
            "Carry an array of the largest size, and how much of it is in use.",
        )


def _counted(r: Reverse, exp: ir.Loop) -> SE:
    """How often a loop goes round: it is run for that alone."""
    again = r.copied(exp)
    number = r.fresh("rounds", ir.I64)
    more = ir.Bin("+", "i64", Var(number.name, "i64"), ir.ONE)
    body = ir.Body(quiet(again.body.stms), (*again.body.results, more))
    loop = ir.Loop((*again.params, number), (*again.init, ZERO), again.form, body)
    r.learn(again.params)
    pat = [r.fresh(p.name, p.type) for p in (*again.params, number)]
    r.add(pat, loop)
    return Var(pat[-1].name, "i64")


def _for(r: Reverse, stm: ir.Stm, exp: ir.Loop) -> Back:
    form = exp.form
    assert isinstance(form, ir.ForLoop)
    bound = form.bound if form.prim == "i64" else ir.Conv(form.prim, "i64", form.bound)
    if not (isinstance(bound, Lit) and bound.value >= 0):
        bound = r.scalar("rounds", ir.Bin("max", "i64", ZERO, bound))
    rounds = poly_of(bound)
    assert rounds is not None
    r.types[form.index] = ir.Scalar(form.prim)
    r.learn(exp.params)
    tapes = _with_tape(r, stm, exp, rounds)

    def back() -> None:
        _back_over(r, stm, exp, bound, rounds, tapes)

    return back


def _with_tape(r: Reverse, stm: ir.Stm, exp: ir.Loop, rounds: Poly) -> list[str]:
    """The loop, which writes down what its parameters are in each iteration; the tapes."""
    form = exp.form
    assert isinstance(form, ir.ForLoop)
    at: SE = Var(form.index, form.prim)
    at = at if form.prim == "i64" else ir.Conv(form.prim, "i64", at)
    params: list[Param] = []
    init: list[Operand] = []
    outer = r.open()
    first: list[Operand] = []
    for p in exp.params:
        kind = with_dims((rounds,), p.type)
        tape = r.fresh(p.name, kind, "_tape")
        params.append(Param(tape.name, kind, True))
        row = ir.DimFix(at), *full_slices(shape_of(p.type))
        first.append(r.bind(p.name, kind, ir.Update(tape.name, row, as_operand(p)), "_tape"))
    stms = r.close(outer, ()).stms
    for p in exp.params:
        kind = with_dims((rounds,), p.type)
        init.append(r.bind(p.name, kind, ir.Scratch(prim_type(p.type), kind.shape), "_tape"))  # type: ignore[union-attr]
    body = ir.Body((*stms, *quiet(exp.body.stms)), (*exp.body.results, *first), exp.body.prov)
    pat = [r.fresh(p.name, p.type, "") for p in params]
    loop = ir.Loop((*exp.params, *params), (*exp.init, *init), form, body)
    r.add((*stm.pat, *pat), loop)
    return [p.name for p in pat]


def _back_over(
    r: Reverse, stm: ir.Stm, exp: ir.Loop, bound: SE, rounds: Poly, tapes: list[str]
) -> None:
    adjoints = [r.adjoint(p.name) for p in stm.pat]
    if all(a is None for a in adjoints) and not pushes(stm):
        return
    form = exp.form
    assert isinstance(form, ir.ForLoop)
    again: ir.Loop = r.copied(ir.Loop(exp.params, exp.init, form, exp.body))
    inner_form = again.form
    assert isinstance(inner_form, ir.ForLoop)
    active = [p.name in r.active for p in again.params]
    carried = [p for p, yes in zip(again.params, active, strict=True) if yes]
    init: list[Operand] = []
    params: list[Param] = []
    for p, adjoint, old, yes in zip(again.params, adjoints, stm.pat, active, strict=True):
        if yes:
            params.append(r.fresh(old.name, p.type, END))
            init.append(r.zero(p.type) if adjoint is None else adjoint)
    inside_free = r.free_active(ir.Lambda((*again.params,), again.body, ()))
    shared = [n for n in inside_free if r.scope.owns(n)]
    for name in shared:
        params.append(r.fresh(name, r.types[name], END))
        init.append(r.full(name))
    down = r.ctx.fresh("down")
    stms, outer = r.open(), r.inside((*shared, *(p.name for p in again.params)))
    given = [as_operand(p) for p in params]
    r.scope.adjoints = dict(zip(shared, given[len(carried) :], strict=True))
    at = ir.Bin("-", "i64", ir.Bin("-", "i64", bound, ir.ONE), Var(down, "i64"))
    here = r.scalar("i", at)
    index: SE = here if form.prim == "i64" else ir.Conv("i64", form.prim, here)
    r.add((Param(inner_form.index, ir.Scalar(form.prim)),), index)
    for p, tape in zip(again.params, tapes, strict=True):
        r.add((Param(p.name, p.type),), row_at(tape, (here,), p.type))
    wanted = dict(zip([p.name for p in carried], given, strict=False))

    def seeds() -> None:
        for p, result in zip(again.params, again.body.results, strict=True):
            if p.name in wanted:
                r.give(result, wanted[p.name])

    r.there_and_back(again.body.stms, seeds)
    results = [r.full(p.name) for p in carried] + [r.full(name) for name in shared]
    scope = r.outside(outer)
    made = (params, init, results, down, bound, rounds)
    finals = _close(r, stms, scope, made, shared)[: len(carried)]
    inits = [v for v, yes in zip(exp.init, active, strict=True) if yes]
    for value, final in zip(inits, finals, strict=True):
        r.give(value, final)


def _close(
    r: Reverse, stms: list[ir.Stm], scope: AdjointScope, made: Any, shared: list[str]
) -> list[Operand]:
    """The loop of adjoints, with what it hands out to arrays around it, iteration by iteration."""
    params, init, results, down, bound, rounds = made
    carried = len(params) - len(shared)
    exports = Exports(r, scope, inner_names(r.stms) | {down})
    _named_parts(r, exports)
    dense = list(exports.dense)
    for name in dense:
        kind = r.types[name]
        more = r.fresh(name, kind, END)
        params.append(more)
        results.append(r.sum(name, kind, as_operand(more), exports.dense[name]))
    values, kinds = _parts_only(exports).operands(r)
    tapes: list[Type] = [with_dims((rounds,), kind) for kind in kinds]
    kept: list[Param] = []
    for value, kind, whole in zip(values, kinds, tapes, strict=True):
        tape = r.fresh("parts", whole)
        kept.append(tape)
        dims = (ir.DimFix(Var(down, "i64")), *full_slices(shape_of(kind)))
        results.append(r.bind("parts", whole, ir.Update(tape.name, dims, value)))
    body = r.close(stms, results)
    init = [*init, *(r.zero(r.types[name]) for name in dense)]
    init += [r.bind("parts", t, ir.Scratch(prim_type(t), shape_of(t))) for t in tapes]
    taken = set(of_body(body.stms)[0])
    every = [Param(p.name, p.type, p.name in taken) for p in (*params, *kept)]
    pat = [r.fresh(p.name, p.type) for p in every]
    r.add(pat, ir.Loop(tuple(every), tuple(init), ir.ForLoop(down, "i64", bound), body))
    ends = [as_operand(p) for p in pat]
    for name, end in zip(shared, ends[carried:], strict=False):
        r.scope.adjoints[name] = end
    rest = ends[carried + len(shared) :]
    for name, end in zip(dense, rest, strict=False):
        r.give(_operand(r, name), end)
    _parts_only(exports).receive(r, rest[len(dense) :], (rounds,))
    return ends


RULES: dict[type, Any] = {ir.If: _if, ir.Loop: _loop}
