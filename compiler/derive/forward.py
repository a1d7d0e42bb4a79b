"""Forward mode: insert behind each statement one for the tangents of its results.

Each active name gets a tangent, of its own type; an inactive name has none, and is zero where one
is needed. Operations are linear in tangents, so that most array operations become the same
operation on tangents. Folds run on pairs of a value and its tangent (`forward_folds.py`).

Needs: normalised statements (`normal.py`), no calls, no derivatives inside. Keeps: the statements
themselves, so results are unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.base.by_class import handles
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.derive.partials import edges, total
from compiler.derive.writing import Writing
from compiler.ir import nodes as ir
from compiler.ir.nodes import SE, Lit, Operand, Param, Type, Var
from compiler.ir.sizes import prim_of
from compiler.ir.slices import selected
from compiler.ir.types import array_type, as_operand, prim_type

END = "_tan"


class Forward(Writing):
    """The statements with their tangents."""

    def __init__(self, ctx: Ctx, active: set[Name], rules: Mapping[type, Rule]) -> None:
        super().__init__(ctx)
        self.active = active
        self.rules = rules
        """Rules by the class of a statement's expression."""
        self.tangents: dict[Name, Operand] = {}

    # --- tangents --------------------------------------------------------------------------------

    def tangent(self, operand: Operand) -> Operand | None:
        """Return the tangent of an operand; None if it is zero."""
        if isinstance(operand, str):
            return self.tangents.get(operand)
        return self.slope(operand)

    def slope(self, se: SE) -> SE | None:
        """Return the tangent of a scalar expression; None if it is zero."""
        if isinstance(se, Var):
            found = self.tangents.get(se.name)
            assert not isinstance(found, str)
            return found
        return None if isinstance(se, Lit) else self.through(se, se)

    def through(self, se: SE, out: SE) -> SE | None:
        """Return the tangent of an operation with result `out`; None if it is zero."""
        result: SE | None = None
        self.check_known(se)
        for edge in edges(se, out):
            inner = self.slope(edge.part)
            if inner is not None:
                term = edge.forward(inner)
                result = term if result is None else total(prim_of(se), result, term)
        return result

    def full(self, operand: Operand, kind: Type | None = None) -> Operand:
        """Return the tangent, or zeros; `kind` is needed for an operand of unknown type.

        A known type takes precedence: `kind` may mention sizes that are not in scope here.
        """
        found = self.tangent(operand)
        if found is not None:
            return found
        known = self.types.get(operand) if isinstance(operand, str) else None
        return self.zero(known or kind or self.type_of(operand))

    def dual(self, param: Param) -> Param:
        """Make a name for the tangent of a bound name."""
        own = self.fresh(param.name, param.type, END)
        own = Param(own.name, own.type, param.unique)
        self.tangents[param.name] = as_operand(own)
        return own

    def duals(self, params: Sequence[Param]) -> tuple[Param, ...]:
        """Make names for the tangents of active names."""
        self.learn(params)
        return tuple(self.dual(p) for p in params if p.name in self.active)

    # --- bodies ----------------------------------------------------------------------------------

    def all(self, stms: Sequence[ir.Stm]) -> None:
        """Append statements, each followed by its tangents."""
        for stm in stms:
            self.prov = stm.prov
            self.learn(stm.pat)
            rule = self.rules.get(type(stm.exp))
            if rule is not None and any(p.name in self.active for p in stm.pat):
                rule(self, stm, stm.exp)
            elif isinstance(stm.exp, ir.Push | ir.Stream | ir.Call | ir.Apply):
                self.rules[type(stm.exp)](self, stm, stm.exp)
            else:
                self.stms.append(stm)

    def body(self, body: ir.Body, wanted: Sequence[bool], kinds: Sequence[Type]) -> ir.Body:
        """Differentiate a body; the tangents of the wanted results follow its results."""
        outer = self.open()
        self.all(body.stms)
        triples = zip(body.results, wanted, kinds, strict=True)
        slopes = [self.full(r, kind) for r, yes, kind in triples if yes]
        return self.close(outer, (*body.results, *slopes))

    def fn(self, fn: ir.Lambda, wanted: Sequence[bool], extra: Sequence[Param]) -> ir.Lambda:
        """Differentiate a lambda; tangents of parameters and wanted results follow these."""
        body = self.body(fn.body, wanted, fn.returns)
        more = [kind for kind, yes in zip(fn.returns, wanted, strict=True) if yes]
        return ir.Lambda((*fn.params, *extra), body, (*fn.returns, *more))

    def flags(self, pat: Sequence[Param]) -> list[bool]:
        """Return for each name whether it is active."""
        return [p.name in self.active for p in pat]

    def over(self, fn: ir.Lambda, arrays: Sequence[Name]) -> tuple[list[Param], list[Name]]:
        """Return parameters and arrays for the tangents of a lambda's rows."""
        self.learn(fn.params)
        params: list[Param] = []
        given: list[Name] = []
        for param, array in zip(fn.params, arrays, strict=True):
            slope = self.tangents.get(array)
            if slope is not None:
                params.append(self.dual(param))
                given.append(str(slope))
        return params, given


