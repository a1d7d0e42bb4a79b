"""What typed expressions and patterns are made of: parts, variables."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from compiler.base.names import Name
from compiler.frontend import typed as t

_Node = TypeVar("_Node")


def free_variables(e: t.Exp) -> set[Name]:
    """All names of variables in `e`; names are unique, so the caller leaves out its own."""
    found: set[Name] = set()
    todo: list[t.Exp] = [e]
    while todo:
        exp = todo.pop()
        if isinstance(exp, t.Var):
            found.add(exp.name)
        else:
            todo.extend(parts(exp))
    return found


def parts(e: t.Exp) -> tuple[t.Exp, ...]:
    """The expressions directly inside an expression, in order of evaluation (calls: as written)."""
    match e:
        case t.PrimOp(args=args) | t.PrimFun(args=args) | t.Constr(args=args):
            return args
        case t.Apply(fn=fn, args=args):
            return (fn, *args)
        case t.Let(rhs=rhs, body=body):
            return (rhs, body)
        case t.LetFun(fun=fun, body=body):
            return (fun.body, body)
        case t.Lambda(body=body):
            return (body,)
        case t.If(cond=cond, then=then, orelse=orelse):
            return (cond, then, orelse)
        case t.Match(exp=exp, cases=cases):
            return (exp, *(c.body for c in cases))
        case t.Loop():
            return _loop_parts(e)
        case t.RecordExp(fields=fields):
            return tuple([v for _, v in fields])
        case t.RecordUpdate(exp=exp, value=value):
            return (exp, value)
        case t.ArrayLit(elems=elems):
            return elems
        case t.Range(first=first, second=second, end=end):
            return (first, end) if second is None else (first, second, end)
        case t.Index(array=array, dims=dims):
            return (array, *_dim_parts(dims))
        case t.Update(array=array, dims=dims, value=value):
            return (array, *_dim_parts(dims), value)
        case t.Assert(cond=cond, exp=exp):
            return (cond, exp)
        case t.Project(exp=exp) | t.Convert(exp=exp) | t.Coerce(exp=exp) | t.Attr(exp=exp):
            return (exp,)
    return ()


def _loop_parts(e: t.Loop) -> tuple[t.Exp, ...]:
    match e.form:
        case t.For(bound=bound):
            return (e.init, bound, e.body)
        case t.ForIn(array=array):
            return (e.init, array, e.body)
        case t.While(cond=cond):
            return (e.init, cond, e.body)


def _dim_parts(dims: tuple[t.DimIndex, ...]) -> list[t.Exp]:
    found: list[t.Exp] = []
    for dim in dims:
        if isinstance(dim, t.IndexFix):
            found.append(dim.at)
        else:
            found.extend(b for b in (dim.start, dim.stop, dim.step) if b is not None)
    return found


def pattern_variables(pat: t.Pat) -> list[t.PVar]:
    """The variables that a pattern binds."""
    match pat:
        case t.PVar():
            return [pat]
        case t.PRecord(fields=fields):
            return [v for _, p in fields for v in pattern_variables(p)]
        case t.PConstr(args=args):
            return [v for p in args for v in pattern_variables(p)]
    return []


def without_stars(node: _Node, names: Container[Name]) -> _Node:
    """A typed definition, or a part of one, in which these variables have no `*`."""
    found: object = node
    if type(found) is tuple:
        found = tuple([without_stars(part, names) for part in found])
    elif isinstance(node, t.PVar):
        found = replace(node, consumes=False) if node.name in names else node
    elif type(node).__module__ == t.__name__:
        changes = {
            f.name: without_stars(getattr(node, f.name), names) for f in fields(cast(Any, node))
        }
        found = replace(cast(Any, node), **changes)
    return cast(_Node, found)
