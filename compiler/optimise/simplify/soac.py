"""Simplify inputs and outputs of parallel operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from compiler.algebra.poly import Poly
from compiler.analysis.cost import size
from compiler.analysis.effects import must_stay
from compiler.base.names import Name, base_of
from compiler.base.prim import Prim
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import NodeRule
from compiler.base.spans import merge_prov
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.may_fail import cannot_fail
from compiler.ir.scatters import places, writes
from compiler.ir.sizes import poly_of
from compiler.ir.types import shape_of
from compiler.optimise.dead import lambda_with, select
from compiler.optimise.simplify.bodies import Instead
from compiler.optimise.simplify.scalars import refold
from compiler.optimise.simplify.state import Delayed, State

_MAX_RECOMPUTED = 6
"""Maximum operations recomputed in place of a read."""
_MOST_PARTS = 8
"""Maximum writes of a scatter's point to one array."""


def inputs(s: State, stm: ir.Stm, exp: ir.Soac, width: Poly) -> tuple[ir.Soac, Callable[[], None]]:
    """Remove known or duplicate inputs; returns a function that learns facts about the others.

    `map f (replicate n x)`: the parameter is x. Of two `iota` with different starts or steps one is
    computed from the other, and so is an array that is a short formula of the index.
    """
    inputs = _Inputs(s, stm)
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        name = s.subst.get(array, array)
        assert isinstance(name, str)
        inputs.add(param, name)
    if inputs.changed:
        body = exp.fn.body
        if inputs.stms:
            body = replace(body, stms=(*inputs.stms, *body.stms))
        fn = ir.Lambda(tuple(inputs.params), body, exp.fn.returns)
        exp = replace(exp, fn=fn, arrays=tuple(inputs.arrays))
    if inputs.index is not None:
        exp = _reads_by_index(s, stm, exp, inputs.index, width)

    def learn() -> None:
        s.facts.runs(width, s.depth)
        for name, iota in inputs.ranges:
            _learn_range(s, name, iota, width)

    return exp, learn


class _Inputs:
    """Inputs of an operator under construction; `index` is the one that counts from 0."""

    __slots__ = ("arrays", "changed", "index", "params", "ranges", "s", "stm", "stms")

    def __init__(self, s: State, stm: ir.Stm) -> None:
        self.s = s
        self.stm = stm
        self.params: list[ir.Param] = []
        self.arrays: list[Name] = []
        self.stms: list[ir.Stm] = []
        self.index: ir.Param | None = None
        self.ranges: list[tuple[Name, ir.Iota]] = []
        self.changed = False

    def add(self, param: ir.Param, array: Name) -> None:
        """Add an input, or its known value."""
        found = self.s.part(INPUT, self.stm.prov, self, param, array)
        if found is None:
            self._keep(param, array)
            return
        if isinstance(found, Delayed):
            self._compute(param, found)
        elif not isinstance(found, str) and param.type == ir.I64 and poly_of(found) is None:
            # It may occur in a size, as a name or polynomial.
            self.stms.append(ir.Stm((param,), found, self.stm.prov))
        else:
            self.s.alias(param, found)
        self.changed = True

    def _keep(self, param: ir.Param, array: Name) -> None:
        self.params.append(param)
        self.arrays.append(array)
        # Others may be computed from it before it is bound.
        self.s.depths_of[param.name] = 1 << (self.s.depth + 1)
        made = self.s.defs.get(array)
        if isinstance(made, ir.Iota):
            self.ranges.append((param.name, made))
            if self.index is None and counts_from_zero(made):
                self.index = param

    def known(self, param: ir.Param, array: Name) -> ir.Operand | None:
        """Return the value of every element, or an equal input, or None."""
        s = self.s
        if array in self.arrays:
            first = self.params[self.arrays.index(array)]
            prim = _prim(first)
            return first.name if prim is None else ir.Var(first.name, prim)
        made = s.defs.get(array)
        if isinstance(made, ir.Replicate) and len(made.shape) == 1:
            if not isinstance(made.value, str):
                return made.value
            unique = made.value in s.unique or param.name in s.unique
            return None if unique else made.value
        if isinstance(made, ir.Iota) and self.index is not None:
            at: ir.SE = refold(ir.Conv("i64", made.prim, ir.Var(self.index.name, "i64")))
            at = refold(ir.Bin("*", made.prim, at, made.step))
            return refold(ir.Bin("+", made.prim, at, made.start))
        return None

    def _compute(self, param: ir.Param, made: Delayed) -> None:
        """Compute the element from the index."""
        if self.index is None:
            self._keep(ir.Param(self.s.ctx.fresh("i"), ir.I64), made.iota)
        assert self.index is not None
        at = ir.Var(self.index.name, "i64")
        self.stms.append(ir.Stm((param,), made.element(at), self.stm.prov))


