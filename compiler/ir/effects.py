"""What an expression consumes, and which arrays its results may share memory with.

A consumed array must not be used after the statement. A result aliases an operand if it may be a
view of it; results of `Update`, `Scatter`, .. take the place of the operand that they consume.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.names import Name
from compiler.ir.nodes import (
    Array,
    ArrayLit,
    Body,
    Call,
    Exp,
    Function,
    Hist,
    If,
    KernelBody,
    Lambda,
    Loop,
    Map,
    Operand,
    Param,
    Rearrange,
    Reduce,
    Reshape,
    Scan,
    Scatter,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    Slice,
    Stm,
    Update,
    Write,
)

NOTHING: frozenset[Name] = frozenset()
Funs = Mapping[str, Function]


def consumed(exp: Exp, funs: Funs | None = None) -> tuple[Name, ...]:
    """The arrays that `exp` consumes, bound outside it; `funs` must hold the functions called."""
    match exp:
        case Update(array, _, _):
            return (array,)
        case Scatter(_, dests, fn, arrays):
            return tuple(d.array for d in dests) + _by_lambda(fn, arrays, funs)
        case Hist(_, ops, fn, arrays):
            return tuple(d for op in ops for d in op.dests) + _by_lambda(fn, arrays, funs)
        case Map(_, fn, arrays) | Reduce(_, _, fn, arrays) | Scan(_, _, fn, arrays):
            return _by_lambda(fn, arrays, funs)
        case SegMap(_, _, body) | SegRed(_, _, _, body) | SegScan(_, _, _, body):
            return _by_kernel(body, funs)
        case SegHist(_, _, ops, body):
            return tuple(d for op in ops for d in op.dests) + _by_kernel(body, funs)
        case If(_, then, orelse):
            return _by_body(then, funs) + _by_body(orelse, funs)
        case Loop(params, init, _, body):
            taken = zip(params, init, strict=True)
            names = tuple(v for p, v in taken if p.unique and isinstance(v, str))
            bound_here = {p.name for p in params}
            return names + tuple(x for x in _by_body(body, funs) if x not in bound_here)
        case Call(fun, args):
            if funs is None or fun not in funs:
                return ()
            taken = zip(funs[fun].params, args, strict=True)
            return tuple(v for p, v in taken if p.unique and isinstance(v, str))
    return ()


def _by_stms(stms: tuple[Stm, ...], funs: Funs | None) -> tuple[Name, ...]:
    """What statements consume of what is bound outside them, through views as well."""
    sources: dict[Name, frozenset[Name]] = {}
    local: set[Name] = set()
    found: list[Name] = []
    for stm in stms:
        for name in consumed(stm.exp, funs):
            found.extend(x for x in sources.get(name, {name}) if x not in local)
        for param, names in zip(stm.pat, aliases(stm, funs), strict=True):
            local.add(param.name)
            outside = frozenset(y for x in names for y in sources.get(x, (x,)) if y not in local)
            if outside:
                sources[param.name] = outside
    return tuple(found)


def _by_body(body: Body, funs: Funs | None) -> tuple[Name, ...]:
    return _by_stms(body.stms, funs)


def _by_lambda(fn: Lambda, arrays: tuple[Name, ...], funs: Funs | None) -> tuple[Name, ...]:
    """A lambda that consumes its parameter consumes the array whose rows it takes."""
    if not fn.body.stms:
        return ()
    row_of = {p.name: array for p, array in zip(fn.params, arrays, strict=False)}
    return tuple(row_of.get(x, x) for x in _by_body(fn.body, funs))


def _by_kernel(body: KernelBody, funs: Funs | None) -> tuple[Name, ...]:
    written = tuple(r.dest for r in body.results if isinstance(r, Write))
    return written + _by_stms(body.stms, funs)


def aliases(stm: Stm, funs: Funs | None = None) -> tuple[frozenset[Name], ...]:
    """For each name of the pattern, the arrays bound before that it may be a view of.

    Only direct ones: the aliases of those are not followed. Nothing for scalars and blocks.
    """
    exp = stm.exp
    match exp:
        case Slice(array, _) | Rearrange(_, array) | Reshape(_, array):
            return (frozenset((array,)),)
        case Update() | ArrayLit():
            return (NOTHING,)
        case If(_, then, orelse):
            sides = zip(_of_body(then, funs), _of_body(orelse, funs), strict=True)
            # What one branch consumes is the statement's own, if the other returns it as it is.
            gone = frozenset(consumed(exp, funs))
            return _arrays_only(stm, tuple((a | b) - gone for a, b in sides))
        case Loop(params, init, _, body):
            return _arrays_only(stm, _of_loop(params, init, body, funs))
        case Call(fun, args) if funs is not None and fun in funs:
            return _arrays_only(stm, _of_call(funs[fun], args))
    return (NOTHING,) * len(stm.pat)


def _arrays_only(stm: Stm, found: tuple[frozenset[Name], ...]) -> tuple[frozenset[Name], ...]:
    pairs = zip(stm.pat, found, strict=True)
    return tuple(names if isinstance(p.type, Array) else NOTHING for p, names in pairs)


def _of_operand(value: Operand) -> frozenset[Name]:
    return frozenset((value,)) if isinstance(value, str) else NOTHING


def _of_body(body: Body, funs: Funs | None) -> tuple[frozenset[Name], ...]:
    """What each result of a body may be a view of, among the names bound outside it."""
    sources: dict[Name, frozenset[Name]] = {}
    for stm in body.stms:
        for param, names in zip(stm.pat, aliases(stm, funs), strict=True):
            sources[param.name] = frozenset(y for x in names for y in sources.get(x, (x,)))
    return tuple(
        sources.get(r, frozenset((r,))) if isinstance(r, str) else NOTHING for r in body.results
    )


def _of_loop(
    params: tuple[Param, ...], init: tuple[Operand, ...], body: Body, funs: Funs | None
) -> tuple[frozenset[Name], ...]:
    start = {
        p.name: NOTHING if p.unique else _of_operand(v) for p, v in zip(params, init, strict=True)
    }
    ends = _of_body(body, funs)
    result = []
    for param, names in zip(params, ends, strict=True):
        seen = set(names) | {param.name}
        frontier = list(seen)
        while frontier:
            name = frontier.pop()
            at = next((k for k, p in enumerate(params) if p.name == name), None)
            if at is not None:
                new = (set(ends[at]) | start[name]) - seen
                seen |= new
                frontier.extend(new)
        result.append(frozenset(x for x in seen if x not in start))
    return tuple(result)


def _of_call(fun: Function, args: tuple[Operand, ...]) -> tuple[frozenset[Name], ...]:
    may = frozenset(
        v for p, v in zip(fun.params, args, strict=True) if isinstance(v, str) and not p.unique
    )
    return tuple(NOTHING if r.unique else may for r in fun.results)