Rule = Callable[[Forward, ir.Stm, Any], None]
RULES: dict[type, Rule] = {}

# --- scalars and arrays ------------------------------------------------------------------------


@handles(RULES, *ir.SE_NODES)
def _scalar(f: Forward, stm: ir.Stm, exp: SE) -> None:
    """Append the sum of products of partial derivatives and tangents."""
    f.stms.append(stm)
    (param,) = stm.pat
    out = Var(param.name, prim_type(param.type))
    slope = f.slope(exp) if isinstance(exp, Var | Lit) else f.through(exp, out)
    if slope is not None:
        f.tangents[param.name] = f.scalar(param.name, slope, END)


def _same(f: Forward, stm: ir.Stm, exp: Any, array: Name, change: Callable[[Name], ir.Exp]) -> None:
    """Append the statement, and the same operation on the array's tangent."""
    f.stms.append(stm)
    slope = f.tangents.get(array)
    if slope is not None:
        assert isinstance(slope, str)
        f.add((f.dual(stm.pat[0]),), change(slope))


@handles(RULES, ir.Index)
def _index(f: Forward, stm: ir.Stm, exp: ir.Index) -> None:
    """(xs[i])' = xs'[i]."""
    _same(f, stm, exp, exp.array, lambda a: ir.Index(a, exp.at))


@handles(RULES, ir.Slice)
def _slice(f: Forward, stm: ir.Stm, exp: ir.Slice) -> None:
    """(xs[..])' = xs'[..]."""
    _same(f, stm, exp, exp.array, lambda a: ir.Slice(a, exp.dims))


@handles(RULES, ir.Rearrange)
def _rearrange(f: Forward, stm: ir.Stm, exp: ir.Rearrange) -> None:
    """(transpose xs)' = transpose xs'."""
    _same(f, stm, exp, exp.array, lambda a: ir.Rearrange(exp.perm, a))


@handles(RULES, ir.Reshape)
def _reshape(f: Forward, stm: ir.Stm, exp: ir.Reshape) -> None:
    """(reshape xs)' = reshape xs'."""
    _same(f, stm, exp, exp.array, lambda a: ir.Reshape(exp.shape, a))


@handles(RULES, ir.Copy)
def _copy(f: Forward, stm: ir.Stm, exp: ir.Copy) -> None:
    """(copy xs)' = copy xs'."""
    _same(f, stm, exp, exp.array, ir.Copy)


@handles(RULES, ir.Update)
def _update(f: Forward, stm: ir.Stm, exp: ir.Update) -> None:
    """(xs with [i] = v)' = xs' with [i] = v'."""
    (param,) = stm.pat
    array = str(f.full(exp.array))
    value = f.full(exp.value, array_type(prim_type(param.type), selected(exp.dims)))
    f.stms.append(stm)
    f.add((f.dual(param),), ir.Update(array, exp.dims, value))