def known_input(
    s: State, inputs: _Inputs, param: ir.Param, array: Name
) -> Outcome[ir.Operand | Delayed]:
    """`map f (replicate n x) ==> map (f with x)`; `map f xs xs ==> map (f with y = x) xs`; ..

    A short formula of the index is computed here; where this is its only reader, fusion does it.
    """
    value = inputs.known(param, array)
    if value is not None:
        return Applied(value, _said(array, value))
    made = s.delayed.get(array)
    if made is None or (s.counts.get(array) == 1 and made.depth == s.depth):
        return None
    return Applied(
        made, f"`{base_of(array)}` is a short formula, so it is computed here instead of read."
    )


INPUT = NodeRule(
    "simplify/soac-input",
    "Removes inputs of a parallel operator that are known or occur twice.",
    ir.Soac.__args__,
    known_input,
    by_part=True,
)


def counts_from_zero(made: ir.Iota) -> bool:
    """True for 0, 1, 2, .. at i64."""
    return made.start == ir.ZERO and made.step == ir.ONE


def learn_delayed(s: State, exp: ir.Exp, pat: tuple[ir.Param, ...], depth: int) -> None:
    """Record results of a map over `iota` that are cheap functions of the index."""
    if not isinstance(exp, ir.Map) or exp.fn.body.stms or len(exp.arrays) != 1:
        return
    made = s.defs.get(exp.arrays[0])
    if not isinstance(made, ir.Iota) or not counts_from_zero(made):
        return
    for param, value in zip(pat, exp.fn.body.results, strict=True):
        if isinstance(value, str) or param.name in s.unique:
            continue
        if size(value) <= _MAX_RECOMPUTED and cannot_fail(value):
            index = exp.fn.params[0].name
            s.delayed[param.name] = Delayed(index, value, exp.arrays[0], depth)


def read_by_index(s: State, stm: ir.Stm, index: ir.Param, width: Poly) -> Outcome[Name]:
    r"""`map (\i -> f xs[i]) (iota n) ==> map (\i x -> f x) (iota n) xs`, if xs has n elements.

    So that a producer of `xs` can be fused with the operator.
    """
    array = _read_by(s, stm, index)
    kind = s.types.get(array)
    if kind is None or kind.rank != 1 or kind.shape[0] != width:
        return None
    return Applied(array, f"`{base_of(array)}` becomes an input that is read element by element.")


INDEX_INPUT = NodeRule(
    "simplify/index-input",
    "Reads an array by element instead of by index, so that the operators can be fused.",
    ir.Soac.__args__,
    read_by_index,
    by_part=True,
)


def _reads_by_index(s: State, stm: ir.Stm, exp: ir.Soac, index: ir.Param, width: Poly) -> ir.Soac:
    """Add inputs for the arrays whose elements the operator reads by its index."""
    params, arrays = list(exp.fn.params), list(exp.arrays)
    stms: list[ir.Stm] = []
    for inner in exp.fn.body.stms:
        prov = merge_prov(inner.prov, stm.prov)
        array = s.part(INDEX_INPUT, prov, inner, index, width)
        if array is None:
            stms.append(inner)
        elif array in arrays:
            first = params[arrays.index(array)]
            s.alias(inner.pat[0], ir.Var(first.name, s.types[array].prim))
        else:
            params.append(inner.pat[0])
            arrays.append(array)
    if len(stms) == len(exp.fn.body.stms):
        return exp
    fn = ir.Lambda(tuple(params), replace(exp.fn.body, stms=tuple(stms)), exp.fn.returns)
    return replace(exp, fn=fn, arrays=tuple(arrays))


