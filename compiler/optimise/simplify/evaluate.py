"""Evaluate maps over small literals at compile time.

`map f [1, 2, 3] ==> [f 1, f 2, f 3]` where all inputs of `f` are known, so that reads from the
array become constants, or get bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import NodeRule
from compiler.ir import nodes as ir
from compiler.ir.walk import map_se
from compiler.optimise.simplify.bodies import Instead
from compiler.optimise.simplify.scalars import folded
from compiler.optimise.simplify.state import State

MOST = 64
"""Maximum number of elements."""
WORK = 4096
"""Maximum number of statements executed per map."""

Rows = tuple["Rows | ir.Lit", ...]
Data = Rows | ir.Lit


class _Unknown(Exception):
    """A value is not known, or takes too long."""


def known_map(s: State, stm: ir.Stm, exp: ir.Map) -> Outcome[Instead]:
    """`map f [x, y] ==> [f x, f y]`, where all that f needs is known."""
    width = exp.width.constant
    if width is None or not 1 < width <= MOST or not exp.arrays:
        return None
    if any(not isinstance(kind, ir.Scalar) for kind in exp.fn.returns):
        return None
    try:
        work = _Evaluation(s)
        inputs = [work.array(array) for array in exp.arrays]
        rows = [work.call(exp.fn, [one[k] for one in inputs], {}) for k in range(int(width))]
    except _Unknown:
        return None
    stms, results = [], []
    for param, column in zip(stm.pat, zip(*rows, strict=True), strict=True):
        if not all(isinstance(one, ir.Lit) for one in column):
            return None
        made = ir.ArrayLit(tuple(one for one in column if isinstance(one, ir.Lit)))
        stms.append(ir.Stm((param,), made, stm.prov))
        results.append(param.name)
    names = " and ".join(f"`{base_of(param.name)}`" for param in stm.pat)
    said = f"The compiler computes all elements of {names}: they are the same in every run."
    return Applied(Instead(ir.Body(tuple(stms), tuple(results))), said)


class _Evaluation:
    """Evaluates code on literals, within a budget."""

    def __init__(self, s: State) -> None:
        self.s = s
        self.left = WORK

    def array(self, name: Name) -> Rows:
        """Return an outer array, if it is an immutable literal. Raises _Unknown."""
        name = self.s.name(name)
        made = self.s.defs.get(name)
        if name in self.s.unique or not isinstance(made, ir.ArrayLit) or len(made.elems) > MOST:
            raise _Unknown
        return tuple(self._element(elem) for elem in made.elems)

    def _element(self, elem: ir.Operand) -> Data:
        if isinstance(elem, str):
            return self.array(elem)
        if isinstance(elem, ir.Lit):
            return elem
        raise _Unknown

    def call(self, fn: ir.Lambda, args: Sequence[Data], around: Mapping[Name, Data]) -> list[Data]:
        """Apply a function. Raises _Unknown."""
        names = dict(around)
        names |= {param.name: arg for param, arg in zip(fn.params, args, strict=True)}
        for stm in fn.body.stms:
            self.left -= 1
            if self.left < 0:
                raise _Unknown
            values = self.exp(stm.exp, names)
            names |= {param.name: value for param, value in zip(stm.pat, values, strict=True)}
        return [self.operand(result, names) for result in fn.body.results]

    def operand(self, value: ir.Operand, names: Mapping[Name, Data]) -> Data:
        """Evaluate an array name or a scalar expression."""
        if isinstance(value, str):
            return names[value] if value in names else self.array(value)
        return self.number(value, names)

    def number(self, value: ir.SE, names: Mapping[Name, Data]) -> ir.Lit:
        """Evaluate a scalar expression."""

        def known(var: ir.Var) -> ir.SE:
            found = names.get(var.name, self.s.subst.get(var.name))
            return found if isinstance(found, ir.Lit) else var

        found = folded(map_se(value, known))
        if not isinstance(found, ir.Lit) or found.prim.startswith("f"):
            raise _Unknown  # floats are left to the machine, which may round them otherwise
        return found

    def exp(self, exp: ir.Exp, names: Mapping[Name, Data]) -> Sequence[Data]:
        """Evaluate one statement. Raises _Unknown."""
        match exp:
            case ir.Index(array, at):
                found = self.operand(array, names)
                for index in at:
                    place = self.number(index, names).value
                    if isinstance(found, ir.Lit) or not 0 <= place < len(found):
                        raise _Unknown
                    found = found[int(place)]
                return [found]
            case ir.Reduce(_, (op,), fn, arrays) if fn.returns and len(op.neutral) == len(
                fn.returns
            ):
                inputs = [self._rows(array, names) for array in arrays]
                total: list[Data] = [self.operand(one, names) for one in op.neutral]
                for row in zip(*inputs, strict=True):
                    total = self.call(op.fn, [*total, *self.call(fn, row, names)], names)
                return total
            case ir.Map(_, fn, arrays) if arrays:
                inputs = [self._rows(array, names) for array in arrays]
                rows = [self.call(fn, row, names) for row in zip(*inputs, strict=True)]
                if not rows:
                    raise _Unknown
                return [tuple(column) for column in zip(*rows, strict=True)]
            case _ if isinstance(exp, ir.SE_NODES):
                return [self.number(exp, names)]
        raise _Unknown

    def _rows(self, array: Name, names: Mapping[Name, Data]) -> Rows:
        found = self.operand(array, names)
        if isinstance(found, ir.Lit):
            raise _Unknown
        return found


RULE = NodeRule(
    "simplify/known-map",
    "Computes the elements of small arrays that are the same in every run.",
    (ir.Map,),
    known_map,
)
