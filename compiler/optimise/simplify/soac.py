"""Parallel operators: inputs that need no array, results that need no computation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.base.names import Name, base_of
from compiler.base.prim import Prim
from compiler.base.spans import merge_prov
from compiler.ir.nodes import (
    SE,
    Bin,
    Body,
    Conv,
    Copy,
    Exp,
    Index,
    Iota,
    Lambda,
    Lit,
    Map,
    Operand,
    Param,
    Replicate,
    Scalar,
    Soac,
    Stm,
    Var,
)
from compiler.ir.poly import Poly
from compiler.ir.sizes import poly_of
from compiler.optimise.dead import has_effects
from compiler.optimise.simplify.state import State, refold


def inputs(s: State, stm: Stm, exp: Soac, width: Poly) -> tuple[Soac, Callable[[], None]]:
    """The operator without inputs whose elements are known, and what is known of the others.

    map f (replicate n x) ==> the parameter is x;  an array that comes in twice comes in once;
    map f (iota n) (iota n) with different starts or steps: one is computed from the other.
    """
    kept: list[int] = []
    seen: dict[Name, Param] = {}
    index: Param | None = None
    ranges: list[tuple[Name, Iota]] = []
    for k, (param, array) in enumerate(zip(exp.fn.params, exp.arrays, strict=True)):
        name = s.subst.get(array, array)
        assert isinstance(name, str)
        value = _known_element(s, name, param, seen, index)
        if value is not None and s.apply("simplify/soac-input", stm.prov, _said(name, value)):
            s.alias(param, value)
            continue
        kept.append(k)
        seen[name] = param
        made = s.defs.get(name)
        if isinstance(made, Iota):
            ranges.append((param.name, made))
            if index is None and made.start == Lit(0, "i64") and made.step == Lit(1, "i64"):
                index = param
    if len(kept) < len(exp.arrays):
        params = tuple(exp.fn.params[k] for k in kept)
        fn = Lambda(params, exp.fn.body, exp.fn.returns)
        exp = replace(exp, fn=fn, arrays=tuple(exp.arrays[k] for k in kept))

    if index is not None:
        exp = _reads_by_index(s, stm, exp, index, width)

    def learn() -> None:
        s.at_least_one(width)
        for name, iota in ranges:
            _learn_range(s, name, iota, width)

    return exp, learn


def _reads_by_index(s: State, stm: Stm, exp: Soac, index: Param, width: Poly) -> Soac:
    r"""`map (\i -> f xs[i]) (iota n)` ==> `map (\i x -> f x) (iota n) xs`, if xs has n elements.

    So that a producer of `xs` can be fused with the operator.
    """
    params, arrays = list(exp.fn.params), list(exp.arrays)
    stms: list[Stm] = []
    for inner in exp.fn.body.stms:
        array = _read_by(s, inner, index)
        kind = s.types.get(array)
        if kind is None or kind.rank != 1 or kind.shape[0] != width:
            stms.append(inner)
            continue
        said = f"`{base_of(array)}` is read element by element, as an input."
        if not s.apply("simplify/index-input", merge_prov(inner.prov, stm.prov), said):
            stms.append(inner)
        elif array in arrays:
            first = params[arrays.index(array)]
            s.alias(inner.pat[0], Var(first.name, kind.prim))
        else:
            params.append(inner.pat[0])
            arrays.append(array)
    if len(stms) == len(exp.fn.body.stms):
        return exp
    fn = Lambda(tuple(params), Body(tuple(stms), exp.fn.body.results), exp.fn.returns)
    return replace(exp, fn=fn, arrays=tuple(arrays))


def _read_by(s: State, stm: Stm, index: Param) -> Name:
    """The array of which a statement reads element `index`; empty if it does not."""
    exp = stm.exp
    if type(exp) is Index and len(exp.at) == 1:
        at = exp.at[0]
        if type(at) is Var and at.name == index.name:
            array = s.subst.get(exp.array, exp.array)
            return array if isinstance(array, str) else ""
    return ""


def _said(array: Name, value: Operand) -> str:
    what = "is one that comes in already" if isinstance(value, Var) else "is known"
    return f"What `{base_of(array)}` would bring in {what}."


def _known_element(
    s: State, array: Name, param: Param, seen: dict[Name, Param], index: Param | None
) -> Operand | None:
    if array in seen:
        first = seen[array]
        prim = _prim(first)
        return first.name if prim is None else Var(first.name, prim)
    made = s.defs.get(array)
    if isinstance(made, Replicate) and len(made.shape) == 1:
        if not isinstance(made.value, str):
            return made.value
        return made.value if made.value not in s.rigid and param.name not in s.rigid else None
    if isinstance(made, Iota) and index is not None:
        at: SE = refold(Conv("i64", made.prim, Var(index.name, "i64")))
        at = refold(Bin("*", made.prim, at, made.step))
        return refold(Bin("+", made.prim, at, made.start))
    return None


def _prim(param: Param) -> Prim | None:
    return param.type.prim if isinstance(param.type, Scalar) else None


def _learn_range(s: State, name: Name, iota: Iota, width: Poly) -> None:
    """Elements of `iota` count from its start."""
    if iota.prim != "i64":
        return
    start, step = poly_of(iota.start), poly_of(iota.step)
    if start is None or step is None or step.constant is None or step.constant < 0:
        return
    s.facts.bound(name, start, start + step * (width - 1), 0)


def outputs(s: State, exp: Exp, stm: Stm) -> tuple[Exp, tuple[Param, ...], list[Stm]]:
    """A map without results that need no map: the identity, constants, one result twice.

    Answers the operator, its pattern, and statements to run instead of the results taken out.
    """
    pat = stm.pat
    if not isinstance(exp, Map) or not pat:
        return exp, pat, []
    plan = [_plan(s, exp, k, param) for k, param in enumerate(pat)]
    if all(p is None for p in plan) or (None not in plan and has_effects(exp)):
        return exp, pat, []
    if None in plan:
        # A copy of its own would be one more pass over memory.
        plan = [None if isinstance(p, Copy) else p for p in plan]
    extra: list[Stm] = []
    kept: list[int] = []
    for k, new in enumerate(plan):
        if new is None or not s.apply("simplify/soac-output", stm.prov, _why(pat[k], new)):
            kept.append(k)
        elif isinstance(new, str):
            s.alias(pat[k], new)
        else:
            extra.append(Stm((pat[k],), new, stm.prov))
    if len(kept) == len(pat):
        return exp, pat, []
    body = Body(exp.fn.body.stms, tuple(exp.fn.body.results[k] for k in kept))
    fn = Lambda(exp.fn.params, body, tuple(exp.fn.returns[k] for k in kept))
    return Map(exp.width, fn, exp.arrays), tuple(pat[k] for k in kept), extra


def _why(param: Param, new: Exp | Name) -> str:
    name = base_of(param.name)
    if isinstance(new, str):
        return f"`{name}` is `{base_of(new)}` itself."
    if isinstance(new, Copy):
        return f"`{name}` is a copy of `{base_of(new.array)}`."
    return f"All elements of `{name}` are equal."


def _plan(s: State, exp: Map, k: int, param: Param) -> Exp | Name | None:
    """What result `k` is without the map, if it is anything simpler."""
    value = exp.fn.body.results[k]
    name = value if isinstance(value, str) else value.name if isinstance(value, Var) else None
    free_to_share = param.name not in s.rigid
    for inner, array in zip(exp.fn.params, exp.arrays, strict=True):
        if inner.name == name:
            return array if free_to_share and array not in s.rigid else Copy(array)
    inside = 1 << (s.depth + 1)
    if not s.depends(value) & inside and not (isinstance(value, str) and value in s.rigid):
        return Replicate((exp.width,), value)
    return None


def computed_before(stm: Stm, found: tuple[Name, ...]) -> str:
    """The remark about a parallel operator that is there already."""
    mine = ", ".join(f"`{base_of(p.name)}`" for p in stm.pat)
    theirs = ", ".join(f"`{base_of(name)}`" for name in found)
    return f"{mine} was computed before, as {theirs}."