def _read_by(s: State, stm: ir.Stm, index: ir.Param) -> Name:
    """Return the array whose element `index` a statement reads, or ""."""
    exp = stm.exp
    if type(exp) is ir.Index and len(exp.at) == 1:
        at = exp.at[0]
        if type(at) is ir.Var and at.name == index.name:
            array = s.subst.get(exp.array, exp.array)
            return array if isinstance(array, str) else ""
    return ""


def _said(array: Name, value: ir.Operand) -> str:
    what = "is one that comes in already" if isinstance(value, ir.Var) else "is known"
    return f"What `{base_of(array)}` would bring in {what}."


def _prim(param: ir.Param) -> Prim | None:
    return param.type.prim if isinstance(param.type, ir.Scalar) else None


def _learn_range(s: State, name: Name, iota: ir.Iota, width: Poly) -> None:
    """Learn the range of elements of `iota`."""
    if iota.prim == "i64":
        s.facts.counts(name, iota.start, iota.step, width)


def needless_output(
    s: State, param: ir.Param, plan: ir.Exp | Name | None
) -> Outcome[ir.Exp | Name]:
    """`map (fn x => (c, x, f x)) xs ==> (replicate n c, xs, map f xs)`, where c has no x.

    `map transpose xs` and `map reverse xs` are views of `xs`. `plan` is what the result is without
    the map.
    """
    return None if plan is None else Applied(plan, _why(param, plan))


OUTPUT = NodeRule(
    "simplify/soac-output",
    "Removes results of a map that are constants, copies, reorderings of rows or duplicates.",
    (ir.Map,),
    needless_output,
    by_part=True,
)


def outputs(
    s: State, exp: ir.Exp, stm: ir.Stm
) -> tuple[ir.Exp, tuple[ir.Param, ...], list[tuple[ir.Param, Name]], list[ir.Stm]]:
    """Remove results of a map that need no map: the identity, constants, duplicates.

    Returns the operator and its pattern, then the removed results: aliases, which may name
    remaining results, so that those must be bound first; and statements.
    """
    pat = stm.pat
    if not isinstance(exp, ir.Map) or not pat:
        return exp, pat, [], []
    plan = [_plan(s, exp, k, param) for k, param in enumerate(pat)]
    _find_twins(s, exp, pat, plan)
    if all(p is None for p in plan) or (None not in plan and must_stay(exp)):
        return exp, pat, [], []
    if None in plan:
        # A separate copy would be another pass over memory.
        plan = [None if isinstance(p, ir.Copy) else p for p in plan]
    same: list[tuple[ir.Param, Name]] = []
    extra: list[ir.Stm] = []
    kept: list[int] = []
    copied: set[Name] = set()
    for k, param in enumerate(pat):
        new = s.part(OUTPUT, stm.prov, param, plan[k])
        if new is None:
            kept.append(k)
        elif isinstance(new, str):
            same.append((param, new))
        else:
            extra.append(ir.Stm((pat[k],), new, stm.prov))
            if isinstance(new, ir.Copy):
                s.counts[new.array] = s.counts.get(new.array, 0) + (new.array in copied)
                copied.add(new.array)
    if len(kept) == len(pat):
        return exp, pat, [], []
    return ir.Map(exp.width, lambda_with(exp.fn, kept), exp.arrays), select(pat, kept), same, extra


def _find_twins(
    s: State, exp: ir.Map, pat: tuple[ir.Param, ...], plan: list[ir.Exp | Name | None]
) -> None:
    """Plan results equal to an earlier one as aliases of it."""
    first: dict[ir.Operand, Name] = {}
    for k, (param, value) in enumerate(zip(pat, exp.fn.body.results, strict=True)):
        if plan[k] is not None or param.name in s.unique:
            continue
        if value in first:
            plan[k] = first[value]
        first.setdefault(value, param.name)