@handles(RULES, ir.Concat)
def _concat(f: Forward, stm: ir.Stm, exp: ir.Concat) -> None:
    """(xs ++ ys)' = xs' ++ ys'."""
    f.stms.append(stm)
    slopes = tuple(str(f.full(array)) for array in exp.arrays)
    f.add((f.dual(stm.pat[0]),), ir.Concat(slopes))


@handles(RULES, ir.Replicate)
def _replicate(f: Forward, stm: ir.Stm, exp: ir.Replicate) -> None:
    """(replicate n x)' = replicate n x'."""
    f.stms.append(stm)
    f.add((f.dual(stm.pat[0]),), ir.Replicate(exp.shape, f.full(exp.value)))


@handles(RULES, ir.ArrayLit)
def _array_lit(f: Forward, stm: ir.Stm, exp: ir.ArrayLit) -> None:
    """[x, y]' = [x', y']."""
    f.stms.append(stm)
    f.add((f.dual(stm.pat[0]),), ir.ArrayLit(tuple(map(f.full, exp.elems))))


@handles(RULES, ir.Iota)
def _iota(f: Forward, stm: ir.Stm, exp: ir.Iota) -> None:
    """(start..step)' = start'..step', as often."""
    f.stms.append(stm)
    slopes = [f.full(exp.start), f.full(exp.step)]
    start, step = (x for x in slopes if not isinstance(x, str))
    f.add((f.dual(stm.pat[0]),), ir.Iota(exp.count, start, step, exp.prim))


# --- control -------------------------------------------------------------------------------------


@handles(RULES, ir.If)
def _if(f: Forward, stm: ir.Stm, exp: ir.If) -> None:
    """Tangents go the way that values go."""
    wanted = f.flags(stm.pat)
    kinds = [p.type for p in stm.pat]
    then, orelse = (f.body(side, wanted, kinds) for side in (exp.then, exp.orelse))
    f.add((*stm.pat, *f.duals(stm.pat)), ir.If(exp.cond, then, orelse))


@handles(RULES, ir.Loop)
def _loop(f: Forward, stm: ir.Stm, exp: ir.Loop) -> None:
    """Each parameter of a loop has its tangent beside it."""
    wanted = f.flags(exp.params)
    pairs = list(zip(exp.params, exp.init, strict=True))
    init = [f.full(value, p.type) for (p, value), yes in zip(pairs, wanted, strict=True) if yes]
    extra = f.duals(exp.params)
    if isinstance(exp.form, ir.ForLoop):
        f.types[exp.form.index] = ir.Scalar(exp.form.prim)
    body = f.body(exp.body, wanted, [p.type for p in exp.params])
    loop = ir.Loop((*exp.params, *extra), (*exp.init, *init), exp.form, body)
    slopes = [f.dual(p) for p, yes in zip(stm.pat, wanted, strict=True) if yes]
    f.add((*stm.pat, *slopes), loop)


@handles(RULES, ir.Call, ir.Apply)
def _call(f: Forward, stm: ir.Stm, exp: ir.Call | ir.Apply) -> None:
    raise f.refuse(
        f"`{f.ctx.names.called(exp.fun)}` calls itself, so it cannot be differentiated.",
        "Write it as a `loop`.",
    )


@handles(RULES, ir.Map)
def _map(f: Forward, stm: ir.Stm, exp: ir.Map) -> None:
    """(map f xs)' = map f' xs xs'."""
    extra, slopes = f.over(exp.fn, exp.arrays)
    fn = f.fn(exp.fn, f.flags(stm.pat), extra)
    f.add((*stm.pat, *f.duals(stm.pat)), ir.Map(exp.width, fn, (*exp.arrays, *slopes)))
