"""Compute the arrays that an expression consumes, and the aliases of its results.

A consumed array must not be used after the statement. A result aliases an operand if it may be a
view of it; results of `Update`, `Scatter`, .. take the place of the operand that they consume.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.walk import NESTED, Node, Rewrite, free, rewrite

Sources = frozenset[Name]
NOTHING: Sources = frozenset()
_SCALARS = frozenset(ir.SE_NODES)
Funs = Mapping[str, ir.Function]
_VIEWS: Mapping[type, str] = ir.CORE.trait("views")
"""Classes of views, each with the field that names the array."""
_OVERWRITES = {cls: path.split(".") for cls, path in ir.CORE.trait("overwrites").items()}


Effect = tuple[tuple[Name, ...], tuple[Sources, ...]]
"""Consumed arrays, and for each result the arrays that it may alias (empty tuple: none at all)."""


class Effects:
    """Cached effects of expressions with bodies: each nesting level is analysed once.

    `funs` must hold the functions that are called.
    """

    def __init__(self, funs: Funs | None = None) -> None:
        self.funs = funs
        self._found: dict[int, tuple[ir.Exp, Effect]] = {}

    def consumed(self, exp: ir.Exp) -> tuple[Name, ...]:
        """Return the arrays bound outside `exp` that it consumes."""
        return self.of(exp)[0]

    def aliases(self, stm: ir.Stm) -> tuple[Sources, ...]:
        """Return for each name of the pattern the arrays bound before that it may alias.

        Direct aliases only, not the aliases of those. Nothing for scalars and blocks.
        """
        return _by_name(stm, self.of(stm.exp)[1])

    def of(self, exp: ir.Exp) -> Effect:
        """Return consumed arrays and aliases; for nested bodies each depends on the other."""
        if type(exp) not in NESTED:
            return _effects(exp, self)
        found = self._found.get(id(exp))
        if found is None:
            found = self._found[id(exp)] = exp, _effects(exp, self)
        return found[1]


def consumed(exp: ir.Exp, funs: Funs | None = None) -> tuple[Name, ...]:
    """Return the arrays that one expression consumes; see `Effects.consumed`."""
    return Effects(funs).consumed(exp)


def aliases(stm: ir.Stm, funs: Funs | None = None) -> tuple[Sources, ...]:
    """Return the aliases of one statement; see `Effects.aliases`."""
    return Effects(funs).aliases(stm)


def of_body(
    stms: tuple[ir.Stm, ...], results: tuple[ir.Operand, ...] = (), funs: Funs | None = None
) -> Effect:
    """Return the outer arrays that a body consumes, and those that its results may alias.

    Follows views: `let ys = xs[1:] in ys` may alias `xs`.
    """
    return _of_body(stms, results, Effects(funs))


def _of_body(stms: tuple[ir.Stm, ...], results: tuple[ir.Operand, ...], effects: Effects) -> Effect:
    sources: dict[Name, Sources] = {}
    found: list[Name] = []
    for stm in stms:
        if type(stm.exp) in _SCALARS:
            continue
        taken, views = effects.of(stm.exp)
        for name in taken:
            found.extend(sources.get(name, (name,)))
        for param, names in zip(stm.pat, _by_name(stm, views), strict=True):
            sources[param.name] = frozenset(y for x in names for y in sources.get(x, (x,)))
    ends = (sources.get(r, frozenset((r,))) if isinstance(r, str) else NOTHING for r in results)
    return tuple(found), tuple(ends)


def read(exp: ir.Exp, funs: Funs | None = None) -> frozenset[Name]:
    """Return the names that `exp` uses other than by consuming; one name may be both."""
    return frozenset(free(_without_consumed(exp, funs))) - {_NOBODY}


_NOBODY: Name = ""
"""Placeholder for a consumed array."""


def _without_consumed(exp: ir.Exp, funs: Funs | None) -> ir.Exp:
    """Replace the consumed operands of an expression; nested bodies are left alone."""
    if isinstance(exp, ir.Stream | ir.SegMapping):
        exp = without_accumulators(exp)
    if type(exp) in _OVERWRITES:
        exp = overwriting(exp, repeat(_NOBODY))
    if isinstance(exp, ir.Soac):
        return replace(exp, arrays=_kept_arrays(exp.fn, exp.arrays))
    if isinstance(exp, ir.Loop):
        return replace(exp, init=_shared_operands(exp.params, exp.init))
    if isinstance(exp, ir.Call) and funs is not None and exp.fun in funs:
        return replace(exp, args=_shared_operands(funs[exp.fun].params, exp.args))
    return exp


def without_accumulators(node: Node) -> Node:
    """Remove the destinations of all pushes in a node."""

    def quiet(exp: ir.Exp) -> ir.Exp:
        return replace(exp, dests=()) if isinstance(exp, ir.Push) else rewrite(exp, parts)

    parts = Rewrite(exp=quiet)
    return rewrite(node, parts)


def _kept_arrays(fn: ir.Lambda, arrays: tuple[Name, ...]) -> tuple[Name, ...]:
    """Return the arrays whose rows a lambda does not overwrite."""
    gone = consumed_params(fn)
    return tuple(a for p, a in zip(fn.params, arrays, strict=False) if p.name not in gone)


def _shared_operands(
    params: tuple[ir.Param, ...], given: tuple[ir.Operand, ...]
) -> tuple[ir.Operand, ...]:
    """Return the operands of parameters that are not unique."""
    return tuple(v for p, v in zip(params, given, strict=True) if not p.unique)


def consumed_params(fn: ir.Lambda) -> frozenset[Name]:
    """Return the parameters whose arguments a lambda consumes."""
    if not any(isinstance(p.type, ir.Array) for p in fn.params):
        return frozenset()
    taken = of_body(fn.body.stms)[0]
    return frozenset(p.name for p in fn.params if p.name in taken)


def roots_of(stms: tuple[ir.Stm, ...]) -> tuple[dict[Name, Sources], Sources]:
    """Return the transitive aliases of each name of a body, and the consumed arrays.

    A name is among its own roots: two names may share memory if their sets intersect.
    """
    roots: dict[Name, Sources] = {}
    gone: set[Name] = set()
    effects = Effects()
    for stm in stms:
        if isinstance(stm.exp, (*ir.SE_NODES, ir.Assert, ir.Push)):
            continue
        taken, views = effects.of(stm.exp)
        gone.update(root for name in taken for root in roots.get(name, (name,)))
        for param, names in zip(stm.pat, _by_name(stm, views), strict=True):
            above = [roots.get(n, frozenset((n,))) for n in names]
            roots[param.name] = frozenset((param.name,)).union(*above)
    return roots, frozenset(gone)


def viewed_array(exp: ir.Exp) -> Name | None:
    """Return the array that an expression is a view of, or None."""
    field = _VIEWS.get(type(exp))
    return None if field is None else getattr(exp, field)


def overwritten(exp: ir.Exp) -> tuple[Name, ...]:
    """Return the arrays that an expression itself overwrites; nested bodies are ignored."""
    path = _OVERWRITES.get(type(exp))
    if path is None:
        return ()
    found: tuple[Any, ...] = (exp,)
    for field in path:
        found = tuple(part for one in found for part in _parts(one, field))
    return found


def _parts(node: object, field: str) -> tuple[Any, ...]:
    """Return a field as a tuple; empty if the node lacks it."""
    value = getattr(node, field, ())
    return value if isinstance(value, tuple) else (value,)


def overwriting(exp: ir.Exp, arrays: Iterable[Name]) -> ir.Exp:
    """Make an expression overwrite these arrays in place of those that `overwritten` tells."""
    found: ir.Exp = _put(exp, _OVERWRITES[type(exp)], iter(arrays))
    return found


def _put(node: Any, path: Sequence[str], arrays: Iterator[Name]) -> Any:
    """Put arrays where a path of fields leads; a node that lacks a field stays."""
    if not path:
        return next(arrays)
    value = getattr(node, path[0], None)
    if value is None:
        return node
    if isinstance(value, tuple):
        return replace(node, **{path[0]: tuple(_put(one, path[1:], arrays) for one in value)})
    return replace(node, **{path[0]: _put(value, path[1:], arrays)})


def _effects(exp: ir.Exp, effects: Effects) -> Effect:
    view = _VIEWS.get(type(exp))
    if view is not None:
        return (), (frozenset((getattr(exp, view),)),)
    funs = effects.funs
    match exp:
        case ir.Update(array, _, _):
            return (array,), ()
        case _ if isinstance(exp, ir.Soac):
            return overwritten(exp) + _by_lambda(exp.fn, exp.arrays, effects), ()
        case _ if isinstance(exp, ir.SegOp):
            return overwritten(exp) + _of_body(exp.body.stms, (), effects)[0], ()
        case ir.If(_, then, orelse):
            return _by_branches(then, orelse, effects)
        case ir.Loop(params, init, _, body):
            return _by_loop(params, init, body, effects)
        case ir.Jvp() | ir.Vjp():
            other = exp.fn.returns if isinstance(exp, ir.Jvp) else exp.args
            return (), (frozenset(free(exp)),) * (len(exp.fn.returns) + len(other))
        case ir.WithVjp(_, fn, _):
            return (), (frozenset(free(exp)),) * len(fn.returns)
        case ir.Call(fun, args) if funs is not None and fun in funs:
            given = zip(funs[fun].params, args, strict=True)
            taken = tuple(v for p, v in given if p.unique and isinstance(v, str))
            return taken, _of_call(funs[fun], args)
    return (), ()


def _by_name(stm: ir.Stm, found: tuple[Sources, ...]) -> tuple[Sources, ...]:
    if not found:
        return (NOTHING,) * len(stm.pat)
    pairs = zip(stm.pat, found, strict=True)
    return tuple(names if isinstance(p.type, ir.Array) else NOTHING for p, names in pairs)


def _by_branches(then: ir.Body, orelse: ir.Body, effects: Effects) -> Effect:
    first, one = _of_body(then.stms, then.results, effects)
    second, other = _of_body(orelse.stms, orelse.results, effects)
    # An array consumed by one branch and returned by the other belongs to the statement.
    gone = frozenset(first + second)
    return first + second, tuple((a | b) - gone for a, b in zip(one, other, strict=True))


def _by_lambda(fn: ir.Lambda, arrays: tuple[Name, ...], effects: Effects) -> tuple[Name, ...]:
    """Return the arrays that a lambda consumes: those whose rows it consumes."""
    if not fn.body.stms:
        return ()
    row_of = {p.name: array for p, array in zip(fn.params, arrays, strict=False)}
    return tuple(row_of.get(x, x) for x in _of_body(fn.body.stms, (), effects)[0])


def _by_loop(
    params: tuple[ir.Param, ...], init: tuple[ir.Operand, ...], body: ir.Body, effects: Effects
) -> Effect:
    inside, ends = _of_body(body.stms, body.results, effects)
    start: dict[Name, Sources] = {}
    taken: list[Name] = []
    for param, value in zip(params, init, strict=True):
        start[param.name] = NOTHING
        if isinstance(value, str):
            if param.unique:
                taken.append(value)
            else:
                start[param.name] = frozenset((value,))
    consumed_here = (*taken, *(x for x in inside if x not in start))
    return consumed_here, _around(params, start, ends)


def _around(
    params: tuple[ir.Param, ...], start: Mapping[Name, Sources], ends: tuple[Sources, ...]
) -> tuple[Sources, ...]:
    """Return the aliases of a loop's results after any number of iterations (fixed point)."""
    end_of = {param.name: names for param, names in zip(params, ends, strict=True)}
    result = []
    for param, names in zip(params, ends, strict=True):
        seen = set(names) | {param.name}
        frontier = list(seen)
        while frontier:
            name = frontier.pop()
            if name in start:
                new = (end_of[name] | start[name]) - seen
                seen |= new
                frontier.extend(new)
        result.append(frozenset(x for x in seen if x not in start))
    return tuple(result)


def _of_call(fun: ir.Function, args: tuple[ir.Operand, ...]) -> tuple[Sources, ...]:
    may = frozenset(
        v for p, v in zip(fun.params, args, strict=True) if isinstance(v, str) and not p.unique
    )
    return tuple(NOTHING if r.unique else may for r in fun.results)