def _why(param: ir.Param, new: ir.Exp | Name) -> str:
    name = base_of(param.name)
    if isinstance(new, str):
        return f"`{name}` is `{base_of(new)}` itself."
    if isinstance(new, ir.Copy):
        return f"`{name}` is a copy of `{base_of(new.array)}`."
    if isinstance(new, ir.Rearrange | ir.Slice):
        return f"`{name}` is a view of `{base_of(new.array)}`, which needs no copy."
    return f"All elements of `{name}` are equal."


def _plan(s: State, exp: ir.Map, k: int, param: ir.Param) -> ir.Exp | Name | None:
    """Return result `k` without the map, if that is simpler."""
    value = exp.fn.body.results[k]
    name = value if isinstance(value, str) else value.name if isinstance(value, ir.Var) else None
    free_to_share = param.name not in s.unique
    for inner, array in zip(exp.fn.params, exp.arrays, strict=True):
        if inner.name == name:
            return array if free_to_share and array not in s.unique else ir.Copy(array)
    if free_to_share and isinstance(value, str) and (view := _view_of_rows(s, exp, value)):
        return view
    inside = 1 << (s.depth + 1)
    if not s.depends(value) & inside and not (isinstance(value, str) and value in s.unique):
        return ir.Replicate((exp.width,), value)
    return None


def _view_of_rows(s: State, exp: ir.Map, value: Name) -> ir.Rearrange | ir.Slice | None:
    """Return the view of an input array whose rows are the result, each in the same other order.

    Parts of rows are none: where there are no rows, they may lie outside.
    """
    made = next((stm.exp for stm in exp.fn.body.stms if stm.pat and stm.pat[0].name == value), None)
    if not isinstance(made, ir.Rearrange | ir.Slice):
        return None
    for inner, array in zip(exp.fn.params, exp.arrays, strict=True):
        if inner.name != made.array or array in s.unique:
            continue
        if isinstance(made, ir.Rearrange):
            return ir.Rearrange((0, *(at + 1 for at in made.perm)), array)
        if _is_all(made, shape_of(inner.type)):
            return ir.Slice(array, (ir.DimSlice(ir.ZERO, exp.width, ir.ONE), *made.dims))
    return None


_BACKWARDS = ir.Lit(-1, "i64")


def _is_all(part: ir.Slice, shape: tuple[Poly, ...]) -> bool:
    """Return True for a slice of all elements, forwards or backwards in each dimension."""
    return all(
        isinstance(dim, ir.DimSlice)
        and dim.count == size
        and (poly_of(dim.start), dim.stride) in ((Poly.const(0), ir.ONE), (size - 1, _BACKWARDS))
        for dim, size in zip(part.dims, shape, strict=True)
    )


def computed_before(stm: ir.Stm, found: tuple[Name, ...]) -> str:
    """Return the remark for a parallel operator computed before."""
    mine = ", ".join(f"`{base_of(p.name)}`" for p in stm.pat)
    theirs = ", ".join(f"`{base_of(name)}`" for name in found)
    return f"Reuses {theirs} for {mine}: it is the same expression."


def pushes_nothing(s: State, stm: ir.Stm, exp: ir.Stream) -> Outcome[Instead]:
    """`stream f xs into ys ==> ys`, where f pushes nothing."""
    inner = walk.all_stms(exp.fn.body.stms)
    if any(isinstance(one.exp, ir.Push) for one in inner) or must_stay(exp):
        return None
    return Applied(
        Instead(ir.Body((), exp.dests)), "Nothing is pushed: the arrays stay as they are."
    )


