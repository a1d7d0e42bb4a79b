"""Reverse mode of branches, and adjoints that bodies pass to free names.

A branch is recomputed, with its adjoints behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.algebra.poly import Poly
from compiler.derive.reverse import END, AdjointScope, Back, Contribution, Reverse, pushes, quiet
from compiler.ir import nodes as ir
from compiler.ir.nodes import Lit, Operand, Type, Var
from compiler.ir.types import as_operand, row_type, with_dims

OUTSIDE = Lit(-1, "i64")
"""An index that is out of bounds in every array."""


class Exports:
    """Adjoints that a body passes to free names: dense ones, and parts of arrays."""

    def __init__(self, r: Reverse, scope: AdjointScope, bound_inside: set[str]) -> None:
        self.dense: dict[str, Operand] = {}
        self.parts: list[tuple[str, Contribution]] = []
        outer, r.scope = r.scope, scope
        for name, found in list(scope.parts.items()):
            if scope.owns(name):
                continue
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
        """Return all of them as results, with their types."""
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
        """Return results of a body that passes nothing."""
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
        """Add the results of a body to the adjoints outside.

        `outer`: the dimensions of its repetitions.
        """
        rest = list(values)
        for name in self.dense:
            value = rest.pop(0)
            if outer:
                value = _summed(r, str(value), outer[0], r.types[name])
            r.give(operand_of(r, name), value)
        for name, one in self.parts:
            at = tuple(rest.pop(0) for _ in one.at)
            r.parts(name, Contribution((*outer, *one.batch), at, rest.pop(0)))


def operand_of(r: Reverse, name: str) -> Operand:
    """Return a name as an operand."""
    kind = r.types[name]
    return Var(name, kind.prim) if isinstance(kind, ir.Scalar) else name


def _summed(r: Reverse, array: str, width: Poly, row: Type) -> Operand:
    op = ir.Operator(r.adder(row), (r.zero(row),), True)
    return r.bind("sum", row, ir.Reduce(width, (op,), r.identity((row,)), (array,)), END)


def inner_names(stms: Sequence[ir.Stm]) -> set[str]:
    """Return the names that statements bind."""
    return {p.name for stm in stms for p in stm.pat}


# --- branches ----------------------------------------------------------------------------------


def of_if(r: Reverse, stm: ir.Stm, exp: ir.If) -> Back:
    """Go back through the branch that was taken."""
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
            parts = parts_only(ex).operands(r)[0]
            blank = parts_only(other).blank(r)
            given += [*parts, *blank] if ex is made[0][1] else [*blank, *parts]
            results.append(given)
            r.stms = outer
        kinds = [r.types[n] for n in names]
        kinds += [kind for _, ex in made for kind in parts_only(ex).operands(r)[1]]
        pat = [r.fresh("back", kind) for kind in kinds]
        sides = [ir.Body(tuple(s), tuple(g)) for (s, _), g in zip(made, results, strict=True)]
        r.add(pat, ir.If(exp.cond, sides[0], sides[1]))
        values = [as_operand(p) for p in pat]
        for name, value in zip(names, values, strict=False):
            r.give(operand_of(r, name), value)
        rest = values[len(names) :]
        for _, ex in made:
            only = parts_only(ex)
            count = len(only.operands(r)[1])
            only.receive(r, rest[:count])
            rest = rest[count:]

    return back


def parts_only(ex: Exports) -> Exports:
    """Return only the contributions to parts of arrays."""
    made = Exports.__new__(Exports)
    made.dense, made.parts = {}, ex.parts
    return made


def _branch(
    r: Reverse, body: ir.Body, adjoints: Sequence[Operand | None]
) -> tuple[list[ir.Stm], Exports]:
    """Differentiate a branch: return its statements, and the adjoints that it passes out."""
    body = r.copied(body)
    stms, outer = r.open(), r.inside(())

    def seeds() -> None:
        for result, adjoint in zip(body.results, adjoints, strict=True):
            if adjoint is not None:
                r.give(result, r.fitted(adjoint, result))

    r.there_and_back(body.stms, seeds)
    scope = r.outside(outer)
    exports = Exports(r, scope, inner_names(r.stms))
    named_parts(r, exports)
    inner, r.stms = r.stms, stms
    return inner, exports


def named_parts(r: Reverse, exports: Exports) -> None:
    """Bind indices that are expressions to names."""
    for _, one in exports.parts:
        one.at = tuple(a if isinstance(a, str) else r.scalar("at", a) for a in one.at)


RULES: dict[type, Any] = {ir.If: of_if}
