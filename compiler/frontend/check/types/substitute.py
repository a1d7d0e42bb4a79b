"""Substitution of types and sizes, in types, in sizes, and in the expressions of sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from operator import is_
from types import MappingProxyType
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.frontend import typed as t
from compiler.frontend.check.types.metas import I64, MetaS, resolve, resolve_size
from compiler.frontend.check.types.size_exps import (
    SizeHole,
    key_of,
    names_in_size_exp,
    size_to_exp,
    symbolic,
    walk,
)
from compiler.frontend.parts import pattern_variables
from compiler.frontend.types import (
    Array,
    Arrow,
    Opaque,
    Size,
    SizeExp,
    SizeOp,
    SizeVar,
    Type,
    TypeVar,
    is_plain,
)
from compiler.protocol.kinds import Json

TypeMap = Mapping[Name, Type]
SizeMap = Mapping[Name, Size]
_NONE: Mapping[Name, Any] = MappingProxyType({})


def subst(t: Type, types: TypeMap, sizes: SizeMap) -> Type:
    """Substitute type and size variables in `t`; without any, return `t` itself."""
    t = resolve(t)
    match t:
        case TypeVar(name):
            return types.get(name, t)
        case Array(dims, elem):
            return _subst_array(t, dims, elem, types, sizes)
        case _ if is_plain(t):
            return t
        case Opaque():
            meaning = subst(t.meaning, types, sizes)
            args = tuple([subst(u, types, sizes) for u in t.args])
            return t.of(args, tuple([subst_size(d, sizes, types) for d in t.sizes]), meaning)
    return t.map_parts(lambda u: subst(u, types, sizes))


def map_sizes(type_: Type, change: Callable[[Size], Size]) -> Type:
    """Apply `change` to every array size of `type_` (functions are left alone)."""
    type_ = resolve(type_)
    match type_:
        case Array(dims, elem):
            return Array(tuple([change(d) for d in dims]), map_sizes(elem, change))
        case Arrow():
            return type_
        case _ if is_plain(type_):
            return type_
        case Opaque(args=args, sizes=sizes, meaning=meaning):
            changed = tuple([map_sizes(u, change) for u in args])
            return type_.of(changed, tuple([change(d) for d in sizes]), map_sizes(meaning, change))
    return type_.map_parts(lambda u: map_sizes(u, change))


def _subst_array(
    t: Array, dims: tuple[Size, ...], elem: Type, types: TypeMap, sizes: SizeMap
) -> Type:
    new_dims = tuple([subst_size(d, sizes, types) for d in dims])
    new = subst(elem, types, sizes)
    if type(new) is Array:
        return Array(new_dims + new.dims, new.elem)
    return t if new is elem and all(map(is_, dims, new_dims)) else Array(new_dims, new)


def subst_size(s: Size, sizes: SizeMap, types: TypeMap = _NONE) -> Size:
    """Substitute variables in `s`, and type variables in its expressions."""
    s = resolve_size(s)
    match s:
        case SizeVar(name):
            return sizes.get(name, s)
        case SizeOp(op, lhs, rhs):
            left, right = subst_size(lhs, sizes, types), subst_size(rhs, sizes, types)
            return s if left is lhs and right is rhs else SizeOp(op, left, right)
        case SizeExp():
            return _subst_in_size_exp(s, sizes, types)
    return s


@dataclass(frozen=True, slots=True)
class _Meanings:
    """A substitution for the variables of an expression, its types and its sizes."""

    exps: Mapping[Name, t.Exp]
    types: TypeMap
    sizes: SizeMap


def _subst_in_size_exp(s: SizeExp, sizes: SizeMap, types: TypeMap) -> Size:
    """Substitute in a `SizeExp`; resulting arithmetic becomes symbolic again."""
    mentioned: set[Name] = set()
    names_in_size_exp(s, mentioned)
    exps = {name: size_to_exp(sizes[name]) for name in mentioned if name in sizes}
    assert isinstance(s.exp, t.Exp)
    if not exps and not ((types or sizes) and _is_instance(s.exp)):
        return s
    return _with_meanings(s, _Meanings(exps, types, sizes))


def _is_instance(exp: t.Exp) -> bool:
    """Test whether `exp` calls something polymorphic."""
    found = False

    def visit(part: t.Exp) -> None:
        nonlocal found
        found = found or (isinstance(part, t.Var) and bool(part.type_args or part.size_args))

    walk(exp, visit)
    return found


def _with_meanings(s: SizeExp, by: _Meanings) -> Size:
    assert isinstance(s.exp, t.Exp)
    new = _replace(s.exp, by)
    if new is s.exp:
        return s
    return symbolic(new) or SizeExp(key_of(new) or f"<{id(new)}>", new)


def _replace(exp: t.Exp, by: _Meanings) -> t.Exp:
    """Substitute variables in `exp` (a simple form)."""
    if isinstance(exp, t.Var) and exp.name in by.exps:
        given = by.exps[exp.name]
        if isinstance(given, t.Var) and given.type is I64:
            return t.Var(subst(exp.type, by.types, by.sizes), exp.span, given.name)
        return given
    if isinstance(exp, SizeHole):
        size = resolve_size(exp.size)
        return exp if isinstance(size, MetaS) else _replace(size_to_exp(size), by)
    changes: Json = {}
    for f in fields(exp):
        old = getattr(exp, f.name)
        new = _replace_in(old, by)
        if new is not old:
            changes[f.name] = new
    return replace(exp, **changes) if changes else exp


def _replace_in(value: object, by: _Meanings) -> object:
    match value:
        case t.Exp():
            return _replace(value, by)
        case Type():
            return subst(value, by.types, by.sizes)
        case Size():
            return subst_size(value, by.sizes, by.types)
        case t.PVar():
            given = by.exps.get(value.name)
            name = given.name if isinstance(given, t.Var) else value.name
            return replace(value, name=name, type=subst(value.type, by.types, by.sizes))
        case t.IndexFix():
            return t.IndexFix(_replace(value.at, by))
        case tuple():
            new = tuple([_replace_in(item, by) for item in value])
            return value if all(map(is_, new, value)) else new
    return value


def copied(s: Size, fresh: Callable[[str], Name]) -> Size:
    """Rename what operators in `s` bind, as `(+)` does in `reduce (+) 0 ks`."""
    new: dict[Name, t.Exp] = {}

    def visit(exp: t.Exp) -> None:
        for pat in exp.params if isinstance(exp, t.Lambda) else ():
            for v in pattern_variables(pat):
                new[v.name] = t.Var(v.type, v.span, fresh(v.name))

    match s:
        case SizeOp(op, lhs, rhs):
            return SizeOp(op, copied(lhs, fresh), copied(rhs, fresh))
        case SizeExp(_, exp):
            assert isinstance(exp, t.Exp)
            walk(exp, visit)
            return SizeExp(s.key, _replace(exp, _Meanings(new, _NONE, _NONE))) if new else s
    return s


def refresh(s: SizeExp) -> Size:
    """Fill the holes of `s` whose sizes are known by now."""
    return s if "?" not in s.key else _with_meanings(s, _Meanings(_NONE, _NONE, _NONE))