def one_element(s: State, stm: ir.Stm, exp: ir.Screma) -> Outcome[Instead]:
    """`map f xs ==> [f xs[0]]`; `reduce op ne xs ==> op ne xs[0]`, where xs has one element.

    Elements and values are scalars: a row would be an array of its own, which `f` may overwrite.
    """
    ops = () if isinstance(exp, ir.Map) else exp.ops
    fns = (exp.fn, *(op.fn for op in ops))
    if exp.width != 1 or any(shape_of(p.type) for fn in fns for p in fn.params):
        return None
    if any(map(shape_of, exp.fn.returns)):
        return None
    stms = [
        ir.Stm((param,), ir.Index(array, (ir.ZERO,)), stm.prov)
        for param, array in zip(exp.fn.params, exp.arrays, strict=True)
    ]
    stms += exp.fn.body.stms
    values: list[ir.Operand] = list(exp.fn.body.results)
    for at, op in enumerate(ops):
        begin = sum(len(other.neutral) for other in ops[:at])
        end = begin + len(op.neutral)
        given = zip(op.fn.params, (*op.neutral, *values[begin:end]), strict=True)
        for param, value in given:
            assert not isinstance(value, str)
            stms.append(ir.Stm((param,), value, exp.fn.body.prov or stm.prov))
        stms += op.fn.body.stms
        values[begin:end] = op.fn.body.results
    for k, param in enumerate(stm.pat):
        if shape_of(param.type):
            stms.append(ir.Stm((param,), ir.ArrayLit((values[k],)), stm.prov))
            values[k] = param.name
    said = "Computes the one element without a parallel operator."
    return Applied(Instead(ir.Body(tuple(stms), tuple(values))), said)


def in_parts(s: State, stm: ir.Stm, exp: ir.Scatter) -> Outcome[Instead]:
    """`scatter d (is ++ js) (xs ++ ys) ==> scatter d [is, js] [xs, ys]`, two writes of each point.

    So nothing is concatenated, and what makes the parts can fuse with the scatter. The parts have
    one width, and no array that is no such concatenation comes with them.
    """
    if exp.fn.body.stms or len(exp.fn.body.results) > places(exp.dests):
        return None
    parts = [_parts(s, array) for array in exp.arrays]
    if not parts or not parts[0] or any(len(p) != len(parts[0]) for p in parts):
        return None
    rows = list(zip(*parts, strict=True))
    if any(dest.times * len(rows) > _MOST_PARTS for dest in exp.dests):
        return None
    widths = {shape_of(s.types[array])[0] for row in rows for array in row}
    if len(widths) > 1:
        return None
    params: list[ir.Param] = []
    results: list[list[ir.Operand]] = [[] for _ in exp.dests]
    returns: list[list[ir.Type]] = [[] for _ in exp.dests]
    for _ in rows:
        fn = walk.rename(exp.fn, s.ctx.fresh)
        params += fn.params
        values, kinds = writes(exp.dests, fn.body.results), writes(exp.dests, fn.returns)
        for k in range(len(exp.dests)):
            results[k] += (part for at, value in values[k] for part in (*at, value))
            returns[k] += (part for at, value in kinds[k] for part in (*at, value))
    dests = tuple(replace(d, times=d.times * len(rows)) for d in exp.dests)
    body = ir.Body((), tuple(chain(*results)), exp.fn.body.prov)
    fn = ir.Lambda(tuple(params), body, tuple(chain(*returns)))
    new = ir.Scatter(widths.pop(), dests, fn, tuple(array for row in rows for array in row))
    names = ", ".join(f"`{base_of(d.array)}`" for d in exp.dests)
    said = (
        f"The inputs of the scatter to {names} are not concatenated: each point writes the "
        "elements of every part."
    )
    instead = ir.Body((ir.Stm(stm.pat, new, stm.prov),), tuple(p.name for p in stm.pat))
    return Applied(Instead(instead), said)


def _parts(s: State, array: Name) -> tuple[Name, ...]:
    """Return the arrays concatenated into one, if none is overwritten; else none."""
    made = s.defs.get(s.name(array))
    if isinstance(made, ir.Reshape):
        inner, outer = s.types[made.array], made.shape
        made = s.defs.get(made.array) if inner.shape[1:] == outer[1:] else None
    if not isinstance(made, ir.Concat) or any(part in s.unique for part in made.arrays):
        return ()
    return made.arrays


RULES = (
    INDEX_INPUT,
    INPUT,
    OUTPUT,
    NodeRule(
        "simplify/soac-one",
        "Replaces a parallel operator over one element by its body.",
        (ir.Map, ir.Reduce, ir.Scan),
        one_element,
    ),
    NodeRule(
        "simplify/scatter-parts",
        "Scatters the parts of a concatenation instead of concatenating them.",
        (ir.Scatter,),
        in_parts,
    ),
    NodeRule(
        "simplify/stream-nothing",
        "Removes a stream that pushes nothing.",
        (ir.Stream,),
        pushes_nothing,
    ),
)
